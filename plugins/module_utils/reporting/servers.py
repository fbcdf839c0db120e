# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers as rows: nodes as the cloud shows them."""

from __future__ import annotations

from typing import Any

from ..model.cloud import (
    META_IMAGE,
    META_LABEL,
    META_NODE_ID,
    META_POOL,
    META_PROVIDER,
    Server,
)


def server_row(server: Server) -> dict[str, Any] | None:
    """One server as plain JSON values; None when it is no node: it lacks the metadata of its provider or node id."""
    metadata = dict(server.metadata)
    if not metadata.get(META_PROVIDER) or not metadata.get(META_NODE_ID):
        return None
    return {
        "name": server.name,
        "server_id": server.id,
        "status": server.status,
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
