# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The subjects of lines about a node or a request."""

from __future__ import annotations

from .launch import Launch
from .lines import Subject
from .node import Node
from .request import NodeRequest


def subject_of_request(request: NodeRequest) -> Subject:
    """Return the subject of a request: its id and the event that its requestor names."""
    return Subject(request=request.id, event_id=request.event_id)


def subject_of_node(node: Node, launch: Launch | None) -> Subject:
    """Return the subject of a node: the node, its place, its request, and the event of that request.

    :param launch: the node's launch record. It has the event of the request for which the node was launched; for a node
        that was ready before its request came, the event is unknown.
    """
    asked = launch is not None and launch.request_id == node.allocated_to
    return Subject(
        provider=node.provider,
        pool=node.pool,
        label=node.type[0] if node.type else None,
        request=node.allocated_to,
        node=node.id,
        event_id=launch.event_id if launch is not None and asked else None,
        server=node.external_id if isinstance(node.external_id, str) else None,
    )
