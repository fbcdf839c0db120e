# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rate limit: a minimum time between the starts of two calls."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class RateLimiter:
    """A rate limiter that gives its callers start times *interval* seconds apart, in the order they come. Thread-safe.

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
        """Wait until the caller may start; return the seconds that it waited."""
        with self._lock:
            now = self._clock()
            start = max(now, self._next)
            self._next = start + self._interval
            delay = start - now
            if delay > 0:
                # Stored before the wait, because the thread that bounds this thread's time reads it meanwhile.
                ident = threading.get_ident()
                self._waited[ident] = self._waited.get(ident, 0.0) + delay
        if delay > 0:
            self._sleeper(delay)
        return delay

    def waited(self, ident: int) -> float:
        """Return the seconds that the thread has waited here so far, including the whole of a wait that has begun."""
        with self._lock:
            return self._waited.get(ident, 0.0)
