# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts of API calls by kind and status."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class CallCount:
    """The calls of one kind that ended with one status: their number, their total seconds and the longest one's."""

    calls: int
    seconds: float
    longest: float


class CallCounters:
    """Thread-safe counts; a key is (kind, status): ("POST /servers", "202"), ("GET /limits", "timeout")."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str], CallCount] = {}
        self._running: dict[int, tuple[str, float]] = {}

    def started(self, kind: str = "") -> None:
        """Note that this thread begins a call of *kind*."""
        with self._lock:
            self._running[threading.get_ident()] = (kind, self._clock())

    def ended(self, kind: str, status: str, seconds: float) -> None:
        """Count a call of *kind* that ended with *status* after *seconds*, without the wait for the rate limit."""
        with self._lock:
            self._running.pop(threading.get_ident(), None)
            old = self._counts.get((kind, status), CallCount(0, 0.0, 0.0))
            self._counts[kind, status] = CallCount(old.calls + 1, old.seconds + seconds, max(old.longest, seconds))

    @property
    def running(self) -> int:
        """The number of calls that wait for an answer at this moment."""
        with self._lock:
            return len(self._running)

    def longest_wait(self, *, only: str = "", but: str = "") -> tuple[str, float]:
        """Return (kind, seconds) of the call that has waited longest for its answer; ("", 0.0) when there is none.

        :param only: look at calls of this kind only.
        :param but: ignore calls of this kind.
        """
        with self._lock:
            waiting = [item for item in self._running.values() if only in ("", item[0]) and item[0] != (but or None)]
            if not waiting:
                return "", 0.0
            kind, began = min(waiting, key=lambda running: running[1])
            return kind, self._clock() - began

    @property
    def total(self) -> int:
        """The number of calls that have ended."""
        with self._lock:
            return sum(count.calls for count in self._counts.values())

    def snapshot(self) -> Mapping[tuple[str, str], CallCount]:
        """Return a copy of all counts."""
        with self._lock:
            return dict(self._counts)

    def document(self) -> dict[str, dict[str, int]]:
        """Return kind → status → calls, sorted, for a module's result."""
        result: dict[str, dict[str, int]] = {}
        for (kind, status), count in sorted(self.snapshot().items()):
            result.setdefault(kind, {})[status] = count.calls
        return result
