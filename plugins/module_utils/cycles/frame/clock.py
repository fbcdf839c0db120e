# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clock of a cycle: tells the time of day, and does not jump when the system clock is set.

A cycle waits for times, such as a deadline or the end of a back-off. With the system clock, a cycle would stand still
for an hour when the clock is set back by an hour, and all deadlines would be over when the clock is set ahead.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

SLEW = 0.1
"""Seconds per second by which the clock approaches the time of day after the system clock was set."""


class SteadyClock:
    """A clock that never goes backwards and never jumps. Thread-safe.

    :param wall: UNIX seconds; may be set at any time.
    :param steady: monotonic seconds.
    """

    def __init__(self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._steady = steady
        self._lock = threading.Lock()
        self._at = steady()
        self._now = wall()

    def __call__(self) -> float:
        """Return UNIX seconds: the time of day, or a time that approaches it."""
        with self._lock:
            at = self._steady()
            passed = max(0.0, at - self._at)
            self._at = at
            ahead = self._now + passed - self._wall()
            bound = SLEW * passed
            self._now += passed - max(-bound, min(bound, ahead))
            return self._now
