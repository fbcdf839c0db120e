# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clock of a cycle: tells the time of day, and goes on evenly when somebody sets that.

A cycle waits for moments: until a deadline, until a back-off is over. With the bare time of day it would stand still
for an hour when the clock is set back by one, and all deadlines would be over at once when the clock is set ahead.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

SLEW = 0.1
"""Seconds in each second by which it comes nearer to the time of day, when that was set."""


class SteadyClock:
    """Never goes backwards and never leaps. Thread-safe.

    :param wall: UNIX seconds; may be set by anybody at any time.
    :param steady: seconds from anywhere; only ever goes on.
    """

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._steady = steady
        self._lock = threading.Lock()
        self._at = steady()
        self._now = wall()

    def __call__(self) -> float:
        """UNIX seconds: those of the time of day, or on the way to them."""
        with self._lock:
            at = self._steady()
            passed = max(0.0, at - self._at)
            self._at = at
            ahead = self._now + passed - self._wall()
            bound = SLEW * passed
            self._now += passed - max(-bound, min(bound, ahead))
            return self._now
