# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The resources that all nodes use. A pass counts only nodes that have changed, which bounds its cost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ....model.node import Node, NodeState
from ....model.resources import (
    FLOATING_IPS,
    INSTANCES,
    PORTS,
    Resources,
)
from ....model.stored import is_number
from ..provider.given_back import COUNTED

K = TypeVar("K")

MOST = 1e12
"""Largest amount of any resource; sums of such amounts are exact enough to subtract an amount again."""
COMING = frozenset({NodeState.READY, NodeState.BUILDING, NodeState.INIT})
LEAVING = frozenset({NodeState.USED, NodeState.DELETING, NodeState.DELETED, NodeState.FAILED, NodeState.ABORTED})


def size_of(node: Node) -> Resources:
    """Return the resources that a node uses by its record.

    A record without figures, as other programs write them, counts as one instance with one port.
    """
    amounts = {name: value for name, value in (node.resources or {}).items() if _is_amount(value)}
    return Resources({INSTANCES: 1, PORTS: 1, **amounts, **({FLOATING_IPS: 1} if _has_floating(node) else {})})


def _is_amount(value: Any) -> bool:
    """Return True for a usable amount; other programs may have written negative or impossibly large ones."""
    return is_number(value) and 0 <= value <= MOST


def _has_floating(node: Node) -> bool:
    return bool(node.public_ipv4) and node.public_ipv4 != node.private_ipv4 and bool(node.private_ipv4)


class Sums(Generic[K]):
    """Amounts added up by key."""

    def __init__(self) -> None:
        self._amounts: dict[K, Counter[str]] = defaultdict(Counter)

    def add(self, key: K, size: Resources, sign: int = 1) -> None:
        """Add one node's amounts, or (*sign* -1) subtract amounts that were added before."""
        amounts = self._amounts[key]
        for name, amount in size.items():
            amounts[name] += sign * amount  # type: ignore[assignment]  # other programs may write a fraction as ram
            if not amounts[name]:
                del amounts[name]
        if not amounts:
            del self._amounts[key]

    def __getitem__(self, key: K) -> Resources:
        return Resources(self._amounts.get(key, {}))


@dataclass(frozen=True, slots=True)
class _Share:
    """The amounts that one node adds to the sums, and the keys of those sums."""

    provider: str
    pool: tuple[str, str]
    size: Resources
    tenant: str | None
    in_cloud: bool
    freeing: bool
    zone: str | None
    spare_for: tuple[str, ...]
    server_id: str


class Ledger:
    """The resources that nodes use: by provider, by pool and by tenant.

    :ivar in_cloud: by provider, the resources of nodes that have a server.
    :ivar freeing: by provider, the resources of nodes that are being deleted and not stuck; *freeing_in_pool* by pool.
    :ivar zones: (provider, pool) → number of nodes that stay, by zone.
    :ivar stuck: nodes whose deletion is stuck; *to_float*: nodes that wait for a floating IP; *given_back*: nodes whose
        server the quota does not count any more.
    :ivar server_ids: the servers that records name.
    :ivar spare: label → number of unallocated nodes that are ready or being launched.
    """

    def __init__(self) -> None:
        self.by_provider: Sums[str] = Sums()
        self.by_pool: Sums[tuple[str, str]] = Sums()
        self.by_tenant: Sums[str] = Sums()
        self.in_cloud: Sums[str] = Sums()
        self.freeing: Sums[str] = Sums()
        self.freeing_in_pool: Sums[tuple[str, str]] = Sums()
        self.zones: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.spare: Counter[str] = Counter()
        self.server_ids: Counter[str] = Counter()
        self._shares: dict[str, _Share] = {}
        self.stuck: frozenset[str] = frozenset()
        self.to_float: frozenset[str] = frozenset()
        self.given_back: frozenset[str] = frozenset()

    @property
    def node_ids(self) -> Collection[str]:
        """The ids of all nodes that are counted."""
        return self._shares.keys()

    def follow(
        self,
        changed: Iterable[str],
        nodes: Mapping[str, Node],
        stuck: Collection[str] = (),
        to_float: Collection[str] = (),
        given_back: Collection[str] = (),
    ) -> None:
        """Update the sums.

        :param changed: ids of nodes that are new, different or gone.
        :param nodes: all nodes by id.
        :param stuck: nodes whose deletion is stuck: their room will not be free soon.
        :param to_float: nodes that wait for a floating IP.
        :param given_back: nodes whose server the quota does not count any more.
        """
        held_up, waiting, free = frozenset(stuck), frozenset(to_float), frozenset(given_back)
        differ = (held_up ^ self.stuck) | (waiting ^ self.to_float) | (free ^ self.given_back)
        for node_id in {*changed, *differ}:
            before = self._shares.pop(node_id, None)
            if before is not None:
                self._count(before, -1)
            node = nodes.get(node_id)
            if node is not None and not node.broken:
                share = self._shares[node_id] = _share(node, node_id in held_up, node_id in waiting, node_id in free)
                self._count(share, 1)
        self.stuck, self.to_float, self.given_back = held_up, waiting, free

    def follow_records(self, changed: Iterable[str], nodes: Mapping[str, Node]) -> None:
        """Update the sums with nodes that are new, different or gone; keep the other sets."""
        self.follow(changed, nodes, self.stuck, self.to_float, self.given_back)

    def _count(self, share: _Share, sign: int) -> None:
        """Add a node's share to the sums, or (*sign* -1) subtract it."""
        self.by_provider.add(share.provider, share.size, sign)
        self.by_pool.add(share.pool, share.size, sign)
        if share.tenant is not None:
            self.by_tenant.add(share.tenant, share.size, sign)
        if share.in_cloud:
            self.in_cloud.add(share.provider, share.size, sign)
        if share.freeing:
            self.freeing.add(share.provider, share.size, sign)
            self.freeing_in_pool.add(share.pool, share.size, sign)
        if share.zone is not None:
            _count(self.zones[share.pool], share.zone, sign)
        for label in share.spare_for:
            _count(self.spare, label, sign)
        if share.server_id:
            _count(self.server_ids, share.server_id, sign)


def _count(counts: Counter[str], key: str, sign: int) -> None:
    counts[key] += sign
    if not counts[key]:
        del counts[key]


def _share(node: Node, stuck: bool, floats: bool, given_back: bool) -> _Share:
    size = size_of(node)
    if given_back:
        size = Resources({name: amount for name, amount in size.items() if name not in COUNTED})
    if floats and not _has_floating(node):
        size = size + Resources({FLOATING_IPS: 1})
    coming, leaving = node.state in COMING, node.state in LEAVING
    # The record of a node that was freed still names the tenant for which it was launched.
    pays = bool(node.tenant_name) and (node.allocated_to is not None or not coming)
    return _Share(
        provider=node.provider or "",
        pool=(node.provider or "", node.pool or ""),
        size=size,
        tenant=node.tenant_name if pays else None,
        in_cloud=bool(node.external_id),
        freeing=leaving and not stuck,
        zone=node.az if node.az and not leaving and not stuck else None,
        spare_for=tuple(node.type) if coming and node.allocated_to is None else (),
        server_id=node.external_id if isinstance(node.external_id, str) else "",
    )


def take_stock(nodes: Iterable[Node], stuck: Collection[str] = (), to_float: Collection[str] = ()) -> Ledger:
    """Return a new ledger of these nodes."""
    ledger, known = Ledger(), {node.id: node for node in nodes}
    ledger.follow(known, known, stuck, to_float)
    return ledger
