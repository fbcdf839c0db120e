# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last six hours of a tree: a ring of points with numbers, and a list of what changed. Bounded, in memory only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .lines import few

EVERY = 60.0
"""Seconds between two points."""
POINTS = 360
"""Largest number of points that are kept."""
SPAN = EVERY * POINTS
"""Seconds that are kept."""
MOST_NAMES = 60
"""Largest number of names in a group of a point; of more, those with the largest values are kept."""
LONGEST_NAME = 128
"""Most characters of a name; longer ones are cut."""
MOST_CHANGES = 200
"""Largest number of changes that are kept."""
TOGETHER = 3600.0
"""Seconds within which the same change at several providers is one: a build becomes live at each after its upload."""

Groups = Mapping[str, Mapping[str, float]]
"""Group (``nodes``) → name (``ready``) → value."""


@dataclass(frozen=True)
class Point:
    """The numbers of one moment.

    :ivar at: UNIX time.
    """

    at: float
    groups: Groups


@dataclass(frozen=True)
class Change:
    """Something that happened in the tree.

    :ivar at: UNIX time.
    :ivar kind: the type of the event, such as ``resource_frozen``.
    :ivar text: a sentence; if there are *providers* without their names.
    :ivar providers: where the same happened within TOGETHER seconds.
    """

    at: float
    kind: str
    text: str
    providers: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """The whole sentence."""
        return f"{self.text} at {few(self.providers, 'provider')}" if self.providers else self.text

    def is_as(self, other: Change) -> bool:
        """True when it is the same as *other*, at other providers and not long ago."""
        same = (self.kind, self.text) == (other.kind, other.text) and other.at - self.at <= TOGETHER
        return same and bool(self.providers and other.providers)


class History:
    """Points and changes of the last SPAN seconds, the earliest first.

    One thread adds; others may read meanwhile, because nothing that was returned is changed later.

    :ivar points: at most POINTS of them.
    :ivar changes: at most MOST_CHANGES of them.
    :ivar version: grows with everything that is added.
    """

    def __init__(self) -> None:
        self.points: tuple[Point, ...] = ()
        self.changes: tuple[Change, ...] = ()
        self.version = 0

    def add(self, at: float, groups: Groups) -> None:
        """Add a point. After a clock was set back, the points and changes of the time to come are dropped."""
        kept = {name: _largest(values) for name, values in groups.items()}
        earlier = [point for point in self.points if at - SPAN < point.at < at]
        self.points = (*earlier, Point(at, kept))[-POINTS:]
        self.changes = tuple(change for change in self.changes if at - SPAN < change.at <= at)
        self.version += 1

    def note(self, change: Change) -> None:
        """Add a change; what happened at another provider lately is told with that."""
        place = next((place for place, one in enumerate(self.changes) if one.is_as(change)), None)
        if place is None:
            self.changes = (*self.changes, change)[-MOST_CHANGES:]
        else:
            one = self.changes[place]
            together = replace(one, providers=(*one.providers, *change.providers)[:MOST_NAMES])
            self.changes = (*self.changes[:place], together, *self.changes[place + 1 :])
        self.version += 1


def _largest(values: Mapping[str, float]) -> Mapping[str, float]:
    kept = sorted(values.items(), key=lambda item: (-item[1], item[0]))[:MOST_NAMES]
    return {name[:LONGEST_NAME]: value for name, value in kept}
