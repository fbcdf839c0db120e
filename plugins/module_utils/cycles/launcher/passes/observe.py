# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the plain snapshot that the plan reads, from the store, the providers and the work in progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ....launching.actions import DeleteNode, DropRequest, FreeNode
from ....launching.known_answers import HOSTS
from ....launching.snapshot import (
    OpenRequest,
    OtherPool,
    PoolState,
    ProviderState,
    ReadyNode,
    Snapshot,
    SpareNeed,
)
from ....launching.upkeep import Idle, owners, upkeep
from ....model import reasons
from ....model.config.gate_settings import is_gate_label
from ....model.config.types import Pool
from ....model.launch import Launch
from ....model.node import Node, NodeState
from ....model.own_tree import LAUNCHES
from ....model.reasons import Reason
from ....model.request import NodeRequest, RequestState
from ....model.resources import Resources
from ..context.context import Context
from ..context.events import Pins, build_of
from ..context.ledger import Ledger, size_of
from ..launches.gates import Gates
from ..ownership.inherited import Inherited, Standing
from ..provider.actor import ProviderActor
from .readings import PoolReading


@dataclass(frozen=True)
class InHand:
    """The work in progress of this cycle, which must not be planned again."""

    requests: Container[str]
    launching: dict[str, int]
    busy_nodes: Collection[str]
    zones: Mapping[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    """(provider, pool) → zones of launches whose record does not name the zone yet."""
    queued: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """(provider, pool) → number of launches whose create is not sent yet."""
    on_their_way: Mapping[str, int] = field(default_factory=dict)
    """Provider → number of servers asked for and not yet ACTIVE."""
    needed: Callable[[tuple[str, str]], Mapping[str, int]] = lambda key: {}
    """(provider, pool) → the narrow resources that launches in progress try, and for how many requests."""
    tried: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Request → ids of the pools in which its launches have failed."""


@dataclass(frozen=True)
class Demand:
    """The open requests, and the labels with min-ready."""

    requests: Sequence[OpenRequest]
    spares: Sequence[SpareNeed]

    @property
    def reusable(self) -> set[str]:
        """The labels of which a ready node may be handed out."""
        return {label for request in self.requests if request.reuse for label in request.labels}

    @property
    def is_patient(self) -> bool:
        """True when nobody but gates wants nodes: for them, what was read earlier is good enough."""
        labels = {label for request in self.requests for label in request.labels}
        return all(map(is_gate_label, labels)) and not any(need.have < need.wanted for need in self.spares)

    def __bool__(self) -> bool:
        """True when nodes are wanted."""
        return bool(self.requests) or any(need.have < need.wanted for need in self.spares)


class OpenRequests:
    """The open requests as the plan reads them; each is made once for each state of its record."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[NodeRequest, OpenRequest]] = {}

    def follow(self, context: Context, requests: Iterable[NodeRequest], in_hand: InHand) -> list[OpenRequest]:
        """Return the open ones among the requests.

        :param requests: records of the cache, which are replaced when they change.
        """
        pins, before = Pins(context), self._made
        self._made = {
            request.id: (request, _open_request(request, in_hand, pins, before.get(request.id)))
            for request in requests
            if request.state == RequestState.REQUESTED and not request.broken and request.id not in in_hand.requests
        }
        return [made for _unused, made in self._made.values()]


def demand_of(
    context: Context,
    ledger: Ledger,
    requests: Iterable[NodeRequest],
    in_hand: InHand,
    open_requests: OpenRequests | None = None,
) -> Demand:
    """Return the demand.

    :param requests: the requests that are not locked.
    :param open_requests: those of the pass before.
    """
    found = (open_requests or OpenRequests()).follow(context, requests, in_hand)
    return Demand(found, _spare_needs(context, ledger))


def due_upkeep(
    context: Context,
    nodes: Iterable[Node],
    requests: Collection[NodeRequest],
    unreadable: Collection[str] = (),
    lost: Callable[[Node], Reason | None] = lambda node: None,
    unwanted: Collection[str] = frozenset(),
) -> Iterator[DeleteNode | FreeNode | DropRequest]:
    """Return what must be deleted or freed regardless of the demand.

    :param nodes: the nodes that are not locked, and that this cycle does not work on.
    :param unreadable: ids of requests whose records are not valid.
    :param lost: returns why the server of a ready node cannot be used.
    :param unwanted: ids of ready nodes that neither a request nor min-ready wants.
    """
    idle = Idle(
        nodes,
        requests,
        owners(requests) | set(unreadable),
        context.store.own.folder_of(LAUNCHES, Launch.from_document, key="node_id"),
        {name: actor.provider for name, actor in context.actors.items()},
        lost,
        context.since,
        lambda node: context.ages.idle_since(node, context.now()),
        unwanted,
        context.store.requests.created_at,
    )
    return upkeep(idle, context.config.labels, context.config.max_hold_age, context.now())


def observe(
    context: Context,
    gates: Gates,
    ledger: Ledger,
    free: Iterable[Node],
    demand: Demand,
    readings: Mapping[tuple[str, str], PoolReading],
    others: Sequence[OtherPool],
    in_hand: InHand,
    inherited: Inherited,
) -> Snapshot:
    """Return the current snapshot, from data that is already in memory.

    :param ledger: the resources that all nodes use.
    :param free: the nodes that are not locked.
    :param readings: by (provider, pool), see :func:`.readings.read_clouds`.
    :param inherited: the ready nodes from before the take-over.
    """
    return Snapshot(
        providers={name: _provider_state(actor, ledger, in_hand) for name, actor in context.actors.items()},
        pools=tuple(
            _pool_state(context, gates, actor, pool, ledger, in_hand, readings[name, pool.name])
            for name, actor in context.actors.items()
            for pool in actor.provider.pools.values()
        ),
        others=tuple(others),
        requests=tuple(demand.requests),
        ready=tuple(_ready(context, free, in_hand, inherited, demand.reusable)),
        spares=tuple(demand.spares),
        tenant_room={
            name: limits.less(ledger.by_tenant[name]) for name, limits in context.config.tenant_limits.items()
        },
        tenant_limits=context.config.tenant_limits,
    )


def _open_request(
    request: NodeRequest, in_hand: InHand, pins: Pins, before: tuple[NodeRequest, OpenRequest] | None
) -> OpenRequest:
    tried, builds = in_hand.tried.get(request.id, frozenset()), pins.of(request)
    if before is not None and before[0] is request and before[1].tried == tried and before[1].builds == builds:
        return before[1]
    return OpenRequest(
        id=request.id,
        order=request.order,
        labels=tuple(request.node_types),
        reuse=request.reuse,
        provider=request.provider,
        tenant=request.tenant_name,
        declined_by=frozenset(request.declined_by),
        tried=tried,
        builds=builds,
    )


def _ready(
    context: Context, free: Iterable[Node], in_hand: InHand, inherited: Inherited, wanted: Collection[str]
) -> list[ReadyNode]:
    """Return the free ready nodes.

    :param wanted: labels of which a request may get one.
    """
    found: list[ReadyNode] = []
    now = context.now()
    for node in free:
        if node.state != NodeState.READY or node.allocated_to is not None or node.broken:
            continue
        pool_id = context.pool_ids.get((node.provider or "", node.pool or ""))
        if pool_id is not None and node.id not in in_hand.busy_nodes and inherited.lost(node) is None:
            since, labels = context.since(node), tuple(node.type)
            is_wanted = any(label in wanted for label in labels)
            standing = inherited.standing(node, now) if is_wanted else Standing.PROVED
            unseen, doubted = standing is Standing.ASKED, standing is Standing.DOUBTED
            size, build = size_of(node), build_of(context, node) if is_wanted else None
            found.append(
                ReadyNode(node.id, pool_id, labels, node.az, size, since, node.version, unseen, doubted, build)
            )
    return found


def _spare_needs(context: Context, ledger: Ledger) -> list[SpareNeed]:
    return [
        SpareNeed(label.name, label.min_ready, ledger.spare[label.name])
        for label in context.config.labels.values()
        if label.min_ready > 0
    ]


def _provider_state(actor: ProviderActor, ledger: Ledger, in_hand: InHand) -> ProviderState:
    name, usage = actor.provider.name, actor.usage
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
        fresh=actor.fresh,
        limits_lack=actor.limits_lack,
        **_builds(actor, in_hand),
    )


def _builds(actor: ProviderActor, in_hand: InHand) -> dict[str, float]:
    """Return the best number of parallel builds, and how many of them are left, if the configuration allows more."""
    name, most = actor.provider.name, actor.provider.max_concurrency
    best = actor.creates.builds.allowed(most)
    if best >= most:
        return {}
    queued = sum(count for (provider, _unused), count in in_hand.queued.items() if provider == name)
    return {"best_at_once": best, "builds_left": best - in_hand.on_their_way.get(name, 0) - queued}


def _pool_state(
    context: Context,
    gates: Gates,
    actor: ProviderActor,
    pool: Pool,
    ledger: Ledger,
    in_hand: InHand,
    reading: PoolReading,
) -> PoolState:
    key = (actor.provider.name, pool.name)
    load, coming = ledger.zones[key], Counter(in_hand.zones.get(key, ()))
    unread = None
    if reading.zones is None:
        unread = Reason(reasons.FACTS_UNREAD, {"where": f"{actor.provider.name}/{pool.name}"})
    pool_id, freezes = context.pool_ids[key], gates.freezes
    narrow = freezes.narrow(pool_id)
    trials = freezes.trials(pool_id, in_hand.needed(key)) if narrow else {}
    return PoolState(
        id=context.pool_ids[key],
        provider=actor.provider.name,
        name=pool.name,
        priority=pool.priority,
        offers=reading.offers,
        limits=pool.limits,
        used=ledger.by_pool[key],
        freeing=ledger.freeing_in_pool[key],
        ignore_provider_quota=pool.ignore_provider_quota,
        az_load={zone: load[zone] + coming[zone] for zone in reading.zones or ()},
        blocked=unread,
        frozen={**freezes.in_force(pool_id), **narrow},
        frozen_room=freezes.room(pool_id, actor, ledger.by_provider[actor.provider.name]) + Resources(trials),
        narrow=frozenset(narrow),
        doubted=freezes.doubted(pool_id, _host_sizes(reading)) if narrow else frozenset(),
        queued=in_hand.queued.get(key, 0),
        admissible=freezes.admissible(pool_id, actor, in_hand.queued.get(key, 0)),
    )


def _host_sizes(reading: PoolReading) -> dict[str, Resources]:
    """Return hosts for a flavor in a zone → what a node of the flavor needs, for all labels of a pool."""
    offers = [offer for offer in reading.offers.values() if offer.shape.flavor]
    return {offer.shape.narrow_name(HOSTS, zone): offer.resources for offer in offers for zone in reading.zones or ()}
