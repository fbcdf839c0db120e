# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide when the launcher reads a cloud's server list next: soon enough to notice changes, with few calls.

One listing serves all nodes of a provider. While the booting servers cannot be up yet, the list is read rarely, to
notice early errors. At the age at which servers of this provider usually come up, it is read often: the more servers
are expected and the less their times differ, the more often. The same holds for servers that are being deleted, but
there speed matters only while a request waits for the room.
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
CROWD, CALM_IN_CROWD = 3, 7.0
"""While so many creates have no answer yet, the longest interval is this one instead of CALM: the cloud cannot build
faster then, and the last of the launches is not served sooner by a list that shows a single server."""
NEWS_IN_CROWD = 6
"""A list is then read when so many servers are expected to have come up since the last one."""
COST = 1.2
"""A reading is worth its call when servers that are up have waited this many seconds for it, summed over all."""
QUICK_WHEN_FULL, COST_WHEN_FULL = 0.25, 0.12
"""The same while a request waits for room: a node that is ready sooner is used sooner and frees its place sooner."""
NARROWEST = 0.1
"""Least spread of times in seconds."""
EARLY, LATE = 0.95, 2.0
"""Factors on the shortest and the longest time so far; a server is expected in between."""
OVERDUE_SHARE = 0.05
RAREST = 30.0
"""Longest interval in seconds between readings for an overdue server; the intervals grow up to it."""
LEISURE, LEISURE_MOST = 3.0, 8.0
"""Least seconds between two readings for deletions that no request waits for; half of the usual time, up to the second,
at a cloud that deletes slowly."""
PATIENT = 5.0
"""Seconds between two readings for servers that only a test waits for."""
USUAL = 3.0
"""Seconds after the usual time at which such a server is looked for first: most are up by then."""
UNKNOWN_FIRST = 2.0
UNKNOWN_BOOT = 3.0
UNKNOWN_SHARE = 0.15
"""While nothing is known the intervals grow: each is this part of the highest age."""
UNCLEAR = 2.0
TRIAL_FIRST, TRIAL_SHARE, TRIAL_OVER = 1.0, 1 / 3, 6.0
"""A server that may fail for want of hosts does so within seconds: its state is looked at after the first number of
seconds, then at intervals of this share of its age, until it is so old."""
FEW = 6
"""Up to this number of servers, even a slow list is read as soon as each of them is expected."""
NEWS = 6
"""With more servers a slow list is read when this many are expected to be done since the last reading …"""
NEWS_SHARE, NEWS_MOST = 1 / 2, 12.0
"""… or after this part of the usual time, and at the latest after this many seconds."""
ENDING_SHARE = 1 / 5
"""The part of the usual time instead when at least half of the servers have already taken the usual time."""
LATELY = 10
"""Number of the last samples that give the usual time: those of the first burst took longer."""
SAMPLES = 50
STAMP = 0.5
"""Seconds by which the difference of two time stamps in whole seconds may be too short, on average."""


@dataclass
class Times:
    """Recent durations at a provider in seconds: of boots (create to ACTIVE) or of deletions."""

    samples: deque[float] = field(default_factory=lambda: deque(maxlen=SAMPLES))

    def add(self, seconds: float) -> None:
        """Add one duration."""
        self.samples.append(round(seconds, 2))

    def add_seen(self, seconds: float, told: float | None) -> None:
        """Add one duration that was noticed after *seconds*.

        A change that is looked for late is noticed late, and would be looked for late again. So the duration counts as
        at most slightly longer than the one that the cloud reports (*told*), when it reports one.
        """
        self.add(seconds if told is None else min(seconds, max(0.0, told) + STAMP))

    def earliest(self) -> float | None:
        """Return the age in seconds from which it may have happened; None while nothing is known."""
        return EARLY * min(self.samples) if self.samples else None

    def learn(self, document: object) -> None:
        """Read what an earlier cycle has stored; values that cannot be understood are left out."""
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
    behind: int = 0,
) -> float:
    """Return the seconds until the next reading, for boots or deletions that began *ages* seconds ago.

    :param age_of_list: seconds since the last reading.
    :param hurry: True when a request waits for the result.
    :param full: True when another request waits for room.
    :param first: the shortest interval of readings while nothing is known.
    :param behind: the number of launches whose create was not answered yet.
    :return: negative or 0 for now, infinite when there are no *ages*.
    """
    if not ages:
        return float("inf")
    earliest = times.earliest()
    if earliest is None:
        return max(first, UNKNOWN_SHARE * max(ages)) - age_of_list
    latest = LATE * max(times.samples)
    calm = CALM if full or behind < CROWD else CALM_IN_CROWD
    expected, nearest, due = 0, float("inf"), float("inf")
    for age in ages:
        if age > latest:
            due = min(due, min(RAREST, OVERDUE_SHARE * age) - age_of_list)
            continue
        if age < earliest:
            due = min(due, SPARSE - min(age, age_of_list))
        nearest = min(nearest, max(0.0, earliest - age))
        # A server that is expected before the next calm reading counts as expected now.
        expected += earliest - age < calm
    pace = _pace(expected, median(times.samples) - earliest, calm, full=full) if expected else calm
    due = min(due, max(nearest, pace - age_of_list))
    leisure = min(LEISURE_MOST, max(LEISURE, median(times.samples) / 2))
    return due if hurry else max(due, leisure - age_of_list)


def _pace(expected: int, spread: float, calm: float, *, full: bool) -> float:
    """Return the seconds between two readings.

    When *r* servers come up in a second, they wait r · d² / 2 seconds in sum between two readings *d* seconds apart.

    :param spread: seconds within which half of the *expected* servers come up.
    :param calm: the longest interval.
    """
    rate = expected / 2 / max(NARROWEST, spread)
    quickest, cost = (QUICK_WHEN_FULL, COST_WHEN_FULL) if full else (QUICK, COST)
    pace = math.sqrt(2 * cost / rate)
    if calm > CALM:
        pace = max(pace, NEWS_IN_CROWD / rate)
    return max(quickest, min(calm, pace))


def news_in(ages: Sequence[float], times: Times, *, hurry: bool = True) -> float:
    """Return the seconds between two readings of a slow list, for boots or deletions that began *ages* seconds ago.

    :param hurry: True when a request waits for the result; then up to FEW servers are looked for as soon as expected.
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
        # The last servers of a burst finish together, and the cloud may be idle until the launcher notices it.
        ending = sum(age >= usual for age in ages) * 2 >= number
        share = min(ENDING_SHARE if ending else NEWS_SHARE, NEWS / number)
    return min(NEWS_MOST, share * usual)


def patient_due(ages: Sequence[float], age_of_list: float, times: Times) -> float:
    """Return the seconds until the next reading for boots that nobody is in a hurry for, each *ages* seconds old.

    A server is looked for when it is most likely up, and then every PATIENT seconds: one reading is enough for most.
    """
    if not ages:
        return float("inf")
    if not times.samples:
        return max(PATIENT - min(ages), watch_due(ages, age_of_list, times, first=PATIENT))
    first = min(max(times.samples), median(list(times.samples)[-LATELY:]) + USUAL)
    latest = LATE * max(times.samples)
    pauses = (PATIENT if age <= latest else min(RAREST, max(PATIENT, OVERDUE_SHARE * age)) for age in ages)
    return min(max(first - age, pause - age_of_list) for age, pause in zip(ages, pauses, strict=True))


def trial_due(ages: Sequence[float], age_of_list: float) -> float:
    """Return the seconds until the next reading for servers that may fail at once, each *ages* seconds old."""
    young = [age for age in ages if age <= TRIAL_OVER]
    return max(TRIAL_FIRST, TRIAL_SHARE * min(young)) - min(age_of_list, *young) if young else float("inf")


def unclear_due(age_of_list: float) -> float:
    """Return the seconds until the next reading for a server whose create was not answered."""
    return UNCLEAR - age_of_list
