# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deletes nodes: marks the record first, then removes the cloud resources, then deletes the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....clients.zookeeper.link.batch import Batch, Sent
from ....clients.zookeeper.locks import Held
from ....launching.actions import DeleteNode, FreeNode
from ....launching.machine import SETTLE_SECONDS
from ....launching.upkeep import owners
from ....model import reasons
from ....model.config.gate_settings import is_gate_label
from ....model.errors import StoreConflict, StoreGone, StoreTooLarge
from ....model.launch import (
    Launch,
    Phase,
    doubted_mark,
)
from ....model.lines import Line, Subject
from ....model.node import Node, NodeState
from ....model.node_use import NodeUse
from ....model.subjects import subject_of_node
from ....model.tombstone import Life, life_of
from ..context import usage_book
from ..context.context import Context
from ..provider.actor import ProviderActor
from .removals import Removals


@dataclass(frozen=True, eq=False)
class _Deletion:
    """A locked node whose record says that it is being deleted."""

    node: Node
    launch: Launch | None
    actor: ProviderActor
    held: Held
    life: Life
    why: str
    use: NodeUse


@dataclass(frozen=True, eq=False)
class _Ending:
    """A node that is gone from the cloud, with its current records."""

    node_id: str
    held: Held
    life: Life
    node: Node | None
    launch: Launch | None
    use: NodeUse

    @property
    def provider(self) -> str:
        """The provider of the node; empty if it is not known."""
        if self.launch is not None:
            return self.launch.provider
        return (self.node.provider if self.node is not None else None) or ""


class Deletions:
    """The node deletions of a cycle. Each holds the node's lock until the record is gone.

    :param patient: no list is read only to see that a node of a gate is gone, while there is another one soon.
    """

    def __init__(self, context: Context, removals: Removals, *, patient: bool = False) -> None:
        self._context = context
        self._patient = patient
        self._removals = removals
        self._deletions: dict[str, _Deletion] = {}
        self._looking: dict[str, tuple[ProviderActor, Launch]] = {}
        self._endings: list[tuple[_Ending, Sent | None]] = []
        """Nodes whose records are being deleted, with the batch that was sent; None if it would have been too large."""

    def __contains__(self, node_id: str) -> bool:
        return node_id in self._deletions

    def __len__(self) -> int:
        return len(self._deletions)

    @property
    def node_ids(self) -> set[str]:
        """The nodes that are being deleted."""
        return set(self._deletions)

    def unclear(self, actor: ProviderActor) -> int:
        """Return how many deletions wait for the server list, because their create was never answered."""
        return sum(1 for other, _unused in self._looking.values() if other is actor)

    def start(self, actions: Sequence[DeleteNode]) -> None:
        """Begin to delete nodes; skip a node that is locked or whose record has changed since the decision.

        The cache of locks may be newer than that of records: a node that was locked, changed and unlocked may look
        unchanged. So a record is written only in the version that the plan has used.
        """
        sent = [self._send(action) for action in actions]
        for action, claim in zip(actions, sent, strict=True):
            if claim is not None and claim[1].refused() is None:
                self._begin(claim[0])
                continue
            if claim is not None:
                claim[0].held.release()
            deletion = self._step_by_step(action)
            if deletion is not None:
                self._begin(deletion)

    def _send(self, action: DeleteNode) -> tuple[_Deletion, Sent] | None:
        """Lock the node and set its state in one batch, if its launch record is not written any more."""
        store, found = self._context.store, self._unchanged(action)
        if found is None or found[0].state not in NodeState.FINISHED:
            return None
        node, actor = found
        batch = store.batch()
        held = store.nodes.claim(node.id, batch)
        if held is None:
            return None
        deletion = self._deletion(action, node, actor, self._context.launch(node.id), held)
        store.nodes.write(node, if_unchanged=True, batch=batch)
        usage_book.put(store, deletion.use, batch)
        sent = batch.send()
        held.claimed_by(sent)
        return deletion, sent

    def _step_by_step(self, action: DeleteNode) -> _Deletion | None:
        """Lock the node, check its records, and write its state in separate calls."""
        store, found = self._context.store, self._unchanged(action)
        held = store.nodes.lock(action.node_id) if found is not None else None
        if found is None or held is None:
            return None
        node, actor = found
        launch = self._context.launch(node.id, fresh=node.state not in NodeState.FINISHED)
        if launch is not None and action.reason.code == reasons.OWNER_GONE:
            # The decision was made before its launch record was seen: the launch will be adopted.
            held.release()
            return None
        deletion = self._deletion(action, node, actor, launch, held)
        batch = store.batch()
        try:
            store.nodes.write(node, held=held, if_unchanged=True, batch=batch)
            usage_book.put(store, deletion.use, batch)
            batch.commit()
        except (StoreConflict, StoreGone):
            held.release()
            return None
        return deletion

    def _unchanged(self, action: DeleteNode) -> tuple[Node, ProviderActor] | None:
        """Return the node and its provider's actor, if the record is as the plan has used it and this cycle may act."""
        node = self._context.store.nodes.get(action.node_id)
        if node is None or node.version != action.version or action.node_id in self._deletions:
            return None
        actor = self._context.actors.get(node.provider or "")
        return (node, actor) if actor is not None else None

    def _deletion(
        self, action: DeleteNode, node: Node, actor: ProviderActor, launch: Launch | None, held: Held
    ) -> _Deletion:
        why = action.reason.text()
        now = self._context.now()
        life = life_of(node, launch, self._context.ages.in_use_since(node.id), why)
        use = usage_book.opened(self._context, node, launch, now)
        node.set_state(NodeState.DELETING, now)
        return _Deletion(node, launch, actor, held, life, why, use)

    def _begin(self, deletion: _Deletion) -> None:
        node, launch = deletion.node, deletion.launch
        self._deletions[node.id] = deletion
        line = f"node {node.id}: deleting, because {deletion.why}"
        self._context.account.say(Line(line, **subject_of_node(node, launch)))
        self._remove(node, launch, deletion.actor)

    def free(self, action: FreeNode) -> bool:
        """Take the allocation from a ready node whose request is gone."""
        store = self._context.store
        held = store.nodes.lock(action.node_id)
        if held is None:
            return False
        try:
            node = store.nodes.read(action.node_id)
            if node is None or node.state != NodeState.READY or node.allocated_to is None:
                return False
            request = store.requests.read(node.allocated_to)
            if request is not None and owners([request]):
                return False
            node.allocated_to = None
            store.nodes.write(node)
            return True
        except StoreGone:
            return False
        finally:
            held.release()

    def step(self, now: float) -> None:
        """Finish the deletion of records; look for servers of creates that were never answered."""
        while self._endings:
            self._end(*self._endings.pop(0))
        for node_id, (actor, launch) in list(self._looking.items()):
            server = actor.view.by_mark().get(launch.mark)
            lately = max(SETTLE_SECONDS, actor.creates.settle)
            settle = max(lately, actor.creates.answer_bound) if launch.phase == Phase.CREATING else lately
            if server is None and actor.view.listed_from - launch.since < settle:
                continue
            del self._looking[node_id]
            if server is not None:
                self._deletions[node_id].use.add_server(launch.asked_at or launch.since)
            self._start_removal(node_id, actor, server.id if server else None, launch)

    def drop_provider(self, actor: ProviderActor) -> None:
        """Release the locks of a provider's nodes, as it moves to another host, which continues."""
        for node_id in [key for key, deletion in self._deletions.items() if deletion.actor is actor]:
            self._deletions.pop(node_id).held.release()
            self._looking.pop(node_id, None)

    def drop(self) -> None:
        """Release all locks, as the session is lost or the cycle ends; the next cycle continues."""
        for deletion in self._deletions.values():
            deletion.held.release()
        for ending, _sent in self._endings:
            ending.held.release()
        self._deletions.clear()
        self._endings.clear()
        self._looking.clear()

    def _remove(self, node: Node, launch: Launch | None, actor: ProviderActor) -> None:
        server_id = node.external_id if isinstance(node.external_id, str) else None
        if launch is not None and launch.server_id is not None:
            server_id = launch.server_id
        if server_id is None and launch is not None and launch.phase in (Phase.CREATING, Phase.UNCLEAR):
            self._looking[node.id] = (actor, launch)
            return
        self._start_removal(node.id, actor, server_id, launch)

    def _start_removal(self, node_id: str, actor: ProviderActor, server_id: str | None, launch: Launch | None) -> None:
        address, doubted = (launch.floating_ip_id, doubted_mark(launch)) if launch else (None, None)
        labels = self._deletions[node_id].node.type
        patient = self._patient and bool(labels) and all(map(is_gate_label, labels))
        self._removals.start(
            server_id or node_id,
            actor,
            server_id,
            address,
            lambda: self._gone(node_id),
            node_id,
            doubted,
            patient=patient,
        )

    def _gone(self, node_id: str) -> None:
        """Delete all records of the node and its lock, as none of its resources is in the cloud any more."""
        deletion = self._deletions.pop(node_id, None)
        if deletion is None or not deletion.held.valid:
            return
        store, batch, held = self._context.store, self._context.store.batch(), deletion.held
        node, launch = store.nodes.get(node_id), self._context.launch(node_id)
        use = replace(deletion.use, gone=deletion.use.gone or self._context.now())
        ending = _Ending(node_id, held, deletion.life, node, launch, use)
        self._add_tombstone(ending, batch)
        usage_book.put(store, ending.use, batch)
        self._context.forget(node_id, batch)
        store.nodes.remove(node_id, held, batch)
        try:
            self._endings.append((ending, batch.send()))
        except StoreTooLarge:
            # Other clients have created very many znodes below the node.
            self._endings.append((ending, None))

    def _end(self, ending: _Ending, sent: Sent | None) -> None:
        if sent is None or sent.refused() is not None:
            self._end_step_by_step(ending)
        node, launch = ending.node, ending.launch
        if ending.provider in self._context.actors:
            pool = launch.pool if launch is not None else node.pool if node is not None else None
            self._context.actors[ending.provider].experience.node_gone(pool, self._context.now())
        self._context.account.deleted.append(ending.node_id)
        subject = Subject(node=ending.node_id) if node is None else subject_of_node(node, launch)
        self._context.account.say(Line(f"node {ending.node_id}: gone", **subject))

    def _end_step_by_step(self, ending: _Ending) -> None:
        """Delete the records one by one, as the batch failed, or was too large to be sent.

        It fails when the cache was stale: a record is gone already, or another client has created a znode below the
        node.
        """
        store, node = self._context.store, ending.node
        usage_book.put(store, ending.use)
        if node is not None:
            try:
                node.set_state(NodeState.DELETED, self._context.now())
                store.nodes.write(node)
            except StoreGone:
                pass
        self._add_tombstone(ending)
        self._context.forget(ending.node_id)
        store.nodes.delete(ending.node_id)
        ending.held.release()

    def _add_tombstone(self, ending: _Ending, batch: Batch | None = None) -> None:
        if ending.provider:
            node = ending.node
            server_id = node.external_id if node is not None and isinstance(node.external_id, str) else None
            self._context.add_tombstone(ending.node_id, ending.provider, server_id, ending.life, batch)
