# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan the next actions for a lease, from the wish of the caller and the records in ZooKeeper. No I/O.

The process may be killed after any action. A new plan from what is then seen leads to the same end, without a second
request for a set and without a lost node.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ..model.lease import (
    Lease,
    LeaseError,
    LeaseSpec,
    belongs,
    is_for,
    is_handed_over,
    is_held,
    is_marked,
    is_of,
    request_expiry,
)
from ..model.node import Node, NodeState
from ..model.request import NodeRequest, RequestState


@dataclass(frozen=True)
class Action:
    """An action and its reason."""

    reason: str


@dataclass(frozen=True)
class Begin(Action):
    """Write the document of a new lease, in place of an old one if there is one."""


@dataclass(frozen=True)
class Ask(Action):
    """Create the request of a set and note it in the lease."""

    number: int


@dataclass(frozen=True)
class Adopt(Action):
    """Note a set's request in the lease: a run created it and was killed before it noted it."""

    number: int
    request: str


@dataclass(frozen=True)
class Forget(Action):
    """Note that a set has no request any more, so that a new one is created."""

    number: int


@dataclass(frozen=True)
class Hold(Action):
    """Take a node over from its request."""

    node: str
    request: str


@dataclass(frozen=True)
class Note(Action):
    """Note the nodes of a set, all of them held."""

    number: int
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class DropRequest(Action):
    """Delete a request."""

    request: str


@dataclass(frozen=True)
class Leave(Action):
    """Note the nodes of the lease that must be deleted before it ends."""

    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Release(Action):
    """Give a node back.

    *requests*: the requests of the lease, when the node is ready for one of them or free; None when it is held.
    """

    node: str
    requests: tuple[str, ...] | None = None


@dataclass(frozen=True)
class End(Action):
    """Delete the document of the lease."""


@dataclass(frozen=True)
class LeaseView:
    """The requests and nodes in ZooKeeper that may belong to the lease, by id."""

    requests: Mapping[str, NodeRequest] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)


@dataclass
class LeasePlan:
    """What to do now. *failures*: request → sentence. *waiting*: requests for which a launcher has to act first.

    *leaving*: nodes that a launcher has to delete first.
    """

    actions: list[Action] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    leaving: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


def plan_present(
    spec: LeaseSpec,
    lease: Lease | None,
    view: LeaseView,
    now: float,
    *,
    seen: Collection[str] = (),
    broken: Collection[str] = (),
) -> LeasePlan:
    """Plan the way to a lease whose sets are all held.

    :param seen: requests that existed a while ago; when one is gone, a client deleted it on purpose.
    :param broken: fulfilled requests with a node that turned out not to belong to them.
    :raises LeaseError: when the lease exists with other labels or another count.
    """
    if lease is None:
        return LeasePlan(actions=[*_strays(spec.name, None, view), Begin("there is no lease with this name yet")])
    if lease.labels != list(spec.labels) or len(lease.sets) != spec.count:
        raise LeaseError(
            f"lease {lease.name} exists with {_sets(len(lease.sets), lease.labels)}, but"
            f" {_sets(spec.count, spec.labels)} was requested: release it first (state: absent) or use another name"
        )
    lost = [node for node in lease.node_ids if not is_held(view.nodes.get(node), lease.name, now)]
    if lost:
        return _renewal(lease, view, lost)
    plan = LeasePlan(actions=_strays(spec.name, lease, view))
    for number in range(len(lease.sets)):
        _plan_set(plan, lease, number, view, now, seen, broken)
    return plan


def plan_absent(name: str, lease: Lease | None, view: LeaseView, *, clears: bool = False) -> LeasePlan:
    """Plan the removal of a lease. Its document is deleted last: when it is gone, nothing else is left.

    :param clears: True: the document stays until the nodes are deleted, also those that are still being launched for
        its requests. They are noted in it before the requests are deleted: then nothing else names them.
    """
    reason = "the lease is to be released"
    plan = LeasePlan()
    wanted = tuple(lease.request_ids) if lease else ()
    if clears:
        plan.leaving = sorted(node.id for node in view.nodes.values() if _is_leaving(node, name, lease))
        if lease is not None and not set(plan.leaving) <= set(lease.leaving):
            plan.actions.append(Leave(reason, tuple(sorted({*lease.leaving, *plan.leaving}))))
    for request in sorted(view.requests.values(), key=lambda item: item.id):
        if request.id in wanted or belongs(request, name):
            plan.actions.append(DropRequest(reason, request.id))
    plan.actions += [Release(reason, node.id) for node in _marked(name, view)]
    ready = [node for key in plan.leaving if (node := view.nodes[key]).state == NodeState.READY]
    plan.actions += [Release(reason, node.id, wanted) for node in ready]
    if lease is not None and not plan.leaving:
        plan.actions.append(End(reason))
    return plan


def _is_leaving(node: Node, name: str, lease: Lease | None) -> bool:
    """Return True when a node exists only for the lease that is being released, so that it has to be deleted."""
    if is_of(node, name):
        return True
    if lease is None or node.state in (NodeState.HOLD, NodeState.IN_USE, NodeState.USED):
        return False  # another requestor has taken it over
    return node.allocated_to in lease.request_ids or (node.allocated_to is None and node.id in lease.leaving)


def _marked(name: str, view: LeaseView) -> list[Node]:
    return sorted((node for node in view.nodes.values() if is_marked(node, name)), key=lambda node: node.id)


def _renewal(lease: Lease, view: LeaseView, lost: list[str]) -> LeasePlan:
    reason = f"{', '.join(lost)} of the lease expired or were deleted: the lease is renewed as a whole"
    plan = plan_absent(lease.name, lease, view)
    plan.actions = [
        DropRequest(reason, action.request) if isinstance(action, DropRequest) else Release(reason, action.node)
        for action in plan.actions
        if isinstance(action, (DropRequest, Release))
    ]
    plan.actions.append(Begin(reason))
    plan.notices.append(reason)
    return plan


def _sets(count: int, labels: Sequence[str]) -> str:
    """Return ``2 x (small, large)``; one set has only its labels."""
    listed = ", ".join(labels)
    return f"{count} x ({listed})" if count != 1 else listed


def _strays(name: str, lease: Lease | None, view: LeaseView) -> list[Action]:
    """Return actions that remove what is left of an earlier lease of this name, and second requests for a set."""
    actions: list[Action] = []
    kept_requests: set[str] = set()
    kept_nodes = set(lease.node_ids) if lease else set()
    for number, part in enumerate(lease.sets if lease else ()):
        own = part.request or min((item.id for item in _requests_for(lease, number, view)), default=None)
        if own is not None:
            kept_requests.add(own)
        if own is not None and own in view.requests:
            kept_nodes.update(view.requests[own].nodes)
    for request in sorted(view.requests.values(), key=lambda item: item.id):
        if belongs(request, name) and request.id not in kept_requests:
            actions.append(DropRequest("it is no longer part of the lease", request.id))
    for node in _marked(name, view):
        if node.id not in kept_nodes:
            actions.append(Release("it is no longer part of the lease", node.id))
    return actions


def _requests_for(lease: Lease | None, number: int, view: LeaseView) -> list[NodeRequest]:
    if lease is None:
        return []
    return [request for request in view.requests.values() if is_for(request, lease, number)]


def _plan_set(
    plan: LeasePlan,
    lease: Lease,
    number: int,
    view: LeaseView,
    now: float,
    seen: Collection[str],
    broken: Collection[str],
) -> None:
    part = lease.sets[number]
    if part.nodes:
        if part.request in view.requests:
            plan.actions.append(DropRequest("its nodes are held", part.request or ""))
        return
    if part.request is None:
        made = min((request.id for request in _requests_for(lease, number, view)), default=None)
        plan.actions.append(
            Ask(f"set {number + 1} has not been requested", number)
            if made is None
            else Adopt(f"it was made for set {number + 1}", number, made)
        )
        return
    request = view.requests.get(part.request)
    if request is None:
        if part.request in seen:
            plan.failures[part.request] = f"request {part.request} was deleted by another client"
        plan.actions.append(Forget(f"request {part.request} no longer exists", number))
    elif request.state == RequestState.FAILED:
        plan.failures[request.id] = f"request {request.id} for {', '.join(request.node_types)} failed"
        _give_up(plan, number, request, "the request failed")
    elif request.state == RequestState.FULFILLED:
        _take_over(plan, lease, number, request, view, now, broken)
    else:
        expiry = request_expiry(request, now)
        if expiry is not None and now >= expiry:
            _give_up(plan, number, request, "the request has expired")
        else:
            plan.waiting.append(request.id)


def _take_over(
    plan: LeasePlan,
    lease: Lease,
    number: int,
    request: NodeRequest,
    view: LeaseView,
    now: float,
    broken: Collection[str],
) -> None:
    usable = len(request.nodes) == len(request.node_types) and all(
        is_held(view.nodes.get(node), lease.name, now) or is_handed_over(view.nodes.get(node), request.id)
        for node in request.nodes
    )
    if request.id in broken or not usable:
        _give_up(plan, number, request, "some nodes of the request no longer belong to it")
        return
    reason = f"request {request.id} is fulfilled"
    plan.actions += [
        Hold(reason, node, request.id) for node in request.nodes if not is_held(view.nodes.get(node), lease.name, now)
    ]
    plan.actions.append(Note(reason, number, tuple(request.nodes)))
    plan.actions.append(DropRequest("its nodes are held", request.id))


def _give_up(plan: LeasePlan, number: int, request: NodeRequest, reason: str) -> None:
    """Drop the request. Nodes of it that are held already count as strays in the next plan."""
    plan.actions += [DropRequest(reason, request.id), Forget(reason, number)]
