# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes over providers, stands by for providers that another cycle acts for, and releases them or hands them over."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import partial

from ....launching.snapshot import OtherPool
from ....model.config.types import ImageSettings, NodepoolConfig, Provider
from ....model.lines import Line, Trouble
from ....model.node import Node
from ...frame.config_watch import News
from ..context.context import Context
from ..provider.actor import ProviderActor
from ..provider.health import CORE, trouble_line
from .acting_providers import ActingProviders, Chosen, Make
from .assignments import Assignments
from .inherited import Inherited
from .live_launchers import Here
from .provider_locks import ProviderLocks
from .registry import Registry
from .shared_turn import SharedTurn
from .stock_launchers import StockLaunchers
from .warming import Warming

NOWHERE = Here()
REMEMBER_EVERY = 60.0
"""Seconds between two writes of the facts learned about a provider; they help the next cycle if this one is killed."""


class Takeover:
    """Keeps ``context.actors``, the providers that this cycle acts for, and their registrations up to date.

    :ivar acted_for: the providers that this cycle has acted for at any time.
    :ivar assignments: which of them it may take and must hand over.
    :ivar turn: the right to add to what all launchers share.
    :ivar ends_at: the deadline of the cycle.
    :ivar stock: Nodepool's launchers in the same tree.
    :ivar inherited: the ready nodes that existed when a provider was taken over.
    :param chosen: returns the names of the providers of a configuration that this cycle must act for.
    :param registers: False to not offer the pools to requestors and other launchers.
    :param here: the launcher that this cycle is a part of.
    """

    def __init__(
        self, context: Context, chosen: Chosen, client: Make, *, registers: bool = True, here: Here = NOWHERE
    ) -> None:
        self._context = context
        self._registers = registers
        self._locks = ProviderLocks(context.store)
        self.turn = SharedTurn(context.store)
        self._registry = Registry(context.store, context.config, context.site)
        origin = self._registry.origin
        stock = self.stock = StockLaunchers(context.store)
        self.assignments = Assignments(context.store, here, context.account.say, stock, shares=registers)
        self._acting_providers = ActingProviders(
            context,
            self._locks,
            chosen,
            client,
            origin,
            here.host,
            stock,
            stays=here.stays,
            wanted_elsewhere=self.assignments.wanted_elsewhere,
        )
        self._changes = self._acting_providers.changes
        self._warming = Warming(self._images_of)
        self._remarked: set[tuple[str, str]] = set()
        self._troubled: dict[str, dict[str, str]] = {}
        """Provider → what is told to be in trouble there, with the text."""
        self._remembered_at = context.now()
        self.inherited = Inherited(context)
        self.acted_for: set[str] = set()
        self.ends_at = float("inf")

    # -- each pass -----------------------------------------------------------------------------------------------

    def follow_drains(self, nodes: Collection[Node]) -> bool:
        """Begin to drain providers, and end finished drains.

        :param nodes: all known nodes.
        :return: True if a provider of this cycle now belongs to another launcher; the caller must drop all work in
            progress.
        """
        self.stock.look()
        return self._acting_providers.follow_drains(nodes)

    def step(self, nodes: Collection[Node], now: float) -> None:
        """Take over free providers, prepare to take over the others, and check the health of the acting ones.

        :param nodes: all known nodes.
        """
        wants, ready = self._acting_providers.clients.keys(), self._warming.warm(now)
        self.assignments.follow(wants, now, ready=ready, ends_at=self.ends_at)
        self._gain(nodes, now)
        self._warm_up(now)
        self.assignments.choose_leaving(self._context.actors, now)
        self._context.leaving = self.assignments.leaving
        for actor in self._context.actors.values():
            actor.check(now)
            actor.health.follow(now)
            actor.probes.step(now)
            self._tell_health(actor, now)
            self._tell_remarks(actor)
            actor.view.settle(now)

    @property
    def leads(self) -> bool:
        """True when this cycle reports for the whole tree and sweeps it; only one of the acting hosts does."""
        return bool(self._context.actors) and self.assignments.is_first

    @property
    def is_idle(self) -> bool:
        """True when this cycle acts for no provider although it wants to act for some."""
        return not self._context.actors and bool(self._acting_providers.settings)

    @property
    def warm(self) -> bool:
        """True when this cycle could take over every provider without delay."""
        return self._warming.warm(self._context.now())

    def others(self, now: float) -> list[OtherPool]:
        """Return the pools that this cycle does not act for."""
        return self._registry.others(self._context.pool_ids.values(), now, self.stock)

    def set_paused(self, paused: set[str]) -> None:
        """Publish which of our pools are at their limit."""
        self._registry.set_paused(paused)

    def _gain(self, nodes: Collection[Node], now: float) -> None:
        context = self._context
        names = [name for name in self._acting_providers.clients if self.assignments.may_take(name, now)]
        gained = self._locks.gain(names)
        for name in gained:
            provider, client = self._acting_providers.begin(name)
            actor = self._warming.hand_over(name, provider, client) or context.actor(provider, client)
            context.learn(actor)
            context.actors[name] = actor
            context.pool_ids.update(self._registry.ids(provider))
            self._acting_providers.remember(name, actor.learned())
            self.acted_for.add(name)
            self.assignments.acts(name, now)
            self.inherited.gain(actor, nodes, now)
        if self._changes != self._acting_providers.changes:
            self._changes = self._acting_providers.changes
            self._follow(now)
        for actor in context.actors.values() if self._registers else ():
            self._registry.keep_registered(actor.provider, now)
        for name in gained:
            context.account.say(Line(f"provider {name}: acting", provider=name))

    def _follow(self, now: float) -> None:
        """Update ids and registrations of pools after a change of providers or pools."""
        context = self._context
        context.pool_ids.clear()
        for actor in context.actors.values():
            context.pool_ids.update(self._registry.ids(actor.provider))
        self._registry.restrict(set(context.pool_ids.values()), now)

    def _warm_up(self, now: float) -> None:
        settings, clients = self._acting_providers.settings, self._acting_providers.clients
        names = [name for name in clients if name not in self._context.actors and name in settings]
        self.assignments.tell(names)
        if self._registers:
            self._registry.keep_lasting(self.stock, now)
        self._warming.follow({name: partial(self._context.actor, settings[name], clients[name]) for name in names}, now)

    def _images_of(self, provider: Provider) -> list[ImageSettings]:
        labels = [label for pool in provider.pools.values() for label in pool.labels.values()]
        return [self._context.image_settings(provider, label) for label in labels]

    def _tell_health(self, actor: ProviderActor, now: float) -> None:
        """Report once when a service, or a fact, is in trouble, and once when that is over."""
        name, before = actor.provider.name, self._troubled.get(actor.provider.name, {})
        told = {part: text for part, (text, _since) in actor.health.troubles(now).items()}
        self._troubled[name] = told
        if told.keys() == before.keys():
            return
        self._remembered_at = float("-inf")
        for part in told.keys() - before.keys():
            if not _is_among(told[part], before.values()):
                self._context.account.say(Trouble(trouble_line(name, part, told[part]), provider=name))
        for part in before.keys() - told.keys():
            if not _is_among(before[part], told.values()):
                what = "its API" if part in CORE else part
                self._context.account.say(Line(f"provider {name}: {what} works again", provider=name))

    def _tell_remarks(self, actor: ProviderActor) -> None:
        """Report once per cycle what is odd about the cloud although its calls succeed."""
        name = actor.provider.name
        for subject, text in actor.client.remarks().items():
            if (name, subject) not in self._remarked:
                self._remarked.add((name, subject))
                self._context.account.say(Trouble(f"provider {name}: {text}", provider=name))

    # -- the configuration changes -------------------------------------------------------------------------------

    def reload(self, news: News) -> None:
        """Apply a new configuration; the next pass works with it."""
        context = self._context
        if news.config is not None:
            context.config = _with_zookeeper(context, news.config)
            self._registry.reload(context.config)
        self._acting_providers.reload(clouds=news.clouds)

    # -- the end -------------------------------------------------------------------------------------------------

    def remember(self, now: float, *, every: float = REMEMBER_EVERY) -> None:
        """Store the facts learned about the providers for the next cycle, if the last write is *every* seconds ago."""
        if self._context.store.state != "connected" or now - self._remembered_at < every:
            return
        self._remembered_at = now
        for name, actor in self._context.actors.items():
            if self.assignments.stands_by(name):
                actor.experience.note_standby(now)
            self._acting_providers.remember(name, actor.learned())

    def hand_over(self, now: float) -> None:
        """Stop acting for the provider that is about to leave; the work on it must be dropped before."""
        name = self.assignments.leaving
        actor = self._context.actors.pop(name)
        self._acting_providers.remember(name, actor.learned())
        for key in self._registry.ids(actor.provider):
            self._context.pool_ids.pop(key, None)
        self._registry.withdraw_provider(actor.provider)
        self.inherited.forget(name)
        self._troubled.pop(name, None)
        actor.dismiss()
        self._locks.release(name)
        self.assignments.left(now)
        self._context.leaving = ""

    def lose(self) -> None:
        """Stop acting for all providers."""
        self.inherited.drop()
        for actor in self._context.actors.values():
            actor.dismiss()
        self._context.actors.clear()
        self._context.pool_ids.clear()
        self._warming.drop()
        self._registry.withdraw()
        self.turn.lose()
        self._locks.lose()

    def close(self) -> None:
        """Close all clients. :meth:`lose` must be called before."""
        self._acting_providers.close()

    # -- for the result ------------------------------------------------------------------------------------------

    def calls(self) -> dict[str, dict[str, dict[str, int]]]:
        """Return the number of API calls by provider, kind and status."""
        return self._acting_providers.calls()

    def problems(self) -> list[str]:
        """Return the problems with the settings of providers."""
        return self._acting_providers.documents()


def _is_among(text: str, others: Iterable[str]) -> bool:
    """Return True if the same trouble is part of another one: a call that keeps failing is told of by its own name."""
    return any(text in other or other in text for other in others)


def _with_zookeeper(context: Context, config: NodepoolConfig) -> NodepoolConfig:
    """Return the new configuration with the ensemble that this cycle is connected to."""
    if config.zookeeper == context.config.zookeeper:
        return config
    text = "the connection to ZooKeeper (zookeeper-…) changed: the next cycle uses the new settings, this one does not"
    if text not in context.config.warnings:
        context.account.say(f"configuration: {text}")
    return replace(config, zookeeper=context.config.zookeeper, warnings=(*config.warnings, text))
