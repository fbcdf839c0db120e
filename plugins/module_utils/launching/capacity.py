# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The head-room that is left in each pool, provider and tenant while a plan is made.

Everything that the plan promises or reserves for waiting requests is subtracted at once, so that nothing is promised
twice and no request overtakes an earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..model.resources import Limits, Resources
from .snapshot import PoolState, Snapshot


class Rooms:
    """The remaining head-room of a snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._providers = snapshot.providers
        self._neighbours: dict[str, list[str]] = {}
        for pool in snapshot.pools:
            self._neighbours.setdefault(pool.provider, []).append(pool.id)
        self._of_pool: dict[str, Limits] = {pool.id: pool.limits.less(pool.used) for pool in snapshot.pools}
        self._of_freeze: dict[str, Limits] = {
            pool.id: Limits({name: pool.frozen_room[name] for name in pool.frozen}) for pool in snapshot.pools
        }
        self._of_provider: dict[str, Limits] = {
            name: (provider.bounds or Limits()).less(provider.used + provider.others)
            for name, provider in snapshot.providers.items()
        }
        self._of_tenant: dict[str, Limits] = dict(snapshot.tenant_room)
        self._launching = {name: provider.launching for name, provider in snapshot.providers.items()}
        self._promised: dict[str, int] = {}
        self._builds_left = {name: provider.builds_left for name, provider in snapshot.providers.items()}
        self._queued = {pool.id: pool.queued for pool in snapshot.pools}
        self._admissible = {pool.id: pool.admissible for pool in snapshot.pools}
        self._both: dict[str, Limits] = {}
        self._reserved: set[str] = set()
        self._changes = dict.fromkeys(snapshot.providers, 0)
        self._charges: dict[str | None, int] = {}

    def stamp(self, pool: PoolState, tenant: str | None) -> tuple[int, int]:
        """Return a value that changes whenever the head-room of the pool's provider or of the tenant changes."""
        return self._changes[pool.provider], self._charges.get(tenant, 0)

    def in_pool(self, pool: PoolState) -> Limits:
        """Return what new nodes of the pool may use by the pool's maxima and, unless ignored, the provider's limits."""
        if pool.ignore_provider_quota:
            return self._of_pool[pool.id]
        if pool.id not in self._both:
            self._both[pool.id] = self._of_pool[pool.id].both(self._of_provider[pool.provider])
        return self._both[pool.id]

    def frozen(self, pool: PoolState) -> Limits:
        """Return what new nodes of the pool may use of the frozen resources, less what the plan has taken so far."""
        return self._of_freeze[pool.id]

    def of_tenant(self, tenant: str | None) -> Limits:
        """Return what a tenant may still use; unbounded for a tenant without limits."""
        return self._of_tenant.get(tenant or "", Limits())

    def launches_left(self, pool: PoolState) -> float:
        """Return how many more launches max-concurrency allows now."""
        provider = self._providers[pool.provider]
        return provider.max_concurrency - self._launching[pool.provider] - self._promised.get(pool.provider, 0)

    def launching(self, pool: PoolState) -> int:
        """Return how many launches of the provider are in flight, those of this plan included."""
        return self._launching[pool.provider]

    def may_queue(self, pool: PoolState, launches: int) -> bool:
        """True when the pool can begin this many launches soon. A larger set may begin when no other is queued."""
        return launches <= self._admissible[pool.id] or self._queued[pool.id] == 0

    def close_queue(self, pool: PoolState) -> None:
        """Allow no more launches in the pool: an earlier request waits to begin its own."""
        if self._admissible[pool.id] != 0 or self._queued[pool.id] == 0:
            self._admissible[pool.id] = 0
            self._queued[pool.id] += 1
            self._changes[pool.provider] += 1

    def may_build(self, pool: PoolState) -> bool:
        """True while the provider's cloud has fewer servers to build than it builds in parallel best.

        A set may be larger than the remaining number: its launches are begun one after the other.
        """
        return self._builds_left[pool.provider] > 0

    def close_builds(self, pool: PoolState) -> None:
        """Allow no more launches at the provider: an earlier request waits until the cloud has built others."""
        if self._builds_left[pool.provider] > 0:
            self._builds_left[pool.provider] = 0
            self._changes[pool.provider] += 1

    def reserve_launches(self, pool: PoolState, launches: int) -> None:
        """Reserve launches in all pools of the provider for an earlier request that waits for max-concurrency."""
        if launches > self._promised.get(pool.provider, 0):
            self._promised[pool.provider] = launches
            self._changes[pool.provider] += 1

    def admit(self, pool: PoolState, need: Resources, tenant: str | None, launches: int) -> None:
        """Subtract *need* (new nodes) and the launches of a request that is admitted."""
        self._deduct(pool, need)
        self._launching[pool.provider] += launches
        self._queued[pool.id] += launches
        self._admissible[pool.id] -= launches
        self._builds_left[pool.provider] -= launches
        self.charge_tenant(tenant, need)

    def charge_tenant(self, tenant: str | None, need: Resources) -> None:
        """Count *need* against the tenant; reused nodes count too."""
        if tenant in self._of_tenant:
            self._of_tenant[tenant] = self._of_tenant[tenant].less(need)
            self._charges[tenant] = self._charges.get(tenant, 0) + 1

    def reserve(self, pool: PoolState, need: Resources) -> None:
        """Keep room for a request that has to wait."""
        self._deduct(pool, need)
        self._reserved.add(pool.provider)

    def has_reservation(self, pool: PoolState) -> bool:
        """True when an earlier request waits for this pool or another of the same provider."""
        return pool.provider in self._reserved

    def missing(self, pool: PoolState) -> tuple[Resources, Resources]:
        """Return what the reservations lack: (in the pool's own maxima, in the provider's limits)."""
        in_provider = Limits() if pool.ignore_provider_quota else self._of_provider[pool.provider]
        return _below_zero(self._of_pool[pool.id].both(self._of_freeze[pool.id])), _below_zero(in_provider)

    def _deduct(self, pool: PoolState, need: Resources) -> None:
        for other in self._neighbours[pool.provider]:
            self._both.pop(other, None)
        self._changes[pool.provider] += 1
        self._of_pool[pool.id] = self._of_pool[pool.id].less(need)
        self._of_freeze[pool.id] = self._of_freeze[pool.id].less(need)
        self._of_provider[pool.provider] = self._of_provider[pool.provider].less(need)


def _below_zero(room: Limits) -> Resources:
    return Resources({name: -left for name, left in room.items() if left < 0})


def worst_shortage(short: Mapping[str, tuple[float, float]]) -> tuple[str, float, float]:
    """Return the resource with the largest shortage relative to the need: (name, needed, left)."""
    name, (needed, left) = max(short.items(), key=lambda item: ((item[1][0] - item[1][1]) / item[1][0], item[0]))
    return name, needed, left
