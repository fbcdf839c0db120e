# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads that call one provider's API, so that a slow provider does not delay the cycle.

Each job has a wall-clock deadline, which does not include the time that its calls wait for the provider's rate. A job
that overruns it is answered with an error. Its thread is abandoned (Python cannot stop it) and replaced, up to a bound.
At the bound the set is *exhausted*: the provider is parked and the cycle should be replaced early.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ...model.errors import CloudError, CloudUnavailable
from ...model.lines import amount
from .inbox import Inbox

Done = Callable[[Any, "CloudError | None"], None]

LONGEST_SHOWN = 5
"""Largest number of jobs that the text about a set of threads names."""


@dataclass(eq=False)
class _Job:
    what: str
    work: Callable[[], Any]
    done: Done
    changes: bool
    seconds: float
    started: float | None = None
    waited: float = 0.0
    answered: bool = False


@dataclass
class WorkerSet:
    """A bounded set of daemon threads for one provider.

    :param size: threads that work at once; one less for each that hangs and is not replaced.
    :param seconds: wall-clock bound of one job; must be greater than the client's own time-outs.
    :param spare: how many overrun threads may be replaced.
    :param waited: returns the seconds that a thread (by its ident) has waited for its turn, the current wait included.
    """

    name: str
    inbox: Inbox
    size: int = 16
    seconds: float = 120.0
    spare: int = 16
    waited: Callable[[int], float] = field(default_factory=lambda: lambda ident: 0.0)
    _jobs: queue.SimpleQueue[_Job | None] = field(default_factory=queue.SimpleQueue)
    _running: dict[int, _Job] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _threads: int = 0
    _waiting: int = 0
    _abandoned: int = 0

    @property
    def exhausted(self) -> bool:
        """True when no more overrun threads may be replaced."""
        return self._abandoned >= self.spare

    def submit(
        self, what: str, work: Callable[[], Any], done: Done, *, changes: bool = False, seconds: float | None = None
    ) -> None:
        """Run *work* in a thread; the cycle's thread later calls *done(result, error)*, exactly once.

        :param what: the call, for messages.
        :param changes: the work changes something in the cloud: after an overrun it is unclear whether it did.
        :param seconds: the bound of this job; None for that of the set.
        """
        with self._lock:
            self._waiting += 1
            self._start_threads()
        self._jobs.put(_Job(what, work, done, changes, self.seconds if seconds is None else seconds))

    def check(self, now: float) -> None:
        """Answer the jobs that have overrun their time; the cycle's thread calls this regularly."""
        with self._lock:
            late = [(ident, job) for ident, job in self._running.items() if self._is_late(ident, job, now)]
            for ident, job in late:
                job.answered = True
                del self._running[ident]
                self._threads -= 1
                if self.exhausted:
                    self.size -= 1
                else:
                    self._abandoned += 1
            self._start_threads()
            stranded = [self._jobs.get_nowait() for _unused in range(self._waiting)] if self.size <= 0 else []
            self._waiting -= len(stranded)
        for _unused, job in late:
            job.done(None, self._unavailable(job, f"did not end within {job.seconds:g} s", job.changes))
        for waiting in stranded:
            if waiting is not None:
                waiting.done(None, self._unavailable(waiting, "did not start: too many calls hang", False))

    def _is_late(self, ident: int, job: _Job, now: float) -> bool:
        if job.started is None or job.answered or now - job.started <= job.seconds:
            return False
        return now - job.started - (self.waited(ident) - job.waited) > job.seconds

    def _unavailable(self, job: _Job, text: str, unclear: bool) -> CloudUnavailable:
        return CloudUnavailable(
            f"provider {self.name}: {job.what} {text}", provider=self.name, call=job.what, unclear=unclear
        )

    def text(self, now: float) -> str:
        """Return what the threads are doing. Any thread may call it."""
        with self._lock:
            jobs = [(job.what, now - (job.started or now)) for job in self._running.values()]
            waiting, threads, size, abandoned = self._waiting, self._threads, self.size, self._abandoned
        longest = sorted(jobs, key=lambda job: -job[1])[:LONGEST_SHOWN]
        doing = ", ".join(f"{what} for {seconds:.1f} s" for what, seconds in longest) or "nothing"
        more = f", {len(jobs) - len(longest)} more" if len(jobs) > len(longest) else ""
        return (
            f"jobs: {len(jobs)} run and {waiting} wait, {amount(threads, 'thread')} of at most {size},"
            f" {abandoned} abandoned; longest: {doing}{more}"
        )

    def close(self) -> None:
        """Make the threads end. Threads that hang are daemons and end with the process."""
        for _unused in range(self._threads):
            self._jobs.put(None)

    def _start_threads(self) -> None:
        """Start a thread for each job that waits, up to *size* threads; abandoned threads do not count."""
        while self._waiting > self._threads - len(self._running) and self._threads < self.size:
            self._threads += 1
            threading.Thread(target=self._run, name=f"api-{self.name}-{self._threads}", daemon=True).start()

    def _run(self) -> None:
        # This frame must not keep a job or its answer while it waits: an answer may be a list of a thousand servers.
        while self._run_next():
            pass

    def _run_next(self) -> bool:
        """Wait for a job and do it.

        :return: False if the thread must end.
        """
        ident = threading.get_ident()
        job = self._jobs.get()
        if job is None:
            return False
        with self._lock:
            self._waiting -= 1
            job.started = self.inbox.clock()
            job.waited = self.waited(ident)
            self._running[ident] = job
        result, error = None, None
        try:
            result = job.work()
        except CloudError as caught:
            error = caught
        except Exception as caught:  # a defect in our code must not leave the launch without an answer
            error = CloudError(
                f"provider {self.name}: {job.what}: {type(caught).__name__}: {caught}", unclear=job.changes
            )
        with self._lock:
            abandoned = job.answered
            job.answered = True
            if not abandoned:
                self._running.pop(ident, None)
        if not abandoned:
            self.inbox.post(_Answer(job.done, result, error))
        return not abandoned


@dataclass(frozen=True)
class _Answer:
    done: Done
    result: Any
    error: CloudError | None

    def __call__(self) -> None:
        self.done(self.result, self.error)
