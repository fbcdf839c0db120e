# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A world in which cycles know late what others have done, and a witness of every write that no cycle may make."""

from __future__ import annotations

import random
from typing import Any

from kazoo.protocol.serialization import SetData

from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import RequestState
from tests.support.memory_zookeeper import MemorySession
from tests.support.world import World

NODES, REQUESTS = "/nodepool/nodes/", "/nodepool/requests/"
WAITING = frozenset({RequestState.REQUESTED, RequestState.PENDING})
UNWANTED = frozenset({NodeState.IN_USE, NodeState.USED, NodeState.DELETING, NodeState.FAILED, NodeState.ABORTED})
"""What a launcher may delete when nobody has it locked."""


class LateWorld(World):
    """Each change is known late by a random time up to what *most* says for its kind.

    :param most: kind of change → seconds.
    :ivar wrong: what a cycle wrote and must not have written.
    """

    def __init__(self, document: dict[str, Any], *, most: dict[str, float], seed: int, **more: Any) -> None:
        chance = random.Random(seed)
        super().__init__(document, lag=lambda kind: chance.uniform(0.0, most[kind]), seed=seed, **more)
        self.keeper.travel = 0.001
        self.wrong: list[str] = []
        self.chance = chance
        self.max_hold_age = self.config.max_hold_age
        self._watch()

    # -- what requestors do --------------------------------------------------------------------------------------

    def hold(self, node_ids: list[str], gap: float = 0.0, seconds: int | None = None) -> None:
        """What Zuul does for an autohold: ``hold`` for each node, then each lock is given back."""
        for node_id in node_ids:
            self.write(node_id, NodeState.HOLD, hold_job="t p j r", hold_expiration=seconds)
        self.agenda.after(gap, lambda: self.unlock(node_ids))

    def lock(self, node_id: str) -> bool:
        """False when somebody has it."""
        held = self.store.nodes.lock(node_id)
        if held is not None:
            self._held[node_id] = held
        return held is not None

    def unlock(self, node_ids: list[str]) -> None:
        """Give the locks back."""
        for node_id in node_ids:
            self._held.pop(node_id).release()

    def write(self, node_id: str, state: str, **more: Any) -> None:
        """Write a node whose lock is ours."""
        node = self.store.nodes.read(node_id)
        assert node is not None, f"node {node_id} vanished while it was locked"
        for name, value in more.items():
            setattr(node, name, value)
        node.set_state(state, self.agenda.now)
        self.store.nodes.write(node)

    # -- the witness ---------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        answer = self.keeper._single

        def watched(request: Any, session: MemorySession) -> Any:
            path = getattr(request, "path", "")
            before = self.keeper.document(path) if isinstance(request, SetData) else None
            value = answer(request, session)
            if before is not None and session is not self.store.session:
                after = self.keeper.document(path) or {}
                if path.startswith(NODES):
                    self._judge_node(path.removeprefix(NODES), before, after)
                elif path.startswith(REQUESTS):
                    self._judge_request(path.removeprefix(REQUESTS), before, after)
            return value

        self.keeper._single = watched  # type: ignore[method-assign]

    def _judge_node(self, node_id: str, before: dict[str, Any], after: dict[str, Any]) -> None:
        was, now = before["state"], after["state"]
        if node_id in self._held:
            self._note(f"node {node_id}: {was} → {now} while its requestor has it locked")
        if now != NodeState.DELETING and before["external_id"] and not after["external_id"] and was == NodeState.READY:
            self._note(f"node {node_id}: an old record was written over a newer one")
        owner = self.keeper.document(REQUESTS + (before["allocated_to"] or "-"))
        owned = was == NodeState.READY and owner is not None and owner["state"] == RequestState.FULFILLED
        if owned and (before["allocated_to"] != after["allocated_to"] or now != was):
            self._note(f"node {node_id}: taken from request {before['allocated_to']}, which has it")
        if now == NodeState.DELETING and was == NodeState.HOLD:
            bounds = [bound for bound in (before["hold_expiration"] or 0, self.max_hold_age) if bound > 0]
            if not bounds or self.agenda.now - before["state_time"] <= min(bounds):
                self._note(f"node {node_id}: deleted while it was held")
        if was in UNWANTED and now not in (*UNWANTED, NodeState.DELETED):
            self._note(f"node {node_id}: {was} → {now}")

    def _judge_request(self, request_id: str, before: dict[str, Any], after: dict[str, Any]) -> None:
        was, now = before["state"], after["state"]
        if was == RequestState.FULFILLED:
            self._note(f"request {request_id}: {was} → {now}: it was served before")
        if now == RequestState.FULFILLED and was != RequestState.PENDING:
            self._note(f"request {request_id}: {was} → {now}")

    def _note(self, text: str) -> None:
        self.wrong.append(f"{self.agenda.now:.3f} {text}")
