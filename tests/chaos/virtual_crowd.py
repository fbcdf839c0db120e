# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requestors of many habits on virtual time: they use, hold, cancel, wait too long, lose their session."""

from __future__ import annotations

import random
from collections.abc import Callable

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.locks import Held
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest, RequestState
from tests.support.memory_zookeeper import MemoryStore
from tests.support.world import World

LABELS = ("small", "medium", "large")
STEP = 0.5
HABITS = {"use": 50, "cancel": 12, "late": 8, "hold": 8, "vanish": 8, "lock-only": 5, "reprioritise": 9}
"""What a requestor does, with its share."""


class Crowd:
    """Asks now and then; each request has one habit.

    :ivar open: requests that this crowd still has something to do with.
    :ivar quiet: True: what waits goes on, and nothing new is held, cancelled or lost.
    """

    def __init__(self, world: World, chance: random.Random, log: Callable[[str], None]) -> None:
        self.world = world
        self.chance = chance
        self.log = log
        self.open: set[str] = set()
        self.held: set[str] = set()
        self.quiet = False
        self.asked = self.served = self.failed = 0
        self._stores: list[MemoryStore] = [world.keeper.store(), world.keeper.store()]

    def ask(self) -> str:
        """Write one request."""
        chance, world = self.chance, self.world
        many = chance.choices([1, 2, 3, 5, 8], [70, 15, 8, 5, 2])[0]
        labels = [chance.choices([*LABELS, "unheard-of"], [60, 25, 14, 1])[0]] * many
        if chance.random() < 0.3:
            labels = [chance.choice(LABELS[:2]) for _label in range(many)]
        request = NodeRequest(
            node_types=labels,
            requestor="crowd",
            created_time=world.agenda.now,
            tenant_name=chance.choice([None, "one", "two"]),
            relative_priority=chance.choice([0, 0, 0, 1, 5]),
        )
        request.set_state(RequestState.REQUESTED, world.agenda.now)
        priority = chance.choice([100, 100, 200, 300])
        habit = chance.choices(list(HABITS), list(HABITS.values()))[0]
        world.store.requests.create(request, priority=priority)
        self.log(f"request {request.id} for {', '.join(labels)}: {habit}")
        self.asked += 1
        self.open.add(request.id)
        if habit == "cancel":
            self._later(chance.expovariate(1 / 20), lambda: self._cancel(request.id))
        if habit == "reprioritise":
            self._later(chance.expovariate(1 / 10), lambda: self._reprioritise(request.id))
        self._look(request.id, habit)
        return request.id

    # -- what a requestor does ------------------------------------------------------------------------------------

    def _look(self, request_id: str, habit: str) -> None:
        """Look at the request now and then until something comes of it."""
        if request_id not in self.open:
            return
        request = self.world.look_at(request_id)
        if request is None:
            self.open.discard(request_id)
        elif request.state == RequestState.FULFILLED:
            late = self.chance.uniform(20, 300) if habit == "late" and not self.quiet else self.chance.random() * 2
            self._later(late, lambda: self._accept(request_id, habit))
        elif request.state == RequestState.FAILED:
            self.failed += 1
            self._later(1.0, lambda: self._cancel(request_id))
        else:
            self._later(STEP, lambda: self._look(request_id, habit))

    def _cancel(self, request_id: str) -> None:
        if request_id in self.open:
            self.open.discard(request_id)
            self.log(f"request {request_id} is deleted by its requestor")
            self.world.store.requests.delete(request_id)

    def _reprioritise(self, request_id: str) -> None:
        request = self.world.store.requests.read(request_id)
        if request is not None and request.state in (RequestState.REQUESTED, RequestState.PENDING):
            request.relative_priority = self.chance.randint(0, 9)
            self.world.store.requests.write(request)

    def _accept(self, request_id: str, habit: str) -> None:
        """Lock all nodes, look at each again, delete the request, write in-use: in this order, as Zuul does."""
        world = self.world
        request = world.store.requests.read(request_id)
        if request_id not in self.open or request is None or request.state != RequestState.FULFILLED:
            return
        store = self.chance.choice(self._stores)
        held: dict[str, Held] = {}
        for node_id in request.nodes:
            lock = store.nodes.lock(node_id)
            node = store.nodes.read(node_id)
            if lock is None or node is None or node.allocated_to != request_id:
                self.log(f"request {request_id}: node {node_id} cannot be taken: {lock} {node}")
                if lock is not None:
                    lock.release()
                for other in held.values():
                    other.release()
                self._later(5.0, lambda: self._accept(request_id, habit))
                return
            held[node_id] = lock
        if habit == "lock-only" and not self.quiet:
            self._later(self.chance.uniform(1, 30), lambda: self._let_go(request_id, held))
            return
        self._later(self.chance.random() * 0.2, lambda: self._begin(request_id, habit, store, held))

    def _let_go(self, request_id: str, held: dict[str, Held]) -> None:
        for lock in held.values():
            lock.release()
        self._cancel(request_id)

    def _begin(self, request_id: str, habit: str, store: MemoryStore, held: dict[str, Held]) -> None:
        if store.session.killed:
            self._cancel(request_id)
            return
        self.open.discard(request_id)
        store.requests.delete(request_id)
        self.served += 1
        for node_id in held:
            self._write(store, node_id, NodeState.IN_USE)
        self.held |= set(held)
        work = self.chance.uniform(2, 20) if self.quiet else self.chance.expovariate(1 / 40)
        self._later(work, lambda: self._finish(habit, store, held))

    def _finish(self, habit: str, store: MemoryStore, held: dict[str, Held]) -> None:
        self.held -= set(held)
        if store.session.killed:
            return
        if habit == "hold" and not self.quiet:
            for node_id, lock in held.items():
                self.held.add(node_id)
                self._write(store, node_id, NodeState.HOLD, seconds=self.chance.choice([20, 60, 200, 1000, None]))
                lock.release()
            self._later(self.chance.uniform(30, 300), lambda: self._release(list(held)))
            return
        if habit == "vanish" and not self.quiet:
            self.log("a requestor dies with its session and all its locks")
            store.session.kill()
            self._stores = [self.world.keeper.store() if one is store else one for one in self._stores]
            return
        for node_id, lock in held.items():
            self._write(store, node_id, NodeState.USED)
            lock.release()

    def _release(self, node_ids: list[str]) -> None:
        """An operator gives held nodes back, those that have not expired."""
        store = self._stores[0]
        again = []
        for node_id in node_ids:
            lock = store.nodes.lock(node_id)
            node = store.nodes.read(node_id)
            if lock is not None:
                if node is not None and node.state == NodeState.HOLD:
                    self._write(store, node_id, NodeState.USED)
                lock.release()
            elif node is not None and node.state == NodeState.HOLD:
                again.append(node_id)
            if node_id not in again:
                self.held.discard(node_id)
        if again:
            self._later(5.0, lambda: self._release(again))

    def _write(self, store: MemoryStore, node_id: str, state: str, seconds: int | None = None) -> None:
        node = store.nodes.read(node_id)
        if node is None:  # the checker tells of it
            self.log(f"node {node_id} has vanished from its requestor")
            return
        node.hold_expiration = seconds if state == NodeState.HOLD else node.hold_expiration
        node.set_state(state, self.world.agenda.now)
        store.nodes.write(node)

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        self.world.agenda.after(seconds, call)
