# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loop itself: it observes, decides (``plan``), acts, and returns how long to wait."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.statsd import Sink
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lines import amount
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop import plan, processes
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.artifacts import Archive
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.cycle import RunningCycle
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.log import INFO, WARNING, Entry, rendered
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.settings import Settings, SettingsError, load

BRISK = 0.05
"""Seconds until the next turn while processes are being killed."""
AWAKE = 0.1
"""Seconds until the next turn while a cycle starts or ends."""
CALM = 1.0
"""Seconds until the next turn otherwise. The end of a process wakes the loop at once."""


class Running(Protocol):
    """A cycle that was begun; see cycle.RunningCycle."""

    number: int
    killed: bool

    @property
    def pid(self) -> int:
        """The process of ansible-playbook."""

    @property
    def module_pid(self) -> int | None:
        """The process of the module, once it is known."""

    def lines(self) -> list[Entry]:
        """What the cycle wrote since the last call."""

    def exited(self, code: int) -> None:
        """Take note of the exit code."""

    def observe(self, now: float) -> plan.Cycle:
        """What the plan needs to know of the cycle."""

    def stop(self, now: float, reason: str) -> None:
        """Ask the module to end."""

    def ask_for_dump(self) -> bool:
        """Ask the module for its stacks."""

    def kill(self, reason: str = "") -> int:
        """Kill all processes of the cycle."""

    def is_gone(self) -> bool:
        """True when no process of the cycle is left."""

    def judge(self, now: float) -> plan.Outcome | None:
        """How the cycle ended; None while it works."""


Begin = Callable[[Settings, int, float], Running]


@dataclass
class World:
    """The functions by which a loop reaches the outside.

    :param begin: starts a cycle with the given number.
    :param reap: returns the exit codes of children that have ended.
    :param say: takes a line for the journal, with its priority as in syslog.
    :param tell: takes words for systemd.
    """

    begin: Begin
    reap: Callable[[], dict[int, int]]
    say: Callable[[int, str], None]
    tell: Callable[..., None]
    metrics: Sink
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[], float] = random.random
    wall: Callable[[], float] = time.time


@dataclass
class Loop:
    """A loop that runs cycles. Everything happens in the thread that calls :meth:`turn`.

    :param settings_path: the file from which the settings are read again.
    """

    settings: Settings
    settings_path: str
    archive: Archive
    world: World
    leave: bool = False
    hurry: bool = False
    cycles: list[Running] = field(default_factory=list)
    backoff: plan.RestartBackoff = field(default_factory=plan.RestartBackoff)
    _renew: int = 0
    _reload: bool = False
    _dump: bool = False
    _number: int = 0
    _is_ready: bool = False
    _told: str = ""
    _last: str = ""

    # -- wishes, from signal handlers ----------------------------------------------------------------------------

    def wish_end(self) -> None:
        """End the loop in good order; the second call ends it at once."""
        self.hurry = self.leave
        self.leave = True

    def wish_reload(self) -> None:
        """Read the settings again and replace the cycle."""
        self._reload = True

    def wish_dump(self) -> None:
        """Ask the cycles to write what they are doing."""
        self._dump = True

    # -- turns ---------------------------------------------------------------------------------------------------

    @property
    def over(self) -> bool:
        """True when the loop was asked to end and no cycle is left."""
        return self.leave and not self.cycles

    def turn(self) -> float:
        """Observe, decide, act.

        :return: most seconds until the next turn.
        """
        if self._reload:
            self._read_again()
        now = self.world.clock()
        codes = self.world.reap()
        for cycle in self.cycles:
            if cycle.pid in codes:
                cycle.exited(codes[cycle.pid])
        views = [cycle.observe(now) for cycle in self.cycles]
        for cycle in self.cycles:
            self._pass_on(cycle)
            self._judge(cycle, now)
        # The first views do not contain the judgements that were just made.
        views = [cycle.observe(now) for cycle in self.cycles]
        if self._dump:
            self._ask_for_dumps(views)
        wishes = plan.Wishes(self.leave, self.hurry, self._renew)
        for action in plan.decide(self.settings, views, wishes, self.backoff.wait(now)):
            self._act(action, now)
        self._reap()
        self._tell(views)
        return self._pace(views)

    def _act(self, action: plan.Action, now: float) -> None:
        if isinstance(action, plan.Start):
            self._start(now)
            return
        cycle = next(cycle for cycle in self.cycles if cycle.number == action.number)
        if isinstance(action, plan.Stop):
            cycle.stop(now, action.reason)
        else:
            self.say(WARNING, f"cycle {cycle.number} is killed: {action.reason}", cycle.number)
            cycle.kill(action.reason)
            self._judge(cycle, now)

    def _ask_for_dumps(self, views: list[plan.Cycle]) -> None:
        self._dump = False
        self.say(INFO, f"loop {self.settings.name}: asked for a dump; {self.status(views)}")
        for cycle in self.cycles:
            if not cycle.ask_for_dump():
                self.say(INFO, f"cycle {cycle.number} is ending and cannot be asked", cycle.number)

    def _start(self, now: float) -> None:
        self._number = max(self._number + 1, self.archive.fresh())
        try:
            self.cycles.append(self.world.begin(self.settings, self._number, now))
        except OSError as problem:
            text = f"it could not be started: {problem}"
            self._note(plan.Outcome(self._number, 0.0, None, False, text, "failed"), now)

    def _pass_on(self, cycle: Running) -> None:
        """Write the new lines of a cycle to the journal."""
        for entry in cycle.lines():
            self._write(entry)

    def say(self, priority: int, text: str, cycle: int | None = None) -> None:
        """Write a line of the loop itself to the journal."""
        self._write(Entry(text, priority, self.world.wall(), cycle))

    def _write(self, entry: Entry) -> None:
        self.world.say(entry.priority, rendered(entry, self.settings.name, self.settings.log_format))

    def _judge(self, cycle: Running, now: float) -> None:
        known = cycle.observe(now).judged
        outcome = cycle.judge(now)
        if outcome is not None and not known:
            self._note(outcome, now)

    def _note(self, outcome: plan.Outcome, now: float) -> None:
        """Write the line of an ended cycle to the journal, send its metrics and set the pause."""
        self.backoff.record(self.settings, outcome, now, self.world.chance())
        begun = "never worked" if outcome.began_in is None else f"at work after {outcome.began_in:.1f} s"
        kind = "with trouble" if outcome.troubled and outcome.well else outcome.kind
        line = f"cycle {outcome.number} {kind} after {outcome.seconds:.1f} s ({begun})"
        line += f": {outcome.text}" if outcome.text else ""
        if self.backoff.failures:
            wait = self.backoff.wait(now)
            line += f"; {self.backoff.failures} in a row, the next one in {wait:.0f} s"
        self._last = line
        self.say(INFO if outcome.well and not outcome.troubled else WARNING, line, outcome.number)
        sink, name = self.world.metrics, f"nodepool.loop.{self.settings.name}"
        sink.incr(f"{name}.cycles.{outcome.kind}")
        sink.timing(f"{name}.duration", outcome.seconds)
        if outcome.began_in is not None:
            sink.timing(f"{name}.start", outcome.began_in)
        sink.gauge(f"{name}.failures", self.backoff.failures)

    def _reap(self) -> None:
        """Drop cycles of which no process is left; send SIGKILL to killed cycles again."""
        for cycle in list(self.cycles):
            if cycle.killed:
                cycle.kill()
            if cycle.judge(self.world.clock()) is not None and cycle.is_gone():
                self._pass_on(cycle)
                self.cycles.remove(cycle)
                self.archive.close(cycle.number, self.settings, [other.number for other in self.cycles])

    # -- notifications -------------------------------------------------------------------------------------------

    def _tell(self, views: list[plan.Cycle]) -> None:
        status = self.status(views)
        if status != self._told:
            self._told = status
            self.world.tell(f"STATUS={status}")
        working = any(view.state in plan.READY for view in views)
        # After a failure the unit counts as started: units that are ordered after it must not wait for the repair.
        if not self._is_ready and (working or self.backoff.failures):
            self._is_ready = True
            self.world.tell("READY=1")

    def status(self, views: list[plan.Cycle]) -> str:
        """Return the state of the loop in one line."""
        parts = [f"cycle {view.number} {'ends' if view.stopping is not None else view.state}" for view in views]
        text = ", ".join(parts) or "no cycle"
        if self.leave:
            text = f"ending; {text}"
        if self.backoff.failures:
            text += f"; {amount(self.backoff.failures, 'failure')} in a row"
        return f"{text}; last: {self._last}" if self._last else text

    def _pace(self, views: list[plan.Cycle]) -> float:
        if any(cycle.killed for cycle in self.cycles):
            return BRISK
        wait = self.backoff.wait(self.world.clock())
        calm = [view for view in views if view.state in plan.READY and view.stopping is None]
        if len(views) == len(self.cycles) == len(calm) == 1 and not self.leave:
            return min(CALM, max(AWAKE, self.settings.duration - calm[0].age))
        return min(CALM, max(AWAKE, wait)) if not self.cycles else AWAKE

    def _read_again(self) -> None:
        self._reload = False
        try:
            fresh = load(self.settings_path)
        except SettingsError as error:
            for problem in error.problems:
                self.say(WARNING, f"settings: {problem}")
            self.say(WARNING, "settings: cannot be used, the previous ones stay in use")
            return
        if (fresh.name, fresh.state_dir) != (self.settings.name, self.settings.state_dir):
            self.say(WARNING, "settings: a new name or state_dir needs a restart; the rest is used")
        kept = {"name": self.settings.name, "state_dir": self.settings.state_dir}
        self.settings = Settings(**{**vars(fresh), **kept})
        self._renew = self._number
        self.backoff.forget()
        self.say(INFO, "settings: read again; the next cycle uses them")


def loop_id(state_dir: str) -> str:
    """Return the id that marks the processes of a loop, the same after a restart of the loop."""
    return hashlib.sha256(os.path.realpath(state_dir).encode()).hexdigest()[:12]


def begin_with(archive: Archive) -> Begin:
    """Return the function that starts real cycles."""

    def begin(settings: Settings, number: int, now: float) -> Running:
        mark = f"{loop_id(settings.state_dir)}:{number}:"
        return RunningCycle(settings, number, archive.path(number), mark, now)

    return begin


def sweep(settings: Settings, *, seconds: float = 10.0, pause: float = BRISK) -> int:
    """End the processes that an earlier loop with the same state_dir left behind.

    :return: how many processes there were.
    """
    limit = time.monotonic() + seconds
    first = left = processes.belonging(f"{loop_id(settings.state_dir)}:")
    while left and time.monotonic() < limit:
        for process in left:
            processes.kill(process)
        time.sleep(pause)
        left = processes.belonging(f"{loop_id(settings.state_dir)}:")
    return len(first)


def folder_of(settings: Settings) -> Path:
    """Make the folder that contains the cycles' folders, private to the user, and return it.

    :raises OSError: when that fails, or when other users can write to state_dir.
    """
    state = Path(settings.state_dir)
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = state.stat()
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise PermissionError(f"{state} must belong to the user of the loop, and only that user may write to it")
    with contextlib.suppress(FileExistsError):
        (state / "cycles").mkdir(mode=0o700)
    return state / "cycles"
