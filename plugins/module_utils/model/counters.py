# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counters and histograms that each cycle continues from the last one, as ``/metrics`` shows them.

Buckets are fixed, because histograms of several hosts and of successive cycles are added up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .stored import BadDocument, is_number

LAUNCH_BUCKETS = (1, 2.5, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1800)
"""Upper bounds in seconds, for the steps of a launch."""
IMAGE_BUCKETS = (10, 30, 60, 120, 300, 600, 900, 1200, 1800, 2700, 3600, 7200, 14400)
"""Upper bounds in seconds, for builds and uploads of images."""
MOST_SERIES = 2000
"""Maximum number of label combinations in one family. A further one is counted with the label value :data:`OTHER`."""
OTHER = "other"

SERVER_ERRORS = 500
UNSENT = "queue-timeout"
"""The status of a call that was not sent because too many were under way: it says nothing about the cloud."""

Labels = tuple[str, ...]


@dataclass(frozen=True)
class Family:
    """The counters or histograms of one name.

    :ivar name: the name without prefix and without ``_total``; the key in the stored document.
    :ivar labels: names of the labels.
    :ivar buckets: upper bounds in seconds; empty for a counter.
    """

    name: str
    text: str
    labels: Labels
    buckets: tuple[float, ...] = ()

    @property
    def size(self) -> int:
        """Numbers in a series: 1, or the count of each bucket, the count of longer times, and the sum in seconds."""
        return len(self.buckets) + 2 if self.buckets else 1


LAUNCHES = Family(
    "launches",
    "Attempts to launch a node that have ended. result is ready or failed, reason the class of the failure.",
    ("provider", "pool", "result", "reason"),
)
LAUNCH_FAULTS = Family(
    "launch_faults",
    "Attempts to launch a node that failed, by the owner of the fault.",
    ("provider", "pool", "owner"),
)
IMAGE_LAUNCHES = Family(
    "image_launches",
    "Attempts to launch a node of an image that have ended. result is ready, or the owner of the failure.",
    ("provider", "image", "result"),
)
SERVERS_CREATED = Family(
    "servers_created",
    "Servers whose create a cloud accepted. Where far fewer nodes become ready, servers are made for nothing.",
    ("provider", "pool"),
)
API_CALLS = Family(
    "api_calls",
    "Calls of a cloud's API. status is that of HTTP, or why there was no answer.",
    ("provider", "method", "resource", "status"),
)
LEAKS_REMOVED = Family(
    "leaks_removed",
    "Leaked resources that were deleted (result deleted), or whose deletion failed (result failed)."
    " provider is empty for records in ZooKeeper.",
    ("provider", "kind", "result"),
)
REQUEST_READY = Family(
    "request_ready_seconds",
    "Time from a node request to its fulfilment.",
    ("provider", "pool"),
    LAUNCH_BUCKETS,
)
SERVER_ACTIVE = Family(
    "server_active_seconds",
    "Time from the create of a server to its status ACTIVE.",
    ("provider", "pool"),
    LAUNCH_BUCKETS,
)
SERVER_REACHABLE = Family(
    "server_reachable_seconds",
    "Time from a server's status ACTIVE to a node that is ready: floating IP, ssh, host keys.",
    ("provider", "pool"),
    LAUNCH_BUCKETS,
)
IMAGE_BUILD = Family(
    "image_build_seconds", "Duration of image builds. result is ready or failed.", ("image", "result"), IMAGE_BUCKETS
)
IMAGE_UPLOAD = Family(
    "image_upload_seconds",
    "Duration of image uploads. result is ready or failed.",
    ("provider", "image", "result"),
    IMAGE_BUCKETS,
)
FAMILIES = (
    LAUNCHES,
    LAUNCH_FAULTS,
    IMAGE_LAUNCHES,
    SERVERS_CREATED,
    API_CALLS,
    LEAKS_REMOVED,
    REQUEST_READY,
    SERVER_ACTIVE,
    SERVER_REACHABLE,
    IMAGE_BUILD,
    IMAGE_UPLOAD,
)


def has_failed(status: str) -> bool:
    """Return True when the cloud did not do what it should: no answer, a damaged one, or an HTTP status from 500 on.

    A refusal (4xx) is an answer: 404 ends a deletion, 403 is a full quota.
    """
    return int(status) >= SERVER_ERRORS if status.isdecimal() and status.isascii() else status != UNSENT


class Counters:
    """Values by family and label values. They only grow.

    :ivar series: family → label values → numbers; see :attr:`Family.size`.
    """

    def __init__(self) -> None:
        self.series: dict[str, dict[Labels, list[float]]] = {family.name: {} for family in FAMILIES}

    @property
    def empty(self) -> bool:
        """True when nothing was counted."""
        return not any(self.series.values())

    def begin(self, family: Family, *labels: str) -> None:
        """Make sure that the series exists; a new one begins with 0."""
        self._numbers(family, labels)

    def add(self, family: Family, *labels: str, amount: float = 1) -> None:
        """Add *amount* to a counter; an amount of 0 or less is ignored."""
        if amount > 0:
            self._numbers(family, labels)[0] += amount

    def observe(self, family: Family, *labels: str, seconds: float) -> None:
        """Add a duration to a histogram; a negative one, after a clock was set back, counts as 0."""
        numbers = self._numbers(family, labels)
        spent = max(0.0, seconds)
        numbers[bisect_left(family.buckets, spent)] += 1
        numbers[-1] += spent

    def merge(self, other: Counters) -> None:
        """Add all values of *other*."""
        for family in FAMILIES:
            for labels, numbers in other.series[family.name].items():
                self._add(family, labels, numbers)

    def document(self) -> dict[str, Any]:
        """Return the counters as they are stored: family → list of [label values, numbers]."""
        return {
            name: [[list(labels), [_plain(number) for number in numbers]] for labels, numbers in sorted(found.items())]
            for name, found in self.series.items()
            if found
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Counters:
        """Read a stored document; families of another version are left out.

        :raises BadDocument: a part of it does not have the form that :meth:`document` writes.
        """
        counters = cls()
        for family in FAMILIES:
            stored = document.get(family.name, [])
            if not isinstance(stored, list):
                raise BadDocument(f"{family.name!r} is not a list")
            for row in stored:
                counters._add(family, *_row(family, row))
        return counters

    def _add(self, family: Family, labels: Labels, numbers: Iterable[float]) -> None:
        mine = self._numbers(family, labels)
        for place, number in enumerate(numbers):
            mine[place] += number

    def _numbers(self, family: Family, labels: Labels) -> list[float]:
        found = self.series[family.name]
        if labels not in found and len(found) >= MOST_SERIES:
            labels = (OTHER,) * len(family.labels)
        return found.setdefault(labels, [0.0] * family.size)


def _plain(number: float) -> float:
    rounded = round(number, 3)
    return int(rounded) if rounded == int(rounded) else rounded


def _row(family: Family, row: Any) -> tuple[Labels, list[float]]:
    if not isinstance(row, list) or len(row) != 2 or not all(isinstance(part, list) for part in row):
        raise BadDocument(f"a series of {family.name!r} is not a list of label values and numbers")
    labels, numbers = row
    if len(labels) != len(family.labels) or not all(isinstance(label, str) for label in labels):
        raise BadDocument(f"a series of {family.name!r} does not have the labels {', '.join(family.labels)}")
    if len(numbers) != family.size or not all(is_number(number) and number >= 0 for number in numbers):
        raise BadDocument(f"a series of {family.name!r} does not have {family.size} numbers of at least 0")
    return tuple(labels), numbers
