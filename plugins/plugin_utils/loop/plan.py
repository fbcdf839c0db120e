# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides what a loop does next. Pure: takes the state of the cycles and the wishes, returns actions with reasons."""

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
"""Seconds that Ansible may take to end after the module has ended; a busy machine makes it slow. The next cycle does
not wait for it."""
ORPHANED = 3.0
"""Seconds that processes may live on when Ansible is gone: a module notices that by itself and ends in good order."""
SPIN = 5.0
"""Seconds from the beginning of a cycle to that of the next at the least, when it ended by itself."""

LIVELY = frozenset({STARTING, STANDING_BY, SERVING})
READY = frozenset({STANDING_BY, SERVING})


@dataclass(frozen=True)
class Cycle:
    """A cycle as it is now; times are seconds.

    :param age: since it was begun.
    :param state: by its heartbeat; ``ended`` also when its module died or Ansible is gone.
    :param silence: since its last heartbeat, or since its beginning.
    :param beaten: whether there was a heartbeat at all.
    :param ended: since it ended; None while it goes on.
    :param orphaned: since Ansible has gone; None while it is there.
    :param stopping: since it was asked to end; None when it was not.
    :param killed: whether its processes have been sent the last signal.
    :param judged: whether it is known how it ended.
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
        """True when it works, or is about to, and was not asked to end."""
        return self.state in LIVELY and self.stopping is None and not self.killed


@dataclass(frozen=True)
class Wishes:
    """What is wanted from outside.

    :param leave: end all cycles, and then the loop.
    :param hurry: do not wait for them.
    :param renew: cycles up to this number are to be replaced: the newest one when the loop was told to reload.
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
    """What to do now.

    :param cycles: those that have processes, oldest first.
    :param wait: seconds for which no cycle may be begun yet, after failures.
    """
    ends = [action for cycle in cycles if (action := _overdue(settings, cycle, wishes)) is not None]
    ending = {action.number for action in ends}
    if any(cycle.number in ending or cycle.killed or cycle.ended is not None for cycle in cycles if not cycle.judged):
        # Whether the next one has to wait depends on how this one ended.
        wait = max(wait, 1.0)
    left = [cycle for cycle in cycles if cycle.number not in ending and cycle.goes_on]
    if wishes.leave:
        return [*ends, *(Stop(cycle.number, "the service ends") for cycle in left)]
    if settings.overlap:
        return [*ends, *_with_successor(settings, left, wishes, wait)]
    return [*ends, *_one_by_one(settings, left, bool(cycles), wait)]


def _overdue(settings: Settings, cycle: Cycle, wishes: Wishes) -> Kill | None:
    """The end of a cycle that does not end by itself, or that hangs."""
    if cycle.killed:
        return None
    if wishes.leave and wishes.hurry:
        return Kill(cycle.number, "the service ends at once")
    if cycle.ended is not None:
        if cycle.orphaned is not None:
            # Counted from when Ansible went: after the end of the module it may have taken its time to go.
            gone = cycle.orphaned > ORPHANED
            return Kill(cycle.number, "Ansible was gone, its processes were not") if gone else None
        return Kill(cycle.number, "it had ended, its processes had not") if cycle.ended > TAIL else None
    if cycle.stopping is not None and cycle.stopping > settings.grace:
        return Kill(cycle.number, f"it did not end within {settings.grace:g} s")
    if not cycle.beaten and cycle.age > settings.startup:
        return Kill(cycle.number, f"it was not at work after {settings.startup:g} s")
    if cycle.beaten and cycle.silence > settings.heartbeat:
        return Kill(cycle.number, f"no heartbeat for {settings.heartbeat:g} s")
    return None


def _with_successor(settings: Settings, cycles: Sequence[Cycle], wishes: Wishes, wait: float) -> list[Action]:
    """The newest cycle relieves the others as soon as it could act."""
    if not cycles:
        return [] if wait > 0 else [Start("none is there")]
    newest = cycles[-1]
    if newest.state in READY and len(cycles) > 1:
        return [Stop(cycle.number, f"cycle {newest.number} takes over") for cycle in cycles[:-1]]
    if len(cycles) > 1 or wait > 0:
        return []
    if newest.number <= wishes.renew:
        return [Start("a fresh one is wanted")]
    return [Start(f"cycle {newest.number} has had its time")] if newest.age >= settings.duration else []


def _one_by_one(settings: Settings, cycles: Sequence[Cycle], busy: bool, wait: float) -> list[Action]:
    """Whatever is left of one is gone before the next begins.

    A wish for a fresh one waits for the end of the present one: what it has in hand, such as a build, cannot be taken
    over.
    """
    if not busy:
        return [] if wait > 0 else [Start("none is there")]
    late = [cycle for cycle in cycles if cycle.age >= settings.duration + settings.overtime]
    return [Stop(cycle.number, f"it should have ended after {settings.duration:g} s") for cycle in late]


@dataclass(frozen=True)
class Outcome:
    """How a cycle ended.

    :param seconds: from its beginning to its end.
    :param worked: seconds from the first sign that it could act to its end; None when there was none.
    :param well: nothing went wrong.
    :param text: for people.
    :param began_in: seconds from its beginning to that first sign.
    :param troubled: it ended in good order, and something that it works with is wrong or failed.
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
    """Failures in a row, and how long they make the loop wait.

    :ivar failures: those in a row.
    :ivar not_before: when a cycle may be begun at the earliest.
    """

    failures: int = 0
    not_before: float = 0.0

    def note(self, settings: Settings, outcome: Outcome, now: float, chance: float) -> None:
        """A cycle has ended. *chance*: 0 … 1."""
        if outcome.well:
            self.failures = 0
            pause = max(0.0 if settings.overlap else settings.pause, SPIN - outcome.seconds)
        else:
            healthy = outcome.worked is not None and outcome.worked >= settings.healthy
            self.failures = 1 if healthy else self.failures + 1
            pause = pause_after(settings, self.failures, chance)
        self.not_before = now + pause

    def wait(self, now: float) -> float:
        """Seconds that are left."""
        return max(0.0, self.not_before - now)

    def forget(self) -> None:
        """Forget the failures: the settings were read again."""
        self.failures, self.not_before = 0, 0.0


def pause_after(settings: Settings, failures: int, chance: float) -> float:
    """Seconds to wait after so many failures in a row. The first one costs nothing: it may be a single mishap."""
    pause = backoff(failures - 1, first=settings.first_pause, most=settings.longest_pause)
    return pause * (0.75 + 0.25 * chance)
