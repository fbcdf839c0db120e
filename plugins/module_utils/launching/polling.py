# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When to look at a cloud's server list next: often enough to notice at once, rarely enough to cost little.

One listing serves all nodes of a provider. While servers boot that cannot be up yet, only a sparse look is taken, for
early errors; in the time in which servers of this provider have come up before, the list is read quickly, the quicker
the more servers are expected. The same holds for servers that are being deleted, where quickly matters only while
a request waits for the room.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

SPARSE = 5.0
QUICK = 0.5
CALM = 1.2
QUICKER = 0.03
"""By so much for each server that is expected."""
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


def watch_due(
    ages: Sequence[float], age_of_list: float, times: Times, *, hurry: bool = True, first: float = UNKNOWN_FIRST
) -> float:
    """Seconds until the next look for what has been going on for *ages* seconds.

    :param age_of_list: seconds since the last look.
    :param hurry: a request waits for it.
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
        if age < earliest:
            nearest = min(nearest, earliest - age)
            due = min(due, SPARSE - min(age, age_of_list))
        elif age <= latest:
            expected += 1
        else:
            due = min(due, min(RAREST, OVERDUE_SHARE * age) - age_of_list)
    pace = max(QUICK, CALM - QUICKER * expected) - age_of_list
    # A provider that falls into the time of the others does not make the list be read before its turn.
    due = min(due, pace if expected else max(nearest, pace))
    return due if hurry else max(due, LEISURE - age_of_list)


def news_in(number: int, times: Times, *, hurry: bool = True) -> float:
    """Seconds between two looks at a list that is slow, while *number* servers boot, or are being deleted.

    :param hurry: a request waits for it, and a few are looked for as soon as each of them is expected.
    :return: 0 while nothing is known.
    """
    if not number or not times.samples:
        return 0.0
    share = NEWS_SHARE
    if hurry:
        share = min(NEWS_SHARE, NEWS / number) if number > FEW else 0.0
    return min(NEWS_MOST, share * median(list(times.samples)[-LATELY:]))


def unclear_due(age_of_list: float) -> float:
    """Seconds until the next look for a server whose create was not answered."""
    return UNCLEAR - age_of_list
