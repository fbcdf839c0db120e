# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The numbers of one moment for the history: nodes by state, and what the counters of the cycles have gained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..clients.zookeeper.link import paths
from ..clients.zookeeper.tree_reading import Found, TreeReading
from ..model.config.types import NodepoolConfig
from ..model.counters import API_CALLS, LAUNCH_FAULTS, REQUEST_READY, Counters, Family, has_failed
from ..model.history import Groups
from ..model.node import NodeState
from .info.fields import known_state
from .info.image_list import image_rows
from .metric_samples import counters_in

NODES, IMAGES = "nodes", "images"
"""Nodes by state; seconds since the newest ready build of each image was made."""
WAITS = "waits"
"""Requests that were fulfilled since the last point, by the upper bound of their bucket in seconds."""
FAILURES = "failures"
"""Launches that failed since the last point, by the owner of the fault."""
CALLS, ERRORS = "calls", "errors"
"""Calls of the APIs since the last point by provider, and those that failed."""
MOST_GAINED = 1e12
"""More than that is not counted within a minute."""
LONGER = "inf"
"""The bucket of waits beyond the last bound."""
BOUNDS = (*(f"{bound:g}" for bound in REQUEST_READY.buckets), LONGER)


class Sampler:
    """Makes the points of a history. The first one has no increases."""

    def __init__(self) -> None:
        self._before: Counters | None = None

    def sample(self, reading: TreeReading, config: NodepoolConfig, now: float) -> Groups:
        """Return the numbers of this moment.

        :param now: UNIX time.
        """
        total, before = counters_in(reading, config), self._before
        self._before = total
        ages = {row["image"]: row["age"] for row in image_rows(config, reading, now) if row["age"] is not None}
        found = {NODES: Counter(reading.facts(paths.NODES, _state)), IMAGES: ages}
        return found if before is None else {**found, **_increases(before, total)}


def _state(node: Found) -> str:
    return known_state(node.document.get("state"), NodeState.ALL)


def _increases(before: Counters, total: Counters) -> dict[str, dict[str, float]]:
    waits: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for _labels, gained in _gained(REQUEST_READY, before, total):
        waits.update({bound: more for bound, more in zip(BOUNDS, gained, strict=False) if more})
    for labels, gained in _gained(LAUNCH_FAULTS, before, total):
        failures[labels[2]] += gained[0]
    for labels, gained in _gained(API_CALLS, before, total):
        calls[labels[0]] += gained[0]
        errors[labels[0]] += gained[0] if has_failed(labels[3]) else 0
    return {WAITS: dict(waits), FAILURES: dict(failures), CALLS: dict(calls), ERRORS: dict(errors)}


def _increase(number: float) -> int:
    """Return a count; 0 for what fell, and for sums of documents that no cycle has written."""
    return round(number) if 0 < number < MOST_GAINED else 0


def _gained(family: Family, before: Counters, total: Counters) -> Iterator[tuple[tuple[str, ...], list[int]]]:
    """Yield labels and increases of the series that have grown. A counter that began again counts as not grown."""
    old = before.series[family.name]
    for labels, numbers in total.series[family.name].items():
        former = old.get(labels) or [0.0] * family.size
        counts = numbers[:-1] if family.buckets else numbers
        gained = [_increase(new - past) for new, past in zip(counts, former, strict=False)]
        if any(gained):
            yield labels, gained
