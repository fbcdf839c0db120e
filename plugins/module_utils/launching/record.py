# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fill in a node record at each step of a launch (Nodepool's schema)."""

from __future__ import annotations

from ..model.cloud import ReachedAddresses, Server
from ..model.config.types import (
    ImageSettings,
    Pool,
    Provider,
)
from ..model.image import Upload
from ..model.node import DEFAULT_USERNAME, Node, NodeState
from ..model.request import NodeRequest
from ..model.resources import Resources


def new_node(provider: Provider, pool: Pool, pool_id: str, label: str, request: NodeRequest | None, now: float) -> Node:
    """Return the record as it is created, in state init."""
    node = Node(
        provider=provider.name,
        pool=pool.name,
        type=[label],
        launcher=pool_id,
        attributes=dict(pool.node_attributes) if pool.node_attributes is not None else None,
        created_time=now,
    )
    allocate(node, request)
    node.set_state(NodeState.INIT, now)
    return node


def allocate(node: Node, request: NodeRequest | None) -> None:
    """Allocate the node to a request, or (None) remove its allocation."""
    node.allocated_to = request.id if request else None
    if request is not None:
        node.tenant_name = request.tenant_name
        node.requestor = request.requestor


def begin(node: Node, image: ImageSettings, upload: Upload | None, need: Resources, now: float) -> None:
    """Fill in the second step, state building: the launcher holds the lock and knows image and size."""
    take_image(node, image, upload)
    node.connection_type = image.connection_type
    node.connection_port = image.connection_port
    node.resources = need.document()
    node.set_state(NodeState.BUILDING, now)


def take_image(node: Node, image: ImageSettings, upload: Upload | None) -> None:
    """Fill in the image that the node boots from; once more when the first image turned out to be gone."""
    node.image_id = upload.path if upload is not None else image.name
    node.username = (upload.username if upload is not None else None) or image.username or DEFAULT_USERNAME
    node.python_path = (upload.python_path if upload is not None else None) or image.python_path
    node.shell_type = (upload.shell_type if upload is not None else None) or image.shell_type


def active(
    node: Node, provider: Provider, server: Server, addresses: ReachedAddresses, floating_address: str | None
) -> None:
    """Fill in where the ACTIVE server is and how it is reached."""
    node.external_id = server.id
    node.cloud = provider.cloud
    node.region = provider.region_name
    node.az = server.az or node.az
    node.host_id = server.host_id
    node.public_ipv4 = floating_address or addresses.public_ipv4
    node.private_ipv4 = addresses.private_ipv4 or node.public_ipv4
    node.public_ipv6 = addresses.public_ipv6
    # Nodepool would give up here. Without a floating IP the private address is the intended one.
    node.interface_ip = floating_address or addresses.interface_ip or addresses.private_ipv4
    if server.resources is not None and node.resources is not None:
        measured = {name: int(amount) for name, amount in server.resources.items()}
        node.resources = {**node.resources, **measured}


def ready(node: Node, host_keys: tuple[str, ...], now: float) -> None:
    """Set state ready: the node is reachable and may be handed out."""
    node.host_keys = list(host_keys)
    node.set_state(NodeState.READY, now)
