# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deleting nodes: record first, then what is in the cloud, then the record itself."""

from __future__ import annotations

from ....clients.zookeeper.locks import Held
from ....launching.actions import DeleteNode, FreeNode
from ....launching.machine import SETTLE_SECONDS
from ....launching.upkeep import owners
from ....model import reasons
from ....model.errors import StoreConflict, StoreGone
from ....model.launch import (
    Launch,
    Phase,
    doubted_mark,
)
from ....model.lines import Line, Subject
from ....model.node import Node, NodeState
from ....model.subjects import subject_of_node
from ....model.tombstone import Life, life_of
from ..context.context import Context
from ..provider.actor import ProviderActor
from .removals import Removals


class Deletions:
    """The node deletions of a cycle. Each holds the node's lock until the record is gone."""

    def __init__(self, context: Context, removals: Removals) -> None:
        self._context = context
        self._removals = removals
        self._held: dict[str, Held] = {}
        self._lives: dict[str, Life] = {}
        self._looking: dict[str, tuple[ProviderActor, Launch]] = {}

    def __contains__(self, node_id: str) -> bool:
        return node_id in self._held

    def __len__(self) -> int:
        return len(self._held)

    @property
    def node_ids(self) -> set[str]:
        """The nodes that are being deleted."""
        return set(self._held)

    def unclear(self, actor: ProviderActor) -> int:
        """How many deletions wait for a look at the list, because their create was never answered."""
        return sum(1 for other, _unused in self._looking.values() if other is actor)

    def start(self, action: DeleteNode) -> bool:
        """Begin to delete a node; False when its record is not what this was decided on, or it is locked.

        The cache of locks may be newer than that of records: a node that was locked, changed and unlocked may look
        unchanged. So the record is written only in the version that the plan has seen.
        """
        store = self._context.store
        node = store.nodes.get(action.node_id)
        if node is None or node.version != action.version or action.node_id in self._held:
            return False
        actor = self._context.actors.get(node.provider or "")
        held = store.nodes.lock(action.node_id) if actor is not None else None
        if actor is None or held is None:
            return False
        launch = self._context.launch(node.id, fresh=node.state not in NodeState.FINISHED)
        if launch is not None and action.reason.code == reasons.OWNER_GONE:
            # Its launch record had not been seen yet: it is adopted.
            held.release()
            return False
        life = life_of(node, launch, self._context.ages.in_use_since(node.id), action.reason.text())
        node.set_state(NodeState.DELETING, self._context.now())
        try:
            store.nodes.write(node, held=held, if_unchanged=True)
        except (StoreConflict, StoreGone):
            held.release()
            return False
        self._held[node.id] = held
        self._lives[node.id] = life
        line = f"node {node.id}: deleting, because {action.reason.text()}"
        self._context.account.say(Line(line, **subject_of_node(node, launch)))
        self._remove(node, launch, actor)
        return True

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
        """Look for servers of creates that were never answered."""
        for node_id, (actor, launch) in list(self._looking.items()):
            server = actor.by_mark().get(launch.mark)
            lately = max(SETTLE_SECONDS, actor.creates.answers.settle)
            settle = max(lately, actor.creates.answer_bound) if launch.phase == Phase.CREATING else lately
            if server is None and actor.listed_from - launch.since < settle:
                continue
            del self._looking[node_id]
            self._start_removal(node_id, actor, server.id if server else None, launch)

    def drop(self) -> None:
        """The session is lost or the cycle ends: let go of all locks; the next one goes on."""
        for held in self._held.values():
            held.release()
        self._held.clear()
        self._lives.clear()
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
        self._removals.start(
            server_id or node_id, actor, server_id, address, lambda: self._gone(node_id), node_id, doubted
        )

    def _gone(self, node_id: str) -> None:
        held, life = self._held.pop(node_id, None), self._lives.pop(node_id, None)
        if held is None or not held.valid:
            return
        store = self._context.store
        node = store.nodes.get(node_id)
        if node is not None:
            try:
                node.set_state(NodeState.DELETED, self._context.now())
                store.nodes.write(node)
            except StoreGone:
                pass
        launch = self._context.launch(node_id)
        self._add_tombstone(node_id, node, launch, life)
        self._context.forget(node_id)
        store.nodes.delete(node_id)
        held.release()
        self._context.account.deleted.append(node_id)
        subject = Subject(node=node_id) if node is None else subject_of_node(node, launch)
        self._context.account.say(Line(f"node {node_id}: gone", **subject))

    def _add_tombstone(self, node_id: str, node: Node | None, launch: Launch | None, life: Life | None) -> None:
        provider = launch.provider if launch is not None else node.provider if node is not None else None
        if provider is not None:
            server_id = node.external_id if node is not None and isinstance(node.external_id, str) else None
            self._context.add_tombstone(node_id, provider, server_id, life)
            if provider in self._context.actors:
                pool = launch.pool if launch is not None else node.pool if node is not None else None
                self._context.actors[provider].node_gone(pool, self._context.now())
