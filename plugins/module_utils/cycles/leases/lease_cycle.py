# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drives a lease step by step: observe, plan, act, without waiting.

Its users are :mod:`wait`, which waits for launchers, and a launcher cycle, which calls it in each pass. All state that
must survive a kill is in ZooKeeper. Several requestors of the same lease name take turns under a lock.
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ...clients.zookeeper.link.paths import segment
from ...launching.lease_plan import (
    Action,
    Adopt,
    Ask,
    Begin,
    DropRequest,
    End,
    Forget,
    Hold,
    LeasePlan,
    LeaseView,
    Leave,
    Note,
    Release,
    plan_absent,
    plan_present,
)
from ...model.errors import StoreError, StoreGone
from ...model.lease import (
    Lease,
    LeaseSpec,
    belongs,
    hold_job,
    is_handed_over,
    is_held,
    is_marked,
    is_of,
    lock_path,
    new_request,
)
from ...model.lines import amount
from ...model.node import Node, NodeState
from ...model.own_tree import LEASES, WAITS
from ...model.request import NodeRequest, RequestState

if TYPE_CHECKING:
    from ...clients.zookeeper.store import Store

ROUNDS = 20
"""Largest number of observe-plan-act rounds within one step. The next step does the rest."""

ATTEMPTS = 3
"""Largest number of requests for one set within one run; after that, the set counts as a failure."""


START_ONE = "start one, or launch here (launch: true, nodepoolctl lease --launch)"


@dataclass(frozen=True)
class SetStatus:
    """The progress of one set of the lease.

    :ivar state: the state of the request; ``""`` before it is made.
    :ivar reason: why the request waits, as ``code`` and ``text``.
    """

    request: str | None
    state: str
    reason: dict[str, str] | None = None


@dataclass
class LeaseStatus:
    """The progress of a lease.

    :ivar done: nothing more will happen.
    :ivar changed: this run changed something (in a preview: would change).
    :ivar failures: sentences; the lease cannot be completed in this run, only by a new request.
    :ivar nodes: the held nodes in order of sets and labels.
    :ivar ready: the number of nodes that are held or ready to be taken.
    :ivar planned: the actions that a preview found.
    :ivar leaving: the nodes that have to be deleted before the lease is released.
    :ivar coming: nodes that are being launched for the lease.
    :ivar released: another program released the lease while this run waited for it.
    :ivar abandoned: nodes that were launched for a request of the lease which is gone, and that nobody uses.
    """

    done: bool = False
    changed: bool = False
    lease: Lease | None = None
    sets: list[SetStatus] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    ready: int = 0
    wanted: int = 0
    failures: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    busy: str | None = None
    planned: list[Action] = field(default_factory=list)
    leaving: list[str] = field(default_factory=list)
    coming: list[Node] = field(default_factory=list)
    released: bool = False
    abandoned: list[str] = field(default_factory=list)


class Leasing:
    """The steps that complete or release one lease.

    :param store: an open store.
    :param spec: the requested lease; must have passed its check.
    :param present: True to complete the lease, False to release it.
    :param clears: True: a release is done when the servers are deleted, not when the nodes are given back.
    :param clock: UNIX time in seconds.
    :param unique: returns a new unguessable name at each call.
    """

    def __init__(
        self,
        store: Store,
        spec: LeaseSpec,
        *,
        present: bool = True,
        clears: bool = False,
        clock: Callable[[], float] = time.time,
        unique: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self._store = store
        self._spec = spec
        self._present = present
        self._clears = clears and not present
        self._clock = clock
        self._unique = unique
        self._ends_at = clock() + spec.expires if spec.ends_at_time else None
        self._path = f"{LEASES}/{segment(spec.name)}"
        self._changed = False
        self._busy: str | None = None
        self._seen: set[str] = set()
        self._broken: set[str] = set()
        self._asked: dict[int, int] = {}
        self._failures: list[str] = []
        self._notices: list[str] = []
        self._first = True
        self._known = False
        """True when this run has seen its lease, which then goes only when another program releases it."""
        self._released = False
        self._launched: set[str] = set()
        """The nodes that were allocated to requests of the lease while this run waited."""

    def preview(self) -> LeaseStatus:
        """Return the status with the actions that would be taken; change nothing."""
        lease = self._lease()
        plan = self._plan(lease, self._view(lease, whole=True))
        status = self._status(lease, plan)
        status.planned = plan.actions
        status.changed = bool(plan.actions or plan.leaving)
        status.failures += plan.failures.values()
        status.notices += plan.notices
        return status

    def advance(self) -> LeaseStatus:
        """Do everything that can be done now, without waiting.

        :raises LeaseError: the lease exists with other labels or another count.
        :raises StoreError: a call of ZooKeeper failed; the next call of this method continues.
        """
        self._busy = None
        lease = self._lease()
        plan = self._plan(lease, self._view(lease, whole=self._first))
        if plan.actions and not self._failures:
            plan = self._act()
            lease = self._lease()
        else:
            self._first = False
            self._known = self._known or lease is not None
        self._seen.update(plan.waiting)
        self._changed |= bool(plan.leaving)  # the launcher of this run deletes their servers
        return self._status(lease, plan)

    # -- observe ------------------------------------------------------------------------------------------------

    def _lease(self, *, fresh: bool = False) -> Lease | None:
        document = self._store.own.read(self._path) if fresh else self._store.own.get(self._path)
        return Lease.from_document(document) if document else None

    def _view(self, lease: Lease | None, *, whole: bool, fresh: bool = False) -> LeaseView:
        """Return the requests and nodes of the lease.

        *whole*: also those that the lease's document does not name; *fresh*: read from ZooKeeper, not from the cache.
        """
        name = self._spec.name
        read_request = self._store.requests.read if fresh else self._store.requests.get
        read_node = self._store.nodes.read if fresh else self._store.nodes.get
        request_ids = set(lease.request_ids) if lease else set()
        node_ids = {*lease.node_ids, *lease.leaving} if lease else set()
        if whole or self._clears:
            request_ids.update(item.id for item in self._store.requests.list() if belongs(item, name))
            node_ids.update(item.id for item in self._store.nodes.list() if self._concerns(item, request_ids))
        requests = {key: found for key in sorted(request_ids) if (found := read_request(key)) is not None}
        for request in requests.values():
            node_ids.update(request.nodes)
        nodes = {key: node for key in sorted(node_ids) if (node := read_node(key)) is not None}
        return LeaseView(requests, nodes)

    def _concerns(self, node: Node, request_ids: set[str]) -> bool:
        if self._clears:
            return is_of(node, self._spec.name) or node.allocated_to in request_ids
        return is_marked(node, self._spec.name)

    def _plan(self, lease: Lease | None, view: LeaseView) -> LeasePlan:
        if not self._present:
            return plan_absent(self._spec.name, lease, view, clears=self._clears)
        return plan_present(self._spec, lease, view, self._clock(), seen=self._seen, broken=self._broken)

    # -- act ----------------------------------------------------------------------------------------------------

    def _act(self) -> LeasePlan:
        lock = self._store.own.lock(lock_path(self._spec.name))
        if lock is None:
            self._busy = "another requestor is working on this lease"
            return LeasePlan()
        try:
            for _round in range(ROUNDS):
                lease = self._lease(fresh=True)
                if lease is None and self._present and self._known:
                    self._released = True
                    self._failures.append("it was released while this run waited for it: repeat to start again")
                    return LeasePlan()
                self._known = self._known or lease is not None
                plan = self._plan(lease, self._view(lease, whole=True, fresh=True))
                self._notices += [notice for notice in plan.notices if notice not in self._notices]
                self._failures += [self._explained(request, text) for request, text in plan.failures.items()]
                self._perform_all(plan, lease)
                if not plan.actions or self._busy or self._failures:
                    break
            self._first = self._busy is not None
            return plan
        finally:
            lock.release()

    def _perform_all(self, plan: LeasePlan, lease: Lease | None) -> None:
        """Carry out the plan; stop at the first action for which the state has changed since the plan was made."""
        for action in plan.actions:
            if isinstance(action, (Begin, End)):
                going_on = self._perform_on_lease(action, lease)
            elif isinstance(action, (Hold, Release)):
                going_on = self._perform_on_node(action)
            elif isinstance(action, DropRequest):
                self._store.requests.delete(action.request)
                self._changed = going_on = True
            else:
                going_on = lease is not None and self._perform_on_set(action, lease)
            if not going_on:
                return

    def _perform_on_lease(self, action: Begin | End, lease: Lease | None) -> bool:
        self._changed = True
        if isinstance(action, End):
            self._store.own.delete(self._path)
            return True
        new = Lease.new(self._spec, self._unique(), self._clock())
        if lease is None:
            self._store.own.create_once(self._path, new.document())
        else:
            self._store.own.put(self._path, new.document())
        self._known = True
        return False

    def _perform_on_set(self, action: Action, lease: Lease) -> bool:
        now = self._clock()
        if isinstance(action, Ask):
            self._asked[action.number] = self._asked.get(action.number, 0) + 1
            if self._asked[action.number] > ATTEMPTS:
                self._failures.append(
                    f"set {action.number + 1} was requested {ATTEMPTS} times, and each time another requestor took its"
                    " nodes or its request was deleted"
                )
                return False
            request = new_request(self._spec, lease, action.number, self._unique(), now)
            self._store.requests.create(request, priority=self._spec.priority)
            lease.sets[action.number].request = request.id
        elif isinstance(action, Adopt):
            lease.sets[action.number].request = action.request
        elif isinstance(action, Forget):
            lease.sets[action.number].request = None
        elif isinstance(action, Leave):
            lease.leaving = list(action.nodes)
        elif isinstance(action, Note):
            lease.sets[action.number].nodes = list(action.nodes)
            lease.expires_at = max(lease.expires_at, now + self._left(lease.expires, now))
        self._store.own.put(self._path, lease.document())
        self._changed = True
        return True

    def _perform_on_node(self, action: Hold | Release) -> bool:
        """Return True when the node is in the wanted state now."""
        lock = self._store.nodes.lock(action.node)
        if lock is None:
            if self._store.nodes.read(action.node) is not None:
                self._busy = f"node {action.node} is locked by another program"
                return False
            return isinstance(action, Release)
        try:
            node = self._store.nodes.read(action.node)
            now = self._clock()
            if isinstance(action, Release):
                if node is None or not self._may_release(node, action):
                    return True
                node.hold_job = hold_job(self._spec.name)
                node.set_state(NodeState.USED, now)
            else:
                if is_held(node, self._spec.name, now):
                    return True
                if node is None or not is_handed_over(node, action.request):
                    self._broken.add(action.request)
                    return False
                self._mark(node, now)
            self._store.nodes.write(node)
            self._changed = True
            return True
        except StoreGone:
            return False
        finally:
            lock.release()

    def _may_release(self, node: Node, action: Release) -> bool:
        if action.requests is None:
            return is_marked(node, self._spec.name)
        return node.state == NodeState.READY and node.allocated_to in (None, *action.requests)

    def _mark(self, node: Node, now: float) -> None:
        node.hold_job = hold_job(self._spec.name)
        node.comment = self._spec.comment
        node.hold_expiration = self._left(self._spec.expires, now)
        node.set_state(NodeState.HOLD, now)

    def _left(self, expires: int, now: float) -> int:
        """Return the seconds for which a node that is handed over now is held; at least 1, as 0 is for ever."""
        return expires if self._ends_at is None else max(1, min(expires, math.ceil(self._ends_at - now)))

    # -- report -------------------------------------------------------------------------------------------------

    def _status(self, lease: Lease | None, plan: LeasePlan) -> LeaseStatus:
        status = LeaseStatus(
            changed=self._changed,
            lease=lease,
            failures=list(self._failures),
            notices=list(self._notices),
            busy=self._busy,
            wanted=len(self._spec.labels) * self._spec.count if self._present else 0,
        )
        now = self._clock()
        for part in lease.sets if lease else []:
            held = [node for key in part.nodes if (node := self._store.nodes.get(key)) is not None]
            status.nodes += [node for node in held if is_held(node, self._spec.name, now)]
            status.sets.append(self._set_status(part.request, bool(part.nodes)))
        if not self._present:
            status.leaving = list(plan.leaving)
            status.done = lease is None and not (plan.actions or plan.leaving) and self._busy is None
            return status
        complete = bool(status.sets) and len(status.nodes) == status.wanted
        status.done = bool(self._failures) or (complete and not plan.actions and self._busy is None)
        status.ready = len(status.nodes) if complete else len(status.nodes) + self._ready(status)
        status.released = self._released
        if self._failures:
            launched = [self._store.nodes.get(key) for key in sorted(self._launched)]
            status.abandoned = [node.id for node in launched if node is not None and self._is_abandoned(node)]
        return status

    def _ready(self, status: LeaseStatus) -> int:
        waiting = {part.request for part in status.sets if part.state in (RequestState.PENDING, RequestState.FULFILLED)}
        held = {node.id for node in status.nodes}
        own = [node for node in (self._store.nodes.list() if waiting else []) if node.allocated_to in waiting]
        self._launched.update(node.id for node in own)
        status.coming = [node for node in own if node.state == NodeState.BUILDING]
        return sum(1 for node in own if node.id not in held and node.state in (NodeState.READY, NodeState.HOLD))

    def _is_abandoned(self, node: Node) -> bool:
        if node.state not in (NodeState.BUILDING, NodeState.READY):
            return False
        return node.allocated_to is None or self._store.requests.get(node.allocated_to) is None

    def note_leaving(self, nodes: Sequence[str]) -> bool:
        """Note nodes in the lease's document, so that a release with a launcher deletes them.

        :return: True when the lease had been released: its document is there again, for these nodes alone.
        :raises StoreError: the document cannot be written now, or another requestor works on the lease.
        """
        lock = self._store.own.lock(lock_path(self._spec.name))
        if lock is None:
            raise StoreError(f"lease {self._spec.name}: another requestor works on it")
        try:
            there = self._lease(fresh=True)
            lease = there or replace(Lease.new(self._spec, self._unique(), self._clock()), sets=[])
            lease.leaving = sorted({*lease.leaving, *nodes})
            if there is None:
                self._store.own.create_once(self._path, lease.document())
            else:
                self._store.own.put(self._path, lease.document())
            return there is None
        finally:
            lock.release()

    def _set_status(self, request_id: str | None, held: bool) -> SetStatus:
        if held:
            return SetStatus(request_id, RequestState.FULFILLED)
        request = self._store.requests.get(request_id) if request_id else None
        if request is None:
            return SetStatus(request_id, "")
        return SetStatus(request.id, request.state, self._reason(request))

    def _reason(self, request: NodeRequest) -> dict[str, str] | None:
        """Return the reason that the launcher stored; without one, a reason that follows from the registered pools."""
        document = self._store.own.get(f"{WAITS}/{request.id}")
        if document and document.get("text"):
            return {"code": str(document.get("code", "")), "text": str(document["text"])}
        if request.state != RequestState.REQUESTED:
            return None
        offered = {label for pool in self._store.components.pools() for label in pool.supported_labels}
        if not offered:
            return {"code": "no-launcher", "text": f"no launcher is registered in this ZooKeeper tree: {START_ONE}"}
        missing = [label for label in dict.fromkeys(request.node_types) if label not in offered]
        if missing:
            return {"code": "label-not-offered", "text": f"no registered pool offers {', '.join(missing)}"}
        return None

    def _explained(self, request_id: str, text: str) -> str:
        document = self._store.own.get(f"{WAITS}/{request_id}")
        if document and document.get("text"):
            return f"{text}: {document['text']}"
        request = self._store.requests.get(request_id)
        declined = len(request.declined_by) if request else 0
        return f"{text}: {amount(declined, 'pool')} declined it" if declined else text
