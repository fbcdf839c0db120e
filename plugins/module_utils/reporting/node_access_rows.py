# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of nodes with what a playbook needs to use them, from node records and from servers."""

from __future__ import annotations

from typing import Any

from ..model import connection
from ..model.bounded_text import marked
from ..model.cloud import (
    META_IMAGE,
    META_LABEL,
    META_NODE_ID,
    META_POOL,
    META_PROVIDER,
    Server,
)
from ..model.config.types import NodepoolConfig
from ..model.lease import node_expiry
from ..model.node import DEFAULT_PORT, Node


def _configured(node: Node, config: NodepoolConfig | None) -> str | None:
    if config is None:
        return None
    return config.connection_type(node.provider, node.pool, node.type[0] if node.type else "")


def refusals(node: Node, config: NodepoolConfig | None) -> list[str]:
    """Return a sentence when the record has values that :func:`node_row` leaves out."""
    found = connection.refused(vars(node), _configured(node, config))
    told = f"node {marked(node.id)}: what its record says about the connection is not used: {', '.join(found)}"
    return [told] if found else []


def node_row(node: Node, config: NodepoolConfig | None = None) -> dict[str, Any]:
    """Return the row of a node with its connection. Times are UNIX seconds; a missing address is ``""``.

    Values with which a record could run something on the controller, or change the options of ssh, are left out; see
    :mod:`..model.connection`.
    """
    return {
        "id": marked(node.id),
        "label": node.type[0] if node.type else "",
        "labels": list(node.type),
        "state": node.state,
        "request": node.allocated_to,
        "address": connection.address(node.interface_ip),
        "public_ipv4": connection.address(node.public_ipv4),
        "private_ipv4": connection.address(node.private_ipv4),
        "public_ipv6": connection.address(node.public_ipv6),
        "port": connection.port(node.connection_port, DEFAULT_PORT),
        "user": connection.user(node.username),
        "connection_type": connection.connection_type(node.connection_type, _configured(node, config)) or "",
        "python_path": connection.python_path(node.python_path),
        "shell_type": connection.shell_type(node.shell_type),
        "host_keys": connection.host_keys(node.host_keys),
        "provider": node.provider or "",
        "pool": node.pool or "",
        "cloud": node.cloud or "",
        "region": node.region or "",
        "az": node.az or "",
        "external_id": node.external_id,
        "image_id": node.image_id or "",
        "resources": dict(node.resources or {}),
        "attributes": dict(node.attributes or {}),
        "expires_at": node_expiry(node),
    }


def server_row(server: Server) -> dict[str, Any] | None:
    """Return the row of a server; None when it is no node, because its metadata has no provider or no node id."""
    metadata = dict(server.metadata)
    if not metadata.get(META_PROVIDER) or not metadata.get(META_NODE_ID):
        return None
    return {
        "name": server.name,
        "server_id": server.id,
        "status": server.status,
        "task_state": server.task_state or "",
        "provider": metadata[META_PROVIDER],
        "node_id": metadata[META_NODE_ID],
        "pool": metadata.get(META_POOL, ""),
        "label": metadata.get(META_LABEL, ""),
        "image": metadata.get(META_IMAGE, ""),
        "az": server.az or "",
        "created": server.created or "",
        "addresses": [
            {
                "network": address.network,
                "address": address.address,
                "version": address.version,
                "floating": address.floating,
            }
            for address in server.addresses
        ],
        "metadata": metadata,
    }
