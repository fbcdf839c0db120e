# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Follows which builds the nodes of each event were made from. A pass looks only at nodes that have changed.

The request of a node in use is gone; then its launch record has the event's id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from ....launching.event_builds import Made, event_of
from ....model.image import build_of_path
from ....model.node import Node, NodeState
from ....model.request import NodeRequest, RequestState
from .context import Context
from .usable_builds import usable_uploads

OVER = frozenset({NodeState.DELETING, NodeState.DELETED, NodeState.FAILED, NodeState.ABORTED})
"""States of nodes that do not count."""


def follow_events(context: Context, changed: Iterable[str], nodes: Mapping[str, Node]) -> None:
    """Update the index.

    :param changed: ids of nodes that are new, different or gone.
    :param nodes: all nodes by id.
    """
    for node_id in changed:
        node = nodes.get(node_id)
        if node is None:
            context.events.note(node_id, None)
        else:
            follow_node(context, node, None)


def follow_node(context: Context, node: Node, request: NodeRequest | None) -> None:
    """Note what a node was made from.

    :param request: the request that it is for, if it is at hand.
    """
    place, owner = build_of_path(node.image_id), node.allocated_to
    if place is None or owner is None or node.state in OVER or _is_special(context, node):
        context.events.note(node.id, None)
        return
    image, build = place
    known = context.events.get(node.id)
    if known is not None and known.request == owner:
        event = known.event
    else:
        request = request or context.store.requests.get(owner)
        launch = context.launch(node.id) if request is None else None
        event = event_of(request) if request is not None else (launch.event_id if launch is not None else None) or owner
    context.events.note(node.id, Made(event, owner, image, build))


def follow_requests(context: Context, requests: Iterable[NodeRequest]) -> None:
    """Count the nodes that the open requests of each event ask for."""
    found: Counter[str] = Counter()
    for request in requests:
        if request.state == RequestState.REQUESTED and request.event_id:
            found[request.event_id] += len(request.node_types)
    context.events.open = found


class Pins:
    """The builds that ready nodes must have been made from to serve requests, in one pass."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._there: dict[tuple[str, str], frozenset[str]] = {}

    def of(self, request: NodeRequest) -> frozenset[tuple[str, str, str]]:
        """Return (provider, image, build) of the builds of a request's event that may still be used there."""
        pinned = self._context.events.builds(event_of(request))
        if not pinned:
            return frozenset()
        return frozenset(
            (name, image, build)
            for image, build in pinned.items()
            for name in self._context.actors
            if build in self._usable(image, name)
        )

    def _usable(self, image: str, provider: str) -> frozenset[str]:
        key = (image, provider)
        if key not in self._there:
            self._there[key] = frozenset(each.build_id for each in usable_uploads(self._context, image, provider))
        return self._there[key]


def build_of(context: Context, node: Node) -> tuple[str, str] | None:
    """Return (image, build) of a node; None if it was not made from the build in use of a diskimage."""
    return None if _is_special(context, node) else build_of_path(node.image_id)


def _is_special(context: Context, node: Node) -> bool:
    """Return True for a node that is made from another build on purpose."""
    actor = context.actors.get(node.provider or "")
    pool = actor.provider.pools.get(node.pool or "") if actor is not None else None
    label = pool.labels.get(node.type[0]) if pool is not None and node.type else None
    return label is not None and bool(label.channel or label.is_canary)
