# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan which idle nodes are deleted to make room for waiting requests, and which spare nodes are launched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..model import reasons
from ..model.reasons import Reason
from ..model.resources import Resources, describe, total
from .actions import DeleteNode, LaunchSpare
from .capacity import Rooms
from .serving_options import Option, Stock, rank
from .snapshot import (
    OpenRequest,
    PoolState,
    ReadyNode,
    Snapshot,
    SpareNeed,
)
from .verdict import building, never, not_now


def make_room(
    snapshot: Snapshot, rooms: Rooms, stock: Stock, waiting: Sequence[tuple[OpenRequest, PoolState]]
) -> Iterator[DeleteNode]:
    """Yield the idle nodes to delete so that the waiting requests fit, oldest first.

    Nodes that are being deleted count as future room, so that no second node is deleted for the same shortage.
    """
    first: dict[str, tuple[OpenRequest, PoolState]] = {}
    for request, pool in waiting:
        first.setdefault(pool.id, (request, pool))
    given_up: dict[str, Resources] = {}
    for request, pool in first.values():
        provider = snapshot.providers[pool.provider]
        in_pool, in_provider = rooms.missing(pool)
        reason = Reason(reasons.ROOM_NEEDED, {"request": request.id})
        own = list(stock.idle(pool.id))
        coming = pool.freeing + given_up.get(pool.id, Resources())
        gone = list(_oldest(own, in_pool - coming))
        coming = provider.freeing + given_up.get(pool.provider, Resources())
        coming = coming + total(node.resources for node in gone)
        siblings = [other for other in snapshot.pools if other.provider == pool.provider]
        near = [node for other in siblings for node in stock.idle(other.id) if node not in gone]
        gone += _oldest(sorted(near, key=lambda node: (node.since, node.id)), in_provider - coming)
        for node in gone:
            stock.remove(node)
            for key in (node.pool_id, pool.provider):
                given_up[key] = given_up.get(key, Resources()) + node.resources
            yield DeleteNode(node.id, reason, node.version)


def _oldest(idle: Sequence[ReadyNode], missing: Resources) -> Iterator[ReadyNode]:
    for node in idle:
        if all(amount <= 0 for amount in missing.values()):
            return
        if any(amount > 0 and node.resources[name] > 0 for name, amount in missing.items()):
            missing = missing - node.resources
            yield node


def spares(
    snapshot: Snapshot, rooms: Rooms, stock: Stock, needs: Sequence[SpareNeed]
) -> tuple[list[LaunchSpare], dict[str, int], dict[str, str]]:
    """Return what to launch for min-ready, and per label how many nodes had no place and why.

    A spare node never takes room from a waiting request.
    """
    launches: list[LaunchSpare] = []
    unmet: dict[str, int] = {}
    why: dict[str, str] = {}
    for need in sorted(needs, key=lambda need: need.label):
        for have in range(need.have, need.wanted):
            option = _place_for_spare(snapshot, rooms, stock, need.label)
            if option is None:
                unmet[need.label] = need.wanted - have
                why[need.label] = _why_no_place(snapshot, rooms, need.label)
                break
            rooms.admit(option.pool, option.need, None, 1)
            stock.use(option)
            figures = {"label": need.label, "have": have, "wanted": need.wanted}
            launches.append(LaunchSpare(need.label, option.pool.id, option.az, Reason(reasons.MIN_READY, figures)))
    return launches, unmet, why


def _place_for_spare(snapshot: Snapshot, rooms: Rooms, stock: Stock, label: str) -> Option | None:
    request = OpenRequest(id="", order=("", 0, ""), labels=(label,), reuse=False)
    pools = [
        pool
        for pool in snapshot.pools
        if never(pool, request, snapshot) is None
        and not_now(pool, [label], snapshot) is None
        and not rooms.has_reservation(pool)
        and rooms.launches_left(pool) >= 1
        and rooms.may_build(pool)
        and rooms.may_queue(pool, 1)
        and rooms.frozen(pool).allows(pool.offers[label].resources)
    ]
    fitting = [
        option
        for option in stock.options(request, pools)
        if rooms.in_pool(option.pool).allows(option.need) and rooms.frozen(option.pool).allows(option.need)
    ]
    return min(fitting, key=lambda option: rank(option, rooms), default=None)


def _why_no_place(snapshot: Snapshot, rooms: Rooms, label: str) -> str:
    """Return why each pool that offers the label cannot hold one more node, in the order of the pools' names."""
    offering = sorted((pool for pool in snapshot.pools if label in pool.offers), key=lambda pool: pool.where)
    texts = (_hindrance(snapshot, rooms, pool, label) for pool in offering)
    return "; ".join(dict.fromkeys(texts)) or "no pool of this launcher offers it"


def _hindrance(snapshot: Snapshot, rooms: Rooms, pool: PoolState, label: str) -> str:
    request = OpenRequest(id="", order=("", 0, ""), labels=(label,), reuse=False)
    reason = never(pool, request, snapshot) or not_now(pool, [label], snapshot)
    if reason is not None:
        return reason.text()
    if rooms.has_reservation(pool):
        return f"the room of {pool.where} is reserved for waiting requests"
    if rooms.launches_left(pool) < 1:
        return Reason(reasons.CONCURRENCY, {"where": pool.where, "launching": rooms.launching(pool)}).text()
    if not rooms.may_build(pool):
        return building(pool, snapshot).text()
    if not rooms.may_queue(pool, 1):
        return Reason(reasons.STARTING, {"where": pool.where}).text()
    need = pool.offers[label].resources
    for room, what in ((rooms.in_pool(pool), "left in"), (rooms.frozen(pool), "left after a refused create in")):
        for resource, (needed, left) in room.short_of(need).items():
            return f"{describe(resource, needed)} needed, {max(0, left):.12g} {what} {pool.where}"
    return f"{pool.where} has no zone for it"
