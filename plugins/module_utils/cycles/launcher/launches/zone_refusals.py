# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remembers in which zones creates were refused for unknown reasons: another zone that accepts them shows the fault.

nova may refuse all creates in a zone that it lists, in words that no rule knows. If it accepts the same create in
another zone, and nothing in the first one since, that zone is at fault and not the request, its label or its image.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....launching.known_answers import SUCCESS
from .launch_in_progress import LaunchInProgress

MOST = 500
"""Largest number of launches whose refused creates are remembered."""


@dataclass(frozen=True)
class Refusal:
    """A refused create: its zone, UNIX times at which it was sent and refused, and the words of the cloud."""

    zone: str
    sent_at: float
    at: float
    text: str


class ZoneRefusals:
    """The refused creates that no rule knows, of one cycle."""

    def __init__(self) -> None:
        self._refused: dict[tuple[str, str], dict[str, Refusal]] = {}
        """For whom and with which label → zone → the latest refusal there."""
        self._failing: dict[str, set[str]] = {}
        """Pool with flavor and image → zones in which such creates were refused since one was accepted there."""
        self._accepted: dict[str, float] = {}
        """Pool with zone → UNIX time of the latest accepted create."""

    def refused(self, ongoing: LaunchInProgress, text: str, now: float) -> None:
        """Note that its create was refused for an unknown reason."""
        zone, mine = ongoing.launch.az, _mine(ongoing)
        if zone is None:
            return
        self._failing.setdefault(_kind(ongoing), set()).add(zone)
        known = self._refused.pop(mine, {})
        self._refused[mine] = {**known, zone: Refusal(zone, ongoing.launch.asked_at, now, text)}
        while len(self._refused) > MOST:
            del self._refused[next(iter(self._refused))]

    def are_left(self, ongoing: LaunchInProgress) -> bool:
        """Return True if there is a zone in which its create has not been refused yet, nor others like it."""
        known = {ongoing.launch.az, *self._refused.get(_mine(ongoing), ()), *self._failing.get(_kind(ongoing), ())}
        return not known.issuperset(ongoing.zones)

    def accepted(self, ongoing: LaunchInProgress, now: float) -> list[Refusal]:
        """Note that its create was accepted; return its refusals in zones where nothing was accepted since."""
        zone = ongoing.launch.az
        if zone is None:
            return []
        self._accepted[_place(ongoing, zone)] = now
        self._failing.get(_kind(ongoing), set()).discard(zone)
        known = self._refused.pop(_mine(ongoing), {})
        return [
            item
            for item in known.values()
            if item.zone != zone and self._accepted.get(_place(ongoing, item.zone), 0.0) < item.at
        ]


def _mine(ongoing: LaunchInProgress) -> tuple[str, str]:
    return ongoing.witness, ongoing.launch.label


def _kind(ongoing: LaunchInProgress) -> str:
    return _place(ongoing, ongoing.shape.narrow_name(SUCCESS, None))


def _place(ongoing: LaunchInProgress, what: str) -> str:
    return " ".join((*ongoing.key, what))
