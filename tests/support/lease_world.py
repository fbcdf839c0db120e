# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree in memory, its time, and a launcher played by hand, for the machine of a lease."""

from __future__ import annotations

import itertools

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.leases.lease_cycle import (
    LeaseStatus,
    Leasing,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lease import LeaseSpec, hold_job
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import RequestState
from tests.support.lease_store import Killed, MemoryStore


class World:
    """A tree, its time, and a launcher played by hand."""

    def __init__(self, spec: LeaseSpec) -> None:
        self.store = MemoryStore()
        self.spec = spec
        self.now = 1000.0
        self._names = itertools.count()
        self.store.seen = self._look

    def _look(self) -> None:
        sets = [(r.requestor_data["nonce"], r.requestor_data["set"]) for r in self.store.all_requests()]
        assert len(sets) == len(set(sets)), "two requests for one set"

    def leasing(self, present: bool = True, clears: bool = False) -> Leasing:
        return Leasing(
            self.store,  # type: ignore[arg-type]
            self.spec,
            present=present,
            clears=clears,
            clock=lambda: self.now,
            unique=lambda: f"unique{next(self._names)}",
        )

    def launch(self) -> None:
        """Fulfil whatever is requested; requests that went leave free nodes behind."""
        for request in self.store.all_requests():
            if request.state == RequestState.REQUESTED:
                nodes = [
                    self.store.add_node(
                        state=NodeState.READY, state_time=self.now, type=[label], allocated_to=request.id, provider="p"
                    )
                    for label in request.node_types
                ]
                request.nodes = [node.id for node in nodes]
                request.set_state(RequestState.FULFILLED, self.now)

    def begin(self) -> None:
        """Begin to launch for whatever is requested."""
        for request in self.store.all_requests():
            if request.state == RequestState.REQUESTED:
                request.set_state(RequestState.PENDING, self.now)
                for label in request.node_types:
                    self.store.add_node(state=NodeState.BUILDING, type=[label], allocated_to=request.id, provider="p")

    def boot(self) -> None:
        """Bring up what is being launched; what nobody waits for any more is free."""
        for node in self.store.nodes.items.values():
            if node.state == NodeState.BUILDING:
                node.set_state(NodeState.READY, self.now)
            if node.allocated_to not in self.store.requests.items:
                node.allocated_to = None

    def clear(self, kill_at: int | None = None) -> LeaseStatus | None:
        """A run that releases the lease and deletes its servers; None when it was killed."""
        self.store.kill_at = None if kill_at is None else self.store.changes + kill_at
        leasing = self.leasing(present=False, clears=True)
        try:
            for _pass in range(12):
                status = leasing.advance()
                if status.done:
                    return status
                self.boot()
                self.sweep()
            raise AssertionError("never done")
        except Killed:
            return None
        finally:
            self.store.kill_at = None

    def sweep(self) -> None:
        """What a launcher does with nodes that nobody needs."""
        for node in list(self.store.nodes.items.values()):
            if node.state == NodeState.USED:
                self.store.nodes.items.pop(node.id)
            elif node.state == NodeState.READY and node.allocated_to not in self.store.requests.items:
                node.allocated_to = None

    def held(self) -> list[str]:
        return sorted(
            node.id
            for node in self.store.nodes.items.values()
            if node.state == NodeState.HOLD and node.hold_job == hold_job(self.spec.name)
        )

    def run(self, present: bool = True, kill_at: int | None = None) -> LeaseStatus | None:
        """A run of the module with a launcher at work; None when it was killed."""
        self.store.kill_at = None if kill_at is None else self.store.changes + kill_at
        leasing = self.leasing(present)
        try:
            for _pass in range(12):
                status = leasing.advance()
                if status.done:
                    return status
                self.launch()
            raise AssertionError("never done")
        except Killed:
            return None
        finally:
            self.store.kill_at = None
