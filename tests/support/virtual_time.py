# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual time: an agenda of calls, and functions that run side by side on it, one at a time.

A fiber goes on only while everything else waits, so whatever happens is the same in each run. It is a greenlet: a
thread would need ten times as long for each of the many thousand times that one fiber gives way to another.
Nothing here ever sleeps: when everybody waits, the clock jumps to the next entry of the agenda.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from greenlet import getcurrent, greenlet

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.probing import ProbeJob, ProbeResult
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.ssh import ScanJob, ScanResult
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.inbox import Inbox
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.workers import Done
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudError, CloudUnavailable

START = 1_700_000_000.0
TICK = 1e-6
"""Seconds by which a cycle's clock goes on with each reading."""
STANDSTILL = 200_000
"""So many calls without a moment passing are a loop without an end."""
_NUMBERS = itertools.count(1)


class Killed(BaseException):
    """The process ends here, without another step."""


class Agenda:
    """The clock, and what is to happen when."""

    def __init__(self, start: float = START) -> None:
        self.now = start
        self.current: Fiber | None = None
        self._entries: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._still = 0
        self.failures = 0
        """The number of fibers that ended with an error."""

    def clock(self) -> float:
        """UNIX seconds."""
        return self.now

    def at(self, when: float, call: Callable[[], None]) -> None:
        """Have *call* made at that time, not before what was asked for earlier for the same time."""
        self._count += 1
        heapq.heappush(self._entries, (max(when, self.now), self._count, call))

    def after(self, seconds: float, call: Callable[[], None]) -> None:
        """Have *call* made in so many seconds."""
        self.at(self.now + seconds, call)

    def step(self, end: float) -> bool:
        """Make the next call that is due until *end*; False when there is none.

        A call that ends with Killed was made for a process that died in it, say while its session connected anew.
        """
        if not self._entries or self._entries[0][0] > end:
            return False
        when, _unused, call = heapq.heappop(self._entries)
        self._still = self._still + 1 if when == self.now else 0
        if self._still > STANDSTILL:
            raise AssertionError(f"{STANDSTILL} calls happened at the same moment: somebody never waits")
        self.now = when
        try:  # noqa: SIM105 (contextlib.suppress takes longer than most of the calls)
            call()
        except Killed:
            pass
        return True

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Let time pass; ends early, with True, when *until* holds."""
        end = self.now + seconds
        while not until():
            if not self.step(end):
                self.now = end
                return until()
        return True

    def sleep(self, seconds: float) -> None:
        """Wait, within a fiber; outside of one nothing takes time."""
        if self.current is not None:
            self.current.park(seconds)

    def ident(self) -> int:
        """What threading.get_ident is for threads: another number in each fiber."""
        return threading.get_ident() if self.current is None else self.current.number


class Fiber:
    """A function that runs on an agenda."""

    def __init__(self, agenda: Agenda, work: Callable[[], Any]) -> None:
        self._agenda = agenda
        self._work = work
        self.number = next(_NUMBERS)
        self._greenlet = greenlet(self._run)
        self._ticket = 0
        self._parked = False
        self._woken = False
        self._killed = False
        self._began = False
        self.ended = False
        self.value: Any = None
        self.error: BaseException | None = None
        agenda.at(agenda.now, self._begin)

    def park(self, seconds: float | None = None) -> bool:
        """Wait (called by the fiber itself); True when somebody woke it, False when the time was over."""
        assert self._agenda.current is self
        self._ticket += 1
        ticket = self._ticket
        if seconds is not None:
            self._agenda.after(max(0.0, seconds), lambda: self._resume(ticket, False))
        self._parked = True
        self._greenlet.parent.switch()
        if self._killed:
            raise Killed
        return self._woken

    def wake(self) -> None:
        """End its present wait, if it waits."""
        if self._parked:
            ticket = self._ticket
            self._agenda.at(self._agenda.now, lambda: self._resume(ticket, True))

    def kill(self) -> None:
        """Raise Killed where it waits now; to be called from outside of it."""
        self._killed = True
        if not self._began:
            self.ended = True
        elif self._parked:
            self._resume(self._ticket, False)

    def _begin(self) -> None:
        if not self.ended:
            self._began = True
            self._hand_over()

    def _resume(self, ticket: int, woken: bool) -> None:
        if self._parked and ticket == self._ticket:
            self._parked = False
            self._woken = woken
            self._hand_over()

    def _hand_over(self) -> None:
        before, self._agenda.current = self._agenda.current, self
        self._greenlet.parent = getcurrent()
        self._greenlet.switch()
        self._agenda.current = before

    def _run(self) -> None:
        try:
            self.value = self._work()
        except BaseException as error:
            self.error = error
            self._agenda.failures += 1
        self.ended = True


class Taken(Exception):
    """A lock is taken, and what asks for it cannot wait: it has it itself, or is no fiber."""


class FiberLock:
    """Stands in for threading.Lock where a fiber waits for something else while it has the lock."""

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda
        self._taken = False
        self._holder: Fiber | None = None
        self._waiting: deque[Fiber] = deque()

    def __enter__(self) -> None:
        me = self._agenda.current
        while self._taken:
            if me is None or me is self._holder:
                raise Taken
            self._waiting.append(me)
            me.park()
        self._taken, self._holder = True, me

    def __exit__(self, *_exc_info: object) -> None:
        self._taken = False
        waiting = list(self._waiting)
        self._waiting.clear()
        for fiber in waiting:
            fiber.wake()


class SessionOwn:
    """Stands in for the data that a session of ZooKeeper keeps for each thread: it keeps them for each fiber."""

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda
        self._generations: dict[int, int | None] = {}
        self._owed: dict[int, deque[Any]] = {}

    @property
    def generation(self) -> int | None:
        """The only session in which it may write."""
        return self._generations.get(self._agenda.ident())

    @generation.setter
    def generation(self, value: int | None) -> None:
        self._generations[self._agenda.ident()] = value

    @property
    def owed(self) -> deque[Any]:
        """The answers that it waits for later."""
        return self._owed.setdefault(self._agenda.ident(), deque())


class VirtualInbox(Inbox):
    """The inbox of a cycle on virtual time: waiting lets others go on."""

    def __init__(self, agenda: Agenda) -> None:
        super().__init__(self._clock)
        self.agenda = agenda
        self._read_last = 0.0
        self.closed = False
        self._pending: deque[Callable[[], None]] = deque()
        self._waiter: Fiber | None = None
        self._pauser: Fiber | None = None
        self.starved: Callable[[], float] = lambda: 0.0
        """Draws the seconds for which a woken cycle gets no processor."""

    def _clock(self) -> float:
        """The agenda's time. It goes on with each reading: a decision that reads it twice compares two moments."""
        now, next_one = self.agenda.now, self._read_last + TICK
        self._read_last = now if now > next_one else next_one
        return self._read_last

    def post(self, call: Callable[[], None]) -> None:
        """Have *call* made by the cycle."""
        if self.closed:
            return
        self._pending.append(call)
        if self._waiter is not None:
            self._waiter.wake()

    def nudge(self) -> None:
        """Wake the cycle."""
        self.post(lambda: None)
        if self._pauser is not None:
            self._pauser.wake()

    def pause(self, seconds: float) -> None:
        """As the real one."""
        self._pauser = self.agenda.current
        self.agenda.sleep(max(0.0, seconds))
        self._pauser = None

    def collect(self, seconds: float) -> None:
        """As the real one."""
        if seconds > 0:
            self.agenda.sleep(seconds)
        self.take(0)

    def take(self, timeout: float, most: int = 10_000) -> int:
        """As the real one; outside of a fiber it lets the agenda run itself."""
        if not self._pending and timeout > 0:
            if self.agenda.current is None:
                self.agenda.run(timeout, lambda: bool(self._pending))
            else:
                self._waiter = self.agenda.current
                self._waiter.park(timeout)
                self._waiter = None
                self.agenda.sleep(self.starved())
        made = 0
        while self._pending and made < most:
            self._pending.popleft()()
            made += 1
        return made


class _Job:
    def __init__(self, what: str, work: Callable[[], Any], done: Done, changes: bool, seconds: float) -> None:
        self.seconds = seconds
        self.ident = 0
        self.waited = 0.0
        self.what = what
        self.work = work
        self.done = done
        self.changes = changes
        self.started: float | None = None
        self.answered = False


class VirtualWorkers:
    """Stands in for a WorkerSet: its jobs run in fibers, with the same bounds and the same answers."""

    def __init__(
        self,
        name: str,
        inbox: VirtualInbox,
        size: int = 16,
        seconds: float = 120.0,
        spare: int = 16,
        waited: Callable[[int], float] = lambda ident: 0.0,
    ) -> None:
        self.name = name
        self.waited = waited
        self.inbox = inbox
        self.size = size
        self.seconds = seconds
        self.spare = spare
        self._jobs: deque[_Job] = deque()
        self._running: dict[Fiber, _Job] = {}
        self._fibers: list[Fiber] = []
        self._idle: list[Fiber] = []
        self._abandoned = 0
        self._closed = False

    def text(self, now: float) -> str:
        """What the fibers are doing."""
        return f"{len(self._running)} jobs run and {len(self._jobs)} wait"

    @property
    def exhausted(self) -> bool:
        """True when no more overrun jobs may be replaced."""
        return self._abandoned >= self.spare

    def submit(
        self, what: str, work: Callable[[], Any], done: Done, *, changes: bool = False, seconds: float | None = None
    ) -> None:
        """Have *work* done; *done* is called by the cycle."""
        self._jobs.append(_Job(what, work, done, changes, self.seconds if seconds is None else seconds))
        if self._idle:
            self._idle.pop().wake()
        elif len(self._fibers) < self.size + self._abandoned:
            self._fibers.append(Fiber(self.inbox.agenda, self._loop))

    def check(self, now: float) -> None:
        """Answer the jobs that have overrun their time."""
        late = [
            (fiber, job)
            for fiber, job in self._running.items()
            if job.started is not None and now - job.started - (self.waited(job.ident) - job.waited) > job.seconds
        ]
        for fiber, job in late:
            job.answered = True
            del self._running[fiber]
            if not self.exhausted:
                self._abandoned += 1
            text = f"provider {self.name}: {job.what} did not end within {job.seconds:g} s"
            job.done(None, CloudUnavailable(text, provider=self.name, call=job.what, unclear=job.changes))

    def close(self) -> None:
        """Let the fibers end after what they are doing."""
        self._closed = True
        while self._idle:
            self._idle.pop().wake()

    def _loop(self) -> None:
        me = self.inbox.agenda.current
        assert me is not None
        while True:
            while not self._jobs:
                if self._closed:
                    return
                self._idle.append(me)
                me.park()
            job = self._jobs.popleft()
            job.started = self.inbox.clock()
            job.ident = me.number
            job.waited = self.waited(job.ident)
            self._running[me] = job
            result, error = None, None
            try:
                result = job.work()
            except CloudError as caught:
                error = caught
            except Exception as caught:
                error = CloudError(f"{self.name}: {job.what}: {type(caught).__name__}: {caught}", unclear=job.changes)
            if job.answered:
                return
            job.answered = True
            del self._running[me]
            self._answer(job, result, error)

    def _answer(self, job: _Job, result: Any, error: CloudError | None) -> None:
        self.inbox.post(lambda: job.done(result, error))


class VirtualScanner:
    """Stands in for the ssh scanner.

    :param answer: says how a job ends: (seconds, host keys, error).
    :param passes: returns the seconds after which a node would pass its probe.
    """

    def __init__(
        self,
        agenda: Agenda,
        answer: Callable[[ScanJob], tuple[float, tuple[str, ...], str | None]],
        on_result: Callable[[ScanResult], None],
        passes: Callable[[ProbeJob], float] = lambda job: 0.0,
    ) -> None:
        self._agenda = agenda
        self._answer = answer
        self._passes = passes
        self._on_result = on_result
        self._jobs: dict[str, ScanJob | ProbeJob] = {}

    def submit(self, job: ScanJob) -> None:
        """Begin to scan."""
        self._jobs[job.key] = job
        seconds, keys, error = self._answer(job)
        left = job.deadline if job.left is None else job.left
        if seconds > left:
            seconds, keys, error = left, (), error or f"{job.address}: no answer in {job.deadline:g} s"

        def end() -> None:
            if self._jobs.get(job.key) is job:
                del self._jobs[job.key]
                self._on_result(ScanResult(job.key, keys, error, seconds))

        self._agenda.after(seconds, end)

    def probe(self, job: ProbeJob, done: Callable[[ProbeResult], None]) -> None:
        """Begin to try."""
        self._jobs[job.key] = job
        left, seconds = job.probe.timeout if job.left is None else job.left, self._passes(job)
        error = f"not passed within {job.probe.timeout} s" if seconds > left else None

        def end() -> None:
            if self._jobs.get(job.key) is job:
                del self._jobs[job.key]
                done(ProbeResult(job.key, error, seconds=min(seconds, left)))

        self._agenda.after(min(seconds, left), end)

    def cancel(self, key: str) -> None:
        """Nobody wants the answer any more."""
        self._jobs.pop(key, None)

    def close(self) -> None:
        """End."""
        self._jobs.clear()
