# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide whether a request whose launch fails again and again is tried in another pool or zone. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..model import owner
from ..model.launch import Launch, Phase
from .capacity import Rooms
from .snapshot import OpenRequest, PoolState, Snapshot
from .verdict import narrow_of, need_of, never, not_now

TRIES_HERE = 2
"""Failures in one place, or refusals there for want of something, after which another one is tried."""


def wants_another_place(launch: Launch) -> bool:
    """Return True for a launch that has failed so often here, for a reason that may not hold elsewhere."""
    may_differ = launch.owner in (owner.IMAGE, owner.UNKNOWN)
    return may_differ and launch.phase in (Phase.CLEARING, Phase.QUEUED) and len(launch.failures) >= TRIES_HERE


def waits_in_vain(launch: Launch) -> bool:
    """Return True for a launch that has been refused so often here for want of something that another place may have.

    It waits until that may be tried again.
    """
    return launch.phase == Phase.QUEUED and launch.delays >= TRIES_HERE


def is_left_alone(launch: Launch) -> bool:
    """Return True for a launch whose creates the cloud has failed so often that another provider should try it.

    Of the launches that such a cloud holds up one goes on trying; the others leave at once.
    """
    return launch.phase == Phase.QUEUED and launch.owner == owner.CLOUD and launch.delays >= TRIES_HERE


def zone_of(pool_id: str, zone: str) -> str:
    """Return the name of one zone of a pool, as it stands beside ids of pools among the places that were tried."""
    return f"{pool_id} in zone {zone}"


def has_room_in_another_zone(
    snapshot: Snapshot,
    pool_id: str,
    zone: str,
    labels: Sequence[str],
    besides: Collection[str],
    tenant: str | None = None,
) -> bool:
    """Return True if the whole set could be launched now in another zone of its pool. A single node changes its zone.

    :param besides: places in which the request has failed.
    :param tenant: whose request it is.
    """
    pool = next((item for item in snapshot.pools if item.id == pool_id), None)
    if pool is None or len(labels) < 2 or zone_of(pool_id, zone) in besides:
        return False
    others = [az for az in pool.az_load if az != zone and zone_of(pool_id, az) not in besides]
    return not_now(pool, labels, snapshot, tenant) is None and _has_room(pool, labels, Rooms(snapshot), others)


def has_room_here(snapshot: Snapshot, pool_id: str, labels: Sequence[str], tenant: str | None = None) -> bool:
    """Return True if a pool could launch nodes of these labels now."""
    pool = next((item for item in snapshot.pools if item.id == pool_id), None)
    if pool is None or not_now(pool, labels, snapshot, tenant) is not None:
        return False
    return _has_room(pool, labels, Rooms(snapshot), list(pool.az_load) or [None])


def has_room_elsewhere(
    snapshot: Snapshot,
    labels: Sequence[str],
    provider: str | None,
    besides: Collection[str],
    tenant: str | None = None,
) -> bool:
    """Return True if another pool could launch the whole set now.

    :param provider: the provider that the request prefers; its pools alone count if it has any.
    :param besides: ids of pools that have declined the request, or in which it has failed.
    :param tenant: whose request it is.
    """
    request = OpenRequest(id="", order=("", 0, ""), labels=tuple(labels), provider=provider)
    preferred = [pool for pool in snapshot.pools if pool.provider == provider] or list(snapshot.pools)
    rooms = Rooms(snapshot)
    return any(
        pool.id not in besides
        and never(pool, request, snapshot) is None
        and not_now(pool, labels, snapshot, tenant) is None
        and _has_room(pool, labels, rooms, list(pool.az_load) or [None])
        for pool in preferred
    )


def _has_room(pool: PoolState, labels: Sequence[str], rooms: Rooms, zones: Sequence[str | None]) -> bool:
    need = need_of(pool, labels)
    lacks_nothing = any(not narrow_of(pool, labels, zone) for zone in zones)
    return lacks_nothing and rooms.in_pool(pool).allows(need) and rooms.frozen(pool).allows(need)
