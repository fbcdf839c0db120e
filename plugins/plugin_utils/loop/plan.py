# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide what a loop does next, from the state of the cycles and the wishes; return actions with reasons. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.stop import (
    SERVING,
    STANDING_BY,
    STARTING,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.backoff import backoff
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.settings import Settings

TAIL = 30.0
"""Seconds that Ansible may take to end after the module has ended; on a busy machine it is slow. The next cycle does
not wait for it."""
ORPHANED = 3.0
"""Seconds that processes may run on when Ansible is gone: a module notices that by itself and ends in good order."""
SPIN = 5.0
"""Least seconds between the starts of two cycles, when the first ended by itself."""

LIVELY = frozenset({STARTING, STANDING_BY, SERVING})
READY = frozenset({STANDING_BY, SERVING})


@dataclass(frozen=True)
class Cycle:
    """The state of a cycle. Times are in seconds.

    :param age: time since its start.
    :param state: the state in its heartbeat; ``ended`` also when its module died or Ansible is gone.
    :param silence: time since its last heartbeat, or since its start.
    :param beaten: True when there was a heartbeat.
    :param ended: time since it ended; None while it runs.
    :param orphaned: time since Ansible ended; None while Ansible runs.
    :param stopping: time since it was asked to end; None when it was not.
    :param killed: True when SIGKILL was sent to its processes.
    :param judged: True when it is known how it ended.
    """

    number: int
    age: float
    state: str = SERVING
    silence: float = 0.0
    beaten: bool = True
    ended: float | None = None
    orphaned: float | None = None
    stopping: float | None = None
    killed: bool = False
    judged: bool = False

    @property
    def goes_on(self) -> bool:
        """True when the cycle works or starts, and was not asked to end."""
        return self.state in LIVELY and self.stopping is None and not self.killed


@dataclass(frozen=True)
class Wishes:
    """The wishes of the operator or of systemd, received by signals.

    :param leave: end all cycles, and then the loop.
    :param hurry: do not wait for the cycles.
    :param renew: replace cycles up to this number: the newest cycle at the time of the last reload.
    """

    leave: bool = False
    hurry: bool = False
    renew: int = 0


@dataclass(frozen=True)
class Start:
    """Begin a cycle."""

    reason: str


@dataclass(frozen=True)
class Stop:
    """Ask a cycle to end in good order."""

    number: int
    reason: str


@dataclass(frozen=True)
class Kill:
    """End all processes of a cycle."""

    number: int
    reason: str


Action = Start | Stop | Kill


def decide(settings: Settings, cycles: Sequence[Cycle], wishes: Wishes, wait: float) -> list[Action]:
    """Decide what to do now.

    :param cycles: the cycles that have processes, oldest first.
    :param wait: seconds for which no cycle may be started yet.
    """
    ends = [action for cycle in cycles if (action := _overdue(settings, cycle, wishes)) is not None]
    ending = {action.number for action in ends}
    if any(cycle.number in ending or cycle.killed or cycle.ended is not None for cycle in cycles if not cycle.judged):
        # Whether the next cycle has to wait depends on how this one ended.
        wait = max(wait, 1.0)
    left = [cycle for cycle in cycles if cycle.number not in ending and cycle.goes_on]
    if wishes.leave:
        return [*ends, *(Stop(cycle.number, "the service ends") for cycle in left)]
    if settings.overlap:
        return [*ends, *_with_successor(settings, left, wishes, wait)]
    return [*ends, *_one_by_one(settings, left, bool(cycles), wait)]


def _overdue(settings: Settings, cycle: Cycle, wishes: Wishes) -> Kill | None:
    """Return the Kill of a cycle that does not end when it should, or that hangs; None for other cycles."""
    if cycle.killed:
        return None
    if wishes.leave and wishes.hurry:
        return Kill(cycle.number, "the service ends at once")
    if cycle.ended is not None:
        if cycle.orphaned is not None:
            # Counted from the end of Ansible, which may be much later than the end of the module.
            gone = cycle.orphaned > ORPHANED
            return Kill(cycle.number, "Ansible had ended, but its processes had not") if gone else None
        return Kill(cycle.number, "it had ended, but its processes had not") if cycle.ended > TAIL else None
    if cycle.stopping is not None and cycle.stopping > settings.grace:
        return Kill(cycle.number, f"it did not end within {settings.grace:g} s")
    if not cycle.beaten and cycle.age > settings.startup:
        return Kill(cycle.number, f"it did not start working within {settings.startup:g} s")
    if cycle.beaten and cycle.silence > settings.heartbeat:
        return Kill(cycle.number, f"no heartbeat for {settings.heartbeat:g} s")
    return None


def _with_successor(settings: Settings, cycles: Sequence[Cycle], wishes: Wishes, wait: float) -> list[Action]:
    """Decide with overlap: the newest cycle replaces the others as soon as it can act."""
    if not cycles:
        return [] if wait > 0 else [Start("no cycle is running")]
    newest = cycles[-1]
    if newest.state in READY and len(cycles) > 1:
        return [Stop(cycle.number, f"cycle {newest.number} takes over") for cycle in cycles[:-1]]
    if len(cycles) > 1 or wait > 0:
        return []
    if newest.number <= wishes.renew:
        return [Start("a new one was requested")]
    return [Start(f"cycle {newest.number} has reached its duration")] if newest.age >= settings.duration else []


def _one_by_one(settings: Settings, cycles: Sequence[Cycle], busy: bool, wait: float) -> list[Action]:
    """Decide without overlap: all processes of a cycle must be gone before the next cycle starts.

    A wish to replace the cycle waits until it ends by itself: its work, such as a build, cannot be taken over.
    """
    if not busy:
        return [] if wait > 0 else [Start("no cycle is running")]
    late = [cycle for cycle in cycles if cycle.age >= settings.duration + settings.overtime]
    return [Stop(cycle.number, f"it should have ended after {settings.duration:g} s") for cycle in late]


@dataclass(frozen=True)
class Outcome:
    """How a cycle ended.

    :param seconds: seconds from its start to its end.
    :param worked: seconds from its first heartbeat with a state in READY to its end; None when there was none.
    :param well: True when the cycle succeeded.
    :param text: a text for people.
    :param began_in: seconds from its start to that first heartbeat.
    :param troubled: True when the cycle succeeded, but reports failures or problems.
    """

    number: int
    seconds: float
    worked: float | None
    well: bool
    text: str
    kind: str = "ok"
    began_in: float | None = None
    troubled: bool = False


@dataclass
class RestartBackoff:
    """Failures in a row, and how long the loop waits after them.

    :ivar failures: number of failures in a row.
    :ivar not_before: the earliest time for the next cycle, in seconds that never go back.
    """

    failures: int = 0
    not_before: float = 0.0

    def record(self, settings: Settings, outcome: Outcome, now: float, chance: float) -> None:
        """Record that a cycle has ended. *chance*: 0 … 1, varies the wait."""
        if outcome.well:
            self.failures = 0
            pause = max(0.0 if settings.overlap else settings.pause, SPIN - outcome.seconds)
        else:
            healthy = outcome.worked is not None and outcome.worked >= settings.healthy
            self.failures = 1 if healthy else self.failures + 1
            pause = pause_after(settings, self.failures, chance)
        self.not_before = now + pause

    def wait(self, now: float) -> float:
        """Return the seconds that are left to wait."""
        return max(0.0, self.not_before - now)

    def forget(self) -> None:
        """Forget the failures: the settings were read again."""
        self.failures, self.not_before = 0, 0.0


def pause_after(settings: Settings, failures: int, chance: float) -> float:
    """Return the seconds to wait after this many failures in a row; 0 after the first, which may be an exception."""
    pause = backoff(failures - 1, first=settings.first_pause, most=settings.longest_pause)
    return pause * (0.75 + 0.25 * chance)
