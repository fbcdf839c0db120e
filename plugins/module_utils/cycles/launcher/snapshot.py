# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the store, the providers and the work in hand to the plain snapshot that the plan looks at."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...launching.catalog import unused_zones
from ...launching.snapshot import (
    LabelOffer,
    OpenRequest,
    OtherPool,
    PoolState,
    ProviderState,
    ReadyNode,
    Snapshot,
    SpareNeed,
)
from ...model import reasons
from ...model.config.types import Pool, PoolLabel
from ...model.node import Node, NodeState
from ...model.reasons import Reason
from ...model.request import NodeRequest, RequestState
from ...model.resources import (
    Resources,
)
from .context.context import Context
from .context.ledger import Ledger, size_of
from .context.offers import label_template
from .inherited import Inherited
from .provider.actor import (
    LIMITS_AGE,
    LIMITS_AGE_WHEN_FULL,
    PROBE_AGE,
    ProviderActor,
)
from .throttling.gates import Gates


@dataclass(frozen=True)
class InHand:
    """What this cycle works on and therefore must not plan again."""

    requests: Container[str]
    launching: dict[str, int]
    busy_nodes: Collection[str]
    zones: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    """(provider, pool) → zones of launches whose record does not name the zone yet."""
    queued: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """(provider, pool) → launches whose create is not sent yet."""
    on_their_way: Mapping[str, int] = field(default_factory=dict)
    """Provider → servers asked for and not yet ACTIVE."""


def observe(
    context: Context,
    gates: Gates,
    ledger: Ledger,
    free: Iterable[Node],
    requests: Iterable[NodeRequest],
    others: list[OtherPool],
    in_hand: InHand,
    inherited: Inherited,
    *,
    keep_spares: bool,
) -> Snapshot:
    """The snapshot of this moment. Facts that are missing or too old are asked for on the way.

    :param ledger: what all nodes use.
    :param free: the nodes that nobody has locked.
    :param requests: the requests that nobody has locked.
    :param inherited: ready nodes of which little is known yet.
    """
    now = context.now()
    open_requests = _open_requests(requests, in_hand)
    spares = _spare_needs(context, ledger) if keep_spares else []
    demand = bool(open_requests) or any(need.have < need.wanted for need in spares)
    ready = _ready(context, free, in_hand, inherited)
    providers: dict[str, ProviderState] = {}
    pools: list[PoolState] = []
    for actor in context.actors.values():
        providers[actor.provider.name] = _provider_state(gates, actor, ledger, in_hand, demand, now)
        # Without demand nothing is asked again, only what was never asked.
        max_age = None if demand else math.inf
        for pool in actor.provider.pools.values():
            pools.append(_pool_state(context, gates, actor, pool, ledger, in_hand, max_age))
        actor.usage.expect(_largest_need(pool for pool in pools if pool.provider == actor.provider.name))
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


def _open_requests(requests: Iterable[NodeRequest], in_hand: InHand) -> list[OpenRequest]:
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
        if request.state == RequestState.REQUESTED and not request.broken and request.id not in in_hand.requests
    ]


def _ready(context: Context, free: Iterable[Node], in_hand: InHand, inherited: Inherited) -> list[ReadyNode]:
    found: list[ReadyNode] = []
    for node in free:
        if node.state != NodeState.READY or node.allocated_to is not None or node.broken:
            continue
        pool_id = context.pool_ids.get((node.provider or "", node.pool or ""))
        if pool_id is not None and node.id not in in_hand.busy_nodes and inherited.lost(node) is None:
            since, labels, unseen = context.since(node), tuple(node.type), inherited.unseen(node)
            found.append(ReadyNode(node.id, pool_id, labels, node.az, size_of(node), since, node.version, unseen))
    return found


def _spare_needs(context: Context, ledger: Ledger) -> list[SpareNeed]:
    return [
        SpareNeed(label.name, label.min_ready, ledger.spare[label.name])
        for label in context.config.labels.values()
        if label.min_ready > 0
    ]


def _provider_state(
    gates: Gates, actor: ProviderActor, ledger: Ledger, in_hand: InHand, demand: bool, now: float
) -> ProviderState:
    name = actor.provider.name
    # Without demand it is read once all the same, so that the first request need not wait for it.
    actor.capacity.want(now, _limits_age(actor, gates.freezes.any_at(name)) if demand else math.inf)
    usage = actor.usage
    usage.observe(actor.servers, ledger.in_cloud[name], ledger.node_ids, ledger.server_ids)
    return ProviderState(
        name=name,
        bounds=usage.bounds,
        largest=usage.largest,
        others=usage.others,
        used=ledger.by_provider[name],
        freeing=ledger.freeing[name],
        launching=in_hand.launching.get(name, 0),
        max_concurrency=actor.provider.max_concurrency,
        blocked=actor.blocked,
        **_builds(actor, in_hand),
    )


def _builds(actor: ProviderActor, in_hand: InHand) -> dict[str, float]:
    """How many servers the cloud builds side by side best, if fewer than the configuration allows, and what is left."""
    name, most = actor.provider.name, actor.provider.max_concurrency
    best = actor.creates.builds.allowed(most)
    if best >= most:
        return {}
    queued = sum(count for (provider, _unused), count in in_hand.queued.items() if provider == name)
    return {"best_at_once": best, "builds_left": best - in_hand.on_their_way.get(name, 0) - queued}


def _limits_age(actor: ProviderActor, frozen: bool) -> float:
    if actor.blocked is not None:
        return PROBE_AGE
    return LIMITS_AGE_WHEN_FULL if actor.usage.near_limit or frozen else LIMITS_AGE


def _largest_need(pools: Iterable[PoolState]) -> Resources:
    most: dict[str, float] = {}
    for pool in pools:
        for offer in pool.offers.values():
            for name, amount in offer.resources.items():
                most[name] = max(most.get(name, 0), amount)
    return Resources(most)


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
    given = [zone for zone in pool.availability_zones if zone not in unused_zones(pool, actor.known.every_zone.value)]
    known = given or actor.known.zones.want(context.now(), max_age)
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
    template = label_template(context, actor, pool, label, max_age)
    if not template.complete or template.flavor is None:
        return template.offer
    where = f"{actor.provider.name}/{pool.name}"
    reason = gates.breakers.hindrance(actor.provider.name, where, label.image_name, template.flavor.name)
    return template.offer if reason is None else replace(template.offer, not_now=reason)
