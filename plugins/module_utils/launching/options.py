# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways in which a request could be served: pool, availability zone, and which ready nodes would be taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..model.resources import Resources, total
from .actions import Slot
from .capacity import Rooms
from .snapshot import (
    OpenRequest,
    PoolState,
    ReadyNode,
    Snapshot,
)
from .verdict import need_of


@dataclass(frozen=True)
class Option:
    """One way to serve a request. *need* is what its launches use, *reused* the ready nodes it takes."""

    pool: PoolState
    az: str | None
    slots: tuple[Slot, ...]
    reused: tuple[ReadyNode, ...]
    need: Resources

    @property
    def to_launch(self) -> list[str]:
        """The labels that must be launched."""
        return [slot.label for slot in self.slots if slot.node_id is None]

    @property
    def unseen(self) -> bool:
        """True when it takes a node that is not to be had yet."""
        return any(node.unseen for node in self.reused)

    @property
    def whole(self) -> Resources:
        """What the whole set uses, reused nodes included."""
        return self.need + total(node.resources for node in self.reused)


class Stock:
    """Idle ready nodes by pool, oldest first (those that are not to be had yet last), and how busy each zone is."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._idle: dict[str, list[ReadyNode]] = {pool.id: [] for pool in snapshot.pools}
        for node in sorted(snapshot.ready, key=lambda node: (node.unseen, node.since, node.id)):
            self._idle.setdefault(node.pool_id, []).append(node)
        self._load = {pool.id: Counter(dict(pool.az_load)) for pool in snapshot.pools}

    def idle(self, pool_id: str) -> list[ReadyNode]:
        """What is left of the pool's idle nodes."""
        return self._idle[pool_id]

    def use(self, option: Option) -> None:
        """Takes the option's ready nodes out of the stock; its zone is busier by the nodes to launch."""
        taken = {node.id for node in option.reused}
        self._idle[option.pool.id] = [node for node in self._idle[option.pool.id] if node.id not in taken]
        if option.az is not None:
            self._load[option.pool.id][option.az] += len(option.to_launch)

    def remove(self, node: ReadyNode) -> None:
        """The node is given up."""
        self._idle[node.pool_id].remove(node)

    def quietest_az(self, pool: PoolState) -> str | None:
        """The zone with the fewest of our nodes; None where the cloud has no zones."""
        load = self._load[pool.id]
        return min(load, key=lambda az: (load[az], az), default=None)

    def options(self, request: OpenRequest, pools: Sequence[PoolState]) -> Iterator[Option]:
        """Every way to serve the request. All nodes of a set are in one pool and zone (Nodepool's rule)."""
        for pool in pools:
            idle = self._idle[pool.id] if request.reuse else []
            zones = dict.fromkeys(node.az for node in idle if set(node.labels) & set(request.labels))
            for az in zones:
                yield self._option(request, pool, az, [node for node in idle if node.az == az])
            quietest = self.quietest_az(pool)
            if quietest not in zones:
                yield self._option(request, pool, quietest, [])

    def _option(self, request: OpenRequest, pool: PoolState, az: str | None, idle: list[ReadyNode]) -> Option:
        left = list(idle)
        slots: list[Slot] = []
        reused: list[ReadyNode] = []
        for label in request.labels:
            node = next((node for node in left if label in node.labels), None)
            if node is not None:
                left.remove(node)
                reused.append(node)
            slots.append(Slot(label, node.id if node else None))
        need = need_of(pool, [slot.label for slot in slots if slot.node_id is None])
        return Option(pool, az, tuple(slots), tuple(reused), need)


def rank(option: Option, rooms: Rooms) -> tuple[int, int, float, str, str]:
    """Smaller is better: priority, most reuse, most room for its size, then names so that the plan is stable."""
    room = rooms.in_pool(option.pool)
    fill = max((need / room[name] if room[name] > 0 else 1e9 for name, need in option.need.items()), default=0.0)
    return (option.pool.priority, -len(option.reused), fill, option.pool.where, option.az or "")
