# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide which request gets which nodes from which pool. No I/O.

Requests are handled in their order. For each the best of all our pools is chosen: ready nodes are reused, and new nodes
are launched only where the whole set fits. A request that does not fit reserves room in the pool where it lacks least;
later requests get only what is left.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from ..model import reasons
from ..model.freeze import is_narrow
from ..model.reasons import Reason
from ..model.resources import Limits
from .actions import Admit, Decline, Plan, PoolReason, Wait
from .capacity import Rooms, worst_shortage
from .serving_options import Option, Rank, Stock, rank
from .snapshot import (
    OpenRequest,
    OtherPool,
    PoolState,
    Snapshot,
)
from .surplus import make_room, spares
from .verdict import (
    building,
    never,
    not_now,
    others_able,
    preferred,
    unconfirmed,
)


def place(snapshot: Snapshot) -> Plan:
    """Decide about every open request, then about idle nodes that must make room, then about min-ready."""
    return _Placement(snapshot).run()


class Placing:
    """Plans as :func:`place` does, but only once for snapshots in a row that are equal: most passes change nothing."""

    def __init__(self) -> None:
        self._last: tuple[Snapshot, Plan] | None = None

    def place(self, snapshot: Snapshot) -> Plan:
        """Return the plan for a snapshot; nobody may change either."""
        if self._last is None or self._last[0] != snapshot:
            self._last = snapshot, place(snapshot)
        return self._last[1]


@dataclass(eq=False, slots=True)
class _Obstacle:
    """Why a request cannot use one of its options now; *rank* and *stamp* are those at the time of the check."""

    reason: Reason
    option: Option
    rank: Rank
    stamp: tuple[int, int]


def kind_of(request: OpenRequest) -> Hashable:
    """Return a key that is equal for requests that differ only in their place in the queue."""
    limits = request.provider, request.tenant, request.declined_by, request.tried, request.builds
    return request.labels, request.reuse, *limits


class _Placement:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._rooms = Rooms(snapshot)
        self._stock = Stock(snapshot)
        self._verdicts: dict[tuple[str, tuple[str, ...]], Reason | None] = {}
        self._silent: dict[tuple[str, ...], tuple[PoolReason, ...]] = {}
        self._queues: dict[Hashable, list[_Obstacle]] = {}
        """Kind of request → the obstacles for which requests of this kind wait."""
        self._answers: dict[Hashable, Wait] = {}
        """Kind of request → what the last one waits for, if the next one may wait for the same."""
        self._waiting: list[tuple[OpenRequest, PoolState]] = []
        self._all_pools = snapshot.all_pools

    def run(self) -> Plan:
        admit: list[Admit] = []
        decline: list[Decline] = []
        wait: list[Wait] = []
        for request in sorted(self._snapshot.requests, key=lambda request: request.order):
            outcome = self._decide(request)
            if isinstance(outcome, Admit):
                admit.append(outcome)
            elif isinstance(outcome, Decline):
                decline.append(outcome)
            else:
                wait.append(outcome)
        delete = tuple(make_room(self._snapshot, self._rooms, self._stock, self._waiting))
        spare, unmet, why = spares(self._snapshot, self._rooms, self._stock, self._snapshot.spares)
        return Plan(tuple(admit), tuple(decline), tuple(wait), tuple(spare), delete, unmet, why)

    def _decide(self, request: OpenRequest) -> Admit | Decline | Wait:
        kind = kind_of(request)
        queue = self._queues.get(kind)
        if queue is not None:
            # Room only shrinks while a plan is made: when one request of a kind waits, the later ones wait, too.
            changes = [self._look_again(request, obstacle) for obstacle in queue]
            answer = self._answers.get(kind)
            if answer is None or any(changes):
                answer = self._wait(request, sorted(queue, key=lambda obstacle: obstacle.rank))
                self._answers.pop(kind, None)
                if not any(_takes_room(obstacle.reason) for obstacle in queue):
                    self._answers[kind] = answer
            return Wait(request.id, answer.reason, answer.pools)
        undecided = [pool for pool in self._snapshot.pools if pool.id not in request.declined_by]
        verdicts = {pool.id: self._never(pool, request) for pool in undecided}
        able = [pool for pool in undecided if verdicts[pool.id] is None]
        others = others_able(request, self._snapshot.others)
        if not able:
            return self._decline(request, {key: reason for key, reason in verdicts.items() if reason}, others)
        allowed = preferred(request, able, others)
        if not allowed:
            where = ", ".join(sorted(f"{pool.provider}/{pool.name}" for pool in others))
            return Wait(request.id, Reason(reasons.FOREIGN_FIRST, {"where": where}))
        options = self._stock.options(request, allowed)
        ranked = [(rank(option, self._rooms, request.tried), option) for option in options]
        obstacles: list[_Obstacle] = []
        for place, option in sorted(ranked, key=lambda pair: pair[0]):
            hindrance = self._hindrance(request, option)
            if hindrance is None and option.unseen:
                return self._wait_for_answer(request, option, option.pool)
            better = next((item.option.pool for item in obstacles if self._may_soon_go_before(item, option)), None)
            if hindrance is None and better is not None:
                return self._wait_for_answer(request, option, better)
            if hindrance is None:
                return self._admit(request, option)
            obstacles.append(_Obstacle(hindrance, option, place, self._stamp(request, option)))
        if not any(option.reused for _unused, option in ranked):
            self._queues[kind] = obstacles
        return self._wait(request, obstacles)

    def _may_soon_go_before(self, obstacle: _Obstacle, option: Option) -> bool:
        """True when the obstacle's pool has a smaller priority number and only waits for its API's first answers."""
        pool = obstacle.option.pool
        unread = obstacle.reason.code == reasons.FACTS_UNREAD and self._snapshot.providers[pool.provider].fresh
        return unread and pool.priority < option.pool.priority

    def _stamp(self, request: OpenRequest, option: Option) -> tuple[int, int]:
        return self._rooms.stamp(option.pool, request.tenant)

    def _look_again(self, request: OpenRequest, obstacle: _Obstacle) -> bool:
        """Update the reason and the rank of an obstacle; return False when nothing can have changed."""
        stamp = self._stamp(request, obstacle.option)
        if stamp == obstacle.stamp:
            return False
        obstacle.stamp = stamp
        obstacle.reason = self._hindrance(request, obstacle.option) or obstacle.reason
        obstacle.rank = rank(obstacle.option, self._rooms, request.tried)
        return True

    def _never(self, pool: PoolState, request: OpenRequest) -> Reason | None:
        """Return why the pool can never serve the request. Cached by labels: many requests have the same ones."""
        key = (pool.id, request.labels)
        if key not in self._verdicts:
            self._verdicts[key] = never(pool, request, self._snapshot)
        return self._verdicts[key]

    def _decline(
        self, request: OpenRequest, verdicts: dict[str, Reason], others: Sequence[OtherPool]
    ) -> Decline | Wait:
        if others:
            # Nodepool's rule: a pool that merely lacks a label does not decline while another pool is able.
            verdicts = {key: reason for key, reason in verdicts.items() if reason.code != reasons.LABEL_UNKNOWN}
        # When there is no pool at all none has declined, and pools may be configured soon.
        none_left = bool(self._all_pools) and not others
        fail = none_left and self._all_pools <= (request.declined_by | set(verdicts) | self._absent(request))
        if verdicts or fail:
            return Decline(request.id, verdicts, fail)
        named = ", ".join(sorted(f"{pool.provider}/{pool.name}" for pool in others))
        return Wait(request.id, Reason(reasons.NOT_ACTING, {"where": named or "any pool that offers its labels"}))

    def _absent(self, request: OpenRequest) -> set[str]:
        """Return known pools that have no launcher now and lack a label: they could only decline."""
        wanted = set(request.labels)
        return {pool.id for pool in self._snapshot.others if not pool.present and not wanted <= pool.labels}

    def _admit(self, request: OpenRequest, option: Option) -> Admit:
        launches = len(option.to_launch)
        self._rooms.admit(option.pool, option.need, None, launches)
        self._rooms.charge_tenant(request.tenant, option.whole)
        self._stock.use(option)
        if launches:
            reason = Reason(reasons.FITS, {"where": option.pool.where})
        else:
            reason = Reason(reasons.REUSE, {"where": option.pool.where, "count": len(option.reused)})
        return Admit(request.id, option.pool.id, option.az, option.slots, reason)

    def _wait_for_answer(self, request: OpenRequest, option: Option, asked: PoolState) -> Wait:
        """Keep the option for the request until a cloud answers: no other request gets it, and nothing is launched.

        :param asked: the pool whose cloud has not answered yet.
        """
        self._rooms.admit(option.pool, option.need, None, len(option.to_launch))
        self._rooms.charge_tenant(request.tenant, option.whole)
        self._stock.use(option)
        return Wait(request.id, Reason(reasons.FACTS_UNREAD, {"where": asked.where}))

    def _wait(self, request: OpenRequest, obstacles: Sequence[_Obstacle]) -> Wait:
        """Return why the request waits, and reserve room in the pool where it lacks least."""
        for obstacle in obstacles:
            if obstacle.reason.code == reasons.STARTING:
                self._rooms.close_queue(obstacle.option.pool)
            elif obstacle.reason.code == reasons.BUILDING:
                self._rooms.close_builds(obstacle.option.pool)
            elif obstacle.reason.code == reasons.CONCURRENCY:
                self._rooms.reserve_launches(obstacle.option.pool, len(obstacle.option.to_launch))
        self._reserve_for_tenant(request, obstacles)
        for_room = [item for item in obstacles if _is_for_room(item.reason)]
        pools = (*_by_pool(obstacles), *self._silent_pools(request))
        if not for_room:
            return Wait(request.id, _most_telling([item.reason for item in obstacles]), pools)
        least = min(for_room, key=lambda item: (_lack(item.reason), item.rank))
        reason, option = least.reason, least.option
        if self._rooms.has_reservation(option.pool):
            reason = Reason(reason.code, {**reason.figures, "behind": True})
        self._rooms.reserve(option.pool, option.need)
        self._waiting.append((request, option.pool))
        return Wait(request.id, reason, pools)

    def _silent_pools(self, request: OpenRequest) -> tuple[PoolReason, ...]:
        """Return the pools that can never serve these labels; they do not decline while another pool can serve them."""
        if request.labels not in self._silent:
            known = {pool.where: self._never(pool, request) for pool in self._snapshot.pools}
            self._silent[request.labels] = tuple(
                (where, why) for where, why in sorted(known.items()) if why is not None
            )
        return self._silent[request.labels]

    def _reserve_for_tenant(self, request: OpenRequest, obstacles: Sequence[_Obstacle]) -> None:
        """Reserve room within the tenant's limit; otherwise its small requests would overtake a large one for ever."""
        limits = self._snapshot.tenant_limits.get(request.tenant or "")
        if limits is None:
            return
        held_back = [item.option for item in obstacles if item.reason.code == reasons.TENANT_LIMIT]
        possible = [option for option in held_back if limits.allows(option.whole)]
        if possible and len(held_back) == len(obstacles):
            self._rooms.charge_tenant(request.tenant, possible[0].whole)

    def _hindrance(self, request: OpenRequest, option: Option) -> Reason | None:
        """Return why the option cannot be used now; None when it can."""
        short = self._rooms.of_tenant(request.tenant).short_of(option.whole)
        if short:
            return self._tenant_limit(request, option, short)
        labels = option.to_launch
        if not labels:
            return None
        pool = option.pool
        reason = not_now(pool, labels, self._snapshot, request.tenant)
        if reason is not None:
            return reason
        reason = unconfirmed(pool, request, self._snapshot)
        if reason is not None:
            return reason
        short = self._rooms.in_pool(pool).short_of(option.need)
        if short:
            resource, needed, left = worst_shortage(short)
            figures = {"where": pool.where, "resource": resource, "needed": needed, "left": left}
            return Reason(reasons.NO_ROOM, figures)
        short = self._rooms.frozen(pool).short_of(option.need)
        if short:
            resource, needed, left = worst_shortage(short)
            frozen = pool.frozen[resource]
            return Reason(frozen.code, {**frozen.figures, "needed": needed, "left": left})
        if not self._rooms.may_build(pool):
            return building(pool, self._snapshot)
        if not self._rooms.may_queue(pool, len(labels)):
            return Reason(reasons.STARTING, {"where": pool.where})
        # A set larger than max-concurrency is admitted when no other launch is in flight: it could never run otherwise.
        launching = self._rooms.launching(pool)
        if launching > 0 and len(labels) > self._rooms.launches_left(pool):
            return Reason(reasons.CONCURRENCY, {"where": pool.where, "launching": launching})
        return None

    def _tenant_limit(self, request: OpenRequest, option: Option, short: Mapping[str, tuple[float, float]]) -> Reason:
        """Return the reason, first for a resource that exceeds the whole limit: no returned node can end that."""
        limits = self._snapshot.tenant_limits.get(request.tenant or "", Limits())
        beyond = limits.short_of(option.whole)
        resource, needed, left = worst_shortage({name: short[name] for name in beyond if name in short} or short)
        figures = {"tenant": request.tenant, "resource": resource, "needed": needed, "left": max(0, left)}
        return Reason(reasons.TENANT_LIMIT, {**figures, "limit": limits[resource]})


def _is_for_room(reason: Reason) -> bool:
    """True for a reason that nodes which are given back end; to keep room would not help against a narrow freeze."""
    frozen = reason.code == reasons.FROZEN and not is_narrow(str(reason.figures["resource"]))
    return frozen or reason.code == reasons.NO_ROOM


def _takes_room(reason: Reason) -> bool:
    """True for a reason for which each request that waits reserves more: the next one waits for something else."""
    return _is_for_room(reason) or reason.code == reasons.TENANT_LIMIT


def _lack(reason: Reason) -> float:
    figures = reason.figures
    return float((figures["needed"] - figures["left"]) / figures["needed"])


def _by_pool(obstacles: Sequence[_Obstacle]) -> tuple[PoolReason, ...]:
    """Return the obstacle of the best option of each pool."""
    best: dict[str, Reason] = {}
    for item in obstacles:
        best.setdefault(item.option.pool.where, item.reason)
    return tuple(best.items())


def _most_telling(candidates: Sequence[Reason]) -> Reason:
    """Return the first limit, because it tells more than temporary trouble; without a limit the first reason."""
    return next((reason for reason in candidates if reason.is_limit), candidates[0])
