# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots for property tests of the plan: hypothesis strategies, and room counted in the test's own way."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.snapshot import (
    LabelOffer,
    OpenRequest,
    OtherPool,
    PoolState,
    ProviderState,
    ReadyNode,
    Snapshot,
    SpareNeed,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model import reasons
from ansible_collections.stackci.nodepool.plugins.module_utils.model.reasons import Reason
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits, Resources, total

SIZES = {
    "a": Resources({"instances": 1, "cores": 1, "ram": 1}),
    "b": Resources({"instances": 1, "cores": 2, "ram": 4}),
    "c": Resources({"instances": 1, "cores": 8, "ram": 8, "volumes": 1}),
    "d": Resources({"instances": 1, "cores": 1, "ram": 16}),
}
LABELS = tuple(SIZES)
TENANTS = (None, "t1", "t1", "t2")
ROOMS: tuple[Mapping[str, Limits], ...] = (
    {},
    {"t1": Limits({"instances": 2})},
    {"t1": Limits({"cores": -1})},
    {"t1": Limits({"instances": 3}), "t2": Limits({"cores": 3})},
)
PASSING = Reason(reasons.IMAGE_BUILDING, {"where": "w", "label": "a", "image": "i"})
FOR_EVER = Reason(reasons.NO_IMAGE, {"where": "w", "label": "a", "image": "i"})
TROUBLE = Reason(reasons.PROVIDER_TROUBLE, {"where": "w", "text": "503"})
FROZEN = Reason(reasons.FROZEN, {"where": "w", "resource": "cores", "seconds": 5, "text": "403"})


def offers(plain: bool) -> st.SearchStrategy[Mapping[str, LabelOffer]]:
    """What a pool offers; *plain*: nothing stands in the way of any label."""

    def offer(name: str) -> st.SearchStrategy[LabelOffer]:
        good = LabelOffer(SIZES[name])
        if plain:
            return st.just(good)
        return st.sampled_from([good] * 6 + [replace(good, never=FOR_EVER), replace(good, not_now=PASSING)])

    return st.fixed_dictionaries({}, optional={name: offer(name) for name in LABELS})


def limits(most: int) -> st.SearchStrategy[Limits]:
    """Bounds of some resources."""
    names = {"instances": most, "cores": 3 * most, "ram": 4 * most, "volumes": most}
    amounts = {name: st.integers(0, bound) for name, bound in names.items()}
    return st.fixed_dictionaries({}, optional=amounts).map(Limits)


@st.composite
def pools(draw: st.DrawFn, provider: str, number: int, plain: bool) -> PoolState:
    """A pool. What its nodes use is added afterwards."""
    frozen = Reason(reasons.FROZEN, {**FROZEN.figures, "where": f"{provider}/pool{number}"})
    return PoolState(
        id=f"id-{provider}-{number}",
        provider=provider,
        name=f"pool{number}",
        priority=draw(st.sampled_from([50, 100, 100])),
        offers=draw(offers(plain)),
        limits=draw(limits(8)),
        ignore_provider_quota=draw(st.sampled_from([False, False, False, True])),
        az_load={zone: draw(st.integers(0, 3)) for zone in draw(st.sampled_from([(), ("z1",), ("z1", "z2")]))},
        blocked=None if plain else draw(st.sampled_from([None] * 5 + [TROUBLE])),
        frozen={} if plain else draw(st.sampled_from([{}, {}, {}, {"cores": frozen}, {"volumes": frozen}])),
        frozen_room=Resources() if plain else Resources({"cores": draw(st.sampled_from([0, 0, 2, 5]))}),
        queued=0 if plain else draw(st.integers(0, 2)),
        admissible=math.inf if plain else draw(st.sampled_from([math.inf, math.inf, 0, 2, 4])),
    )


@st.composite
def providers(draw: st.DrawFn, name: str, plain: bool) -> ProviderState:
    """A provider. What its nodes use is added afterwards."""
    bounds = draw(limits(12))
    unread = not plain and draw(st.integers(0, 7)) == 0
    return ProviderState(
        name=name,
        bounds=None if unread else bounds,
        largest=draw(st.sampled_from([None, bounds])) if not unread else None,
        others=Resources({"instances": draw(st.integers(0, 2))}),
        launching=0 if plain else draw(st.integers(0, 3)),
        max_concurrency=math.inf if plain else draw(st.sampled_from([math.inf, math.inf, 1, 3])),
        blocked=None if plain else draw(st.sampled_from([None] * 6 + [TROUBLE])),
    )


@st.composite
def ready_nodes(draw: st.DrawFn, where: list[PoolState], most: int) -> list[ReadyNode]:
    """Idle nodes of these pools."""
    made = []
    for number in range(draw(st.integers(0, most))):
        pool = draw(st.sampled_from(where))
        name = draw(st.sampled_from(LABELS))
        zone = draw(st.sampled_from([*pool.az_load, None]))
        since = float(draw(st.integers(0, 5)))
        made.append(ReadyNode(f"n{number}", pool.id, (name,), zone, SIZES[name], since))
    return made


@st.composite
def requests(draw: st.DrawFn, ids: list[str], names: list[str]) -> list[OpenRequest]:
    """Requests in state requested."""
    made = []
    for number in range(draw(st.integers(1, 7))):
        priority = draw(st.sampled_from(["100", "100", "200", "300"]))
        declined = draw(st.sets(st.sampled_from(ids), max_size=1)) if draw(st.integers(0, 3)) == 0 else set()
        made.append(
            OpenRequest(
                id=f"r{number}",
                order=(priority, draw(st.integers(-1, 1)), f"{number:010d}"),
                labels=tuple(draw(st.lists(st.sampled_from(LABELS), min_size=1, max_size=4))),
                reuse=draw(st.sampled_from([True, True, False])),
                provider=draw(st.sampled_from([None, None, None, *names, "elsewhere"])),
                tenant=draw(st.sampled_from(TENANTS)),
                declined_by=frozenset(declined),
            )
        )
    return made


@st.composite
def foreign(draw: st.DrawFn, names: list[str]) -> list[OtherPool]:
    """Pools of others."""
    return [
        OtherPool(
            id=f"foreign{number}",
            provider=draw(st.sampled_from([*names, "elsewhere"])),
            name="theirs",
            labels=frozenset(draw(st.sets(st.sampled_from(LABELS)))),
            priority=draw(st.sampled_from([50, 100, 150])),
            paused=draw(st.booleans()),
            present=draw(st.booleans()),
        )
        for number in range(draw(st.integers(0, 2)))
    ]


@st.composite
def snapshots(draw: st.DrawFn, *, plain: bool = False, stock: int = 6, alone: bool = False) -> Snapshot:
    """A whole snapshot whose sums are right.

    :param plain: only room can stand in the way. :param stock: idle nodes at most. :param alone: nobody else is there.
    """
    names = ["east", "west", "north"][: draw(st.integers(1, 3))]
    clouds = {name: draw(providers(name, plain)) for name in names}
    where = [draw(pools(name, number, plain)) for name in names for number in range(draw(st.integers(1, 2)))]
    idle = draw(ready_nodes(where, stock))
    busy = draw(st.lists(st.tuples(st.sampled_from(where), st.sampled_from(LABELS), st.booleans()), max_size=6))
    ours = []
    for pool in where:
        held = [SIZES[label] for owner, label, _unused in busy if owner is pool]
        held += [node.resources for node in idle if node.pool_id == pool.id]
        freeing = total(SIZES[label] for owner, label, leaves in busy if owner is pool and leaves)
        ours.append(replace(pool, used=total(held), freeing=freeing))
    for name, cloud in clouds.items():
        mine = [pool for pool in ours if pool.provider == name]
        used, freeing = total(pool.used for pool in mine), total(pool.freeing for pool in mine)
        clouds[name] = replace(cloud, used=used, freeing=freeing)
    return Snapshot(
        providers=clouds,
        pools=tuple(ours),
        others=() if alone else tuple(draw(foreign(names))),
        requests=tuple(draw(requests([pool.id for pool in ours], names))),
        ready=tuple(idle),
        spares=tuple(
            SpareNeed(label, draw(st.integers(0, 3)), draw(st.integers(0, 2)))
            for label in draw(st.sets(st.sampled_from(LABELS), max_size=2))
        ),
        tenant_room=draw(st.sampled_from(ROOMS)),
    )


@dataclass
class Room:
    """What is left in a provider and its pools, counted by the test."""

    snapshot: Snapshot

    def __post_init__(self) -> None:
        self.pools = {pool.id: pool for pool in self.snapshot.pools}
        self._in_pool = {pool.id: Resources(pool.used) for pool in self.snapshot.pools}
        self._in_provider = {name: item.used + item.others for name, item in self.snapshot.providers.items()}

    def over(self, pool_id: str, need: Resources) -> list[str]:
        """Which resources are exceeded when *need* is added."""
        pool = self.pools[pool_id]
        provider = self.snapshot.providers[pool.provider]
        found = []
        for name, amount in need.items():
            if self._in_pool[pool_id][name] + amount > pool.limits[name]:
                found.append(f"{pool.where} {name}")
            if pool.ignore_provider_quota:
                continue
            if provider.bounds is None:
                found.append(f"{pool.provider} unread")
            elif self._in_provider[pool.provider][name] + amount > provider.bounds[name]:
                found.append(f"{pool.provider} {name}")
        return found

    def take(self, pool_id: str, need: Resources) -> None:
        """Count *need*."""
        self._in_pool[pool_id] = self._in_pool[pool_id] + need
        provider = self.pools[pool_id].provider
        self._in_provider[provider] = self._in_provider[provider] + need

    def lacking(self, pool_id: str) -> tuple[float, float]:
        """Instances beyond the limits of the pool and of its provider."""
        pool = self.pools[pool_id]
        bounds = self.snapshot.providers[pool.provider].bounds or Limits()
        in_pool = self._in_pool[pool_id]["instances"] - pool.limits["instances"]
        in_provider = self._in_provider[pool.provider]["instances"] - bounds["instances"]
        return max(0, in_pool), max(0, 0 if pool.ignore_provider_quota else in_provider)


def launched(slots: Iterable[Any]) -> list[str]:
    """The labels that a set must have launched."""
    return [slot.label for slot in slots if slot.node_id is None]


def need_of(pool: PoolState, labels: Iterable[str]) -> Resources:
    """What new nodes use."""
    return total(pool.offers[name].resources for name in labels)
