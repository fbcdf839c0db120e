# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Registrations: our own, the pools of other launchers, and the pools that are known but not registered now."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Collection, Container, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ....clients.zookeeper.components import Registration, lasting_name
from ....clients.zookeeper.store import Store
from ....launching.snapshot import OtherPool
from ....model.component import (
    DEFAULT_POOL_PRIORITY,
    OUR_POOLS,
    ComponentKind,
    ComponentState,
)
from ....model.config.types import NodepoolConfig, Pool, Provider
from ....model.own_tree import KNOWN_POOLS
from ....model.resources import INSTANCES
from ....model.stored import Stored
from .stock_launchers import StockLaunchers

KNOWN_FOR = 86400.0
"""Seconds after which a known pool that is not registered any more is forgotten."""
REGISTER_EVERY = 600.0
VERSION = "stackci.nodepool"


@lru_cache(maxsize=1024)
def pool_id(site: str, provider: str, pool: str) -> str:
    """Return the stable launcher id of a pool: it is the same in every cycle and on every host of a tree."""
    digest = hashlib.sha256("\0".join((site, provider, pool)).encode()).hexdigest()[:16]
    return f"{OUR_POOLS}{provider}-{pool}-{digest}"


@dataclass(frozen=True)
class KnownPool(Stored):
    """A pool that a launcher has registered, as stored in ``pools/<pool id>``. *last_seen*: UNIX time."""

    provider_name: str
    name: str
    supported_labels: list[str] = field(default_factory=list)
    priority: int = DEFAULT_POOL_PRIORITY
    config: str | None = None
    last_seen: float = 0.0


class Registry:
    """Registrations of the providers that this cycle acts for, and the view of all others."""

    def __init__(self, store: Store, config: NodepoolConfig, site: str) -> None:
        self._store = store
        self._config = config
        self._site = site
        self._pools: dict[str, Registration] = {}
        self._launcher: Registration | None = None
        self._hostname = socket.gethostname()
        self._registered_at: dict[str, float] = {}

    def reload(self, config: NodepoolConfig) -> None:
        """Use a new configuration."""
        self._config = config

    def ids(self, provider: Provider) -> dict[tuple[str, str], str]:
        """Return (provider, pool) → id for all pools of a provider."""
        return {(provider.name, name): pool_id(self._site, provider.name, name) for name in provider.pools}

    def keep_registered(self, provider: Provider, now: float) -> None:
        """Register the provider's pools if that is due; called once per pass."""
        if now - self._registered_at.get(provider.name, 0.0) >= REGISTER_EVERY:
            self.register(provider, now)
            self.forget_past(now)
            self._registered_at[provider.name] = now

    def register(self, provider: Provider, now: float) -> None:
        """Register the provider's pools: in Nodepool's registry for others, in our own subtree for later cycles."""
        if self._launcher is None:
            self._launcher = self._store.components.register(
                ComponentKind.LAUNCHER, self._hostname, {"state": ComponentState.RUNNING, "version": VERSION}
            )
        for (_unused, name), key in self.ids(provider).items():
            pool = provider.pools[name]
            fields = _fields(key, provider, pool)
            if key in self._pools:
                self._pools[key].update(**{name: value for name, value in fields.items() if name != "paused"})
            else:
                self._pools[key] = self._store.components.register(ComponentKind.POOL, self._hostname, fields)
            self._store.own.put(f"{KNOWN_POOLS}/{key}", {**fields, "config": self.origin, "last_seen": now})

    def keep_lasting(self, stock: StockLaunchers, now: float) -> None:
        """Register our known pools lastingly while launchers of Nodepool share the tree, and only then.

        These fail a request as soon as all registered pools have declined it. So ours must not be missing while no
        cycle runs. A lasting registration is paused, so that nobody waits for it to go first.

        :param stock: Nodepool's launchers, which have been looked at.
        """
        present, wanted = self._store.components.lasting_pools(), dict[str, KnownPool]()
        if stock.are_there:
            left = stock.providers()
            for key in self._store.own.children(KNOWN_POOLS):
                known = self._known(key)
                if known is not None and known.provider_name not in left and not self._is_past(known, now):
                    wanted[key] = known
        for key, known in wanted.items():
            fields = {name: value for name, value in known.document().items() if name not in ("config", "last_seen")}
            self._store.components.put_lasting_pool(key, self._hostname, {**fields, "id": key, "version": VERSION})
        for name in present - {lasting_name(key) for key in wanted}:
            self._store.components.drop_lasting_pool(name)

    def set_paused(self, paused: set[str]) -> None:
        """Publish which of our pools are at their limit: others then serve requests that ours would serve first."""
        for key, registration in self._pools.items():
            registration.update(paused=key in paused)

    def restrict(self, keep: Collection[str], now: float) -> None:
        """Remove the registrations of all pools except *keep*, and forget pools that left the configuration."""
        for key in [key for key in self._pools if key not in keep]:
            self._pools.pop(key).unregister()
        self.forget_past(now)
        self._registered_at.clear()

    def withdraw_provider(self, provider: Provider) -> None:
        """Remove the registrations of the provider's pools, which stay known."""
        for key in self.ids(provider).values():
            registration = self._pools.pop(key, None)
            if registration is not None:
                registration.unregister()
        self._registered_at.pop(provider.name, None)

    def withdraw(self) -> None:
        """Remove all registrations."""
        for registration in self._pools.values():
            registration.unregister()
        self._pools.clear()
        self._registered_at.clear()
        if self._launcher is not None:
            self._launcher.unregister()
            self._launcher = None

    def others(self, ours: Iterable[str], now: float, stock: StockLaunchers) -> list[OtherPool]:
        """Return every pool that is registered, known or configured, except *ours*.

        :param stock: Nodepool's launchers, which have been looked at.
        """
        mine = set(ours)
        found: dict[str, OtherPool] = {}
        registered = self._store.components.pools()
        for pool in registered:
            if pool.id not in mine:
                found[pool.id] = OtherPool(
                    id=pool.id,
                    provider=pool.provider_name or "?",
                    name=pool.name or "?",
                    labels=frozenset(pool.supported_labels),
                    priority=pool.priority,
                    paused=pool.paused,
                )
        for key in self._store.own.children(KNOWN_POOLS):
            known = self._known(key)
            if key not in mine and key not in found and known is not None and not self._is_past(known, now):
                found[key] = OtherPool(
                    id=key,
                    provider=known.provider_name,
                    name=known.name,
                    labels=frozenset(known.supported_labels),
                    priority=known.priority,
                    present=False,
                )
        for unserved in self._unserved(mine | found.keys()):
            found[unserved.id] = unserved
        left = stock.providers()
        found = {key: pool for key, pool in found.items() if pool.present or pool.provider not in left}
        served = {*self._config.providers, *(pool.provider for key, pool in found.items() if key.startswith(OUR_POOLS))}
        return [*found.values(), *stock.absent(served, now, registered)]

    def _unserved(self, known: Container[str]) -> list[OtherPool]:
        """Return the pools of the configuration, except *known*, as they count while they are not registered."""
        return [
            OtherPool(
                id=pool_id(self._site, provider.name, pool.name),
                provider=provider.name,
                name=pool.name,
                labels=frozenset(pool.labels),
                priority=pool.priority,
                present=False,
            )
            for provider in self._config.providers.values()
            for pool in provider.pools.values()
            if pool.limits[INSTANCES] > 0 and pool_id(self._site, provider.name, pool.name) not in known
        ]

    def forget_past(self, now: float) -> None:
        """Remove known pools that will not be served again."""
        for key in self._store.own.children(KNOWN_POOLS):
            known = self._known(key)
            if known is not None and self._is_past(known, now):
                self._store.own.delete(f"{KNOWN_POOLS}/{key}")

    @property
    def origin(self) -> str:
        """Host and path of the configuration."""
        return f"{self._hostname}:{self._config.path}"

    def _known(self, key: str) -> KnownPool | None:
        return self._store.own.unchanging(f"{KNOWN_POOLS}/{key}", KnownPool.from_document)

    def _is_past(self, known: KnownPool, now: float) -> bool:
        """Return True for a pool that was not seen for long, or that was removed from this configuration."""
        if abs(now - known.last_seen) > KNOWN_FOR:  # also a time far in the future, stored by a clock that was ahead
            return True
        provider = self._config.providers.get(known.provider_name)
        listed = provider is not None and known.name in provider.pools
        return known.config == self.origin and not listed


def _fields(key: str, provider: Provider, pool: Pool) -> dict[str, Any]:
    return {
        "id": key,
        "name": pool.name,
        "provider_name": provider.name,
        "supported_labels": sorted(pool.labels),
        "priority": pool.priority,
        "paused": False,
        "state": ComponentState.RUNNING,
        "version": VERSION,
    }
