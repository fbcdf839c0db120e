# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The providers that a cycle acts for, with their settings and clients, also when the configuration changes.

A provider that leaves the configuration while it has nodes is *drained*: it keeps its connection, offers no pools any
more, and is forgotten when its last node is gone. A provider whose cloud or region changes is drained, too: its nodes
stay where they were launched, and the new cloud would answer that they do not exist. The former connection is stored in
``drain/<provider>`` (no secrets: those are read from clouds.yaml).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ....clients.openstack.call_counters import CallCounters
from ....clients.openstack.cloud_client import CloudClient
from ....clients.openstack.clouds import Place
from ....model.config.types import NodepoolConfig, Provider
from ....model.errors import CloudAuthError
from ....model.lines import Line, Trouble, amount, of_provider
from ....model.node import Node
from ....model.own_tree import DRAIN, PROVIDERS
from ....model.stored import BadDocument, kind_of
from ..context.context import Context, clients_of
from .live_launchers import BRIEF, HOLDER
from .provider_locks import ProviderLocks
from .stock_launchers import StockLaunchers

CONNECTION = ("provider", "cloud", "region", "place", "config")
"""The fields of a provider's document that describe its connection."""

Chosen = Callable[[NodepoolConfig], list[str]]
Make = Callable[[Provider], CloudClient]


class ActingProviders:
    """The providers that this cycle wants to act for, by name.

    :ivar settings: the settings with which the cycle acts for each provider; a drained provider has no pools.
    :ivar clients: the client of each provider.
    :ivar problems: provider → why its present settings cannot be used.
    :ivar changes: a number that rises with each change of the providers, their settings or their clients.
    :param chosen: returns the names of the providers of a configuration that this cycle must act for.
    :param origin: host and path of the configuration.
    :param host: the host of this cycle, by which the launchers of the tree know each other.
    :param stock: Nodepool's launchers: a provider on which one of them works is not drained.
    :param stays: False for a cycle that ends when a wish is fulfilled.
    :param wanted_elsewhere: tells whether a launcher of another host has a provider in its configuration.
    :raises CloudAuthError: no provider can have a client.
    """

    def __init__(
        self,
        context: Context,
        ownership: ProviderLocks,
        chosen: Chosen,
        make: Make,
        origin: str,
        host: str = "",
        stock: StockLaunchers | None = None,
        *,
        stays: bool = True,
        wanted_elsewhere: Callable[[str], bool] = lambda name: False,
    ) -> None:
        self._context = context
        self._wanted_elsewhere = wanted_elsewhere
        self._ownership = ownership
        self._chosen = chosen
        self._make = make
        self._origin = origin
        self._host = host
        self._stays = stays
        self._stock = stock
        self._configured = self._read_configured()
        self.clients = clients_of(context, self._configured, make)
        self.settings = {name: self._configured[name] for name in self.clients}
        self.problems: dict[str, str] = dict(context.account.unusable)
        self.problems.update({name: text for name, one in self.clients.items() if (text := one.login_problem)})
        for name, problem in self.problems.items():
            if name in self.clients:
                context.account.say(Trouble(of_provider(name, problem), provider=name))
        self.changes = 0
        self._draining: set[str] = set()
        self._unreachable: set[str] = set()
        self._homes: dict[tuple[Any, ...], bool] = {}
        self._spent: dict[str, list[CallCounters]] = {}
        self._looked = False

    def close(self) -> None:
        """Close all clients."""
        for client in self.clients.values():
            client.close()

    def calls(self) -> dict[str, dict[str, dict[str, int]]]:
        """Return the number of API calls by provider, kind and status, including those of former clients."""
        counters = {name: [*self._spent.get(name, []), client.counters] for name, client in self.clients.items()}
        return {name: _added_up(several) for name, several in sorted({**self._spent, **counters}.items())}

    def documents(self) -> list[str]:
        """Return the problems with the settings of providers, for the module's result."""
        return [of_provider(name, problem) for name, problem in sorted(self.problems.items())]

    # -- a provider is taken -------------------------------------------------------------------------------------

    def begin(self, name: str) -> tuple[Provider, CloudClient]:
        """Return the settings and the client to act with for a provider that this cycle has just locked.

        If its nodes are in another cloud or region, it was moved while no cycle ran: it is drained first.
        """
        known = self._context.store.own.understood(f"{PROVIDERS}/{name}", checked_connection) or {}
        provider = self.settings[name]
        moved = name not in self._draining and "cloud" in known and not self._is_home(name, provider, known)
        if moved and self._remaining(name):
            former = replace(provider, cloud=known["cloud"], region_name=known.get("region"))
            self._take_over(name, self._store_drain(former, Place.from_document(known.get("place"))))
        return self.settings[name], self.clients[name]

    def remember(self, name: str, learned: Mapping[str, Any]) -> None:
        """Store for the next cycle what this one learned of a provider, and how the provider is reached."""
        provider, client = self.settings.get(name), self.clients.get(name)
        if provider is None or client is None:
            return
        path = f"{PROVIDERS}/{name}"
        document = {**learned, **self._connection(provider, client.place), HOLDER: self._host}
        before = self._context.store.own.get(path)
        if not self._stays and (before is None or before.get(BRIEF) is True):
            document[BRIEF] = True  # no launcher has ever stayed here, so nobody misses one
        if before != document:
            self._context.store.own.put(path, document)

    # -- the configuration changes -------------------------------------------------------------------------------

    def reload(self, *, clouds: bool) -> None:
        """Apply the new configuration of the context; *clouds*: clouds.yaml has changed."""
        before = dict(self.problems)
        self.problems = {}
        self._unreachable.clear()
        self._homes.clear()
        self._configured = self._read_configured()
        for name in [name for name in self.settings if name not in self._draining and name not in self._configured]:
            self._remove(name)
        for name, provider in self._configured.items():
            if name not in self._draining:
                self._renew(name, provider, clouds=clouds)
        for name in self._draining if clouds else ():
            self._log_in_again(name)
        account = self._context.account
        for name in [name for name in account.unusable if name not in self.problems or name in self.clients]:
            del account.unusable[name]
        for name, problem in self.problems.items():
            if problem != before.get(name):
                account.say(Trouble(of_provider(name, problem), provider=name))
        self.changes += 1

    def _renew(self, name: str, provider: Provider, *, clouds: bool) -> None:
        """Apply the new settings of a provider of the configuration."""
        former, client = self.settings.get(name), self.clients.get(name)
        if former is not None and client is not None and not clouds and _connects_like(former, provider):
            self._use(name, provider)
            return
        fresh, problem = None, ""
        try:
            fresh = self._make(provider)
            problem = fresh.login_problem
        except CloudAuthError as error:
            problem = str(error)
        if problem:
            self.problems[name] = problem
            if former is not None:
                if fresh is not None:
                    fresh.close()
                self._use(name, replace(provider, cloud=former.cloud, region_name=former.region_name, rate=former.rate))
                return
        if fresh is None:
            self._context.account.unusable[name] = problem
            return
        if former is None or client is None:
            self.settings[name], self.clients[name] = provider, fresh
            self._say(name, "added to the configuration")
            return
        if _address(former) != _address(provider) and not fresh.place.matches(client.place):
            fresh.close()
            self._move(name, former, client)
        elif fresh.fingerprint == client.fingerprint:
            fresh.close()
            self._use(name, provider)
        else:
            self._say(name, "connects with its new settings")
            self._use(name, provider, fresh)

    def _use(self, name: str, provider: Provider, fresh: CloudClient | None = None) -> None:
        self.settings[name] = provider
        if fresh is not None:
            self._retire_client(name)
            self.clients[name] = fresh
        actor = self._context.actors.get(name)
        if actor is not None:
            actor.renew(provider, fresh)

    def _remove(self, name: str) -> None:
        """Drain a provider that left the configuration, or forget it if it has no nodes."""
        left = self._remaining(name)
        if name in self._context.actors and left and not self._is_left_to_others(name):
            self._store_drain(self.settings[name], self.clients[name].place)
            self._set_draining(name, self.settings[name])
            self._say(
                name, f"no longer in the configuration; nodes that stay until they are deleted: {amount(left, 'node')}"
            )
        else:
            self._forget(name)
            self._say(name, "no longer in the configuration")

    def _move(self, name: str, former: Provider, client: CloudClient) -> None:
        """Drain a provider whose cloud or region has changed; if it has no nodes, use the new settings at once."""
        left = self._remaining(name)
        if name in self._context.actors and left:
            self._store_drain(former, client.place)
            self._set_draining(name, former)
            self._say(
                name,
                f"moves to another cloud when nothing is left in {former.cloud}, which still has"
                f" {amount(left, 'node')}",
            )
        else:
            self._forget(name)
            self._renew(name, self._configured[name], clouds=True)

    def _log_in_again(self, name: str) -> None:
        """Use the new credentials for a provider that is drained, if clouds.yaml still has any."""
        try:
            fresh = self._make(self.settings[name])
        except CloudAuthError:
            return
        client = self.clients[name]
        if fresh.fingerprint == client.fingerprint or not fresh.place.matches(client.place):
            fresh.close()
        else:
            self._use(name, self.settings[name], fresh)

    # -- draining ------------------------------------------------------------------------------------------------

    def follow_drains(self, nodes: Collection[Node]) -> bool:
        """Begin to drain providers, and end finished drains; called once per pass.

        :return: True if a provider of this cycle now belongs to another launcher; the caller must drop all work in
            progress.
        """
        own = self._context.store.own
        if not self._looked:
            self._looked = True
            self._find_left_behind(nodes)
        names = {*own.children(DRAIN), *self._draining}
        if not names:
            return False
        left = Counter(node.provider for node in nodes)
        abandoned = [name for name in sorted(names) if self._follow_drain(name, left[name])]
        return bool(abandoned)

    def _find_left_behind(self, nodes: Iterable[Node]) -> None:
        """Begin to drain providers that were removed from this configuration while no cycle ran."""
        own, config = self._context.store.own, self._context.config
        for name in sorted({node.provider for node in nodes if node.provider} - set(config.providers)):
            if self._is_left_to_others(name) or self._wanted_elsewhere(name):
                continue
            known = own.understood(f"{PROVIDERS}/{name}", checked_connection) or {}
            if known.get("config") == self._origin and "cloud" in known and own.get(f"{DRAIN}/{name}") is None:
                own.put(f"{DRAIN}/{name}", {key: known[key] for key in CONNECTION if key in known})

    def _follow_drain(self, name: str, left: int) -> bool:
        own = self._context.store.own
        document = own.understood(f"{DRAIN}/{name}", checked_connection)
        configured = self._configured.get(name)
        if configured is None and name in self._context.config.providers:
            return False
        over = left == 0 or self._is_left_to_others(name) or (configured is None and self._wanted_elsewhere(name))
        if document is not None and (over or self._is_back(name, configured, document)):
            own.delete(f"{DRAIN}/{name}")
            document = None
        if document is None:
            return name in self._draining and self._end_drain(name, left)
        if name not in self._draining and name not in self._unreachable:
            self._take_over(name, document)
        return False

    def _is_back(self, name: str, configured: Provider | None, document: dict[str, Any]) -> bool:
        return configured is not None and self._is_home(name, configured, document)

    def _is_home(self, name: str, provider: Provider, document: dict[str, Any]) -> bool:
        """Return True if the provider's settings lead to the cloud and region of its nodes, as far as it is known."""
        there = (document.get("cloud"), document.get("region"))
        if _address(provider) == there:
            return True
        key = (name, _address(provider), there)
        if key not in self._homes:
            self._homes[key] = self._leads_home(name, provider, Place.from_document(document.get("place")))
        return self._homes[key]

    def _leads_home(self, name: str, provider: Provider, place: Place) -> bool:
        client = self.clients.get(name) if name not in self._draining else None
        if client is not None and _address(self.settings[name]) == _address(provider):
            return client.place.matches(place)
        try:
            fresh = self._make(provider)
        except CloudAuthError:
            return False
        fresh.close()
        return fresh.place.matches(place)

    def _store_drain(self, provider: Provider, place: Place) -> dict[str, Any]:
        """Store for the next cycle that the provider is drained, and how it is reached."""
        document = {**self._connection(provider, place), "since": self._context.now()}
        self._context.store.own.put(f"{DRAIN}/{provider.name}", document)
        return document

    def _take_over(self, name: str, document: dict[str, Any]) -> None:
        """Drain a provider by the document that another cycle may have stored."""
        former = self._configured.get(name) or Provider(name, cloud="")
        former = replace(former, cloud=str(document.get("cloud")), region_name=document.get("region"))
        try:
            client = self._make(former)
        except CloudAuthError as error:
            self._cannot_drain(name, document, str(error))
            return
        if not client.place.matches(Place.from_document(document.get("place"))):
            client.close()
            where = f"cloud {former.cloud!r}, region {former.region_name or 'as in clouds.yaml'}"
            self._cannot_drain(name, document, f"{where} leads to a different project or cloud than its nodes are in")
            return
        if name in self._context.actors:
            self._forget(name)
        self._retire_client(name)
        self.clients[name] = client
        self.settings[name] = former
        self._set_draining(name, former)

    def _cannot_drain(self, name: str, document: dict[str, Any], text: str) -> None:
        problem = f"it has nodes left, which cannot be deleted: {text}"
        self._unreachable.add(name)
        # Report no problem for the provider of another launcher's configuration that this launcher cannot reach.
        if document.get("config") == self._origin or name in self._configured:
            self.problems[name] = problem
            self._say(name, problem)

    def _say(self, name: str, text: str) -> None:
        self._context.account.say(Line(f"provider {name}: {text}", provider=name))

    def _set_draining(self, name: str, provider: Provider) -> None:
        self._draining.add(name)
        self._use(name, replace(provider, pools={}))
        self.changes += 1

    def _end_drain(self, name: str, left: int) -> bool:
        self._draining.discard(name)
        self.changes += 1
        configured = self._configured.get(name)
        abandoned = configured is None and left > 0 and name in self._context.actors
        if left == 0:
            self._say(name, "nothing is left of it")
        if configured is None or left == 0:
            self._forget(name)
        if configured is not None:
            self._renew(name, configured, clouds=True)
        return abandoned

    def _is_left_to_others(self, name: str) -> bool:
        """Return True if a launcher of Nodepool works on the provider: its nodes stay as they are."""
        return self._stock is not None and name in self._stock.providers()

    # -- inside --------------------------------------------------------------------------------------------------

    def _read_configured(self) -> dict[str, Provider]:
        config = self._context.config
        return {name: config.providers[name] for name in self._chosen(config)}

    def _remaining(self, name: str) -> int:
        return sum(1 for node in self._context.store.nodes.list() if node.provider == name)

    def _connection(self, provider: Provider, place: Place) -> dict[str, Any]:
        return {
            "provider": provider.name,
            "cloud": provider.cloud,
            "region": provider.region_name,
            "place": place.document(),
            "config": self._origin,
        }

    def _forget(self, name: str) -> None:
        """Stop acting for the provider: close its client and release its lock."""
        actor = self._context.actors.pop(name, None)
        if actor is not None:
            actor.dismiss()
        self._ownership.release(name)
        self._retire_client(name)
        self.clients.pop(name, None)
        self.settings.pop(name, None)
        self.changes += 1

    def _retire_client(self, name: str) -> None:
        client = self.clients.get(name)
        if client is not None:
            self._spent.setdefault(name, []).append(client.counters)
            client.close()


def checked_connection(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored connection of a provider.

    :raises BadDocument: its cloud or region is not a text.
    """
    for key, kinds in (("cloud", (str,)), ("region", (str, type(None)))):
        if key in document and not isinstance(document[key], kinds):
            raise BadDocument(f"{key!r} is {kind_of(document[key])}, not a text")
    return dict(document)


def _address(provider: Provider) -> tuple[str, str | None]:
    return (provider.cloud, provider.region_name)


def _connects_like(one: Provider, two: Provider) -> bool:
    return _address(one) == _address(two) and one.rate == two.rate


def _added_up(counters: Iterable[CallCounters]) -> dict[str, dict[str, int]]:
    result: dict[str, Counter[str]] = {}
    for counter in counters:
        for kind, counts in counter.result().items():
            result.setdefault(kind, Counter()).update(counts)
    return {kind: dict(sorted(result[kind].items())) for kind in sorted(result)}
