# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds, releases or deletes nodes for an operator, each under its lock.

A node is written only in the version that was read under the lock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...clients.zookeeper.link.paths import segment
from ...launching.node_changes import ABSENT, HELD, NodeWish, Verdict, at_work, decide
from ...model.errors import RecordClosed, StoreConflict, StoreGone
from ...model.lease import hold_job
from ...model.node import Node, NodeState
from ...model.own_tree import LEASES
from ...model.request import NodeRequest

if TYPE_CHECKING:
    from ...clients.zookeeper.locks import Turn
    from ...clients.zookeeper.store import Store

PATIENCE = 1.0
"""Seconds after which a busy node is checked again even if nothing has changed."""
PACE = 0.05
"""Minimum seconds between two checks."""


@dataclass(frozen=True)
class NodeOutcome:
    """The result for one node.

    :ivar before: its record before; None for a node that is gone.
    :ivar after: its record afterwards; in a preview, as it would be.
    :ivar refusal: why the node was not changed; "" if there is no reason.
    :ivar busy: another client is at work on the node; it may be tried again.
    :ivar erased: its record, which no program can use, was deleted, or would be in a preview.
    """

    node_id: str
    before: Node | None = None
    after: Node | None = None
    refusal: str = ""
    busy: bool = False
    erased: bool = False

    @property
    def changed(self) -> bool:
        """True when the record was written or deleted, or would be in a preview."""
        return self.erased or self.before is not self.after


class NodesByHand:
    """Carries out an operator's wish for some nodes.

    :param clock: UNIX time in seconds.
    :param pause: waits for a change of the tree, at most the given seconds.
    """

    def __init__(
        self,
        store: Store,
        wish: NodeWish,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] | None = None,
    ) -> None:
        self._store = store
        self._wish = wish
        self._clock = clock
        self._monotonic = monotonic
        self._turns: dict[str, Turn] = {}
        self._news = threading.Event()
        self._pause = pause or self._wait

    def preview(self, node_ids: Sequence[str], *, waits: bool = False) -> list[NodeOutcome]:
        """Return the results that the nodes would have now; nothing is locked or written.

        :param waits: assume that the clients that are at work on the nodes finish in time.
        """
        seen = [self._look(node_id) for node_id in node_ids]
        return [self._when_done(outcome) if waits and outcome.busy else outcome for outcome in seen]

    def carry_out(self, node_ids: Sequence[str], timeout: float = 0.0) -> list[NodeOutcome]:
        """Carry out the wish for each node that no other client is at work on.

        :param timeout: seconds to wait for busy nodes; meanwhile this client queues for their locks.
        """
        end = self._monotonic() + timeout
        outcomes: dict[str, NodeOutcome] = {}
        left = list(dict.fromkeys(node_ids))
        self._store.on_change(lambda path: self._news.set())
        try:
            while True:
                self._news.clear()
                outcomes.update((node_id, self._try(node_id)) for node_id in left)
                left = [node_id for node_id in left if outcomes[node_id].busy]
                rest = end - self._monotonic()
                if not left or rest <= 0:
                    return [outcomes[node_id] for node_id in dict.fromkeys(node_ids)]
                self._pause(min(rest, PATIENCE))
        finally:
            for turn in self._turns.values():
                turn.leave()

    def _wait(self, seconds: float) -> None:
        self._news.wait(seconds)
        time.sleep(PACE)

    def _look(self, node_id: str) -> NodeOutcome:
        node = self._store.nodes.read(node_id)
        if node is None or (node.broken and self._wish.state == ABSENT):
            return self._unreadable(node_id)
        request = self._request(node)
        verdict = self._decide(node, request)
        if verdict.node is None and not verdict.busy:
            return self._refused(node, verdict.refusal)
        holder = self._store.nodes.holder(node_id)
        if holder is not None and node_id not in self._turns:
            return self._refused(node, self._locked(node, request, holder), busy=True)
        if verdict.node is None:
            return self._refused(node, verdict.refusal, busy=True)
        return NodeOutcome(node_id, node, verdict.node)

    def _when_done(self, outcome: NodeOutcome) -> NodeOutcome:
        """Return the result that a busy node will have as soon as it is free."""
        node = outcome.before
        if node is None:
            return outcome
        verdict = self._decide(node, self._request(node), done=True)
        return outcome if verdict.node is None else NodeOutcome(node.id, node, verdict.node)

    def _try(self, node_id: str) -> NodeOutcome:
        """Change one node if this client gets its lock; delete its record if no program can use it."""
        outcome = self._change(node_id)
        return self._erase(node_id) if outcome.erased else outcome

    def _erase(self, node_id: str) -> NodeOutcome:
        nodes = self._store.nodes
        held = nodes.lock(node_id)
        if held is None:
            locked = f"node {node_id} is locked by another client" if nodes.exists(node_id) else ""
            return NodeOutcome(node_id, refusal=locked, busy=bool(locked))
        try:
            node = nodes.read(node_id)
            if node is not None and not node.broken:
                return self._changed_meanwhile(node_id)
            nodes.delete(node_id)
            return NodeOutcome(node_id, erased=True)
        finally:
            held.release()

    def _change(self, node_id: str) -> NodeOutcome:
        seen = self._look(node_id)
        if seen.before is None:  # the node is gone, or its record must be erased
            self._leave(node_id)
            return seen
        waits_unlocked = seen.busy and self._store.nodes.holder(node_id) is None
        if not (seen.changed or seen.busy) or waits_unlocked:
            self._leave(node_id)
            return seen
        turn = self._turns.get(node_id) or self._store.nodes.queue(node_id)
        if turn is None:
            return self._unreadable(node_id)
        self._turns[node_id] = turn
        try:
            held = turn.take()
        except StoreGone:
            self._leave(node_id)
            return self._look(node_id)
        if held is None:
            node = self._store.nodes.read(node_id)
            if node is None:
                return self._unreadable(node_id)
            holder = self._store.nodes.holder(node_id) or ""
            return self._refused(node, self._locked(node, self._request(node), holder), busy=True)
        del self._turns[node_id]
        try:
            node = self._store.nodes.read(node_id)
            if node is None:
                return self._unreadable(node_id)
            verdict = self._decide(node, self._request(node))
            if verdict.node is None:
                return self._refused(node, verdict.refusal, busy=verdict.busy)
            self._store.nodes.write(verdict.node, held=held, if_unchanged=True)
            return NodeOutcome(node_id, node, verdict.node)
        except RecordClosed as problem:
            return NodeOutcome(node_id, refusal=str(problem))
        except (StoreConflict, StoreGone):
            return self._changed_meanwhile(node_id)
        finally:
            held.release()

    def _leave(self, node_id: str) -> None:
        turn = self._turns.pop(node_id, None)
        if turn is not None:
            turn.leave()

    def _decide(self, node: Node, request: NodeRequest | None, *, done: bool = False) -> Verdict:
        return decide(node, self._wish, self._clock(), request=request, lease=self._lease(node), done=done)

    def _request(self, node: Node) -> NodeRequest | None:
        return self._store.requests.read(node.allocated_to) if node.allocated_to else None

    def _lease(self, node: Node) -> str | None:
        """Return the name of the lease that the node is held for; None when the lease is gone or never was one."""
        prefix = hold_job("")
        if node.state != NodeState.HOLD or not (node.hold_job or "").startswith(prefix):
            return None
        name = (node.hold_job or "").removeprefix(prefix)
        return name if name and self._store.own.read(f"{LEASES}/{segment(name)}") is not None else None

    def _locked(self, node: Node, request: NodeRequest | None, holder: str) -> str:
        told = f" (its lock says {holder!r})" if holder else ""
        return f"node {node.id} is locked: it is {at_work(node, request)}{told}"

    def _refused(self, node: Node, refusal: str, *, busy: bool = False) -> NodeOutcome:
        return NodeOutcome(node.id, node, node, refusal, busy)

    def _changed_meanwhile(self, node_id: str) -> NodeOutcome:
        return NodeOutcome(node_id, refusal=f"node {node_id} was just changed by another client: try again", busy=True)

    def _unreadable(self, node_id: str) -> NodeOutcome:
        """Return the result for a node that is gone, or whose record no program can use and can only be deleted."""
        exists = self._store.nodes.exists(node_id)
        if exists and self._wish.state != ABSENT:
            return NodeOutcome(
                node_id,
                refusal=f"the record of node {node_id} is not a JSON object: it can only be deleted (state=absent)",
            )
        if exists and self._store.nodes.holder(node_id) is not None:
            return NodeOutcome(node_id, refusal=f"node {node_id} is locked by another client", busy=True)
        if exists:
            return NodeOutcome(node_id, erased=True)
        if self._wish.state == HELD:
            return NodeOutcome(node_id, refusal=f"node {node_id} has been deleted and can no longer be held")
        return NodeOutcome(node_id)
