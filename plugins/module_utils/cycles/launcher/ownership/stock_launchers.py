# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodepool's own launchers in the same tree: the providers that they work on, and what they offer.

A provider for which such a launcher is registered is its business: this collection does not act for it, even if the
configuration lists it. What a launcher of Nodepool offered is remembered for a while after it has ended, so that a
request that waits for it does not fail during a restart. Its launcher ids are new at each start: a pool is known again
by the names of its provider and itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Self

from ....clients.zookeeper.store import Store
from ....launching.snapshot import OtherPool
from ....model.component import PoolComponent, stock_providers
from ....model.own_tree import STOCK_POOLS
from ....model.stored import Stored

LEFT = "left to the launcher of Nodepool on {0}, which has registered a pool of it"
REMEMBERED = 3600.0
"""Seconds for which requests wait for a pool of Nodepool's launchers that is not registered any more."""
WRITE_EVERY = 60.0
"""Seconds between two writes of what is registered while that does not change."""


@dataclass(frozen=True)
class StockPool(Stored):
    """A pool that a launcher of Nodepool has registered, as stored. *id*: its latest one. *last_seen*: UNIX time."""

    id: str
    provider_name: str
    name: str
    supported_labels: list[str] = field(default_factory=list)
    last_seen: float = 0.0


class StockLaunchers:
    """The view of Nodepool's launchers. Used by the cycle's own thread only."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pools: list[PoolComponent] = []
        self._wrote_at = float("-inf")
        self._seen: dict[str, tuple[Any, ...]] = {}

    @classmethod
    def of(cls, store: Store) -> Self:
        """Return the view of this moment."""
        made = cls(store)
        made.look()
        return made

    def look(self) -> None:
        """Take in what is registered now; called once per pass."""
        self._pools = [pool for pool in self._store.components.pools() if not pool.is_ours]

    @property
    def are_there(self) -> bool:
        """True when one is registered, or was lately."""
        return bool(self._pools or self._store.own.children(STOCK_POOLS))

    def providers(self) -> dict[str, str]:
        """Return the providers that they work on, each with the host name of its launcher."""
        return stock_providers(self._pools)

    def remember(self, now: float) -> None:
        """Store what is registered, and forget what has not been for long. Writes only what has changed."""
        pools = {_key(pool): pool for pool in self._pools}
        seen = {key: (pool.id, *sorted(pool.supported_labels)) for key, pool in pools.items()}
        if seen == self._seen and now - self._wrote_at < WRITE_EVERY:
            return
        own = self._store.own
        for key, pool in pools.items():
            known = self._known(key)
            if seen[key] != self._seen.get(key) or known is None or abs(now - known.last_seen) >= WRITE_EVERY:
                names = pool.provider_name or "", pool.name or ""
                own.put(f"{STOCK_POOLS}/{key}", StockPool(pool.id, *names, pool.supported_labels, now).document())
        for key in set(own.children(STOCK_POOLS)) - pools.keys():
            known = self._known(key)
            if known is None or abs(now - known.last_seen) > REMEMBERED:
                own.delete(f"{STOCK_POOLS}/{key}")
        self._wrote_at, self._seen = now, seen

    def absent(self, served: Collection[str], now: float, registered: Collection[PoolComponent]) -> list[OtherPool]:
        """Return the pools that were registered lately, but are not now.

        :param served: providers that another launcher has taken over; their former pools are left out.
        :param registered: what the caller has read: a pool that has vanished since :meth:`look` is absent already.
        """
        remembered, found = self._store.own.children(STOCK_POOLS), list[OtherPool]()
        if not remembered:
            return found
        present = {_key(pool) for pool in registered}
        for key in remembered:
            known = self._known(key)
            if known is None or key in present or known.provider_name in served:
                continue
            if abs(now - known.last_seen) <= REMEMBERED:
                labels = frozenset(known.supported_labels)
                found.append(OtherPool(known.id, known.provider_name, known.name, labels, present=False))
        return found

    def _known(self, key: str) -> StockPool | None:
        return self._store.own.unchanging(f"{STOCK_POOLS}/{key}", StockPool.from_document)


def _key(pool: PoolComponent) -> str:
    """Return the name of the document: names of others may have characters that a path in ZooKeeper cannot have."""
    names = "\0".join((pool.provider_name or "", pool.name or ""))
    return hashlib.sha256(names.encode("utf-8", "surrogatepass")).hexdigest()[:16]
