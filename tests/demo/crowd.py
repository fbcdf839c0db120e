# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A large site to look at: the records of 6,000 nodes at 17 providers, of which four are ill.

There is no cloud and no launcher behind the records; :mod:`crowd_moves` writes what launchers would write.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

NODES, REQUESTS = 6000, 90
PROVIDERS = tuple(f"cloud-{number:02d}" for number in range(17))
DOWN, FULL, FLAPPING, UNSERVED = "cloud-03", "cloud-07", "cloud-11", "cloud-14"
"""The four that are ill: its API answers 503; its quota is used up; some of its calls fail; nobody serves it."""
LABELS = ("debian-12", "ubuntu-24.04", "centos-stream-10", "fedora-42", "debian-12-large")
IMAGES = LABELS[:4]
STATES = ("in-use",) * 14 + ("ready",) * 3 + ("building",) * 2 + ("deleting",)
OWN = "/nodepool/stackci"
LOCK = "lock/0123456789abcdef0123456789abcdef__lock__0000000000"
QUOTA = "Quota exceeded for instances: Requested 1, but already used 400 of 400 instances"
SLOT = 300.0
"""Seconds of calls that a launcher counts together."""


def nodepool_yaml(port: int) -> str:
    """The configuration of the site; JSON is YAML, too."""
    labels = [
        {"name": name, "diskimage": name.removesuffix("-large"), "flavor-name": "v3-standard-8"} for name in LABELS
    ]
    images = [{"name": name} for name in IMAGES]
    document = {
        "zookeeper-servers": [{"host": "127.0.0.1", "port": port}],
        "labels": [{"name": name, "min-ready": 10 if name == "debian-12" else 0} for name in LABELS],
        "diskimages": images,
        "providers": [
            {
                "name": name,
                "cloud": name,
                "diskimages": images,
                "pools": [{"name": "main", "max-servers": 400, "labels": labels}],
            }
            for name in PROVIDERS
        ],
    }
    return json.dumps(document, indent=1)


def pool_id(provider: str) -> str:
    """The id of the pool of a provider."""
    return f"stackci-PoolWorker.{provider}-main-0123456789abcdef"


def documents(now: float) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """The records of the site, the same for the same time; None for a znode without content."""
    chance = Random(17)
    for number in range(NODES):
        yield f"/nodepool/nodes/{number:010d}", node(number, chance.choice(STATES), now - 4000 * chance.random() ** 2)
        yield f"/nodepool/nodes/{number:010d}/{LOCK}", None
    for number in range(REQUESTS):
        yield from request(number, now - 300 * chance.random())
    for place, name in enumerate(PROVIDERS):
        yield f"{OWN}/providers/{name}", provider(name, now)
        if name != UNSERVED:
            yield f"{OWN}/providers/{name}/{LOCK}", None
            yield f"/nodepool/components/pool/launcher1{place:09d}", pool(name, f"launcher{1 + place % 3}")
        yield f"{OWN}/pools/{pool_id(name)}", {**pool(name, "launcher1"), "last_seen": now}
    yield (
        f"{OWN}/freezes/{pool_id(FULL)}",
        {"instances": {"resource": "instances", "until": now + 120, "refusals": [now], "text": QUOTA}},
    )
    stuck = {"provider": DOWN, "server": "5d2f6f0c", "node": "0000000042", "since": now - 1900, "tries": 7}
    yield f"{OWN}/stuck/5d2f6f0c", {**stuck, "answer": "409 Conflict: task_state is powering-on"}
    failed = {"failures": 3, "failed_at": now - 500, "not_before": now + 900, "error": "mirror answered 404"}
    yield f"{OWN}/image-builds/fedora-42", failed
    for image in IMAGES:
        yield from build(image, 0, now - 20_000)


def node(number: int, state: str, since: float) -> dict[str, Any]:
    """The record of a node that has its state since a UNIX time."""
    name = PROVIDERS[number % len(PROVIDERS)]
    return {
        "state": state,
        "state_time": since,
        "created_time": since - 90,
        "type": [LABELS[number % 31 % len(LABELS)]],
        "provider": name,
        "pool": "main",
        "launcher": pool_id(name),
        "external_id": None if state == "building" else f"0e3f1b1c-3f4e-4f55-9f0b-{number:012x}",
        "public_ipv4": None if state == "building" else f"198.51.{number % 200}.{number % 250 + 1}",
        "username": "zuul",
        "connection_port": 22,
        "tenant_name": "openstack",
        "requestor": "zuul",
        "resources": {"instances": 1, "cores": 8, "ram": 8192},
    }


def request(number: int, made: float) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """The records of a request that waits."""
    ident = f"200-{number:010d}"
    yield (
        f"/nodepool/requests/{ident}",
        {
            "state": "requested",
            "state_time": made,
            "created_time": made,
            "node_types": [LABELS[number % len(LABELS)]],
            "nodes": [],
            "declined_by": [],
            "requestor": "zuul",
            "tenant_name": "openstack",
            "relative_priority": number % 5,
        },
    )
    where = f"{FULL}/main" if number % 3 else "cloud-01/main"
    figures = {"code": "no-room", "where": where, "resource": "instances", "needed": 1, "left": 0}
    yield (
        f"{OWN}/waits/{ident}",
        {**figures, "text": f"1 instance needed, 0 left in {where}", "since": made, "at": made},
    )


def provider(name: str, now: float) -> dict[str, Any]:
    """What a launcher has stored about a provider."""
    health: dict[str, Any] = {"state": "ok"}
    if name == DOWN:
        health = {"state": "trouble", "text": "GET /servers/detail: 503 Service Unavailable", "owner": "cloud"}
        health["since"] = now - 600
    calls = {str(int(now // SLOT)): [400, 90 if name == FLAPPING else 1]}
    limits = {"instances": 400, "cores": 3600, "ram": 4_000_000}
    reading = {"at": now, "limits": limits, "others": {"instances": 20 if name == FULL else 0}}
    return {"cloud": name, "boot_seconds": [30.0, 31.0, 29.0], "health": health, "reading": reading, "calls": calls}


def pool(provider_name: str, host: str) -> dict[str, Any]:
    """The registration of a pool."""
    known = {"id": pool_id(provider_name), "name": "main", "provider_name": provider_name, "priority": 100}
    shown = {"hostname": host, "kind": "pool", "state": "running", "version": "stackci.nodepool"}
    return {**known, **shown, "supported_labels": list(LABELS), "paused": provider_name == FULL}


def build(image: str, number: int, made: float) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """The records of a build and its uploads to all providers."""
    root = f"/nodepool/images/{image}/builds/{number:032x}"
    yield root, {"state": "ready", "state_time": made, "builder": "builder1", "formats": "qcow2"}
    for name in PROVIDERS:
        upload = {"state": "ready", "state_time": made + 300, "external_id": f"{number:x}", "external_name": image}
        yield f"{root}/providers/{name}/images/0000000001", upload
