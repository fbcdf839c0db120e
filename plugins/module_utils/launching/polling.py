# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When to look at a cloud's server list next: often enough to notice at once, rarely enough to cost little.

One listing serves all nodes of a provider. While servers boot that cannot be up yet, only a sparse look is taken, for
early errors; in the time in which servers of this provider have come up before, the list is read quickly, the quicker
the more servers are expected and the less their times differ. The same holds for servers that are being deleted, where
quickly matters only while a request waits for the room.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from ..model.stored import is_number

SPARSE = 5.0
QUICK, CALM = 0.5, 1.5
COST = 1.2
"""A look is worth its call where servers that are up have waited so many seconds for it, all of them together."""
QUICK_WHEN_FULL, COST_WHEN_FULL = 0.25, 0.12
"""The same while a request waits for room: each node that is ready sooner frees its place sooner."""
NARROWEST = 0.1
"""Seconds by which times differ at least."""
EARLY, LATE = 0.95, 2.0
"""Of the shortest and of the longest time so far: in between it is expected."""
OVERDUE_SHARE = 0.05
RAREST = 30.0
"""What is overdue is looked at at growing distances."""
LEISURE = 3.0
"""Between two looks for deletions that no request waits for."""
UNKNOWN_FIRST = 2.0
UNKNOWN_BOOT = 3.0
UNKNOWN_SHARE = 0.15
"""While nothing is known: looks at growing distances, this part of the oldest age so far."""
UNCLEAR = 2.0
FEW = 6
"""So many are looked for as soon as each of them is expected, also where a list is slow."""
NEWS = 6
"""Of more a slow list is read when it is expected to show so many that are done …"""
NEWS_SHARE, NEWS_MOST = 1 / 2, 12.0
"""… or after this part of the usual time, and after so many seconds in any case."""
ENDING_SHARE = 1 / 5
"""The part of it where half of them or more have taken the usual time already."""
LATELY = 10
"""So many of the last ones tell the usual time: those of the first burst took longer."""
SAMPLES = 50
STAMP = 0.5
"""What two stamps of whole seconds may hide, on average."""


@dataclass
class Times:
    """How long something took at a provider lately (boots: create to ACTIVE; deletions), in seconds."""

    samples: deque[float] = field(default_factory=lambda: deque(maxlen=SAMPLES))

    def add(self, seconds: float) -> None:
        """It happened once more."""
        self.samples.append(round(seconds, 2))

    def add_seen(self, seconds: float, told: float | None) -> None:
        """It happened once more, and was seen after *seconds*.

        What is looked for late is seen late, and would be looked for as late the next time: so it counts as not much
        more than what the cloud has *told*, where it tells.
        """
        self.add(seconds if told is None else min(seconds, max(0.0, told) + STAMP))

    def earliest(self) -> float | None:
        """From which age on it may well have happened; None while nothing is known."""
        return EARLY * min(self.samples) if self.samples else None

    def learn(self, document: object) -> None:
        """What an earlier cycle has stored; what makes no sense is left out."""
        found = document if isinstance(document, list) else []
        self.samples.extend(float(seconds) for seconds in found if is_number(seconds) and seconds >= 0)


def watch_due(
    ages: Sequence[float],
    age_of_list: float,
    times: Times,
    *,
    hurry: bool = True,
    full: bool = False,
    first: float = UNKNOWN_FIRST,
) -> float:
    """Seconds until the next look for what has been going on for *ages* seconds.

    :param age_of_list: seconds since the last look.
    :param hurry: a request waits for it.
    :param full: another request waits for room.
    :param first: the least distance of looks while nothing is known.
    :return: negative or 0 for now, infinite when nothing is going on.
    """
    if not ages:
        return float("inf")
    earliest = times.earliest()
    if earliest is None:
        return max(first, UNKNOWN_SHARE * max(ages)) - age_of_list
    latest = LATE * max(times.samples)
    expected, nearest, due = 0, float("inf"), float("inf")
    for age in ages:
        if age > latest:
            due = min(due, min(RAREST, OVERDUE_SHARE * age) - age_of_list)
            continue
        if age < earliest:
            due = min(due, SPARSE - min(age, age_of_list))
        nearest = min(nearest, max(0.0, earliest - age))
        # What is not expected yet, but before the next look at leisure would show it, is worth a quicker one.
        expected += earliest - age < CALM
    pace = _pace(expected, median(times.samples) - earliest, full=full) if expected else CALM
    due = min(due, max(nearest, pace - age_of_list))
    return due if hurry else max(due, LEISURE - age_of_list)


def _pace(expected: int, spread: float, *, full: bool) -> float:
    """Seconds between two looks. When *r* servers come up in a second, they wait r · d² / 2 seconds together from one
    look to the next one *d* seconds later.

    :param spread: seconds within which half of the *expected* servers come up.
    """
    rate = expected / 2 / max(NARROWEST, spread)
    quickest, cost = (QUICK_WHEN_FULL, COST_WHEN_FULL) if full else (QUICK, COST)
    return max(quickest, min(CALM, math.sqrt(2 * cost / rate)))


def news_in(ages: Sequence[float], times: Times, *, hurry: bool = True) -> float:
    """Seconds between two looks at a list that is slow, while servers boot, or are being deleted, for *ages* seconds.

    :param hurry: a request waits for it, and a few are looked for as soon as each of them is expected.
    :return: 0 while nothing is known.
    """
    number = len(ages)
    if not number or not times.samples:
        return 0.0
    usual = median(list(times.samples)[-LATELY:])
    share = NEWS_SHARE
    if hurry and number <= FEW:
        share = 0.0
    elif hurry:
        # The end of a burst comes together, and the cloud may have nothing to do until it is seen.
        ending = sum(age >= usual for age in ages) * 2 >= number
        share = min(ENDING_SHARE if ending else NEWS_SHARE, NEWS / number)
    return min(NEWS_MOST, share * usual)


def unclear_due(age_of_list: float) -> float:
    """Seconds until the next look for a server whose create was not answered."""
    return UNCLEAR - age_of_list
