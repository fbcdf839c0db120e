# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts of API calls by kind and status."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

from ...model.counters import has_failed
from ...model.stored import is_number

RECENT = 8
"""Number of the last answers of a kind of call that give its usual time."""
LATELY, MOST_LATELY = 120.0, 64
"""Seconds for which an answer shows how slow a cloud may be now, and the number of answers that are kept for that."""
MOST_KINDS, LONGEST = 100, 600.0
"""Limits for what is taken over from an earlier cycle: number of kinds, and seconds of each."""
LATE = "timeout"
"""The status of a call that was given up."""
SLOW = 1 / 3
"""A cloud is slow when a kind of call usually takes at least this part of the time that calls may wait for data."""
PATIENCE, MOST_PATIENCE = 2.5, 4.0
"""A call may wait this many times its usual time, and at most this many times as long as an ordinary call."""


@dataclass(frozen=True)
class CallCount:
    """The calls of one kind that ended with one status: their number, their total seconds and the longest one's."""

    calls: int
    seconds: float
    longest: float


class CallCounters:
    """Thread-safe counts; a key is (kind, status): ("POST /servers", "202"), ("GET /limits", "timeout").

    :param ident: tells apart what calls at the same time.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, ident: Callable[[], int] = threading.get_ident
    ) -> None:
        self._clock = clock
        self._ident = ident
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str], CallCount] = {}
        self._running: dict[int, tuple[str, float]] = {}
        self._answers: dict[str, deque[float]] = {}
        self._medians: dict[str, float] = {}
        """The medians of the answers: they are asked for much more often than an answer comes."""
        self._answered_at: dict[str, float] = {}
        self._latest: deque[tuple[float, str, float]] = deque(maxlen=MOST_LATELY)
        """When an answer came, to which kind of call, and after how many seconds."""
        self._late: dict[str, int] = {}
        self._auxiliary: set[int] = set()

    def started(self, kind: str = "", *, auxiliary: bool = False) -> None:
        """Note that this thread begins a call of *kind*. An *auxiliary* call is counted, and nothing else."""
        ident = self._ident()
        with self._lock:
            self._running[ident] = (kind, self._clock())
            if auxiliary:
                self._auxiliary.add(ident)

    def ended(self, kind: str, status: str, seconds: float) -> None:
        """Count a call of *kind* that ended with *status* after *seconds*, without the wait for the rate limit."""
        with self._lock:
            ident = self._ident()
            self._running.pop(ident, None)
            auxiliary = ident in self._auxiliary
            self._auxiliary.discard(ident)
            old = self._counts.get((kind, status), CallCount(0, 0.0, 0.0))
            self._counts[kind, status] = CallCount(old.calls + 1, old.seconds + seconds, max(old.longest, seconds))
            if auxiliary:
                return
            if status.isdecimal():
                answers = self._answers.setdefault(kind, deque(maxlen=RECENT))
                answers.append(seconds)
                self._medians[kind] = median(answers)
                self._answered_at[kind] = self._clock()
                self._latest.append((self._answered_at[kind], kind, seconds))
                self._late.pop(kind, None)
            elif status == LATE:
                self._late[kind] = self._late.get(kind, 0) + 1

    @property
    def running(self) -> int:
        """The number of calls that wait for an answer at this moment."""
        with self._lock:
            return len(self._running)

    def longest_wait(self, *, only: str = "") -> tuple[str, float]:
        """Return (kind, seconds) of the call that has waited longest for its answer; ("", 0.0) when there is none.

        Auxiliary calls are ignored.

        :param only: look at calls of this kind only.
        """
        with self._lock:
            counted = (item for ident, item in self._running.items() if ident not in self._auxiliary)
            waiting = [item for item in counted if only in ("", item[0])]
            if not waiting:
                return "", 0.0
            kind, began = min(waiting, key=lambda running: running[1])
            return kind, self._clock() - began

    def all_overdue(self, least: float, times: float) -> dict[str, float]:
        """Return for each kind the seconds of the longest waiting call, if it waits unusually long."""
        longest: dict[str, float] = {}
        with self._lock:
            now = self._clock()
            for ident, (kind, began) in self._running.items():
                if ident not in self._auxiliary and now - began >= max(least, times * self._usual(kind)):
                    longest[kind] = max(longest.get(kind, 0.0), now - began)
        return longest

    def usual(self, *, but: str = "") -> float:
        """Return the usual seconds of the slowest kind of call, by recent answers; 0 before the first answer.

        :param but: ignore calls of this kind.
        """
        with self._lock:
            others = {kind: self._medians[kind] for kind in self._medians if kind != but} if but else self._medians
            return max(others.values(), default=0.0)

    def lately(self, *, but: str = "") -> float:
        """Return the seconds of the slowest answer of the last two minutes; 0 without one.

        The usual time follows a cloud that becomes slow at once only after several answers.

        :param but: ignore calls of this kind.
        """
        with self._lock:
            since = self._clock() - LATELY
            return max(
                (seconds for at, kind, seconds in self._latest if at >= since and kind != (but or None)), default=0.0
            )

    def usual_document(self) -> dict[str, float]:
        """Return the usual seconds by kind of call, for the next cycle."""
        with self._lock:
            return {kind: round(self._usual(kind), 2) for kind in sorted(self._answers)}

    def learn_usual(self, document: object) -> None:
        """Take over the usual seconds of an earlier cycle for kinds without an answer yet; ignore invalid ones."""
        found = document if isinstance(document, Mapping) else {}
        with self._lock:
            for kind, seconds in list(found.items())[:MOST_KINDS]:
                if isinstance(kind, str) and is_number(seconds) and 0 <= seconds <= LONGEST:
                    answers = self._answers.setdefault(kind, deque([float(seconds)], maxlen=RECENT))
                    self._medians[kind] = median(answers)

    def quiet_for(self, *, but: str = "") -> float:
        """Return the seconds since the API answered last, whatever it said; infinite before the first answer.

        :param but: ignore calls of this kind.
        """
        with self._lock:
            latest = max((at for kind, at in self._answered_at.items() if kind != (but or None)), default=-math.inf)
            return self._clock() - latest

    def patience(self, kind: str, silence: float) -> float:
        """Return the seconds that a call of this kind may wait for data.

        A kind that usually takes long gets more than *silence*, and at a cloud that is known to be slow a kind gets
        more after a call that was given up: the next one would be given up as well. A cloud that is usually quick gets
        no more: where it does not answer, it is away, and it is noticed soon when it is back.

        :param silence: the seconds for an ordinary call.
        """
        with self._lock:
            known = silence * SLOW <= max(self._medians.values(), default=0.0)
            doubled = silence * 2.0 ** self._late.get(kind, 0) if known else silence
            return min(MOST_PATIENCE * silence, max(doubled, PATIENCE * self._usual(kind)))

    def _usual(self, kind: str) -> float:
        return self._medians.get(kind, 0.0)

    @property
    def total(self) -> int:
        """The number of calls that have ended."""
        with self._lock:
            return sum(count.calls for count in self._counts.values())

    def ended_calls(self) -> tuple[int, int]:
        """Return the number of calls that have ended, and of those that failed."""
        with self._lock:
            failed = sum(count.calls for (_kind, status), count in self._counts.items() if has_failed(status))
            return sum(count.calls for count in self._counts.values()), failed

    def snapshot(self) -> Mapping[tuple[str, str], CallCount]:
        """Return a copy of all counts."""
        with self._lock:
            return dict(self._counts)

    def result(self) -> dict[str, dict[str, int]]:
        """Return kind → status → calls, sorted, for a module's result."""
        result: dict[str, dict[str, int]] = {}
        for (kind, status), count in sorted(self.snapshot().items()):
            result.setdefault(kind, {})[status] = count.calls
        return result
