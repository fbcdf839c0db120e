# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher cycle: observe, plan, act, wait for something to happen; until the deadline or until all is settled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import (
    Stamp,
    file_stamps,
    load_config,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.api_names import ApiCall
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.client import CloudClient
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.clouds import clouds_files
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.statsd import Sink
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.store import Store
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.common.account import Account
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.common.api_metrics import calls_to
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.common.clock import SteadyClock
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.common.context import Context
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.common.inbox import Inbox
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.common.metrics import Metrics
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.common.opening import opened
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.common.stopping import (
    SERVING,
    STANDING_BY,
    STARTING,
    Stop,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.common.watching import ConfigWatch, News
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.acting import Acting
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import NodepoolConfig, Provider
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    ConfigError,
    StoreError,
    TreeExchanged,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lines import Trouble
from ansible_collections.stackci.nodepool.plugins.module_utils.model.patience import Patience

SETTLED = "settled"
DEADLINE = "deadline"
DONE = "done"
LONGEST_WAIT = 5.0
"""Seconds between two passes when nothing happens: ages are looked at no finer than this."""
SHORTEST_PASS = 0.02
"""What happens within this time is dealt with in one pass."""
AWAY_LOOK = 0.5
"""Seconds between two looks at a ZooKeeper that is away."""
MOST_MISHAPS = 3
"""Passes in a row that ZooKeeper may spoil although it is there."""
STORE_GRACE = 30.0
"""Seconds for which ZooKeeper may be away beyond the session time-out before the cycle gives up."""

ClientFactory = Callable[[Provider], CloudClient]


@dataclass(frozen=True)
class LauncherOptions:
    """What a cycle is asked to do.

    :param duration: seconds to stay at most.
    :param until: ``settled`` to end as soon as there is nothing more to do, ``deadline`` to stay.
    :param providers: act only for these; None for all.
    :param api_timeout: seconds for which a cloud's API may say nothing before a call is given up.
    :param told: hears of each call of a cloud's services.
    :param state_dir: where cycles on this host leave word for each other; None: they do not.
    """

    config: str
    secure_config: str | None = None
    strict_config: bool = False
    clouds_config: str | None = None
    duration: float = 300.0
    until: str = SETTLED
    providers: tuple[str, ...] | None = None
    state_dir: str | None = None
    api_timeout: float = Patience().silence
    told: Callable[[ApiCall], None] | None = None

    @property
    def patience(self) -> Patience:
        """How long an API is waited for."""
        return Patience(self.api_timeout)

    def load(self) -> NodepoolConfig:
        """The configuration, with the chosen providers checked.

        :raises ConfigError: with all problems.
        """
        config = self.reload()
        unknown = [name for name in self.providers or () if name not in config.providers]
        if unknown:
            known = ", ".join(config.providers) or "none"
            raise ConfigError(
                [f"providers: {name!r} is not a provider of {config.path}; it has {known}" for name in unknown]
            )
        return config

    def reload(self) -> NodepoolConfig:
        """The configuration as it is now; chosen providers may have left it.

        :raises ConfigError: with all problems.
        """
        return load_config(self.config, self.secure_config, strict=self.strict_config)

    def stamps(self) -> dict[str, Stamp]:
        """What tells whether nodepool.yaml or secure.conf were written."""
        return file_stamps([self.config, *([self.secure_config] if self.secure_config else [])])

    def cloud_stamps(self) -> dict[str, Stamp]:
        """What tells whether clouds.yaml was written."""
        return file_stamps(clouds_files(self.clouds_config))

    def chosen(self, config: NodepoolConfig) -> list[str]:
        """Names of the providers to act for."""
        return [name for name in config.providers if self.providers is None or name in self.providers]

    def client(self, provider: Provider) -> CloudClient:
        """The client of a provider."""
        patience = self.patience
        return CloudClient(
            provider,
            clouds_config=self.clouds_config,
            connect_timeout=patience.connect,
            read_timeout=patience.silence,
            total_timeout=patience.call,
            told=self.told,
        )


@dataclass
class Outcome:
    """How a cycle ended."""

    ended: str
    acted_for: set[str] = field(default_factory=set)
    seconds: float = 0.0


def run_launcher(
    options: LauncherOptions,
    *,
    progress: Callable[[str], None] = lambda line: None,
    done: Callable[[Store], bool] | None = None,
    stop: Stop | None = None,
    clock: Callable[[], float] | None = None,
) -> dict[str, Any]:
    """Run one cycle and return the module's result.

    :param progress: takes lines for people.
    :param done: looked at in each pass; True ends the cycle (whoever waits has what it waited for).
    :param stop: may ask the cycle to end early.
    :raises NodepoolError: for a configuration that cannot be used and a ZooKeeper that cannot be reached.
    """
    watch = ConfigWatch(options, progress)
    config = options.load()
    with opened(config.zookeeper, options.state_dir, progress) as (store, sink):
        context = Context(
            store, config, Inbox(clock or SteadyClock()), Account(say=progress), patience=options.patience
        )
        # Clients are made, and made anew, by the options, all within the cycle: they find the sink open.
        options = replace(options, told=calls_to(sink))
        return LauncherCycle(options, context, done, stop, watch, sink if sink.wanted else None).run()


class LauncherCycle:
    """One stay of the launcher. Everything in it happens in the thread that calls :meth:`run`."""

    def __init__(
        self,
        options: LauncherOptions,
        context: Context,
        done: Callable[[Store], bool] | None = None,
        stop: Stop | None = None,
        watch: ConfigWatch | None = None,
        sink: Sink | None = None,
    ) -> None:
        self._options = options
        self._context = context
        self._done = done
        self._stop = stop or Stop()
        self._mishaps = 0
        self._watch = watch or ConfigWatch(options, context.account.say)
        self._watch.known = context.config
        self._news = News()
        self._acting = Acting(context, options.chosen, options.client)
        self._metrics = Metrics(context, sink) if sink is not None else None
        self._generation = context.store.generation

    def run(self) -> dict[str, Any]:
        """Work until the end; locks and registrations are given back whatever happens."""
        context = self._context
        began = context.now()
        context.store.on_change(lambda path: context.inbox.nudge())
        context.store.fence(self._generation)
        self._stop.tell(context.inbox.nudge)
        try:
            ended = self._loop(began + self._options.duration)
        finally:
            self._acting.close()
            context.store.fence(None)
            if self._metrics is not None:
                self._metrics.close()
        return self._result(Outcome(ended, set(self._acting.acted_for), context.now() - began))

    def _loop(self, deadline: float) -> str:
        context = self._context
        away_since: float | None = None
        while True:
            now = context.now()
            self._beat()
            if self._stop.reason is not None:
                return self._stop.reason
            if now >= deadline:
                return DEADLINE
            if context.store.state != "connected":
                away_since = away_since or now
                self._give_up_on_store(now - away_since)
                # Answers stay where they are: what they lead to could not be written.
                context.inbox.pause(min(AWAY_LOOK, deadline - now))
                continue
            away_since = None
            try:
                ended = self._turn(now, deadline)
            except TreeExchanged:
                self._acting.abandon()
                raise
            except StoreError as error:
                self._recover(error)
                continue
            self._mishaps = 0
            if ended is not None:
                return ended

    def _turn(self, now: float, deadline: float) -> str | None:
        """A pass, and the wait for the next; how the cycle ends, or None."""
        due = self._pass(now)
        if self._done is not None and self._done(self._context.store):
            return DONE
        if self._options.until == SETTLED and self._acting.settled:
            return SETTLED
        if self._stop.reason is None:
            self._wait(now, min(due, LONGEST_WAIT, deadline - now))
        return None

    def _recover(self, error: StoreError) -> None:
        """A pass was left in the middle: nobody knows what is half done, so it is dropped and looked at afresh.

        :raises StoreError: ZooKeeper is there, and this has happened too often in a row.
        """
        store = self._context.store
        if store.state == "connected" and store.generation == self._generation:
            self._mishaps += 1
            if self._mishaps > MOST_MISHAPS:
                raise error
            self._context.account.say(Trouble(f"starting afresh: {error}"))
        self._acting.lose()

    def _pass(self, now: float) -> float:
        store = self._context.store
        if store.generation != self._generation:
            # Whatever was locked in the old session is gone; start from a fresh look at everything.
            self._generation = store.generation
            store.fence(self._generation)
            self._acting.lose()
        if self._look(now):
            self._acting.reload(self._news)
            self._news = News()
        due = self._acting.work(now)
        for line in store.odd_documents():
            self._context.account.say(line)
        if self._metrics is not None:
            self._metrics.step(now, leads=self._acting.leads)
        return due

    def _look(self, now: float) -> bool:
        """Look at the configuration's files; True while there is news that was not taken yet."""
        news = self._watch.look(now)
        if news is not None:
            self._news = news.after(self._news)
        return self._news != News()

    def _wait(self, began: float, seconds: float) -> None:
        inbox = self._context.inbox
        if self._is_woken(began + seconds):
            left = SHORTEST_PASS - (inbox.clock() - began)
            while left > 0 and inbox.take(left):
                left = SHORTEST_PASS - (inbox.clock() - began)

    def _is_woken(self, until: float) -> bool:
        """Wait for something to happen; the configuration's files are looked at meanwhile, which costs no pass."""
        inbox = self._context.inbox
        while True:
            now = inbox.clock()
            self._beat()
            if now >= until or self._look(now):
                return False
            if inbox.take(min(until - now, self._watch.due(now))):
                return True

    def _beat(self) -> None:
        """Show that this thread goes on."""
        if self._context.actors:
            self._stop.beat(SERVING)
        else:
            self._stop.beat(STANDING_BY if self._acting.warm else STARTING)

    def _give_up_on_store(self, seconds: float) -> None:
        bound = self._context.config.zookeeper.timeout + STORE_GRACE
        if seconds > bound:
            hosts = ", ".join(f"{server.host}:{server.port}" for server in self._context.config.zookeeper.servers)
            raise StoreError(
                f"ZooKeeper ({hosts}) has been away for {seconds:.0f} s: the cycle ends, the next one goes on"
            )

    def _result(self, outcome: Outcome) -> dict[str, Any]:
        context = self._context
        chosen = self._options.chosen(context.config)
        return {
            "changed": context.account.changed,
            "ended": outcome.ended,
            "seconds": round(outcome.seconds, 3),
            "acted_for": sorted(outcome.acted_for),
            "stood_by_for": sorted(set(chosen) - outcome.acted_for - set(context.account.unusable)),
            "left_out": dict(context.account.unusable),
            **context.account.document(),
            "health": context.account.health,
            "freezes": context.account.freezes,
            "breakers": context.account.breakers,
            "sweeps": context.account.sweeps.counts,
            "stuck_deletions": context.account.stuck,
            "config_problems": [*self._watch.problems, *self._acting.roster.documents()],
            "api_calls": self._acting.calls(),
            "warnings": [*context.config.warnings, *context.account.strangers.values()],
        }
