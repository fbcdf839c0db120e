# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide about nodes and requests that no cycle works on: the rules for garbage, age and lost owners."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ..model import reasons
from ..model.config.types import Label, Provider
from ..model.lease import is_of_lease, request_expiry
from ..model.node import Node, NodeState
from ..model.reasons import Reason
from ..model.request import NodeRequest, RequestState
from .actions import (
    DeleteNode,
    DropRequest,
    FreeNode,
)
from .retiring import Places

GARBAGE = frozenset(
    {
        NodeState.USED,
        NodeState.IN_USE,
        NodeState.FAILED,
        NodeState.DELETING,
        NodeState.DELETED,
        NodeState.ABORTED,
    }
)
SURPLUS_SECONDS = 600.0
"""Seconds after which an idle ready node beyond min-ready that no request wants is deleted."""
ORPHAN_SECONDS = 30.0
"""Age in seconds from which an unlocked node in init or building without a launch record counts as left by a launcher
that died."""


@dataclass(frozen=True)
class Idle:
    """Nodes and requests that are neither locked nor worked on by this cycle."""

    nodes: Iterable[Node]
    requests: Iterable[NodeRequest]
    owners: Container[str]
    """Ids of requests that nodes may be allocated to: pending, fulfilled or failed and not yet collected."""
    launches: Container[str]
    """Ids of nodes with a launch record: the launcher adopts them instead of deleting them."""
    providers: Mapping[str, Provider] = field(default_factory=dict)
    """The providers that the launcher acts for, by name: nodes without a place there any more are deleted."""
    lost: Callable[[Node], Reason | None] = lambda node: None
    """Returns why the server of a ready node cannot be used any more, or None."""
    since: Callable[[Node], float] = lambda node: node.state_time or 0.0
    """Returns when a node came into its state, corrected for a wrong clock of the writer."""
    idle_since: Callable[[Node], float] = lambda node: node.state_time or 0.0
    """Returns since when a ready node has been allocated to nobody."""
    surplus: Container[str] = frozenset()
    """Ids of ready nodes that neither a request nor min-ready wants."""
    created_at: Callable[[str], float | None] = lambda request_id: None
    """Returns when ZooKeeper created the request with that id, or None."""


def owners(requests: Iterable[NodeRequest]) -> set[str]:
    """Return the ids of requests that may have nodes; in state requested, an allocation is a leftover."""
    return {request.id for request in requests if request.state != RequestState.REQUESTED}


def surplus(nodes: Iterable[Node], spare: Mapping[str, int], labels: Mapping[str, Label], wanted: set[str]) -> set[str]:
    """Return the ids of ready nodes beyond min-ready, the oldest first; all launchers of a tree choose the same ones.

    :param nodes: the nodes of the whole tree that are not locked.
    :param spare: label → number of unallocated nodes that are ready or being launched.
    :param wanted: the labels of open requests; their nodes stay.
    """
    beyond = {name: count - (labels[name].min_ready if name in labels else 0) for name, count in spare.items()}
    if not any(count > 0 and name not in wanted for name, count in beyond.items()):
        return set()
    found: set[str] = set()
    idle = (node for node in nodes if node.state == NodeState.READY and node.allocated_to is None and not node.broken)
    for node in sorted(idle, key=lambda node: (node.state_time or 0.0, node.id)):
        if all(beyond.get(name, 0) > 0 and name not in wanted for name in node.type):
            found.add(node.id)
            for name in node.type:
                beyond[name] -= 1
    return found


def hold_limit(node: Node, max_hold_age: float) -> float | None:
    """Return the seconds after which a held node is deleted, None for no limit.

    :param max_hold_age: the limit for all nodes in seconds; 0 for none.
    """
    return min((bound for bound in (node.hold_expiration or 0, max_hold_age) if bound > 0), default=None)


def upkeep(
    idle: Idle, labels: Mapping[str, Label], max_hold_age: float, now: float
) -> Iterator[DeleteNode | FreeNode | DropRequest]:
    """Yield everything that is due, nodes first, each in the order of ids."""
    places = Places(idle.providers)
    for node in sorted(idle.nodes, key=lambda node: node.id):
        action = _for_node(node, idle, places, labels, max_hold_age, now)
        if action is not None:
            yield action
    of_leases = [request for request in idle.requests if is_of_lease(request)]
    for request in sorted(of_leases, key=lambda request: request.id):
        expiry = request_expiry(request, now, idle.created_at(request.id))
        if expiry is not None and now > expiry:
            lease = request.requestor_data.get("lease", "?")
            yield DropRequest(request.id, Reason(reasons.LEASE_EXPIRED, {"lease": lease}))


def _for_node(
    node: Node, idle: Idle, places: Places, labels: Mapping[str, Label], max_hold_age: float, now: float
) -> DeleteNode | FreeNode | None:
    age = now - idle.since(node)
    if node.state in GARBAGE:
        return DeleteNode(node.id, Reason(reasons.USED, {"state": node.state}), node.version)
    if node.state in (NodeState.INIT, NodeState.BUILDING):
        if node.id not in idle.launches and age > ORPHAN_SECONDS:
            return DeleteNode(node.id, Reason(reasons.OWNER_GONE), node.version)
        # Launches are adopted before: a node that is still idle here could not be adopted.
        reason = None if node.allocated_to in idle.owners else places.retired(node)
        return None if reason is None else DeleteNode(node.id, reason, node.version)
    if node.state == NodeState.READY:
        if node.allocated_to is not None:
            if node.allocated_to not in idle.owners:
                return FreeNode(node.id, Reason(reasons.REQUEST_GONE, {"request": node.allocated_to}))
            return None
        reason = idle.lost(node) or places.retired(node)
        if reason is not None:
            return DeleteNode(node.id, reason, node.version)
        limit = max((labels[name].max_ready_age for name in node.type if name in labels), default=0)
        if 0 < limit < age:
            return DeleteNode(node.id, Reason(reasons.AGED, {"age": age, "limit": limit}), node.version)
        unused = now - idle.idle_since(node)
        if node.id in idle.surplus and unused > SURPLUS_SECONDS:
            return DeleteNode(node.id, Reason(reasons.SURPLUS, {"age": unused}), node.version)
    if node.state == NodeState.HOLD:
        most = hold_limit(node, max_hold_age)
        if most is not None and age > most:
            return DeleteNode(node.id, Reason(reasons.HELD_TOO_LONG, {"age": age, "limit": most}), node.version)
    return None
