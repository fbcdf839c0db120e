# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests in this cycle's hands: accepted, filled, handed over, declined or canceled in Nodepool's order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....clients.zookeeper.batch import Batch
from ....clients.zookeeper.locks import Held
from ....launching import record
from ....launching.actions import Admit, Decline
from ....model import reasons
from ....model.errors import StoreGone
from ....model.launch import Phase
from ....model.lines import Trouble, collapsed
from ....model.node import Node, NodeState
from ....model.reasons import Reason
from ....model.request import NodeRequest, RequestState
from ....model.stored import BadDocument
from ..context.context import Context
from ..context.launch_in_progress import LaunchInProgress
from ..launches.beginning import Wanted
from ..launches.launches import Launches
from .accepting import accept

WAITS = "waits"
DECLINES = "declines"
"""Why pools have declined a request, for as long as it exists: whoever fails it in the end tells all of it."""


@dataclass(eq=False)
class AcceptedRequest:
    """A pending request: *node_ids* in the order of its labels, *held* the locks of the nodes that are ready.

    *whole*: everything that was planned for it could be had.
    """

    request: NodeRequest
    lock: Held
    pool_id: str
    node_ids: list[str] = field(default_factory=list)
    held: dict[str, Held] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    whole: bool = True

    @property
    def complete(self) -> bool:
        """True when all its nodes are ready."""
        return len(self.held) == len(self.request.node_types)


class AcceptedRequests:
    """All requests that this cycle has accepted, by id."""

    def __init__(self, context: Context, everybody: set[str]) -> None:
        self._context = context
        self._everybody = everybody
        self._served: dict[str, AcceptedRequest] = {}
        self.launches: Launches | None = None

    def __contains__(self, request_id: object) -> bool:
        return request_id in self._served

    def __len__(self) -> int:
        return len(self._served)

    @property
    def node_ids(self) -> set[str]:
        """Ids of the nodes whose locks are held for requests."""
        return {node_id for request_in_hand in self._served.values() for node_id in request_in_hand.node_ids}

    # -- accepting -----------------------------------------------------------------------------------------------

    def admit(self, actions: Sequence[Admit]) -> None:
        """Lock the requests, set them pending, take their ready nodes and begin their launches.

        Where something has changed since the plan was made nothing is done; the next plan looks at it again.
        """
        accepted: list[tuple[Admit, AcceptedRequest]] = []
        now = self._context.now()
        for action, taken in zip(actions, accept(self._context.store, actions, now), strict=True):
            if taken is not None:
                request_in_hand = self._served[action.request_id] = AcceptedRequest(*taken, action.pool_id)
                accepted.append((action, request_in_hand))
        for action, request_in_hand in accepted:
            request_in_hand.whole = all(
                self._reuse(request_in_hand, slot.node_id) for slot in action.slots if slot.node_id is not None
            )
        launches = iter(self._launches.begin([wanted for pair in accepted for wanted in _wanted(*pair)]))
        for action, request_in_hand in accepted:
            if request_in_hand.whole:
                nodes = [slot.node_id or next(launches) for slot in action.slots]
                request_in_hand.node_ids = [node_id for node_id in nodes if node_id is not None]
                request_in_hand.whole = len(request_in_hand.node_ids) == len(nodes)
            if request_in_hand.whole:
                self._admitted(action, request_in_hand)
            else:
                self._put_back(request_in_hand)

    def _admitted(self, action: Admit, request_in_hand: AcceptedRequest) -> None:
        self._context.account.forget_wait(action.request_id)
        if self._context.store.own.get(f"{WAITS}/{action.request_id}") is not None:
            self._context.store.own.delete(f"{WAITS}/{action.request_id}")
        where = self._where(action.pool_id) + (f" zone {action.az}" if action.az else "")
        self._context.account.say(f"request {action.request_id}: accepted in {where}, {_doings(request_in_hand)}")

    def _reuse(self, request_in_hand: AcceptedRequest, node_id: str) -> bool:
        store = self._context.store
        held = store.nodes.lock(node_id)
        if held is None:
            return False
        node = store.nodes.read(node_id)
        if node is None or node.state != NodeState.READY or node.allocated_to is not None:
            held.release()
            return False
        record.allocate(node, request_in_hand.request)
        store.nodes.write(node)
        request_in_hand.node_ids.append(node_id)
        request_in_hand.held[node_id] = held
        return True

    # -- adopting ------------------------------------------------------------------------------------------------

    def adopt(self, request: NodeRequest, nodes: Iterable[Node], pool_id: str) -> bool:
        """Go on with a pending request that another cycle left; its nodes are put back into the order of its labels."""
        store = self._context.store
        lock = store.requests.lock(request.id)
        if lock is None:
            return False
        fresh = store.requests.read(request.id)
        if fresh is None or fresh.state != RequestState.PENDING:
            lock.release()
            return False
        request_in_hand = self._served[request.id] = AcceptedRequest(fresh, lock, pool_id)
        left = sorted(nodes, key=lambda node: node.id)
        complete = True
        for label in fresh.node_types:
            node = next((node for node in left if label in node.type), None)
            if node is not None:
                left.remove(node)
            complete = node is not None and self._take_over(request_in_hand, node) and complete
        for node in left:
            complete = self._take_over(request_in_hand, node) and False
        if not complete:
            self._put_back(request_in_hand)
        return complete

    def _take_over(self, request_in_hand: AcceptedRequest, node: Node) -> bool:
        held = self._context.store.nodes.lock(node.id)
        if held is None:
            return False
        fresh = self._context.store.nodes.read(node.id)
        if fresh is None or fresh.allocated_to != request_in_hand.request.id:
            held.release()
            return False
        if fresh.state == NodeState.READY:
            request_in_hand.held[node.id] = held
        elif fresh.state not in (NodeState.INIT, NodeState.BUILDING) or not self._launches.adopt(
            fresh, held, request_in_hand.request
        ):
            held.release()
            return False
        request_in_hand.node_ids.append(node.id)
        return True

    # -- finishing -----------------------------------------------------------------------------------------------

    def finished(self, running: LaunchInProgress, batch: Batch) -> None:
        """A launch ended: keep its lock for the request, or let it go; in any case *batch* tells how it ended."""
        request_in_hand = self._served.get(running.launch.request_id or "")
        if request_in_hand is not None and running.launch.phase != Phase.FAILED:
            request_in_hand.held[running.node.id] = running.held
            if request_in_hand.complete and not request_in_hand.failures:
                self._fulfill(request_in_hand, batch)
            else:
                batch.commit()
            return
        running.held.release(batch)
        batch.commit()
        if request_in_hand is not None:
            request_in_hand.failures.append(collapsed(running.launch.failures))

    def step(self) -> None:
        """Hand over what is complete, decline what has failed, drop what was canceled."""
        store = self._context.store
        for request_id, request_in_hand in list(self._served.items()):
            if store.requests.get(request_id) is None and store.requests.read(request_id) is None:
                self._cancel(request_in_hand)
            elif request_in_hand.failures:
                where = self._where(request_in_hand.pool_id)
                reason = Reason(reasons.LAUNCH_FAILED, {"where": where, "text": " | ".join(request_in_hand.failures)})
                self._release_nodes(request_in_hand)
                self._decline(request_in_hand, {request_in_hand.pool_id: reason})
            elif request_in_hand.complete:
                self._fulfill(request_in_hand, store.batch())

    def take_back(self, now: float) -> bool:
        """Requests that do not get on where they are, for somebody else to serve.

        With nothing in a cloud yet they go back at once; what is there already is given up only for an able pool.

        :return: True when there were any.
        """
        before = len(self._served)
        for request_in_hand in list(self._served.values()):
            launching = [node_id for node_id in request_in_hand.node_ids if node_id not in request_in_hand.held]
            left_out = [node_id for node_id in launching if self._launches.is_left_out(node_id)]
            if left_out:
                self._give_back(request_in_hand, left_out)
                continue
            if not launching or not all(self._launches.is_stuck(node_id, now) for node_id in launching):
                continue
            costs_nothing = not request_in_hand.held and all(self._launches.is_queued(node_id) for node_id in launching)
            if not costs_nothing and not self._somebody_else_can(request_in_hand):
                continue
            self._give_back(request_in_hand, launching)
        return len(self._served) < before

    def _give_back(self, request_in_hand: AcceptedRequest, unwanted: list[str]) -> None:
        """The request is open again; of its launches the *unwanted* end, the others become ready for anybody."""
        for node_id in unwanted:
            self._launches.withdraw(node_id)
            request_in_hand.node_ids.remove(node_id)
        self._context.account.say(
            f"request {request_in_hand.request.id}: taken back from {self._where(request_in_hand.pool_id)}"
        )
        self._put_back(request_in_hand)

    def _somebody_else_can(self, request_in_hand: AcceptedRequest) -> bool:
        wanted = set(request_in_hand.request.node_types)
        for (provider, pool), pool_id in self._context.pool_ids.items():
            actor = self._context.actors[provider]
            able = wanted <= set(actor.provider.pools[pool].labels) and actor.blocked is None
            if pool_id != request_in_hand.pool_id and able and pool_id not in request_in_hand.request.declined_by:
                return True
        return False

    def _fulfill(self, request_in_hand: AcceptedRequest, before: Batch) -> None:
        """Hand the nodes over.

        The order is part of the contract: nodes are ready and unlocked before the request says that they are there.

        :param before: what must have happened before.
        """
        request = request_in_hand.request
        request.nodes = list(request_in_hand.node_ids)
        request.set_state(RequestState.FULFILLED, self._context.now())
        batch = before.copy()
        for held in request_in_hand.held.values():
            held.release(batch)
        self._context.store.requests.write(request, batch=batch)
        request_in_hand.lock.release(batch)
        if batch.send().refused() is not None:
            # The request was deleted at this very moment, most likely.
            before.commit()
            for held in request_in_hand.held.values():
                held.release()
            if not self._write(request_in_hand):
                self._leave(request_in_hand)
                return
        self._leave(request_in_hand)
        self._context.account.fulfilled.append(request.id)
        nodes = ", ".join(request.nodes)
        many = "s" if len(request.nodes) != 1 else ""
        self._context.account.say(f"request {request.id}: fulfilled with node{many} {nodes}")

    def _cancel(self, request_in_hand: AcceptedRequest) -> None:
        self._release_nodes(request_in_hand)
        self._leave(request_in_hand)
        self._context.account.canceled.append(request_in_hand.request.id)
        self._context.account.say(f"request {request_in_hand.request.id}: canceled by its requestor")

    # -- declining -----------------------------------------------------------------------------------------------

    def decline(self, action: Decline) -> bool:
        """Decline a request that nobody has accepted, for all pools that never can."""
        store = self._context.store
        lock = store.requests.lock(action.request_id)
        if lock is None:
            return False
        request = store.requests.read(action.request_id)
        if request is None or request.state != RequestState.REQUESTED:
            lock.release()
            return False
        request_in_hand = AcceptedRequest(request, lock, next(iter(action.reasons), ""))
        self._decline(request_in_hand, dict(action.reasons), action.fail)
        return True

    def _decline(self, request_in_hand: AcceptedRequest, why: dict[str, Reason], fail: bool = False) -> None:
        request, account = request_in_hand.request, self._context.account
        request.declined_by = [*request.declined_by, *(key for key in why if key not in request.declined_by)]
        request.nodes = []
        fail = fail or (bool(self._everybody) and self._everybody <= set(request.declined_by))
        request.set_state(RequestState.FAILED if fail else RequestState.REQUESTED, self._context.now())
        documents = all_reasons(self._context, request.id, why.values())
        self._context.store.own.put(f"{DECLINES}/{request.id}", {"reasons": documents})
        self._write(request_in_hand)
        self._leave(request_in_hand)
        account.forget_wait(request.id)
        if fail:
            account.declined.pop(request.id, None)
            account.failed[request.id] = documents
        else:
            account.declined[request.id] = documents
        outcome = "failed" if fail else "declined"
        texts = reasons.cause(documents) or "no pool offers its labels"
        # The request's own document has no place for a reason: it is kept where whoever asks can find it.
        self._context.store.own.put(f"{WAITS}/{request.id}", {"code": outcome, "text": texts, "reasons": documents})
        account.say(Trouble(f"request {request.id}: {outcome}: {texts}"))

    # -- inside --------------------------------------------------------------------------------------------------

    @property
    def _launches(self) -> Launches:
        if self.launches is None:
            raise RuntimeError("launches must be set before requests are served")
        return self.launches

    def drop(self) -> None:
        """The session is lost or the cycle ends: let go of everything; the next cycle adopts it."""
        for request_in_hand in self._served.values():
            for held in request_in_hand.held.values():
                held.release()
            request_in_hand.lock.release()
        self._served.clear()

    def _put_back(self, request_in_hand: AcceptedRequest) -> None:
        """Nothing comes of it: its nodes are free again and the request is as it was."""
        self._release_nodes(request_in_hand)
        request_in_hand.request.nodes = []
        request_in_hand.request.set_state(RequestState.REQUESTED, self._context.now())
        self._write(request_in_hand)
        self._leave(request_in_hand)

    def _release_nodes(self, request_in_hand: AcceptedRequest) -> None:
        store = self._context.store
        for node_id in request_in_hand.node_ids:
            if node_id in self._launches:
                self._launches.orphan(node_id)
        for node_id, held in request_in_hand.held.items():
            # What another cycle wrote last may not be known yet, and the whole document is written.
            node = store.nodes.read(node_id)
            if node is not None and node.allocated_to == request_in_hand.request.id:
                node.allocated_to = None
                store.nodes.write(node)
            held.release()
        request_in_hand.held.clear()

    def _write(self, request_in_hand: AcceptedRequest) -> bool:
        try:
            self._context.store.requests.write(request_in_hand.request)
        except StoreGone:
            # Deleted by its requestor at this very moment; its nodes are freed by the upkeep of allocations.
            self._context.account.canceled.append(request_in_hand.request.id)
            return False
        return True

    def _leave(self, request_in_hand: AcceptedRequest) -> None:
        request_in_hand.lock.release()
        self._served.pop(request_in_hand.request.id, None)

    def _where(self, pool_id: str) -> str:
        for (provider, pool), known in self._context.pool_ids.items():
            if known == pool_id:
                return f"{provider}/{pool}"
        return pool_id


def _past_reasons(document: Mapping[str, Any]) -> list[Any]:
    found = document.get("reasons", [])
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise BadDocument("'reasons' is not a list of objects")
    return found


def all_reasons(context: Context, request_id: str, why: Iterable[Reason]) -> list[dict[str, Any]]:
    """Why a request is declined, together with why others have declined it; causes first."""
    past = context.store.own.understood(f"{DECLINES}/{request_id}", _past_reasons) or []
    return reasons.causes_first([*past, *(reason.document() for reason in why)])


def _doings(request_in_hand: AcceptedRequest) -> str:
    """``takes node 0000000007, launches 0000000008``."""
    launching = [node_id for node_id in request_in_hand.node_ids if node_id not in request_in_hand.held]
    parts = (("takes", list(request_in_hand.held)), ("launches", launching))
    return ", ".join(f"{verb} node{'s' if len(ids) > 1 else ''} {' '.join(ids)}" for verb, ids in parts if ids)


def _wanted(action: Admit, request_in_hand: AcceptedRequest) -> list[Wanted]:
    """What is to be launched for a request of which everything else has been taken."""
    if not request_in_hand.whole:
        return []
    missing = [slot.label for slot in action.slots if slot.node_id is None]
    return [Wanted(action.pool_id, label, action.az, request_in_hand.request) for label in missing]
