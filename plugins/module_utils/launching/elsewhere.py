# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide whether a request whose launch fails again and again in one pool is tried in another one. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..model import owner
from ..model.launch import Launch, Phase
from .capacity import Rooms
from .snapshot import OpenRequest, Snapshot
from .verdict import need_of, never, not_now

TRIES_HERE = 2
"""Failures in one pool after which another one is tried: the third try in a row in the same place tells nothing new."""


def wants_another_place(launch: Launch) -> bool:
    """Return True for a launch that has failed so often here, for a reason that may not hold elsewhere."""
    may_differ = launch.owner in (owner.IMAGE, owner.UNKNOWN)
    return may_differ and launch.phase in (Phase.CLEARING, Phase.QUEUED) and len(launch.failures) >= TRIES_HERE


def has_room_elsewhere(
    snapshot: Snapshot, labels: Sequence[str], provider: str | None, besides: Collection[str]
) -> bool:
    """Return True if another pool could launch the whole set now.

    :param provider: the provider that the request prefers; its pools alone count if it has any.
    :param besides: ids of pools that have declined the request, or in which it has failed.
    """
    request = OpenRequest(id="", order=("", 0, ""), labels=tuple(labels), provider=provider)
    preferred = [pool for pool in snapshot.pools if pool.provider == provider] or list(snapshot.pools)
    rooms = Rooms(snapshot)
    return any(
        pool.id not in besides
        and never(pool, request, snapshot) is None
        and not_now(pool, labels, snapshot) is None
        and rooms.in_pool(pool).allows(need_of(pool, labels))
        and rooms.frozen(pool).allows(need_of(pool, labels))
        and not pool.narrow
        for pool in preferred
    )
