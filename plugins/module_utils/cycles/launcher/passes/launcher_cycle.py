# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher cycle: observe, plan, act, wait for events; until the deadline or until all is settled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ....clients.statsd import Sink
from ....clients.zookeeper.link import paths
from ....clients.zookeeper.store import Store
from ....model.lines import Trouble
from ....model.own_tree import COUNTERS, HEARTBEATS, USAGE_DAYS, USAGE_ENTRIES
from ...frame.clock import SteadyClock
from ...frame.config_warnings import config_warnings
from ...frame.config_watch import ConfigWatch, News
from ...frame.counts import CycleCounts, KeptCounters
from ...frame.cycle_options import (
    SETTLED,
)
from ...frame.heartbeat import Heartbeat, nothing_unsent
from ...frame.inbox import Inbox
from ...frame.loop import Frame, Work
from ...frame.opening import opened
from ...frame.stop import (
    SERVING,
    STANDING_BY,
    STARTING,
    Stop,
)
from ...frame.tree_clock import TreeClock
from ...frame.tree_identity import site_of
from ..context.account import Account
from ..context.context import Context
from ..context.launcher_metrics import Metrics
from ..context.launcher_options import LauncherOptions
from ..ownership.live_launchers import Here
from ..ownership.takeover import Takeover
from .launcher_pass import LauncherPass

QUIET = tuple(f"{paths.OWN}/{name}/" for name in (COUNTERS, HEARTBEATS, USAGE_DAYS, USAGE_ENTRIES))
"""Folders of which no launcher needs to know a change at once."""
DONE = "done"
LONGEST_WAIT = 5.0
"""Largest number of seconds between two passes without events; this is also the resolution of checks of ages."""
SHORTEST_PASS, CALM_PASS = 0.02, 0.1
"""Minimum seconds between the beginnings of two passes: one pass handles all events of this time. The second value
applies while no request waits and no launch waits for its create."""
LONGEST_PAUSE = 0.2
"""Seconds. After a pass, the cycle pauses for as long as the pass took, but not longer than this. So passes take about
half of the time at most: a burst of thousands of events takes fewer passes, and the threads that read answers get
their share of the interpreter."""


@dataclass
class CycleOutcome:
    """How a cycle ended."""

    ended: str
    acted_for: set[str] = field(default_factory=set)
    seconds: float = 0.0


def run_launcher(
    options: LauncherOptions,
    *,
    progress: Callable[[str], None] = lambda line: None,
    done: Callable[[Store], bool] | None = None,
    refused: Callable[[Mapping[str, str]], None] = lambda providers: None,
    stop: Stop | None = None,
    clock: Callable[[], float] | None = None,
) -> dict[str, Any]:
    """Run one cycle and return the module's result.

    :param progress: takes lines for the operator.
    :param done: called in each pass; True ends the cycle.
    :param refused: called before *done* with the providers that cannot be used with their account, and why.
    :param stop: may ask the cycle to end early.
    :param clock: ZooKeeper's time in UNIX seconds; without it the cycle asks ZooKeeper.
    :raises NodepoolError: the configuration cannot be used, or ZooKeeper cannot be reached.
    """
    with opened(options, progress) as begun:
        account, sink, tree_clock = Account(say=progress), begun.sink, TreeClock()
        if clock is None and (told := tree_clock.ask(begun.store)):
            account.wrong_clock = told
            progress(Trouble(told))
        inbox = Inbox(SteadyClock(clock or tree_clock))
        site = site_of(begun.store, create=True)
        context = Context(
            begun.store, begun.config, inbox, account, site, timeouts=options.timeouts, hear=tree_clock.hear
        )
        wanted = sink if sink.wanted else None
        cycle = LauncherCycle(begun.options, context, done, stop, begun.watch, wanted, lambda: sink.problem)
        cycle.refused = refused
        return cycle.run()


class LauncherCycle(Work):
    """One run of the launcher. All of its work happens in the thread that calls :meth:`run`."""

    def __init__(
        self,
        options: LauncherOptions,
        context: Context,
        done: Callable[[Store], bool] | None = None,
        stop: Stop | None = None,
        watch: ConfigWatch | None = None,
        sink: Sink | None = None,
        unsent: Callable[[], str | None] = nothing_unsent,
    ) -> None:
        self._options = options
        self._context = context
        self._done = done
        self._stop = stop or Stop()
        self._watch = watch or ConfigWatch(options, context.account.say)
        self._watch.known = context.config
        self._news = News()
        stays = options.until != SETTLED and not options.brief
        here = Here.of(options.state_dir, weight=options.weight, prefers=options.prefers, stays=stays)
        self._takeover = Takeover(context, options.chosen, options.lasting_client, registers=options.serves, here=here)
        self._launcher_pass = LauncherPass(
            context,
            self._takeover,
            serves=options.serves,
            spare_ssh_after=options.spare_ssh_after,
            stays=stays,
        )
        if options.until == SETTLED:
            context.ages.first_seconds = 0.0  # it ends as soon as nothing is left to do
        context.account.cycle_counts = CycleCounts(sink)
        self._metrics = Metrics(context, sink)
        self._counters = KeptCounters(context.store, "launcher", context.account.cycle_counts, context.account.say)
        self._heartbeat = Heartbeat(context.store, "launcher", context.hear, unsent)
        self._generation = context.store.generation
        self.refused: Callable[[Mapping[str, str]], None] = lambda providers: None

    def run(self) -> dict[str, Any]:
        """Work until the end; release locks and registrations in any case."""
        context = self._context
        began = context.now()
        context.store.on_change(self._changed)
        context.store.fence(self._generation)
        self._stop.tell(context.inbox.nudge)
        self._stop.describe = self._launcher_pass.describe
        frame = Frame(self, context.store, context.config.zookeeper, self._stop, context.now, context.account.say)
        try:
            ended = frame.run(began + self._options.duration)
        finally:
            self._launcher_pass.close()
            context.store.fence(None)
            self._metrics.sweeps()
            self._counters.end(context.now(), self._takeover.calls)
            self._heartbeat.end()
        return self._result(CycleOutcome(ended, set(self._takeover.acted_for), context.now() - began))

    def _changed(self, path: str) -> None:
        """Wake the cycle for a change in the tree, but not for what only people read."""
        if not path.startswith(QUIET):
            self._context.inbox.nudge()

    # -- for the frame ---------------------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """The state for the heartbeat."""
        if self._context.actors:
            return SERVING
        return STANDING_BY if self._takeover.warm else STARTING

    def rest(self, seconds: float) -> None:
        """Wait without taking answers from the inbox: their results could not be written."""
        self._context.inbox.pause(seconds)

    def lose(self) -> None:
        """Drop everything that the cycle knows."""
        self._launcher_pass.lose()

    def abandon(self) -> None:
        """Write nothing from now on."""
        self._launcher_pass.abandon()
        self._counters.abandon()

    def turn(self, now: float, deadline: float) -> str | None:
        """Run a pass and wait for the next; return how the cycle ends, or None."""
        self._takeover.ends_at = deadline
        due = self._pass(now)
        self.refused(self._refused_accounts())
        if self._done is not None and self._done(self._context.store):
            return DONE
        if self._options.until == SETTLED and self._launcher_pass.settled:
            return SETTLED
        if self._stop.reason is None:
            self._wait(now, min(due, LONGEST_WAIT, deadline - now))
        return None

    def _refused_accounts(self) -> dict[str, str]:
        """Return the providers that nobody can use: left out here and acted for by nobody, or refusing the login."""
        context = self._context
        attended = {pool.provider_name for pool in context.store.components.pools()} if context.account.unusable else ()
        refused = {name: why for name, why in context.account.unusable.items() if name not in attended}
        for name, actor in context.actors.items():
            error = actor.health.login_refused
            if error is not None:
                refused[name] = str(error)
        return refused

    def _pass(self, now: float) -> float:
        store = self._context.store
        if store.generation != self._generation:
            # The locks of the old session are gone: everything is read again.
            self._generation = store.generation
            store.fence(self._generation)
            self._launcher_pass.lose()
        if self._look(now):
            self._takeover.reload(self._news)
            self._news = News()
        due = self._launcher_pass.work(now)
        for line in store.odd_documents():
            self._context.account.say(line)
        self._metrics.step(now, leads=self._launcher_pass.leads)
        self._counters.step(now, self._takeover.calls)
        self._heartbeat.step(now, self._context.actors, self._config_problems())
        return due

    def _config_problems(self) -> list[str]:
        """Return what is wrong with the files: those of the configuration, and the entries in clouds.yaml."""
        return [*self._watch.problems, *self._takeover.problems()]

    def _look(self, now: float) -> bool:
        """Look at the configuration's files; return True while there are changes that the cycle has not applied."""
        news = self._watch.poll(now)
        if news is not None:
            self._news = news.after(self._news)
        return self._news != News()

    def _wait(self, began: float, seconds: float) -> None:
        inbox = self._context.inbox
        took = inbox.clock() - began
        if self._is_woken(began + seconds):
            shortest = SHORTEST_PASS if self._launcher_pass.hurries else CALM_PASS
            until = began + max(shortest, took + min(took, LONGEST_PAUSE))
            inbox.collect(until - inbox.clock())

    def _is_woken(self, until: float) -> bool:
        """Wait for an event; return False at *until*, or when the configuration's files have changed meanwhile."""
        inbox = self._context.inbox
        while True:
            now = inbox.clock()
            self._stop.beat(self.state)
            if now >= until or self._look(now):
                return False
            if inbox.take(min(until - now, self._watch.due(now))):
                return True

    def _result(self, outcome: CycleOutcome) -> dict[str, Any]:
        context = self._context
        chosen = self._options.chosen(context.config)
        return {
            "changed": context.account.changed,
            "ended": outcome.ended,
            "seconds": round(outcome.seconds, 3),
            "acted_for": sorted(outcome.acted_for),
            "stood_by_for": sorted(set(chosen) - outcome.acted_for - set(context.account.unusable)),
            "left_out": dict(context.account.unusable),
            **context.account.result(),
            "health": context.account.health,
            "freezes": context.account.freezes,
            "breakers": context.account.breakers,
            "sweeps": context.account.sweeps.counts,
            "stuck_deletions": context.account.stuck,
            "config_problems": self._config_problems(),
            "api_calls": self._takeover.calls(),
            "warnings": [
                *config_warnings(context.config, context.store),
                *filter(None, [context.account.wrong_clock]),
                *context.account.strangers.values(),
            ],
        }
