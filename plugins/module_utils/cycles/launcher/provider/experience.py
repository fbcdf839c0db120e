# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What cycles learn of a provider and tell the next one: how long boots and deletions take, and how often they end."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from ....launching.call_shares import CallShares
from ....launching.harvest import Harvest
from ....launching.polling import SAMPLES, Times
from ....model.stored import BadDocument, is_number

MOST_IMAGES = 50
"""Images of which it is remembered when a server of them last answered."""
STANDBY_EVERY = 300.0
"""Seconds between two notes that a launcher stands by: each is a write of the provider's document."""


class Experience:
    """The latest samples, those of earlier cycles included.

    :ivar boot_times: seconds from a create to ACTIVE.
    :ivar delete_times: seconds from a delete until no list shows the server.
    :ivar harvest: how many servers became nodes lately.
    :ivar calls: calls of the API in the last hour, and those that failed.
    :ivar answered: id of an image → UNIX time at which a server of it last answered.
    :ivar unique_names: the cloud has refused a server because another one has its name.
    :ivar stood_by: UNIX time at which another launcher last stood by, to STANDBY_EVERY seconds; None if none ever did.
    :ivar reading: limits and the usage of others when they were read last, for operators.
    """

    def __init__(self) -> None:
        self.boot_times = Times()
        self.delete_times = Times()
        self.reading: Any = None
        self.harvest = Harvest()
        self.calls = CallShares()
        self.answered: dict[str, float] = {}
        self.stood_by: float | None = None
        self.unique_names = False
        self._gone: deque[dict[str, Any]] = deque(maxlen=SAMPLES)

    def node_gone(self, pool: str | None, now: float) -> None:
        """Note that a node and its server are deleted: the rate of deletions shows how long requests wait for room."""
        self._gone.append({"pool": pool, "at": round(now, 1)})

    def note_standby(self, now: float) -> None:
        """Note that another launcher stands by for the provider."""
        if self.stood_by is None or not 0 <= now - self.stood_by < STANDBY_EVERY:
            self.stood_by = round(now, 1)

    def image_answered(self, image: str, now: float) -> None:
        """Note that a server of the image answers: the image is good, whatever its next server does."""
        self.answered.pop(image, None)
        self.answered[image] = round(now, 1)
        while len(self.answered) > MOST_IMAGES:
            del self.answered[next(iter(self.answered))]

    def document(self) -> dict[str, Any]:
        """As it is stored."""
        return {
            "boot_seconds": list(self.boot_times.samples),
            "delete_seconds": list(self.delete_times.samples),
            "gone": list(self._gone),
            "reading": self.reading,
            "harvest": self.harvest.document(),
            "calls": self.calls.document(),
            "answered": dict(self.answered),
            "stood_by": self.stood_by,
            "unique_names": self.unique_names,
        }

    def learn(self, document: Mapping[str, Any]) -> None:
        """Use what an earlier cycle stored."""
        self.boot_times, self.delete_times = Times(), Times()
        self.boot_times.learn(document.get("boot_seconds"))
        self.delete_times.learn(document.get("delete_seconds"))
        gone = document.get("gone")
        self._gone.extend(item for item in (gone if isinstance(gone, list) else ()) if isinstance(item, dict))
        self.reading = document.get("reading")
        self.harvest.learn(document.get("harvest"))
        self.calls.learn(document.get("calls"))
        stood_by: Any = document.get("stood_by")
        self.stood_by = float(stood_by) if is_number(stood_by) else None
        self.unique_names = document.get("unique_names") is True
        answered = document.get("answered")
        kept = list(answered.items())[-MOST_IMAGES:] if isinstance(answered, dict) else []
        self.answered = {image: float(at) for image, at in kept if isinstance(image, str) and is_number(at)}


def learned_before(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a provider's document after a check of its boot times; the other fields are checked where they are used.

    :raises BadDocument: the boot times are not a list of seconds.
    """
    found = document.get("boot_seconds", [])
    if not isinstance(found, list) or not all(is_number(item) and item >= 0 for item in found):
        raise BadDocument("'boot_seconds' is not a list of seconds")
    return document
