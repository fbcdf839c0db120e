# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""At most so many calls in so much time, measured from start to start."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class RateLimiter:
    """Hands out starting times *interval* seconds apart, first come first served. Thread-safe.

    :param interval: seconds between two starts; 0 means no limit.
    :param clock: monotonic seconds.
    """

    def __init__(
        self,
        interval: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleeper: Callable[[float], None] = time.sleep,
    ) -> None:
        self._interval = max(0.0, interval)
        self._clock = clock
        self._sleeper = sleeper
        self._lock = threading.Lock()
        self._next = float("-inf")
        self._waited: dict[int, float] = {}

    def wait(self) -> float:
        """Returns when the caller may start; the seconds that it had to wait."""
        with self._lock:
            now = self._clock()
            start = max(now, self._next)
            self._next = start + self._interval
            delay = start - now
            if delay > 0:
                # Told before it is waited: the thread that bounds this one's time looks from outside.
                ident = threading.get_ident()
                self._waited[ident] = self._waited.get(ident, 0.0) + delay
        if delay > 0:
            self._sleeper(delay)
        return delay

    def waited(self, ident: int) -> float:
        """Seconds for which the thread has waited here so far, those that it is waiting now included."""
        with self._lock:
            return self._waited.get(ident, 0.0)
