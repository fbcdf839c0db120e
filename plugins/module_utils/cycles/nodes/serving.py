# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests in this cycle's hands: accepted, filled, handed over, declined or canceled in Nodepool's order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.batch import Batch
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.locks import Held
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.common.context import Context
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.nodes.accepting import accept
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.nodes.beginning import Wanted
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.nodes.launches import Launches
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.nodes.running import Running
from ansible_collections.stackci.nodepool.plugins.module_utils.launching import record
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.actions import Admit, Decline
from ansible_collections.stackci.nodepool.plugins.module_utils.model import reasons
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreGone
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import Phase
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lines import Trouble, collapsed
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.reasons import Reason
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest, RequestState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.stored import BadDocument

WAITS = "waits"
DECLINES = "declines"
"""Why pools have declined a request, for as long as it exists: whoever fails it in the end tells all of it."""


@dataclass(eq=False)
class Served:
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


class Serving:
    """All requests that this cycle has accepted, by id."""

    def __init__(self, context: Context, everybody: set[str]) -> None:
        self._context = context
        self._everybody = everybody
        self._served: dict[str, Served] = {}
        self.launches: Launches | None = None

    def __contains__(self, request_id: object) -> bool:
        return request_id in self._served

    def __len__(self) -> int:
        return len(self._served)

    @property
    def node_ids(self) -> set[str]:
        """Ids of the nodes whose locks are held for requests."""
        return {node_id for served in self._served.values() for node_id in served.node_ids}

    # -- accepting -----------------------------------------------------------------------------------------------

    def admit(self, actions: Sequence[Admit]) -> None:
        """Lock the requests, set them pending, take their ready nodes and begin their launches.

        Where something has changed since the plan was made nothing is done; the next plan looks at it again.
        """
        accepted: list[tuple[Admit, Served]] = []
        now = self._context.now()
        for action, taken in zip(actions, accept(self._context.store, actions, now), strict=True):
            if taken is not None:
                served = self._served[action.request_id] = Served(*taken, action.pool_id)
                accepted.append((action, served))
        for action, served in accepted:
            served.whole = all(self._reuse(served, slot.node_id) for slot in action.slots if slot.node_id is not None)
        launches = iter(self._launches.begin([wanted for pair in accepted for wanted in _wanted(*pair)]))
        for action, served in accepted:
            if served.whole:
                nodes = [slot.node_id or next(launches) for slot in action.slots]
                served.node_ids = [node_id for node_id in nodes if node_id is not None]
                served.whole = len(served.node_ids) == len(nodes)
            if served.whole:
                self._admitted(action, served)
            else:
                self._put_back(served)

    def _admitted(self, action: Admit, served: Served) -> None:
        self._context.account.forget_wait(action.request_id)
        if self._context.store.own.get(f"{WAITS}/{action.request_id}") is not None:
            self._context.store.own.delete(f"{WAITS}/{action.request_id}")
        where = self._where(action.pool_id) + (f" zone {action.az}" if action.az else "")
        self._context.account.say(f"request {action.request_id}: accepted in {where}, {_doings(served)}")

    def _reuse(self, served: Served, node_id: str) -> bool:
        store = self._context.store
        held = store.nodes.lock(node_id)
        if held is None:
            return False
        node = store.nodes.read(node_id)
        if node is None or node.state != NodeState.READY or node.allocated_to is not None:
            held.release()
            return False
        record.allocate(node, served.request)
        store.nodes.write(node)
        served.node_ids.append(node_id)
        served.held[node_id] = held
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
        served = self._served[request.id] = Served(fresh, lock, pool_id)
        left = sorted(nodes, key=lambda node: node.id)
        complete = True
        for label in fresh.node_types:
            node = next((node for node in left if label in node.type), None)
            if node is not None:
                left.remove(node)
            complete = node is not None and self._take_over(served, node) and complete
        for node in left:
            complete = self._take_over(served, node) and False
        if not complete:
            self._put_back(served)
        return complete

    def _take_over(self, served: Served, node: Node) -> bool:
        held = self._context.store.nodes.lock(node.id)
        if held is None:
            return False
        fresh = self._context.store.nodes.read(node.id)
        if fresh is None or fresh.allocated_to != served.request.id:
            held.release()
            return False
        if fresh.state == NodeState.READY:
            served.held[node.id] = held
        elif fresh.state not in (NodeState.INIT, NodeState.BUILDING) or not self._launches.adopt(
            fresh, held, served.request
        ):
            held.release()
            return False
        served.node_ids.append(node.id)
        return True

    # -- finishing -----------------------------------------------------------------------------------------------

    def finished(self, running: Running, batch: Batch) -> None:
        """A launch ended: keep its lock for the request, or let it go; in any case *batch* tells how it ended."""
        served = self._served.get(running.launch.request_id or "")
        if served is not None and running.launch.phase != Phase.FAILED:
            served.held[running.node.id] = running.held
            if served.complete and not served.failures:
                self._fulfill(served, batch)
            else:
                batch.commit()
            return
        running.held.release(batch)
        batch.commit()
        if served is not None:
            served.failures.append(collapsed(running.launch.failures))

    def step(self) -> None:
        """Hand over what is complete, decline what has failed, drop what was canceled."""
        store = self._context.store
        for request_id, served in list(self._served.items()):
            if store.requests.get(request_id) is None and store.requests.read(request_id) is None:
                self._cancel(served)
            elif served.failures:
                where = self._where(served.pool_id)
                reason = Reason(reasons.LAUNCH_FAILED, {"where": where, "text": " | ".join(served.failures)})
                self._release_nodes(served)
                self._decline(served, {served.pool_id: reason})
            elif served.complete:
                self._fulfill(served, store.batch())

    def take_back(self, now: float) -> bool:
        """Requests that do not get on where they are, for somebody else to serve.

        With nothing in a cloud yet they go back at once; what is there already is given up only for an able pool.

        :return: True when there were any.
        """
        before = len(self._served)
        for served in list(self._served.values()):
            launching = [node_id for node_id in served.node_ids if node_id not in served.held]
            left_out = [node_id for node_id in launching if self._launches.is_left_out(node_id)]
            if left_out:
                self._give_back(served, left_out)
                continue
            if not launching or not all(self._launches.is_stuck(node_id, now) for node_id in launching):
                continue
            costs_nothing = not served.held and all(self._launches.is_queued(node_id) for node_id in launching)
            if not costs_nothing and not self._somebody_else_can(served):
                continue
            self._give_back(served, launching)
        return len(self._served) < before

    def _give_back(self, served: Served, unwanted: list[str]) -> None:
        """The request is open again; of its launches the *unwanted* end, the others become ready for anybody."""
        for node_id in unwanted:
            self._launches.withdraw(node_id)
            served.node_ids.remove(node_id)
        self._context.account.say(f"request {served.request.id}: taken back from {self._where(served.pool_id)}")
        self._put_back(served)

    def _somebody_else_can(self, served: Served) -> bool:
        wanted = set(served.request.node_types)
        for (provider, pool), pool_id in self._context.pool_ids.items():
            actor = self._context.actors[provider]
            able = wanted <= set(actor.provider.pools[pool].labels) and actor.blocked is None
            if pool_id != served.pool_id and able and pool_id not in served.request.declined_by:
                return True
        return False

    def _fulfill(self, served: Served, before: Batch) -> None:
        """Hand the nodes over.

        The order is part of the contract: nodes are ready and unlocked before the request says that they are there.

        :param before: what must have happened before.
        """
        request = served.request
        request.nodes = list(served.node_ids)
        request.set_state(RequestState.FULFILLED, self._context.now())
        batch = before.copy()
        for held in served.held.values():
            held.release(batch)
        self._context.store.requests.write(request, batch=batch)
        served.lock.release(batch)
        if batch.send().refused() is not None:
            # The request was deleted at this very moment, most likely.
            before.commit()
            for held in served.held.values():
                held.release()
            if not self._write(served):
                self._leave(served)
                return
        self._leave(served)
        self._context.account.fulfilled.append(request.id)
        nodes = ", ".join(request.nodes)
        many = "s" if len(request.nodes) != 1 else ""
        self._context.account.say(f"request {request.id}: fulfilled with node{many} {nodes}")

    def _cancel(self, served: Served) -> None:
        self._release_nodes(served)
        self._leave(served)
        self._context.account.canceled.append(served.request.id)
        self._context.account.say(f"request {served.request.id}: canceled by its requestor")

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
        served = Served(request, lock, next(iter(action.reasons), ""))
        self._decline(served, dict(action.reasons), action.fail)
        return True

    def _decline(self, served: Served, why: dict[str, Reason], fail: bool = False) -> None:
        request, account = served.request, self._context.account
        request.declined_by = [*request.declined_by, *(key for key in why if key not in request.declined_by)]
        request.nodes = []
        fail = fail or (bool(self._everybody) and self._everybody <= set(request.declined_by))
        request.set_state(RequestState.FAILED if fail else RequestState.REQUESTED, self._context.now())
        documents = all_reasons(self._context, request.id, why.values())
        self._context.store.own.put(f"{DECLINES}/{request.id}", {"reasons": documents})
        self._write(served)
        self._leave(served)
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
        for served in self._served.values():
            for held in served.held.values():
                held.release()
            served.lock.release()
        self._served.clear()

    def _put_back(self, served: Served) -> None:
        """Nothing comes of it: its nodes are free again and the request is as it was."""
        self._release_nodes(served)
        served.request.nodes = []
        served.request.set_state(RequestState.REQUESTED, self._context.now())
        self._write(served)
        self._leave(served)

    def _release_nodes(self, served: Served) -> None:
        store = self._context.store
        for node_id in served.node_ids:
            if node_id in self._launches:
                self._launches.orphan(node_id)
        for node_id, held in served.held.items():
            # What another cycle wrote last may not be known yet, and the whole document is written.
            node = store.nodes.read(node_id)
            if node is not None and node.allocated_to == served.request.id:
                node.allocated_to = None
                store.nodes.write(node)
            held.release()
        served.held.clear()

    def _write(self, served: Served) -> bool:
        try:
            self._context.store.requests.write(served.request)
        except StoreGone:
            # Deleted by its requestor at this very moment; its nodes are freed by the upkeep of allocations.
            self._context.account.canceled.append(served.request.id)
            return False
        return True

    def _leave(self, served: Served) -> None:
        served.lock.release()
        self._served.pop(served.request.id, None)

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


def _doings(served: Served) -> str:
    """``takes node 0000000007, launches 0000000008``."""
    launching = [node_id for node_id in served.node_ids if node_id not in served.held]
    parts = (("takes", list(served.held)), ("launches", launching))
    return ", ".join(f"{verb} node{'s' if len(ids) > 1 else ''} {' '.join(ids)}" for verb, ids in parts if ids)


def _wanted(action: Admit, served: Served) -> list[Wanted]:
    """What is to be launched for a request of which everything else has been taken."""
    if not served.whole:
        return []
    missing = [slot.label for slot in action.slots if slot.node_id is None]
    return [Wanted(action.pool_id, label, action.az, served.request) for label in missing]
