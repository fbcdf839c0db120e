# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Accepts requests: locks them and sets them pending, many in parallel; takes their ready nodes."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from ....clients.zookeeper.link.batch import Sent
from ....clients.zookeeper.locks import Held
from ....clients.zookeeper.store import Store
from ....launching import record
from ....launching.actions import Admit
from ....model.errors import StoreConflict, StoreGone
from ....model.image import build_of_path
from ....model.node import Node, NodeState
from ....model.node_use import job_of, wanted_at
from ....model.request import NodeRequest, RequestState
from ..context.context import Context
from ..context.events import follow_node
from ..launches.launches import Launches


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


class FormerNodes:
    """The nodes of requests that were given other ones, in the order of the labels: whichever are ready first serve it.

    Only the running cycle knows of them: after it a request waits for its other nodes.
    """

    def __init__(self, context: Context, launches: Launches) -> None:
        self._context = context
        self._launches = launches
        self._nodes: dict[str, list[str]] = {}

    def note(self, accepted: AcceptedRequest) -> None:
        """Remember the nodes of a request that is about to get other ones."""
        self._nodes[accepted.request.id] = list(accepted.node_ids)

    def forget(self, request_id: str) -> None:
        """Forget those of a request."""
        self._nodes.pop(request_id, None)

    def keep(self, known: Container[str]) -> None:
        """Forget those of the requests that are gone."""
        self._nodes = {request_id: nodes for request_id, nodes in self._nodes.items() if request_id in known}

    def ready_for(self, accepted: AcceptedRequest) -> list[str]:
        """Return the former nodes of a request if all are ready, nobody else has them, and they fit its event."""
        former = self._nodes.get(accepted.request.id, [])
        if not former or any(node_id in self._launches.in_progress for node_id in former):
            return []
        nodes = [self._context.store.nodes.read(node_id) for node_id in former]
        if all(node is not None and self._fits(node, accepted) for node in nodes):
            return former
        self.forget(accepted.request.id)
        return []

    def _fits(self, node: Node, accepted: AcceptedRequest) -> bool:
        place = build_of_path(node.image_id)
        free = node.state == NodeState.READY and node.allocated_to is None
        if place is None or not free or not self._context.store.verdicts.of_build(*place).is_used(self._context.now()):
            return False
        others = self._context.events.of_others(accepted.request, place[0])
        return not others or place[1] in others
