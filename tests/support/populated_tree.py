# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree with something of every kind in it, as Nodepool, Zuul and a launcher of ours would have left it.

Two providers, of which a launcher acts for ``west`` only; what bears an odd name is what no program can use.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

WEST = "stackci-PoolWorker.west-main-0123456789abcdef"
EAST = "stackci-PoolWorker.east-main-fedcba9876543210"
STOCK = "host-PoolWorker.north-main-62ee55d4b3414869b6b292a38d9f6cf0"
READY, IN_USE, HELD, BUILDING, ODD, NOT_JSON, EMPTY = (f"{number:010d}" for number in range(1, 8))
WAITING, BEHIND, DECLINED, PENDING, FAILED, DONE, BROKEN = (
    "100-0000000011",
    "100-0000000012",
    "100-0000000013",
    "100-0000000014",
    "200-0000000015",
    "100-0000000016",
    "300-0000000017",
)
BUILD = "62ee55d4b3414869b6b292a38d9f6cf0"
UPLOAD = f"/nodepool/images/debian/builds/{BUILD}/providers/west/images/0000000001"
NO_ROOM = {"code": "no-room", "where": "west/main", "resource": "instances", "needed": 2, "left": 1}


def documents(now: float) -> dict[str, Any]:
    """Path → document (or bytes)."""
    return {**_nodes(now), **_requests(now), **_components(now), **_own(now), **_images(now)}


def locks() -> list[str]:
    """The contenders of locks that are taken."""
    name = "0123456789abcdef0123456789abcdef__lock__0000000000"
    return [
        f"/nodepool/nodes/{IN_USE}/lock/{name}",
        f"/nodepool/nodes/{BUILDING}/lock/{name}",
        f"/nodepool/requests-lock/{PENDING}/{name}",
        f"/nodepool/stackci/providers/west/lock/{name}",
    ]


def populate(create: Callable[[str, bytes], Any], now: float) -> None:
    """Make all of it.

    :param create: makes a znode and what is missing above it.
    """
    for path, document in documents(now).items():
        create(path, document if isinstance(document, bytes) else json.dumps(document).encode())
    for path in locks():
        create(path, b"")


def _node(now: float, state: str, age: float, **more: Any) -> dict[str, Any]:
    return {
        "state": state,
        "state_time": now - age,
        "created_time": now - age - 100,
        "type": ["small"],
        "provider": "west",
        "pool": "main",
        "launcher": WEST,
        "allocated_to": None,
        "tenant_name": None,
        "requestor": None,
        "attributes": None,
        "image_id": UPLOAD,
        "username": "zuul",
        "python_path": "auto",
        "connection_port": 22,
        "ssh_port": 22,
        "connection_type": "ssh",
        "resources": {"cores": 2, "instances": 1, "ram": 4096},
        "external_id": "0e3f1b1c-3f4e-4f55-9f0b-6a3a3f1d1c52",
        "az": "nova",
        "public_ipv4": "198.51.100.7",
        "private_ipv4": "10.0.0.7",
        "public_ipv6": None,
        "interface_ip": "198.51.100.7",
        "hostname": None,
        "driver_data": None,
        "hold_job": None,
        "comment": None,
        "hold_expiration": None,
        "user_data": None,
        **more,
    }


def _nodes(now: float) -> dict[str, Any]:
    user = {"zuul_system": "5f1c", "project_name": "example.org/project"}
    held = {"hold_job": "t1 project unit", "comment": "debugging", "hold_expiration": 7200, "allocated_to": DONE}
    nodes: dict[str, Any] = {
        READY: _node(now, "ready", 182.4),
        IN_USE: _node(now, "in-use", 60, allocated_to=DONE, user_data=user, type=["small", "big"]),
        HELD: _node(now, "hold", 93784, provider="east", launcher=EAST, **held),
        BUILDING: _node(
            now, "building", 30, allocated_to=PENDING, external_id=None, public_ipv4=None, private_ipv4=None, az=None
        ),
        ODD: {
            "state": 7,
            "state_time": "soon",
            "type": {"a": 1},
            "provider": None,
            "public_ipv4": ["x"],
            "connection_port": "ssh",
            "resources": [1],
        },
        NOT_JSON: b"{ not json",
        EMPTY: b"",
    }
    return {f"/nodepool/nodes/{node_id}": document for node_id, document in nodes.items()}


def _request(now: float, state: str, age: float, **more: Any) -> dict[str, Any]:
    return {
        "state": state,
        "state_time": now - age,
        "node_types": ["small"],
        "nodes": [],
        "declined_by": [],
        "reuse": True,
        "requestor": "zuul",
        "requestor_data": {"build_set_uuid": "x", "tenant_name": "t1", "pipeline_name": "check", "job_name": "unit"},
        "provider": None,
        "relative_priority": 0,
        "event_id": "4c1f",
        "created_time": now - age,
        "tenant_name": "t1",
        **more,
    }


def _requests(now: float) -> dict[str, Any]:
    requests: dict[str, Any] = {
        WAITING: _request(now, "requested", 300, node_types=["small", "small"]),
        BEHIND: _request(now, "requested", 200, relative_priority=1, node_types=["big"]),
        DECLINED: _request(now, "requested", 400, relative_priority=2, declined_by=[EAST], provider="west"),
        PENDING: _request(now, "pending", 35),
        FAILED: _request(now, "failed", 500, node_types=["huge"], declined_by=[WEST, EAST]),
        DONE: _request(now, "fulfilled", 70, nodes=[IN_USE]),
        BROKEN: {"state": "requested", "node_types": None, "state_time": True},
    }
    return {f"/nodepool/requests/{request_id}": document for request_id, document in requests.items()}


def _components(now: float) -> dict[str, Any]:
    common = {"hostname": "launcher1", "model_api": 0, "state": "running", "version": "stackci.nodepool"}
    pool = {**common, "kind": "pool", "name": "main", "paused": True, "priority": 100}
    return {
        "/nodepool/components/launcher/launcher10000000000": {**common, "kind": "launcher"},
        "/nodepool/components/pool/launcher10000000001": {
            **pool,
            "id": WEST,
            "provider_name": "west",
            "supported_labels": ["big", "small"],
        },
        "/nodepool/components/pool/host0000000002": {
            **pool,
            "hostname": "host",
            "paused": False,
            "priority": 50,
            "version": "11.0.0",
            "id": STOCK,
            "provider_name": "north",
            "supported_labels": ["arm"],
        },
        "/nodepool/components/pool/odd0000000003": b"[]",
    }


def _own(now: float) -> dict[str, Any]:
    known = {
        "name": "main",
        "priority": 100,
        "paused": False,
        "last_seen": now - 60,
        "config": "launcher1:nodepool.yaml",
    }
    no_room = {**NO_ROOM, "text": "2 instances needed, 1 left in west/main"}
    gone = {
        "code": "label-unknown",
        "where": "east/main",
        "label": "small",
        "text": "east/main does not offer label small",
    }
    freeze = {"resource": "instances", "until": now + 30, "refusals": [now - 10], "text": "Quota exceeded"}
    return {
        f"/nodepool/stackci/pools/{WEST}": {**known, "provider_name": "west", "supported_labels": ["big", "small"]},
        f"/nodepool/stackci/pools/{EAST}": {**known, "provider_name": "east", "supported_labels": ["huge", "small"]},
        "/nodepool/stackci/providers/west": {
            "boot_seconds": [20.0, 30.0, 25.0],
            "cloud": "west",
            "reading": {
                "at": now - 12,
                "limits": {"instances": 10, "cores": 20, "ram": 40960},
                "others": {"instances": 3, "cores": 6},
            },
            "health": {"state": "trouble", "text": "provider west: 503", "since": now - 40},
        },
        f"/nodepool/stackci/freezes/{WEST}": {"instances": freeze, "cores": {**freeze, "until": now - 5}},
        "/nodepool/stackci/breakers/west": {
            "debian/small": {"failures": 5, "until": now + 45, "text": "no valid host"}
        },
        f"/nodepool/stackci/waits/{WAITING}": {**no_room, "since": now - 250, "at": now - 5, "pools": [no_room]},
        f"/nodepool/stackci/waits/{BEHIND}": b"nonsense",
        f"/nodepool/stackci/declines/{DECLINED}": {"reasons": [gone]},
        f"/nodepool/stackci/declines/{FAILED}": {"reasons": [gone]},
        f"/nodepool/stackci/waits/{FAILED}": {"code": "failed", "text": gone["text"], "reasons": [gone]},
        f"/nodepool/stackci/launches/{BUILDING}": {
            "node_id": BUILDING,
            "provider": "west",
            "pool": "main",
            "label": "small",
            "request_id": PENDING,
            "phase": "booting",
            "since": now - 20,
            "started": now - 31,
            "asked_at": now - 22,
            "created_at": now - 20,
            "attempt": 2,
            "mark": f"{BUILDING}-2-abc",
            "server_id": "5f1c2d3e-0000-4f55-9f0b-6a3a3f1d1c52",
            "failures": ["attempt 1: fault: No valid host was found"],
        },
        f"/nodepool/stackci/launches/{HELD}": {"node_id": HELD, "phase": 7},
        "/nodepool/stackci/leases/debug": {
            "name": "debug",
            "owner": "alice",
            "reason": "looks at a boot that fails",
            "labels": ["small"],
            "nonce": "n1",
            "created_time": now - 1000,
            "expires": 7200,
            "expires_at": now + 6200,
            "sets": [{"request": PENDING, "nodes": []}, {"request": None, "nodes": [HELD, "0000000999"]}],
        },
        "/nodepool/stackci/leases/odd": {"name": "odd", "labels": "small", "sets": 4},
        "/nodepool/stackci/stuck/s-9": {
            "provider": "west",
            "server": "s-9",
            "floating_ip": None,
            "node": "0000000099",
            "since": now - 900,
            "tries": 4,
            "answer": "409 Conflict",
        },
    }


def _images(now: float) -> dict[str, Any]:
    build = {
        "state": "ready",
        "state_time": now - 3700,
        "builder": "builder1",
        "builder_id": "b-1",
        "formats": "qcow2,raw",
    }
    return {
        "/nodepool/images/debian/request-build": b"",
        "/nodepool/images/debian/pause": b"",
        f"/nodepool/images/debian/builds/{BUILD}": build,
        UPLOAD: {"state": "ready", "state_time": now - 3600, "external_id": "i-1", "external_name": "debian-1"},
    }
