# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tree of a busy site, of any size: three providers, of which one is full and one in trouble."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

PROVIDERS = {"cloud-fra": 0.5, "cloud-nyc": 0.35, "cloud-syd": 0.15}
"""Provider → share of the nodes."""
FULL, ILL = "cloud-nyc", "cloud-syd"
LABELS = {
    "debian-12": 0.38,
    "ubuntu-24.04": 0.3,
    "ubuntu-24.04-large": 0.12,
    "centos-stream-10": 0.1,
    "debian-12-arm64": 0.06,
    "fedora-42": 0.04,
}
IMAGES = ("debian-12", "ubuntu-24.04", "centos-stream-10", "debian-12-arm64", "fedora-42")
STATES = {"in-use": 0.72, "building": 0.09, "ready": 0.1, "used": 0.02, "deleting": 0.05, "hold": 0.02}
TENANTS = ("openstack", "zuul", "opendev", "airship")
QUOTA = "Quota exceeded for instances: Requested 1, but already used {used} of {used} instances (HTTP 403)"
NO_HOST = "fault: No valid host was found. There are not enough hosts available."
FLAVOR = {"instances": 1, "cores": 8, "ram": 8192}
LOCK = "0123456789abcdef0123456789abcdef__lock__0000000000"


def pool_id(provider: str) -> str:
    """The id of the pool of a provider."""
    return f"stackci-PoolWorker.{provider}-main-0123456789abcdef"


def node_id(number: int) -> str:
    """The id of a node."""
    return f"{number + 41000:010d}"


def request_id(number: int) -> str:
    """The id of a request; every tenth is of a gate."""
    return f"{100 if number % 10 == 0 else 200}-{number + 7000:010d}"


def config(nodes: int = 60) -> str:
    """A nodepool.yaml for it."""
    label_rows = "".join(
        f"  - {{name: {name}, min-ready: {2 if place < 3 else 0}}}\n" for place, name in enumerate(LABELS)
    )
    image_rows = "".join(f"  - {{name: {name}, elements: [vm]}}\n" for name in IMAGES)
    providers = ""
    for name, share in PROVIDERS.items():
        listed = "".join(f"      - {{name: {image}}}\n" for image in IMAGES)
        offered = "".join(
            f"          - {{name: {label}, diskimage: {label.removesuffix('-large')}, flavor-name: v3-standard-8}}\n"
            for label in LABELS
        )
        providers += (
            f"  - name: {name}\n    driver: openstack\n    cloud: {name}\n    diskimages:\n{listed}"
            f"    pools:\n      - name: main\n        max-servers: {limit(share, nodes)}\n        labels:\n{offered}"
        )
    return (
        "zookeeper-servers: [{host: 127.0.0.1}]\n"
        f"labels:\n{label_rows}diskimages:\n{image_rows}providers:\n{providers}"
    )


def limit(share: float, nodes: int) -> int:
    """max-servers of a provider."""
    return max(2, round(share * nodes * 1.15))


def documents(now: float, nodes: int = 60, requests: int = 34) -> dict[str, Any]:
    """Path → document, the same for the same arguments."""
    chance = Random(14)
    return dict(
        (
            *_nodes(chance, now, nodes),
            *_requests(chance, now, requests),
            *_providers(now, nodes),
            *_images(now),
        )
    )


def locks(nodes: int = 60) -> list[str]:
    """The contenders of locks that are taken: of the providers, and of two nodes in three."""
    return [
        *(f"/nodepool/stackci/providers/{name}/lock/{LOCK}" for name in PROVIDERS),
        *(f"/nodepool/nodes/{node_id(number)}/lock/{LOCK}" for number in range(nodes) if number % 3),
    ]


def _chosen(chance: Random, shares: dict[str, float]) -> str:
    return chance.choices(list(shares), list(shares.values()))[0]


def _nodes(chance: Random, now: float, count: int) -> Iterator[tuple[str, Any]]:
    for number in range(count):
        provider, state = _chosen(chance, PROVIDERS), _chosen(chance, STATES)
        age, ident = chance.random() ** 2 * 5400, node_id(number)
        address = f"198.51.{number % 200}.{number % 250 + 1}"
        yield (
            f"/nodepool/nodes/{ident}",
            {
                "state": state,
                "state_time": now - age,
                "created_time": now - age - 90,
                "type": [_chosen(chance, LABELS)],
                "provider": provider,
                "pool": "main",
                "launcher": pool_id(provider),
                "allocated_to": request_id(number) if state in ("in-use", "building") else None,
                "external_id": None if state == "building" else f"0e3f1b1c-3f4e-4f55-9f0b-{number:012x}",
                "public_ipv4": None if state == "building" else address,
                "interface_ip": None if state == "building" else address,
                "az": "nova",
                "username": "zuul",
                "connection_port": 22,
                "connection_type": "ssh",
                "tenant_name": TENANTS[number % 4],
                "requestor": "zuul",
                "resources": FLAVOR,
                "comment": "debugging a race in the tests" if state == "hold" else None,
                "hold_job": "tempest-full" if state == "hold" else None,
            },
        )
        yield (
            f"/nodepool/stackci/launches/{ident}",
            {
                "node_id": ident,
                "provider": provider,
                "pool": "main",
                "label": "debian-12",
                "request_id": request_id(number),
                "phase": "booting" if state == "building" else "ready",
                "since": now - min(age, 40) if state == "building" else now - age - 5,
                "started": now - age - 89,
                "asked_at": now - age - 80,
                "created_at": now - age - 78,
                "active_at": None if state == "building" else now - age - 45,
                "attempt": 2 if number % 29 == 5 else 1,
                "mark": f"{ident}-1-5f1c2d3e4a5b",
                "server_id": None if state == "building" else f"0e3f1b1c-3f4e-4f55-9f0b-{number:012x}",
                "failures": [f"attempt 1: {NO_HOST}"] if number % 29 == 5 else [],
            },
        )


def _requests(chance: Random, now: float, count: int) -> Iterator[tuple[str, Any]]:
    for number in range(count):
        ident = request_id(number)
        state = "pending" if number % 9 == 4 else "failed" if number % 97 == 30 else "requested"
        age = 4 + (count - number) * 1800 / count * chance.random()
        labels = [_chosen(chance, LABELS)] * (1 + (number % 7 == 0) * 2)
        yield (
            f"/nodepool/requests/{ident}",
            {
                "state": state,
                "state_time": now - age,
                "created_time": now - age,
                "node_types": labels,
                "nodes": [],
                "declined_by": [],
                "requestor": "zuul",
                "tenant_name": TENANTS[number % 4],
                "relative_priority": number % 5,
                "event_id": f"{number:032x}",
            },
        )
        if state != "pending":
            yield (
                f"/nodepool/stackci/waits/{ident}",
                {
                    **_reason(number, len(labels), state),
                    "since": now - age,
                    "at": now - 3,
                },
            )


def _reason(number: int, needed: int, state: str) -> dict[str, Any]:
    if state == "failed":
        return {"code": "failed", "text": f"{FULL}/main: launches failed: {NO_HOST} (3 attempts)"}
    if number % 4 == 1:
        told = f"{FULL}/main refused creates for instances ({QUOTA.format(used=24)}); next attempt in 38 s"
        return {"code": "frozen", "where": f"{FULL}/main", "text": told, "seconds": 38}
    if number % 11 == 3:
        return {
            "code": "tenant-limit",
            "tenant": "openstack",
            "text": "8 cores needed, tenant openstack has 2 left of its limit of 40",
        }
    noun = "instances" if needed > 1 else "instance"
    told = f"{needed} {noun} needed, 0 left in cloud-fra/main behind earlier requests"
    return {
        "code": "no-room",
        "where": "cloud-fra/main",
        "resource": "instances",
        "needed": needed,
        "left": 0,
        "text": told,
    }


def _providers(now: float, nodes: int) -> Iterator[tuple[str, Any]]:
    for place, (name, share) in enumerate(PROVIDERS.items()):
        size = limit(share, nodes)
        health: dict[str, Any] = {"state": "ok"}
        if name == ILL:
            health = {
                "state": "trouble",
                "text": f"provider {name}: GET /servers/detail: 503 Service Unavailable",
                "since": now - 340,
            }
        yield (
            f"/nodepool/stackci/providers/{name}",
            {
                "cloud": name,
                "boot_seconds": [31.0, 28.5, 40.2],
                "health": health,
                "reading": {
                    "at": now - 14,
                    "limits": {
                        "instances": size + 6,
                        "cores": 8 * size + 60,
                        "ram": 8192 * size + 81920,
                        "volumes": 100,
                    },
                    "others": {"instances": 3 + place, "cores": 24, "ram": 24576},
                },
            },
        )
        pool = {
            "id": pool_id(name),
            "name": "main",
            "provider_name": name,
            "supported_labels": list(LABELS),
            "priority": 100,
            "paused": name == FULL,
        }
        yield f"/nodepool/stackci/pools/{pool_id(name)}", {**pool, "last_seen": now - 20}
        yield (
            f"/nodepool/components/pool/launcher1000000000{place}",
            {
                **pool,
                "hostname": f"launcher{1 + place // 2}",
                "kind": "pool",
                "state": "running",
                "version": "stackci.nodepool",
            },
        )
    yield "/nodepool/components/launcher/launcher10000000000", {"hostname": "launcher1", "kind": "launcher"}
    freeze = {
        "resource": "instances",
        "until": now + 38,
        "refusals": [now - 22],
        "text": QUOTA.format(used=limit(PROVIDERS[FULL], nodes)),
    }
    yield f"/nodepool/stackci/freezes/{pool_id(FULL)}", {"instances": freeze}
    breaker = {"failures": 5, "until": now + 95, "text": NO_HOST}
    yield f"/nodepool/stackci/breakers/{FULL}", {"fedora-42/v3-standard-8": breaker}
    yield (
        "/nodepool/stackci/stuck/s-9",
        {
            "provider": ILL,
            "server": "5d2f6f0c-0a1b-4c55-8f0b-6a3a3f1d1c52",
            "floating_ip": None,
            "node": node_id(9000),
            "since": now - 2900,
            "tries": 7,
            "answer": "409 Conflict: Cannot delete while task_state is powering-on",
        },
    )
    seen = {"first": now - 4000, "tries": 1, "tried": now - 60, "answer": ""}
    yield (
        "/nodepool/stackci/sightings/cloud-fra",
        {
            "seen": {
                "floating-ip/2f1be1a1-9a37-4f4b-9f40-3a7d7f1f2f10": seen,
                "port/9c0a": {**seen, "first": now - 1200, "tries": 0},
            }
        },
    )
    yield (
        "/nodepool/stackci/image-builders/b-1",
        {
            "builder_id": "b-1",
            "host": "builder1",
            "images_dir": "/opt/images",
            "since": now - 10**6,
            "seen": now - 9,
        },
    )


def _images(now: float) -> Iterator[tuple[str, Any]]:
    for place, image in enumerate(IMAGES):
        for number, hours in enumerate((3 + place * 4, 27 + place * 4, 51 + place * 4)):
            hours += 60 if image == "fedora-42" else 0
            build = f"{place:x}{number:x}ee55d4b3414869b6b292a38d9f6cf0"
            root, made = f"/nodepool/images/{image}/builds/{build}", now - hours * 3600
            state = "deleting" if number == 2 else "ready"
            yield (
                root,
                {
                    "state": state,
                    "state_time": made,
                    "builder": "builder1",
                    "builder_id": "b-1",
                    "formats": "qcow2,raw",
                },
            )
            for provider in PROVIDERS if number < 2 else ():
                yield (
                    f"{root}/providers/{provider}/images/0000000001",
                    {
                        "state": "uploading" if (image, provider, number) == ("ubuntu-24.04", ILL, 0) else "ready",
                        "state_time": made + 900,
                        "external_id": f"{place}{number}-9f0b-6a3a3f1d1c52",
                        "external_name": f"{image}-{round(made)}",
                    },
                )
    yield (
        "/nodepool/stackci/image-builds/fedora-42",
        {
            "failures": 4,
            "not_before": now + 900,
            "failed_at": now - 1500,
            "error": "dib-run-parts: 55-fedora-releasever exited with status 1: mirror answered 404",
        },
    )
