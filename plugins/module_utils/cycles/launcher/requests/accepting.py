# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Accepts requests: locks them and sets them pending, many in parallel; takes their ready nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ....clients.zookeeper.link.batch import Sent
from ....clients.zookeeper.locks import Held
from ....clients.zookeeper.store import Store
from ....launching import record
from ....launching.actions import Admit
from ....model.errors import StoreConflict, StoreGone
from ....model.node import Node, NodeState
from ....model.node_use import job_of, wanted_at
from ....model.request import NodeRequest, RequestState
from ..context.context import Context
from ..context.events import follow_node


@dataclass(eq=False)
class AcceptedRequest:
    """A pending request: *node_ids* in the order of its labels, *held* the locks of the nodes that are ready."""

    request: NodeRequest
    lock: Held
    pool_id: str
    node_ids: list[str] = field(default_factory=list)
    held: dict[str, Held] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)
    """Whose fault the failures were."""

    @property
    def complete(self) -> bool:
        """True when all its nodes are ready."""
        return len(self.held) == len(self.request.node_types)


def accept(store: Store, actions: Sequence[Admit], now: float) -> list[AcceptedRequest | None]:
    """Lock the requests and set them pending.

    :return: the requests in the order of *actions*; None for one that has changed since the plan was made.
    """
    claims = [_claim(store, action, now) for action in actions]
    return [_outcome(store, action, claim, now) for action, claim in zip(actions, claims, strict=True)]


def _claim(store: Store, action: Admit, now: float) -> tuple[NodeRequest, Held, Sent] | None:
    """Lock the request and set it pending in one batch, unless it was written since the plan was made."""
    request = store.requests.get(action.request_id)
    if request is None or not _is_open(request, action):
        return None
    batch = store.batch()
    held = store.requests.claim(request.id, batch)
    if held is None:
        return None
    request.set_state(RequestState.PENDING, now)
    store.requests.write(request, batch=batch, if_unchanged=True)
    sent = batch.send()
    held.claimed_by(sent)
    return request, held, sent


def _outcome(
    store: Store, action: Admit, claim: tuple[NodeRequest, Held, Sent] | None, now: float
) -> AcceptedRequest | None:
    if claim is not None:
        request, held, sent = claim
        if sent.refused() is None:
            return AcceptedRequest(request, held, action.pool_id)
        held.release()
    return _step_by_step(store, action, now)


def _step_by_step(store: Store, action: Admit, now: float) -> AcceptedRequest | None:
    """Lock, read and write the request in separate calls, for a request that was locked before."""
    held = store.requests.lock(action.request_id)
    if held is None:
        return None
    request = store.requests.read(action.request_id)
    if request is None or not _is_open(request, action):
        held.release()
        return None
    request.set_state(RequestState.PENDING, now)
    try:
        store.requests.write(request, if_unchanged=True)
    except (StoreGone, StoreConflict):  # withdrawn or revised: the next pass looks at it again
        held.release()
        return None
    return AcceptedRequest(request, held, action.pool_id)


def _is_open(request: NodeRequest, action: Admit) -> bool:
    """Return True if the request is open and as it was when the plan was made."""
    same = request.node_types == [slot.label for slot in action.slots]
    return same and request.state == RequestState.REQUESTED and action.pool_id not in request.declined_by


def reuse(context: Context, accepted: AcceptedRequest, node_id: str) -> bool:
    """Lock and allocate a ready node; return False if it is not free any more."""
    store = context.store
    held = store.nodes.lock(node_id)
    if held is None:
        return False
    node = store.nodes.read(node_id)
    if node is None or node.state != NodeState.READY or node.allocated_to is not None:
        held.release()
        return False
    record.allocate(node, accepted.request)
    _allocate(context, node, accepted.request)
    follow_node(context, node, accepted.request)
    accepted.node_ids.append(node_id)
    accepted.held[node_id] = held
    return True


def _allocate(context: Context, node: Node, request: NodeRequest) -> None:
    """Write the node's record; in the same round trip its launch record, which keeps what the usage is made from."""
    store, launch, now = context.store, context.launch(node.id), context.now()
    if launch is not None:
        batch = store.batch()
        launch.taken_at, launch.job = now, job_of(request.requestor_data)
        launch.wanted_at = wanted_at(request.created_time, now)
        launch.event_id = request.event_id
        context.save(launch, batch)
        store.nodes.write(node, batch=batch)
        if batch.send().refused() is None:
            return
    store.nodes.write(node)


def lock_pending(store: Store, request_id: str, pool_id: str) -> AcceptedRequest | None:
    """Lock a pending request that an ended cycle left; return None if that is not possible."""
    lock = store.requests.lock(request_id)
    if lock is None:
        return None
    request = store.requests.read(request_id)
    if request is None or request.state != RequestState.PENDING:
        lock.release()
        return None
    return AcceptedRequest(request, lock, pool_id)


def lock_node_of(store: Store, request_id: str, node_id: str) -> tuple[Node, Held] | None:
    """Lock and read a node that is allocated to the request; return None if that is not possible."""
    held = store.nodes.lock(node_id)
    if held is None:
        return None
    node = store.nodes.read(node_id)
    if node is None or node.allocated_to != request_id:
        held.release()
        return None
    return node, held
