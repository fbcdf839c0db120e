# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide whether a pool can ever serve a request, and whether it may do so now, without regard to head-room."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..model import reasons
from ..model.reasons import Reason
from ..model.resources import (
    INSTANCES,
    Limits,
    Resources,
    total,
)
from .capacity import worst_shortage
from .snapshot import (
    OpenRequest,
    OtherPool,
    PoolState,
    Snapshot,
)


def need_of(pool: PoolState, labels: Iterable[str]) -> Resources:
    """Return the resources that new nodes for the labels would use in the pool."""
    return total(pool.offers[label].resources for label in labels)


def narrow_of(pool: PoolState, labels: Iterable[str], zone: str | None) -> set[str]:
    """Return the frozen narrow resources that new nodes for the labels would need in the zone."""
    return {name for label in labels for name in pool.offers[label].shape.narrow_needs(zone) if name in pool.narrow}


def never(pool: PoolState, request: OpenRequest, snapshot: Snapshot) -> Reason | None:
    """Return why the pool can never serve the request with this configuration; None when it can."""
    if pool.limits[INSTANCES] <= 0:
        return Reason(reasons.POOL_DISABLED, {"where": pool.where})
    for label in request.labels:
        offer = pool.offers.get(label)
        if offer is None:
            return Reason(reasons.LABEL_UNKNOWN, {"where": pool.where, "label": label})
        if offer.never is not None:
            return offer.never
    need = need_of(pool, request.labels)
    too_large = _exceeds(pool.limits, need, reasons.TOO_LARGE_FOR_POOL, pool.where)
    if too_large is None and not pool.ignore_provider_quota:
        largest = snapshot.providers[pool.provider].largest
        if largest is not None:
            too_large = _exceeds(largest, need, reasons.TOO_LARGE_FOR_CLOUD, pool.provider)
    return too_large


def not_now(pool: PoolState, labels: Iterable[str], snapshot: Snapshot, tenant: str | None = None) -> Reason | None:
    """Return why nothing may be launched for these labels now, without regard to room; None when it may.

    :param tenant: whose request asks.
    """
    provider = snapshot.providers[pool.provider]
    if provider.blocked is not None:
        return provider.blocked
    if pool.blocked is not None:
        return pool.blocked
    for label in labels:
        offer = pool.offers[label]
        reason = offer.not_now or offer.not_for.get(tenant or "")
        if reason is not None:
            return reason
    if provider.bounds is None and not pool.ignore_provider_quota:
        if provider.limits_lack is None:
            return Reason(reasons.FACTS_UNREAD, {"where": pool.provider})
        # A pool with limits of its own goes on: what nova refuses by its quota is frozen.
        return None if pool.limits.bound_servers else provider.limits_lack
    return None


def building(pool: PoolState, snapshot: Snapshot) -> Reason:
    """Return the reason that the cloud already has as many servers to build as it builds in parallel best."""
    return Reason(reasons.BUILDING, {"where": pool.provider, "count": snapshot.providers[pool.provider].best_at_once})


def unconfirmed(pool: PoolState, request: OpenRequest, snapshot: Snapshot) -> Reason | None:
    """Return why the request exceeds the cloud's limits by the only reading so far; None when it does not.

    A single reading may be wrong: the request is not declined for ever, and no room is reserved for it.
    """
    provider = snapshot.providers[pool.provider]
    if provider.bounds is None or provider.largest is not None or pool.ignore_provider_quota:
        return None
    return _exceeds(provider.bounds, need_of(pool, request.labels), reasons.UNCONFIRMED, pool.provider)


def others_able(request: OpenRequest, others: Sequence[OtherPool]) -> list[OtherPool]:
    """Return the pools of other launchers that offer all labels and have not declined."""
    wanted = set(request.labels)
    return [pool for pool in others if pool.id not in request.declined_by and wanted <= pool.labels]


def preferred(request: OpenRequest, able: Sequence[PoolState], others: Sequence[OtherPool]) -> list[PoolState]:
    """Return those of our able pools that may serve the request by the rules of Nodepool's launchers.

    Only the preferred provider serves while one of its pools is able. A pool of another launcher with a smaller
    priority number goes first unless it is paused (Nodepool's rules for choosing requests).
    """
    present = [pool for pool in others if pool.present]
    pools = list(able)
    if request.provider is not None:
        ours = [pool for pool in pools if pool.provider == request.provider]
        if ours or any(pool.provider == request.provider for pool in present):
            pools = ours
            present = [pool for pool in present if pool.provider == request.provider]
    awake = [pool.priority for pool in present if not pool.paused]
    first = min(awake, default=None)
    return pools if first is None else [pool for pool in pools if pool.priority <= first]


def _exceeds(limits: Limits, need: Resources, code: str, where: str) -> Reason | None:
    short = limits.short_of(need)
    if not short:
        return None
    resource, needed, left = worst_shortage(short)
    return Reason(code, {"where": where, "resource": resource, "needed": needed, "left": left})
