# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes over the work of an ended cycle: pending requests first, then launches that belong to no request."""

from __future__ import annotations

from ....clients.zookeeper.record_view import View
from ....model.node import Node, NodeState
from ....model.request import NodeRequest, RequestState
from ..context.context import Context
from ..launches.launches import Launches
from ..requests.accepted_requests import AcceptedRequests


class Adoption:
    """Adopts requests and launches from the views that the cycle plans with; each is read again under its lock."""

    def __init__(
        self,
        context: Context,
        nodes: View[Node],
        requests: View[NodeRequest],
        serving: AcceptedRequests,
        launches: Launches,
    ) -> None:
        self._context = context
        self._nodes = nodes
        self._requests = requests
        self._accepted = serving
        self._launches = launches

    def step(self) -> None:
        """Adopt all requests and launches that can be adopted; called once per pass."""
        self._adopt_requests()
        requests = self._requests.records
        for _unused, node in sorted(self._nodes.free.items()):
            if (
                node.state in (NodeState.INIT, NodeState.BUILDING)
                and node.provider in self._context.actors
                and node.id not in self._launches.in_progress
                and not _is_pending(requests.get(node.allocated_to or ""))
                and not node.broken
                and not self._context.store.nodes.is_locked(node.id)
                and self._context.launch(node.id) is not None
            ):
                self._adopt_orphan(node)

    def _adopt_requests(self) -> None:
        actors = self._context.actors
        left = [
            request
            for _unused, request in sorted(self._requests.free.items())
            if request.state == RequestState.PENDING and request.id not in self._accepted
        ]
        by_request: dict[str, list[Node]] = {}
        for node in self._nodes.records.values() if left else ():
            if node.allocated_to and not node.broken:
                by_request.setdefault(node.allocated_to, []).append(node)
        for request in left:
            theirs = sorted(by_request.get(request.id, []), key=lambda node: node.id)
            if all(node.provider in actors for node in theirs):
                first = theirs[0] if theirs else None
                key = (first.provider or "", first.pool or "") if first else ("", "")
                self._accepted.adopt(request, theirs, self._context.pool_ids.get(key, ""))

    def _adopt_orphan(self, known: Node) -> None:
        store = self._context.store
        held = store.nodes.lock(known.id)
        if held is None:
            return
        node = store.nodes.read(known.id)
        request = store.requests.read(node.allocated_to) if node is not None and node.allocated_to else None
        if node is None or node.state not in (NodeState.INIT, NodeState.BUILDING) or _is_pending(request):
            held.release()
            return
        node.allocated_to = None
        if not self._launches.adopt(node, held, None):
            held.release()


def _is_pending(request: NodeRequest | None) -> bool:
    return request is not None and request.state == RequestState.PENDING
