# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One thread that ends calls which took too long.

A read time-out bounds the silence between two pieces, not the whole answer: a service that sends a byte now and then
holds its caller for ever. So each call has a deadline, at which its socket is shut down from outside.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable


class Watchdog:
    """Calls callbacks at deadlines. Thread-safe; its daemon thread starts with the first deadline."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._condition = threading.Condition()
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._live: set[int] = set()
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None

    def watch(self, deadline: float, expire: Callable[[], None]) -> int:
        """Calls *expire* at *deadline* (of the clock) unless cancelled before; returns the ticket for cancel."""
        with self._condition:
            ticket = next(self._numbers)
            self._live.add(ticket)
            heapq.heappush(self._heap, (deadline, ticket, expire))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="cloud-call-deadlines", daemon=True)
                self._thread.start()
            elif self._heap[0][1] == ticket:
                self._condition.notify()
            return ticket

    def cancel(self, ticket: int) -> None:
        """Forgets a deadline; too late is no error."""
        with self._condition:
            self._live.discard(ticket)

    def expire_due(self) -> float | None:
        """Calls what is due; seconds until the next deadline, None when there is none."""
        while True:
            with self._condition:
                expire, left = self._next()
            if expire is None:
                return left
            expire()

    def _next(self) -> tuple[Callable[[], None] | None, float | None]:
        """What is due (taken off), or the seconds to the next deadline. The lock is held."""
        while self._heap and self._heap[0][1] not in self._live:
            heapq.heappop(self._heap)
        if not self._heap:
            return None, None
        left = self._heap[0][0] - self._clock()
        if left > 0:
            return None, left
        _deadline, ticket, expire = heapq.heappop(self._heap)
        self._live.discard(ticket)
        return expire, None

    def _run(self) -> None:
        while True:
            with self._condition:
                expire, left = self._next()
                if expire is None:
                    self._condition.wait(left)
                    continue
            expire()


WATCHDOG = Watchdog()
"""The process's own; every client uses it."""
