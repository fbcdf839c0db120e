# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documents that others read, key by key, against Nodepool's schema."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

import pytest

from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider

ZUUL_NEEDS = {"state", "state_time", "event_id", "requestor", "requestor_data", "node_types", "provider"}


def is_time(value: Any, since: float) -> bool:
    return isinstance(value, float) and since - 1 <= value <= time.time() + 1


def test_a_ready_node_has_every_key_of_the_schema(site: Site):
    site.configure(provider("one", pool("main", node_attributes={"executor-zone": "eu"}), region_name="RegionOne"))
    began = time.time()
    request = site.requestor.ask("medium")
    site.run()
    (node_id,) = site.requestor.nodes_of(request)
    node = site.requestor.node(node_id)
    server = site.cloud.server(node_id)
    (address,) = [item["addr"] for items in server["addresses"].values() for item in items]
    times = {key: node.pop(key) for key in ("state_time", "created_time")}
    assert all(is_time(value, began) for value in times.values())
    assert times["created_time"] <= times["state_time"]
    launcher, host_id = node.pop("launcher"), node.pop("host_id")
    assert launcher.startswith("stackci-PoolWorker.one-main-")
    assert isinstance(host_id, str) and len(host_id) == 56
    assert {node.pop(key) for key in ("public_ipv4", "public_ipv6")} <= {None, ""}
    resources = node.pop("resources")
    assert {key: resources[key] for key in ("cores", "ram", "instances")} == {"cores": 2, "ram": 4096, "instances": 1}
    assert node == {
        "state": "ready",
        "type": ["medium"],
        "provider": "one",
        "pool": "main",
        "allocated_to": request,
        "tenant_name": "tenant-one",
        "requestor": site.requestor.request(request)["requestor"],
        "attributes": {"executor-zone": "eu"},
        "image_id": "debian-12",
        "username": "zuul",
        "python_path": "auto",
        "shell_type": None,
        "connection_port": 22,
        "ssh_port": 22,
        "connection_type": "ssh",
        "external_id": server["id"],
        "cloud": "one",
        "region": "RegionOne",
        "az": server["az"],
        "private_ipv4": address,
        "interface_ip": address,
        "host_keys": [],
        "slot": None,
        "hostname": None,
        "driver_data": None,
        "node_properties": {},
        "hold_job": None,
        "comment": None,
        "hold_expiration": None,
        "user_data": None,
    }


def test_a_fulfilled_request_keeps_what_its_requestor_wrote(site: Site):
    site.configure()
    began = time.time()
    request = site.requestor.ask("small", priority=123, relative_priority=4, private_key_of_somebody={"kept": [1]})
    before = site.requestor.request(request)
    site.run()
    after = site.requestor.request(request)
    assert set(after) >= ZUUL_NEEDS
    changed = {key: value for key, value in after.items() if before.get(key, "absent") != value}
    assert is_time(changed.pop("state_time"), began)
    assert changed.pop("nodes") == list(site.requestor.nodes())
    assert changed.pop("declined_by") == []
    assert changed.pop("reuse", True) is True
    assert changed == {"state": "fulfilled"}
    assert set(before) <= set(after)


def test_the_request_is_written_twice_and_never_recreated(site: Site):
    """Zuul ignores a version that is not larger than the one it knows."""
    site.configure()
    request = site.requestor.ask("small")
    _data, before = site.requestor.client.get(f"/nodepool/requests/{request}")
    site.run()
    _data, after = site.requestor.client.get(f"/nodepool/requests/{request}")
    assert (after.czxid, after.ephemeralOwner) == (before.czxid, 0)
    assert after.version == before.version + 2


def test_states_of_a_node_on_its_way(site: Site):
    """init without a lock, then building under the launcher's lock, then ready, still locked until all are there."""
    site.configure(labels={"small": {}, "large": {}})
    site.cloud.fault("POST /servers", "stuck_build", name="np0000000001", count=1)
    requestor = site.requestor
    with site.stay():
        request = requestor.ask("small", "small")
        eventually(lambda: {node["state"] for node in requestor.nodes().values()} == {"ready", "building"})
        assert requestor.state(request) == "pending"
        assert requestor.children(f"/nodepool/requests-lock/{request}")
        for node_id, node in requestor.nodes().items():
            assert requestor.is_locked(node_id)
            assert node["allocated_to"] == request
            assert node["external_id"]
        requestor.cancel(request)


def test_a_diskimage_node_names_the_upload_and_takes_its_settings(site: Site):
    site.configure(
        provider(
            "one",
            pool("main", {"name": "small", "diskimage": "trixie", "flavor-name": "small"}),
            diskimages=[{"name": "trixie", "connection-type": "network_cli", "connection-port": 2022}],
        ),
        diskimages=[{"name": "trixie", "elements": ["vm"], "username": "from-config"}],
    )
    external = next(key for key, image in site.cloud.state()["images"].items() if image["name"] == "ubuntu")
    path = "/nodepool/images/trixie/builds/0123456789abcdef0123456789abcdef/providers/one/images"
    upload = {"state": "ready", "state_time": 1.0, "external_name": "x", "format": "qcow2", "python_path": "auto"}
    site.requestor.put(f"{path}/0000000001", {**upload, "external_id": "gone", "username": "old", "shell_type": None})
    newest = {**upload, "state_time": 2.0, "external_id": external, "username": "admin", "shell_type": "cmd"}
    site.requestor.put(f"{path}/0000000002", newest)
    site.requestor.put(f"{path}/0000000003", {**newest, "state": "failed", "state_time": 3.0})
    request = site.requestor.ask("small")
    site.run()
    node = site.requestor.node(site.requestor.nodes_of(request)[0])
    assert node["image_id"] == f"{path}/0000000002"
    assert (node["username"], node["shell_type"], node["python_path"]) == ("admin", "cmd", "auto")
    assert (node["connection_type"], node["connection_port"], node["ssh_port"]) == ("network_cli", 2022, 2022)


def test_what_a_launcher_registers(site: Site):
    site.configure(
        provider("one", pool("main", label("small"), label("large"), priority=7), pool("full", max_servers=1))
    )
    requestor = site.requestor
    with site.stay() as cycle:
        eventually(cycle.acts)
        eventually(lambda: len(requestor.children("/nodepool/components/pool")) == 2)
        pools = {}
        for name in requestor.children("/nodepool/components/pool"):
            path = f"/nodepool/components/pool/{name}"
            data, stat = requestor.client.get(path)
            document = json.loads(data)
            assert list(document) == sorted(document)
            assert stat.ephemeralOwner != 0
            assert name[:-10] == socket.gethostname() and name[-10:].isdigit()
            pools[document["name"]] = document
        known = pools["main"]
        assert known.pop("id").startswith("stackci-PoolWorker.one-main-")
        assert isinstance(known.pop("version"), str)
        assert known == {
            "hostname": socket.gethostname(),
            "kind": "pool",
            "model_api": 0,
            "name": "main",
            "paused": False,
            "priority": 7,
            "provider_name": "one",
            "state": "running",
            "supported_labels": ["large", "small"],
        }
        (launcher,) = requestor.children("/nodepool/components/launcher")
        document = requestor.read(f"/nodepool/components/launcher/{launcher}")
        assert {key: document[key] for key in ("kind", "model_api", "state")} == {
            "kind": "launcher",
            "model_api": 0,
            "state": "running",
        }
    for kind in ("pool", "launcher"):
        assert requestor.children(f"/nodepool/components/{kind}") == []


def test_pool_ids_are_the_same_in_every_cycle(site: Site):
    """Otherwise declined_by would grow with every cycle, and foreign launchers would count ghosts."""
    site.configure()
    seen = []
    for _unused in range(2):
        request = site.requestor.ask("small")
        site.run()
        seen.append(site.requestor.node(site.requestor.nodes_of(request)[0])["launcher"])
    assert seen[0] == seen[1]


def test_a_pool_at_its_limit_says_that_it_is_paused(site: Site):
    site.configure(provider("one", pool("main", max_servers=1)))
    requestor = site.requestor

    def paused() -> bool:
        (name,) = requestor.children("/nodepool/components/pool")
        return bool(requestor.read(f"/nodepool/components/pool/{name}")["paused"])

    first, second = requestor.ask("small"), requestor.ask("small")
    with site.stay():
        requestor.wait_for(first)
        requestor.wait_until_waiting(second, "no-room")
        eventually(paused)
        requestor.give_back(*requestor.accept(first))
        requestor.wait_for(second)
        eventually(lambda: not paused())


@pytest.mark.parametrize("outcome", ["fulfilled", "failed", "canceled"])
def test_nothing_of_ours_is_left_of_a_request_that_is_gone(site: Site, outcome: str):
    """The tree does not grow with the number of requests that ever were."""
    site.configure(provider("one", pool("main", label("small"), max_servers=1)))
    requestor = site.requestor
    with site.stay():
        held = requestor.ask("small")
        requestor.wait_for(held)
        request = requestor.ask("small" if outcome != "failed" else "nobody-has-this")
        if outcome == "failed":
            requestor.wait_for(request, "failed")
            requestor.wait_until_waiting(request, "failed")
        else:
            requestor.wait_until_waiting(request, "no-room")
        if outcome == "fulfilled":
            requestor.give_back(*requestor.accept(held))
            requestor.wait_for(request)
            requestor.give_back(*requestor.accept(request))
        else:
            requestor.cancel(request)
        eventually(lambda: request not in requestor.children("/nodepool/stackci/waits"))
