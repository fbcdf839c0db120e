# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree as a large site has it: thousands of nodes at ten providers, a long queue, leases, reasons, launches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kazoo.client import KazooClient

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.usage_book import KEPT_DAYS
from ansible_collections.stackci.nodepool.plugins.module_utils.model.day_usage import DAY, MOST_ROWS, Usage, day_of
from tests.support import filled_tree

PROVIDERS = tuple(f"cloud{number}" for number in range(10))
POOLS = ("main", "large")
LABELS = tuple(f"label{number}" for number in range(20))
LEASES = 200
TENANT = "tenant"
CONTENDER = "0123456789abcdef0123456789abcdef__lock__0000000000"
OWN = "/nodepool/stackci"
KEYS = [f"{kind} {'A' * length}" for kind, length in (("ssh-ed25519", 68), ("ecdsa-sha2-nistp256", 140), ("rsa", 372))]
STATES = ("in-use",) * 14 + ("ready",) * 4 + ("building", "hold")
"""Of twenty nodes."""


def nodepool_yaml(port: int) -> str:
    """The configuration of that site."""
    pools = [
        {
            "name": pool,
            "max-servers": 1000,
            "labels": [{"name": label, "cloud-image": "debian-12", "flavor-name": "small"} for label in LABELS],
        }
        for pool in POOLS
    ]
    document = {
        "zookeeper-servers": [{"host": "127.0.0.1", "port": port}],
        "labels": [{"name": label, "min-ready": 2} for label in LABELS],
        "providers": [
            {"name": name, "cloud": name, "cloud-images": [{"name": "debian-12", "username": "root"}], "pools": pools}
            for name in PROVIDERS
        ],
    }
    return json.dumps(document)


def settings_yaml() -> str:
    """Its own settings: the only tenant, whose all nodes are, has a budget."""
    return json.dumps({"usage-budgets": [{"name": TENANT, "hours-per-day": 10, "hours-per-month": 100}]})


def fill_days(hosts: str, now: float) -> None:
    """Add the usage of as many days as are kept, each with as many rows as a day has at most."""
    usage = Usage()
    for number in range(MOST_ROWS):
        place = (LABELS[number % len(LABELS)], PROVIDERS[number % len(PROVIDERS)], POOLS[number % len(POOLS)])
        usage.add((TENANT, f"project{number % 40}", f"job{number}", *place), used=3_600_000, nodes=1, servers=1)
    client = KazooClient(hosts)
    client.start()
    try:
        for day in range(KEPT_DAYS):
            path = f"{OWN}/usage-days/{day_of(now - day * DAY)}"
            client.create(path, json.dumps(usage.document()).encode(), makepath=True)
    finally:
        client.stop()
        client.close()


def fill(hosts: str, nodes: int, requests: int, now: float) -> int:
    """Make the tree; returns the number of its documents' bytes."""
    client = KazooClient(hosts)
    client.start()
    try:
        return filled_tree.fill(client, _documents(nodes, requests, now))
    finally:
        client.stop()
        client.close()


def _documents(nodes: int, requests: int, now: float) -> Iterator[tuple[str, dict[str, Any] | None]]:
    yield "/nodepool/components/launcher/launcher10000000000", {"hostname": "launcher1", "kind": "launcher"}
    for number, name in enumerate(PROVIDERS):
        yield f"{OWN}/providers/{name}", _provider(name, now)
        yield f"{OWN}/providers/{name}/lock/{CONTENDER}", None
        for pool in POOLS:
            document = _pool(name, pool, now)
            yield f"{OWN}/pools/{document['id']}", document
            yield f"/nodepool/components/pool/launcher1{number:04d}{POOLS.index(pool):06d}", document
    for number in range(nodes):
        yield from _node(f"{number:010d}", number, nodes, requests, now)
    for number in range(requests):
        yield from _request(f"100-{number:010d}", number, now)
    for number in range(LEASES):
        yield f"{OWN}/leases/lease{number}", _lease(number, nodes, now)


def _provider(name: str, now: float) -> dict[str, Any]:
    limits = {"instances": 2000, "cores": 8000, "ram": 16_000_000, "volumes": 2000}
    others = {"instances": 20, "cores": 80, "ram": 160_000}
    return {
        "provider": name,
        "cloud": name,
        "boot_seconds": [20.0 + number for number in range(20)],
        "reading": {"at": now - 5, "limits": limits, "others": others},
        "health": {"state": "ok", "since": now - 5000},
    }


def _pool(name: str, pool: str, now: float) -> dict[str, Any]:
    return {
        "id": f"stackci-PoolWorker.{name}-{pool}-0123456789abcdef",
        "provider_name": name,
        "name": pool,
        "hostname": "launcher1",
        "supported_labels": list(LABELS),
        "priority": 100,
        "paused": False,
        "last_seen": now,
    }


def _node(
    node_id: str, number: int, nodes: int, requests: int, now: float
) -> Iterator[tuple[str, dict[str, Any] | None]]:
    provider, pool = PROVIDERS[number % len(PROVIDERS)], POOLS[number % len(POOLS)]
    state = STATES[number % len(STATES)]
    lease = number * LEASES // nodes
    yield (
        f"/nodepool/nodes/{node_id}",
        {
            "state": state,
            "state_time": now - number % 5000,
            "created_time": now - 60 - number % 5000,
            "type": [LABELS[number % len(LABELS)]],
            "provider": provider,
            "pool": pool,
            "launcher": f"stackci-PoolWorker.{provider}-{pool}-0123456789abcdef",
            "allocated_to": None if state == "ready" else f"100-{number % requests:010d}",
            "tenant_name": TENANT,
            "requestor": "zuul",
            "attributes": None,
            "image_id": "debian-12",
            "username": "zuul",
            "python_path": "auto",
            "shell_type": None,
            "connection_port": 22,
            "connection_type": "ssh",
            "resources": {"cores": 4, "instances": 1, "ram": 8192},
            "external_id": f"0e3f1b1c-3f4e-4f55-9f0b-{number:012d}",
            "cloud": provider,
            "region": "RegionOne",
            "az": "nova",
            "host_id": "5f1c2d3e4a5b6c7d8e9f",
            "public_ipv4": f"198.51.{number // 250 % 250}.{number % 250}",
            "private_ipv4": f"10.1.{number // 250 % 250}.{number % 250}",
            "public_ipv6": f"2001:db8::{number:x}",
            "interface_ip": f"198.51.{number // 250 % 250}.{number % 250}",
            "host_keys": KEYS,
            "slot": None,
            "hostname": f"np{node_id}",
            "driver_data": None,
            "node_properties": {},
            "hold_job": f"stackci lease lease{lease}" if state == "hold" else None,
            "comment": "debugging" if state == "hold" else None,
            "hold_expiration": 86400 if state == "hold" else None,
            "user_data": {"zuul_system": "5f1c", "project_name": "example.org/project"},
            "ssh_port": 22,
        },
    )
    if state in ("in-use", "building"):
        yield f"/nodepool/nodes/{node_id}/lock/{CONTENDER}", None


def _request(request_id: str, number: int, now: float) -> Iterator[tuple[str, dict[str, Any] | None]]:
    state = ("requested",) * 8 + ("pending", "fulfilled")
    waits = state[number % len(state)] == "requested"
    yield (
        f"/nodepool/requests/{request_id}",
        {
            "state": state[number % len(state)],
            "state_time": now - number,
            "created_time": now - number,
            "node_types": [LABELS[number % len(LABELS)]] * (1 + number % 3),
            "nodes": [],
            "declined_by": [],
            "reuse": True,
            "requestor": "zuul",
            "requestor_data": {"build_set_uuid": "5f1c", "tenant_name": "tenant", "job_name": "unit"},
            "provider": None,
            "relative_priority": number % 7,
            "event_id": "4c1f2e3d4a5b",
            "tenant_name": "tenant",
        },
    )
    if not waits:
        yield f"/nodepool/requests-lock/{request_id}/{CONTENDER}", None
        return
    where = f"{PROVIDERS[number % len(PROVIDERS)]}/main"
    said = {"code": "no-room", "where": where, "resource": "instances", "needed": 2, "left": 1}
    told = {**said, "text": f"2 instances needed, 1 left in {where}"}
    yield f"{OWN}/waits/{request_id}", {**told, "since": now - 200, "at": now - 5, "pools": [told] * 5}


def _lease(number: int, nodes: int, now: float) -> dict[str, Any]:
    first = number * nodes // LEASES
    return {
        "name": f"lease{number}",
        "labels": [LABELS[0]],
        "nonce": "n",
        "created_time": now - 1000,
        "expires": 7200,
        "expires_at": now + 6200,
        "sets": [{"request": f"100-{number:010d}", "nodes": [f"{first:010d}", f"{first + 1:010d}"]}],
    }
