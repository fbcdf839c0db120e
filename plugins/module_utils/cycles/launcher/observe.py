# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the store, the providers and the work in hand to the plain snapshot that the plan looks at."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.common.context import Context
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.gates.gates import Gates
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.provider.actor import (
    LIMITS_AGE,
    LIMITS_AGE_WHEN_FULL,
    PROBE_AGE,
    ProviderActor,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.provider.offers import label_recipe
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
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Pool, PoolLabel
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.reasons import Reason
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest, RequestState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import (
    FLOATING_IPS,
    INSTANCES,
    PORTS,
    Limits,
    Resources,
)

K = TypeVar("K")

NEAR = 3
"""Room for so few more nodes counts as near the limit, as does a twentieth of the limit."""


class Sums(Generic[K]):
    """Amounts added up by key."""

    def __init__(self) -> None:
        self._amounts: dict[K, Counter[str]] = defaultdict(Counter)

    def add(self, key: K, size: Resources) -> None:
        """Add one node's amounts."""
        self._amounts[key].update(dict(size))

    def __getitem__(self, key: K) -> Resources:
        return Resources(self._amounts.get(key, {}))


@dataclass
class Ledger:
    """What nodes use, summed up once per pass: by provider, by pool and by tenant."""

    by_provider: Sums[str] = field(default_factory=Sums)
    by_pool: Sums[tuple[str, str]] = field(default_factory=Sums)
    by_tenant: Sums[str] = field(default_factory=Sums)
    in_cloud: Sums[str] = field(default_factory=Sums)
    freeing: Sums[str] = field(default_factory=Sums)
    freeing_in_pool: Sums[tuple[str, str]] = field(default_factory=Sums)
    zones: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    node_ids: set[str] = field(default_factory=set)


COMING = frozenset({NodeState.READY, NodeState.BUILDING, NodeState.INIT})
LEAVING = frozenset({NodeState.USED, NodeState.DELETING, NodeState.DELETED, NodeState.FAILED, NodeState.ABORTED})


def size_of(node: Node) -> Resources:
    """What a node uses by its record; a record without figures (others write them too) counts as one instance."""
    amounts = {name: value for name, value in (node.resources or {}).items() if isinstance(value, int | float)}
    return Resources({INSTANCES: 1, PORTS: 1, **amounts, **({FLOATING_IPS: 1} if _has_floating(node) else {})})


def _has_floating(node: Node) -> bool:
    return bool(node.public_ipv4) and node.public_ipv4 != node.private_ipv4 and bool(node.private_ipv4)


def take_stock(nodes: Iterable[Node], stuck: Collection[str] = (), to_float: Collection[str] = ()) -> Ledger:
    """Sum up all nodes. *stuck*: those whose deletion does not get on; *to_float*: those that await a floating IP."""
    ledger = Ledger()
    for node in nodes:
        size = size_of(node)
        if node.id in to_float and not _has_floating(node):
            size = size + Resources({FLOATING_IPS: 1})
        provider, pool = node.provider or "", (node.provider or "", node.pool or "")
        ledger.node_ids.add(node.id)
        ledger.by_provider.add(provider, size)
        ledger.by_pool.add(pool, size)
        # A node that was freed still bears the name of the tenant for whom it was launched.
        if node.tenant_name and (node.allocated_to is not None or node.state not in COMING):
            ledger.by_tenant.add(node.tenant_name, size)
        if node.external_id:
            ledger.in_cloud.add(provider, size)
        if node.id in stuck:
            continue
        if node.state in LEAVING:
            ledger.freeing.add(provider, size)
            ledger.freeing_in_pool.add(pool, size)
        elif node.az:
            ledger.zones[pool][node.az] += 1
    return ledger


@dataclass(frozen=True)
class InHand:
    """What this cycle works on and therefore must not plan again."""

    requests: Collection[str]
    launching: dict[str, int]
    busy_nodes: Collection[str]
    zones: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    """(provider, pool) → zones of launches whose record does not name the zone yet."""
    queued: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """(provider, pool) → launches whose create is not sent yet."""
    to_float: Collection[str] = ()
    """Launches that will ask for a floating IP."""
    stuck: Collection[str] = ()
    """Nodes whose servers do not go: their room is not about to come."""


def observe(
    context: Context,
    gates: Gates,
    nodes: list[Node],
    requests: list[NodeRequest],
    others: list[OtherPool],
    in_hand: InHand,
    *,
    keep_spares: bool,
) -> Snapshot:
    """The snapshot of this moment. Facts that are missing or too old are asked for on the way."""
    now = context.now()
    ledger = take_stock(nodes, in_hand.stuck, in_hand.to_float)
    open_requests = _open_requests(context, requests, in_hand)
    spares = _spare_needs(context, nodes) if keep_spares else []
    demand = bool(open_requests) or any(need.have < need.wanted for need in spares)
    ready = _ready(context, nodes, in_hand)
    providers: dict[str, ProviderState] = {}
    pools: list[PoolState] = []
    for actor in context.actors.values():
        providers[actor.provider.name] = _provider_state(gates, actor, ledger, in_hand, demand, now)
        # Without demand nothing is asked again, only what was never asked.
        max_age = None if demand else math.inf
        for pool in actor.provider.pools.values():
            pools.append(_pool_state(context, gates, actor, pool, ledger, in_hand, max_age))
        actor.largest_need = _largest_need(pool for pool in pools if pool.provider == actor.provider.name)
    return Snapshot(
        providers=providers,
        pools=tuple(pools),
        others=tuple(others),
        requests=tuple(open_requests),
        ready=tuple(ready),
        spares=tuple(spares),
        tenant_room={
            name: limits.less(ledger.by_tenant[name]) for name, limits in context.config.tenant_limits.items()
        },
        tenant_limits=context.config.tenant_limits,
    )


def _open_requests(context: Context, requests: list[NodeRequest], in_hand: InHand) -> list[OpenRequest]:
    locked = context.store.requests.is_locked
    return [
        OpenRequest(
            id=request.id,
            order=request.order,
            labels=tuple(request.node_types),
            reuse=request.reuse,
            provider=request.provider,
            tenant=request.tenant_name,
            declined_by=frozenset(request.declined_by),
        )
        for request in requests
        if request.state == RequestState.REQUESTED
        and not request.broken
        and request.id not in in_hand.requests
        and not locked(request.id)
    ]


def _ready(context: Context, nodes: list[Node], in_hand: InHand) -> list[ReadyNode]:
    found: list[ReadyNode] = []
    for node in nodes:
        pool_id = context.pool_ids.get((node.provider or "", node.pool or ""))
        if (
            pool_id is not None
            and node.state == NodeState.READY
            and node.allocated_to is None
            and node.id not in in_hand.busy_nodes
            and not context.store.nodes.is_locked(node.id)
        ):
            found.append(ReadyNode(node.id, pool_id, tuple(node.type), node.az, size_of(node), node.state_time or 0.0))
    return found


def _spare_needs(context: Context, nodes: list[Node]) -> list[SpareNeed]:
    have: dict[str, int] = {}
    for node in nodes:
        if node.allocated_to is None and node.state in COMING:
            for label in node.type:
                have[label] = have.get(label, 0) + 1
    return [
        SpareNeed(label.name, label.min_ready, have.get(label.name, 0))
        for label in context.config.labels.values()
        if label.min_ready > 0
    ]


def _provider_state(
    gates: Gates, actor: ProviderActor, ledger: Ledger, in_hand: InHand, demand: bool, now: float
) -> ProviderState:
    name = actor.provider.name
    if demand:
        actor.capacity.want(now, _limits_age(actor, gates.freezes.any_at(name)))
    actor.in_cloud = ledger.in_cloud[name]
    others = actor.others_now = actor.others(ledger.node_ids)
    used = ledger.by_provider[name]
    actor.near_limit = _is_near(actor.bounds, actor.in_cloud + others, actor.largest_need)
    return ProviderState(
        name=name,
        bounds=actor.bounds,
        largest=actor.largest,
        others=others,
        used=used,
        freeing=ledger.freeing[name],
        launching=in_hand.launching.get(name, 0),
        max_concurrency=actor.provider.max_concurrency,
        blocked=actor.blocked,
    )


def _limits_age(actor: ProviderActor, frozen: bool) -> float:
    if actor.blocked is not None:
        return PROBE_AGE
    return LIMITS_AGE_WHEN_FULL if actor.near_limit or frozen else LIMITS_AGE


def _largest_need(pools: Iterable[PoolState]) -> Resources:
    most: dict[str, float] = {}
    for pool in pools:
        for offer in pool.offers.values():
            for name, amount in offer.resources.items():
                most[name] = max(most.get(name, 0), amount)
    return Resources(most)


def _is_near(bounds: Limits | None, used: Resources, one: Resources) -> bool:
    """True when there is room for few more nodes only. *one*: the most that one node may need."""
    if bounds is None:
        return False
    return any(
        bounds[name] - used[name] < max(NEAR * max(1, one[name]), bounds[name] / 20)
        for name in bounds
        if one[name] > 0 or name == INSTANCES
    )


def _pool_state(
    context: Context,
    gates: Gates,
    actor: ProviderActor,
    pool: Pool,
    ledger: Ledger,
    in_hand: InHand,
    max_age: float | None,
) -> PoolState:
    key = (actor.provider.name, pool.name)
    known = pool.availability_zones or actor.zones.want(context.now(), max_age)
    load = Counter(ledger.zones[key]) + Counter(in_hand.zones.get(key, ()))
    unread = Reason(reasons.FACTS_UNREAD, {"where": f"{actor.provider.name}/{pool.name}"})
    return PoolState(
        id=context.pool_ids[key],
        provider=actor.provider.name,
        name=pool.name,
        priority=pool.priority,
        offers={name: _offer(context, gates, actor, pool, label, max_age) for name, label in pool.labels.items()},
        limits=pool.limits,
        used=ledger.by_pool[key],
        freeing=ledger.freeing_in_pool[key],
        ignore_provider_quota=pool.ignore_provider_quota,
        az_load={zone: load[zone] for zone in known or ()},
        blocked=unread if known is None else None,
        frozen=gates.freezes.in_force(context.pool_ids[key]),
        frozen_room=gates.freezes.room(context.pool_ids[key], actor, ledger.by_provider[actor.provider.name]),
        queued=in_hand.queued.get(key, 0),
        admissible=gates.freezes.admissible(context.pool_ids[key], actor, in_hand.queued.get(key, 0)),
    )


def _offer(
    context: Context, gates: Gates, actor: ProviderActor, pool: Pool, label: PoolLabel, max_age: float | None
) -> LabelOffer:
    recipe = label_recipe(context, actor, pool, label, max_age)
    if not recipe.complete or recipe.flavor is None:
        return recipe.offer
    where = f"{actor.provider.name}/{pool.name}"
    reason = gates.breakers.hindrance(actor.provider.name, where, label.image_name, recipe.flavor.name)
    return recipe.offer if reason is None else replace(recipe.offer, not_now=reason)
