# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of leases: their names, nodes, requests and expiry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...clients.zookeeper import paths
from ...clients.zookeeper.reading import Found, TreeReading
from ...model.documents import text, whole, words
from ...model.lease import LEASES, hold_job
from ...model.node import NodeState
from .fields import (
    Fields,
    age,
    age_text,
    items,
)

ROOT = f"{paths.OWN}/{LEASES}"


def paths_of(reading: TreeReading) -> list[str]:
    """Return the paths of the nodes and requests that the leases name."""
    sets = [part for found in reading.below(ROOT) for part in items(found.document.get("sets")) or ()]
    nodes = [f"{paths.NODES}/{node_id}" for part in sets for node_id in _nodes_of(part)]
    return [*nodes, *(f"{paths.REQUESTS}/{request}" for part in sets for request in _requests_of(part))]


def lease_rows(reading: TreeReading, now: float) -> list[dict[str, Any]]:
    """Return the rows of all leases, sorted by name."""
    rows = [_lease_row(found, reading, now) for found in reading.below(ROOT)]
    return sorted(rows, key=lambda row: str(row["name"]))


def _lease_row(found: Found, reading: TreeReading, now: float) -> dict[str, Any]:
    fields = Fields(found.document, found.problem)
    fields.need("name", "labels", "sets")
    name, created, ends = fields.read("name") or found.name, fields.moment("created_time"), fields.moment("expires_at")
    sets = fields.read("sets", items) or []
    labels, made = fields.read("labels", words), age(created, now)
    held = [_node_row(node_id, reading, name) for part in sets for node_id in _nodes_of(part)]
    asked = [_request_row(request, reading) for part in sets for request in _requests_of(part)]
    wanted = len(labels) * len(sets)
    return {
        "name": name,
        "labels": labels,
        "count": len(sets),
        "wanted": wanted,
        "held": sum(1 for node in held if node["held"]),
        "complete": bool(wanted) and sum(1 for node in held if node["held"]) == wanted,
        "age": made,
        "age_text": age_text(made),
        "expires": fields.read("expires", whole),
        "expires_in": None if ends is None else round(ends - now, 1),
        "requests": asked,
        "nodes": held,
        "problems": fields.problems,
    }


def _nodes_of(part: Any) -> Iterator[str]:
    yield from words(part.get("nodes")) if isinstance(part, dict) else ()


def _requests_of(part: Any) -> Iterator[str]:
    request = text(part.get("request")) if isinstance(part, dict) else None
    if request:
        yield request


def _node_row(node_id: str, reading: TreeReading, name: str) -> dict[str, Any]:
    """Return the row of a node of the lease; its state is "gone" when ZooKeeper does not have it."""
    found = reading.one(f"{paths.NODES}/{node_id}")
    document = found.document if found is not None else {}
    state = text(document.get("state"))
    return {
        "id": node_id,
        "state": state if found is not None else "gone",
        "held": state == NodeState.HOLD and document.get("hold_job") == hold_job(name),
        "provider": text(document.get("provider")),
        "address": text(document.get("interface_ip")),
    }


def _request_row(request_id: str, reading: TreeReading) -> dict[str, Any]:
    found = reading.one(f"{paths.REQUESTS}/{request_id}")
    return {"id": request_id, "state": text(found.document.get("state")) if found is not None else "gone"}
