# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways to serve a request: pool, availability zone, and the ready nodes to take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..model.resources import Resources, total
from .actions import Slot
from .capacity import Rooms
from .elsewhere import zone_of
from .narrow import one_of_each
from .snapshot import (
    OpenRequest,
    PoolState,
    ReadyNode,
    Snapshot,
)
from .verdict import narrow_of, need_of

Rank = tuple[bool, int, int, float, str, str]
"""The sort key of an option."""


@dataclass(frozen=True)
class Option:
    """One way to serve a request. *need*: the resources of its launches. *reused*: the ready nodes that it takes."""

    pool: PoolState
    az: str | None
    slots: tuple[Slot, ...]
    reused: tuple[ReadyNode, ...]
    need: Resources

    @property
    def to_launch(self) -> list[str]:
        """The labels whose nodes must be launched."""
        return [slot.label for slot in self.slots if slot.node_id is None]

    @property
    def unseen(self) -> bool:
        """True when it takes a node that may not be handed out yet."""
        return any(node.unseen for node in self.reused)

    @property
    def whole(self) -> Resources:
        """The resources of the whole set, reused nodes included."""
        return self.need + total(node.resources for node in self.reused)


class Stock:
    """Idle ready nodes by pool, oldest first (those that may not be handed out yet last), and the load of each zone."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._idle: dict[str, list[ReadyNode]] = {pool.id: [] for pool in snapshot.pools}
        for node in sorted(snapshot.ready, key=lambda node: (node.unseen, node.since, node.id)):
            self._idle.setdefault(node.pool_id, []).append(node)
        self._load = {pool.id: Counter(dict(pool.az_load)) for pool in snapshot.pools}

    def idle(self, pool_id: str) -> list[ReadyNode]:
        """Return the pool's remaining idle nodes."""
        return self._idle[pool_id]

    def use(self, option: Option) -> None:
        """Take the option's ready nodes out of the stock, and add its launches to the load of its zone."""
        taken = {node.id for node in option.reused}
        self._idle[option.pool.id] = [node for node in self._idle[option.pool.id] if node.id not in taken]
        if option.az is not None:
            self._load[option.pool.id][option.az] += len(option.to_launch)

    def remove(self, node: ReadyNode) -> None:
        """Take a node out of the stock: it is deleted."""
        self._idle[node.pool_id].remove(node)

    def quietest_az(self, pool: PoolState, labels: Sequence[str] = (), tried: Container[str] = ()) -> str | None:
        """Return the zone with the fewest of our nodes; None when the cloud has no zones.

        Zones in which the *labels* lately had no hosts come after the others, those without hosts now after them, and
        last those that were *tried*.
        """
        load = self._load[pool.id]

        def key(az: str) -> tuple[bool, bool, bool, int, str]:
            frozen = pool.narrow and any(pool.frozen_room[name] < 1 for name in _tried(pool, labels, az))
            doubted = bool(pool.doubted) and any(
                not pool.doubted.isdisjoint(pool.offers[label].shape.narrow_needs(az)) for label in labels
            )
            return zone_of(pool.id, az) in tried, bool(frozen), doubted, load[az], az

        return min(load, key=key, default=None)

    def options(self, request: OpenRequest, pools: Sequence[PoolState]) -> Iterator[Option]:
        """Yield every way to serve the request. All nodes of a set are in one pool and zone (Nodepool's rule)."""
        for pool in pools:
            idle = [node for node in self._idle[pool.id] if not node.doubted] if request.reuse else []
            zones = dict.fromkeys(node.az for node in idle if set(node.labels) & set(request.labels))
            for az in zones:
                yield self._option(request, pool, az, [node for node in idle if node.az == az])
            quietest = self.quietest_az(pool, request.labels, request.tried)
            if quietest not in zones:
                yield self._option(request, pool, quietest, [])

    def _option(self, request: OpenRequest, pool: PoolState, az: str | None, idle: list[ReadyNode]) -> Option:
        left = list(idle)
        slots: list[Slot] = []
        reused: list[ReadyNode] = []
        # All nodes of an event come from one build of an image; the first one decides if none has decided before.
        builds = {image: build for provider, image, build in request.builds if provider == pool.provider}
        for label in request.labels:
            node = next((node for node in left if label in node.labels and _fits(node, builds)), None)
            if node is not None:
                left.remove(node)
                reused.append(node)
                builds |= dict([node.build] if node.build is not None else [])
            slots.append(Slot(label, node.id if node else None))
        to_launch = [slot.label for slot in slots if slot.node_id is None]
        need = need_of(pool, to_launch)
        if pool.narrow:
            need = need + Resources(dict.fromkeys(_tried(pool, to_launch, az), 1))
        return Option(pool, az, tuple(slots), tuple(reused), need)


def _fits(node: ReadyNode, builds: Mapping[str, str]) -> bool:
    """Return True if the node was made from the build that is given for its image, if one is."""
    return node.build is None or builds.get(node.build[0], node.build[1]) == node.build[1]


def _tried(pool: PoolState, labels: Sequence[str], zone: str | None) -> Collection[str]:
    """Return the frozen narrow resources that launches for the labels would try first: a set tries its own in turn."""
    return one_of_each(narrow_of(pool, labels, zone), pool.frozen_room).values()


def rank(option: Option, rooms: Rooms, tried: Container[str] = ()) -> Rank:
    """Return the sort key of an option; smaller is better.

    It contains whether launches for the request have failed there, the priority, the number of reused nodes, the room
    relative to the need, and names for a stable plan.

    :param tried: the pools and zones in which launches for the request have failed.
    """
    failed = option.pool.id in tried or (option.az is not None and zone_of(option.pool.id, option.az) in tried)
    room = rooms.in_pool(option.pool)
    fill = max((need / room[name] if room[name] > 0 else 1e9 for name, need in option.need.items()), default=0.0)
    return (
        failed,
        option.pool.priority,
        -len(option.reused),
        fill,
        option.pool.where,
        option.az or "",
    )
