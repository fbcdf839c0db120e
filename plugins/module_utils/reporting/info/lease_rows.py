# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of leases: their names, nodes, requests and expiry."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import Found, TreeReading
from ...model import connection
from ...model.documents import seconds, text, whole, words
from ...model.lease import hold_job
from ...model.node import NodeState
from ...model.own_tree import LEASES
from .fields import (
    Fields,
    age,
    age_text,
    items,
)

ROOT = f"{paths.OWN}/{LEASES}"


def paths_of(reading: TreeReading) -> list[str]:
    """Return the paths of the nodes and requests that the leases name."""
    sets = [part for found in reading.below(ROOT) for part in _sets_of(found)]
    nodes = [f"{paths.NODES}/{node_id}" for part in sets for node_id in _nodes_of(part)]
    return [*nodes, *(f"{paths.REQUESTS}/{request}" for part in sets for request in _requests_of(part))]


def leased(reading: TreeReading, name: str) -> list[str]:
    """Return what a lease stands for: the ids of its requests, and of its nodes where their request is gone."""
    ids: list[str] = []
    for part in (part for found in reading.below(ROOT) if found.name == name for part in _sets_of(found)):
        waiting = [request for request in _requests_of(part) if reading.one(f"{paths.REQUESTS}/{request}")]
        ids += waiting or [node for node in _nodes_of(part) if reading.one(f"{paths.NODES}/{node}")]
    return ids


def _sets_of(found: Found) -> list[Any]:
    return items(found.document.get("sets")) or []


def lease_rows(reading: TreeReading, now: float, max_hold_age: float = 0.0) -> list[dict[str, Any]]:
    """Return the rows of all leases, sorted by name.

    :param max_hold_age: seconds after which a launcher deletes every held node; 0 for no such limit.
    """
    rows = [_lease_row(found, reading, now, max_hold_age) for found in reading.below(ROOT)]
    return sorted(rows, key=lambda row: str(row["name"]))


def _lease_row(found: Found, reading: TreeReading, now: float, max_hold_age: float) -> dict[str, Any]:
    fields = Fields(found.document, found.problem)
    fields.need("name", "labels", "sets")
    name, created, ends = fields.read("name") or found.name, fields.moment("created_time"), fields.moment("expires_at")
    sets = fields.read("sets", items) or []
    labels, made = fields.read("labels", words), age(created, now)
    lefts = {node_id: _left(node_id, reading, name, now, max_hold_age) for part in sets for node_id in _nodes_of(part)}
    held = [_node_row(node_id, reading, is_held=left > 0.0) for node_id, left in lefts.items()]
    asked = [_request_row(request, reading) for part in sets for request in _requests_of(part)]
    waiting = [_request_left(request["id"], reading, now) for request in asked if request["state"] != "gone"]
    wanted = len(labels) * len(sets)
    return {
        "name": name,
        "owner": fields.read("owner") or "",
        "reason": fields.read("reason") or "",
        "labels": labels,
        "count": len(sets),
        "wanted": wanted,
        "held": sum(1 for node in held if node["held"]),
        "complete": bool(wanted) and sum(1 for node in held if node["held"]) == wanted,
        "age": made,
        "age_text": age_text(made),
        "expires": fields.read("expires", whole),
        "expires_in": _expires_in(list(lefts.values()) or waiting, None if ends is None else ends - now),
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


def _left(node_id: str, reading: TreeReading, name: str, now: float, max_hold_age: float) -> float:
    """Return the seconds for which a node stays held for the lease: 0 when it is not, infinite without a limit."""
    found = reading.one(f"{paths.NODES}/{node_id}")
    document = found.document if found is not None else {}
    if document.get("state") != NodeState.HOLD or document.get("hold_job") != hold_job(name):
        return 0.0
    bounds = [bound for bound in (whole(document.get("hold_expiration")) or 0, max_hold_age) if bound > 0]
    limit, since = min(bounds, default=math.inf), seconds(document.get("state_time"))
    # A time in the future was written by a clock that was ahead.
    return limit if since is None else max(0.0, min(limit, limit - (now - since)))


def _request_left(request_id: str, reading: TreeReading, now: float) -> float:
    """Return the seconds until a request that is still waited for is deleted."""
    found = reading.one(f"{paths.REQUESTS}/{request_id}")
    data = found.document.get("requestor_data") if found is not None else None
    expires_at = seconds(data.get("expires_at")) if isinstance(data, Mapping) else None
    return math.inf if expires_at is None else max(0.0, expires_at - now)


def _expires_in(lefts: list[float], else_in: float | None) -> float | None:
    """Return the seconds until the first of the nodes, or of the requests before there are nodes, is given back.

    :param else_in: the same by the lease's document, for a lease that has neither.
    """
    left = min(lefts) if lefts else else_in
    return None if left is None or math.isinf(left) else round(max(0.0, left), 1)


def _node_row(node_id: str, reading: TreeReading, *, is_held: bool) -> dict[str, Any]:
    """Return the row of a node of the lease; its state is "gone" when ZooKeeper does not have it."""
    found = reading.one(f"{paths.NODES}/{node_id}")
    document = found.document if found is not None else {}
    return {
        "id": node_id,
        "state": text(document.get("state")) if found is not None else "gone",
        "held": is_held,
        "provider": text(document.get("provider")),
        "address": connection.address(document.get("interface_ip")) or None,
    }


def _request_row(request_id: str, reading: TreeReading) -> dict[str, Any]:
    found = reading.one(f"{paths.REQUESTS}/{request_id}")
    return {"id": request_id, "state": text(found.document.get("state")) if found is not None else "gone"}
