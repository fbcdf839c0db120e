# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The client with the real SDK against the simulated cloud over HTTP."""

from __future__ import annotations

import gc
import json
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack import login
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.addresses import floating_ip_targets
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.cloud_client import CloudClient
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.quota import quota_resources
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.resolver import choose_flavor
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Server, ServerSpec
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Provider
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudAuthError,
    CloudNotFound,
    CloudQuotaRefused,
    CloudRefused,
    CloudUnavailable,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Resources
from tests.support.fixtures_zookeeper import eventually
from tests.support.simcloud_process import SimCloud, default_cloud

FAST = {"boot": {"kind": "fixed", "value": 0.05}, "delete": {"kind": "fixed", "value": 0.05}, "quota_race": 0}
QUOTA = {"instances": 20, "cores": 100, "ram": 204800, "ports": 500, "floating_ips": 50}
Connect = Callable[..., CloudClient]


@pytest.fixture(scope="module")
def running() -> Iterator[SimCloud]:
    clouds = default_cloud("one", **FAST) | default_cloud("two", **FAST, identity_of="one", region="RegionTwo")
    with SimCloud(clouds) as sim:
        yield sim


@pytest.fixture
def sim(running: SimCloud) -> Iterator[SimCloud]:
    for name in ("one", "two"):
        running.clear_faults(name)
        running.clear_calls(name)
    yield running
    running.settings("one", page_limit=1000, quota=QUOTA)


@pytest.fixture
def connect(sim: SimCloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    # Each test begins without a token.
    monkeypatch.setattr(login, "_logins", {})
    clients: list[CloudClient] = []

    def make(entry: str = "one", **options: object) -> CloudClient:
        path = options.pop("clouds_config", str(sim.clouds_yaml))
        provider = Provider("p1", entry, rate=0.0)
        clients.append(CloudClient(provider, clouds_config=path, **options))  # type: ignore[arg-type]
        return clients[-1]

    yield make
    sim.clear_faults()
    remove_all(make())
    for client in clients:
        client.close()


def spec(client: CloudClient, **more: object) -> ServerSpec:
    (image,) = client.images_named("debian-12")
    assert image is not None
    flavor = choose_flavor(client.list_flavors(), "small")
    return ServerSpec("np1", image.id, flavor.id, {"stackci_launch": "1-1-a"}, **more)  # type: ignore[arg-type]


def until(client: CloudClient, good: Callable[[list[Server]], bool], seconds: float = 20.0) -> list[Server]:
    limit = time.monotonic() + seconds
    while not good(servers := client.list_servers()):
        assert time.monotonic() < limit, servers
        time.sleep(0.02)
    return servers


def remove_all(client: CloudClient) -> None:
    for server in client.list_servers():
        client.delete_server(server.id)
    until(client, lambda servers: not servers)


def test_the_life_of_a_server(sim: SimCloud, connect: Connect) -> None:
    client = connect()
    networks = client.list_networks()
    inside = next(network for network in networks if not network.external)
    wanted = spec(client, az="az2", network_ids=(inside.id,), key_name="ci", userdata="#!/bin/sh", config_drive=True)
    server_id = client.create_server(wanted)
    (server,) = until(client, lambda servers: [one.status for one in servers] == ["ACTIVE"])
    assert (server.id, server.name, server.az, server.launch_mark) == (server_id, "np1", "az2", "1-1-a")
    assert server.resources == Resources({"instances": 1, "cores": 1, "ram": 1024})
    assert client.get_server(server_id) == server
    assert client.limits().used["instances"] == 1
    assert client.needs_floating_ip(server, networks)

    (target,) = floating_ip_targets(server, networks, client.list_ports([server_id]))
    assert target is not None
    floating = client.create_floating_ip(target.network_id, target.port_id, target.fixed_address, "mark")
    assert [(one.id, one.description) for one in client.list_floating_ips()] == [(floating.id, "mark")]
    (server,) = until(client, lambda servers: any(address.floating for address in servers[0].addresses))
    assert client.reached_addresses(server, networks).interface_ip == floating.address
    assert not client.needs_floating_ip(server, networks)
    assert any("np1" in line for line in client.console_log(server_id, 10) or ())

    assert client.delete_floating_ip(floating.id)
    assert not client.delete_floating_ip(floating.id)
    assert client.delete_server(server_id)
    until(client, lambda servers: not servers)
    assert not client.delete_server(server_id)
    assert client.get_server(server_id) is None
    # What the cloud was asked is what the client says it asked.
    assert sim.counts("one")["by_kind"] == {
        kind: sum(statuses.values()) for kind, statuses in client.counters.result().items()
    }


def test_what_the_cloud_is_made_of(connect: Connect) -> None:
    client = connect()
    assert client.availability_zones() == client.availability_zones(every=True) == ["az1", "az2"]
    assert client.list_keypairs() == ["ci"]
    assert "default" in [group.name for group in client.list_security_groups()]
    assert {"debian-12", "ubuntu"} <= set(client.image_names())
    assert choose_flavor(client.list_flavors(), None, 2000).name == "medium"
    (image,) = client.images_named("ubuntu")
    assert image is not None
    assert client.images_named(image.id) == [image]
    assert client.images_named("no-such-image") == []
    bounds = client.limits(volumes=True, network=True).bounds
    assert {name: bounds[name] for name in ("instances", "volumes", "volume-gb", "ports", "floating-ips")} == {
        "instances": 20,
        "volumes": 10,
        "volume-gb": 1000,
        "ports": 500,
        "floating-ips": 50,
    }


def test_a_server_from_a_volume_takes_volume_quota(connect: Connect) -> None:
    client = connect()
    client.create_server(spec(client, boot_from_volume=True, volume_size=12))
    (server,) = until(client, lambda servers: [one.status for one in servers] == ["ACTIVE"])
    assert len(server.volume_ids) == 1
    used = client.limits(volumes=True).used
    assert (used["volumes"], used["volume-gb"]) == (1, 12)
    remove_all(client)
    assert client.limits(volumes=True).used["volumes"] == 0


def test_two_regions_use_one_token(sim: SimCloud, connect: Connect) -> None:
    one, two = connect("one"), connect("two")
    one.list_servers()
    two.list_servers()
    assert sim.counts("one")["by_kind"] == {"POST /auth/tokens": 1, "GET /servers/detail": 1}
    assert sim.counts("two")["by_kind"] == {"GET /servers/detail": 1}


def test_a_listing_of_thousands_comes_in_pages(sim: SimCloud, connect: Connect) -> None:
    client = connect()
    sim.settings("one", quota={"instances": -1, "cores": -1, "ram": -1, "ports": -1})
    ids = sim.outsiders("one", 2300)
    assert {server.id for server in client.list_servers()} == set(ids)
    assert sim.counts("one")["by_kind"]["GET /servers/detail"] == 3
    sim.settings("one", page_limit=500)
    assert {server.id for server in client.list_servers()} == set(ids)
    assert sim.counts("one")["by_kind"]["GET /servers/detail"] == 3 + 5
    sim.remove_outsiders("one")


def test_only_changes_when_asked(connect: Connect) -> None:
    client = connect()
    client.create_server(spec(client))
    (server,) = until(client, lambda servers: [one.status for one in servers] == ["ACTIVE"])
    assert server in client.list_servers(server.updated)
    assert client.list_servers("2099-01-01T00:00:00Z") == []
    remove_all(client)
    assert (server.id, "DELETED") in [(one.id, one.status) for one in client.list_servers(server.updated)]


def test_quota_refusals_name_the_resource(sim: SimCloud, connect: Connect) -> None:
    client = connect()
    wanted = spec(client)
    for quota, resource in (({"instances": 0}, "instances"), ({"ports": 0}, "ports")):
        sim.settings("one", quota={"instances": 20, "ports": 500, **quota})
        with pytest.raises(CloudQuotaRefused) as caught:
            client.create_server(wanted)
        assert caught.value.resources == (resource,)
        assert caught.value.status == 403
        assert not caught.value.unclear


def test_a_floating_ip_beyond_the_quota_is_refused_as_such(sim: SimCloud, connect: Connect) -> None:
    client = connect()
    server_id = client.create_server(spec(client))
    (server,) = until(client, lambda servers: [one.status for one in servers] == ["ACTIVE"])
    (target,) = floating_ip_targets(server, client.list_networks(), client.list_ports([server_id]))
    assert target is not None
    sim.settings("one", quota={"floating_ips": 0})
    with pytest.raises(CloudQuotaRefused) as caught:
        client.create_floating_ip(target.network_id, target.port_id, target.fixed_address, "mark")
    assert (caught.value.resources, caught.value.status) == (("floating-ips",), 409)


def test_the_fault_of_an_error_server_names_the_quota(sim: SimCloud, connect: Connect) -> None:
    client = connect()
    sim.fault("one", None, "error_quota", count=1)
    client.create_server(spec(client))
    (server,) = until(client, lambda servers: [one.status for one in servers] == ["ERROR"])
    assert server.fault is None, "the list does not tell"
    told = client.get_server(server.id)
    assert told is not None and quota_resources(told.fault or "") == ("instances",)


@pytest.mark.parametrize(
    ("fault", "options", "status"),
    [
        ("hang", {}, "timeout"),
        ("drip", {"interval": 0.3}, "timeout"),
        ("reset", {}, "reset"),
        ("garbage", {}, "200"),
        ("status", {"status": 500}, "500"),
        ("status", {"status": 429, "retry_after": 4}, "429"),
        ("status", {"status": 503, "retry_after": 5}, "503"),
    ],
)
def test_a_listing_in_trouble_is_unavailable_and_recovers(
    sim: SimCloud, connect: Connect, fault: str, options: dict[str, float], status: str
) -> None:
    connect().list_servers()
    # An answer is waited for however long it takes here, where there is one.
    impatient = {"read_timeout": 0.5, "total_timeout": 1.0} if status == "timeout" else {}
    client = connect(**impatient)
    sim.fault("one", "GET /servers/detail", fault, count=1, **options)
    with pytest.raises(CloudUnavailable) as caught:
        client.list_servers()
    assert not caught.value.unclear
    assert caught.value.retry_after == options.get("retry_after")
    assert client.counters.snapshot()["GET /servers/detail", status].calls >= 1
    assert eventually(lambda: listed(client)) == [[]]


def listed(client: CloudClient) -> list[list[Server]]:
    """The list as the only item; nothing where even a cloud that is well is too slow for an impatient client."""
    with suppress(CloudUnavailable):
        return [client.list_servers()]
    return []


def test_a_list_of_one_server_is_waited_for_longer_than_any_other_call(sim: SimCloud, connect: Connect) -> None:
    connect().list_servers()
    client = connect(read_timeout=0.5, total_timeout=1.0)
    sim.fault("one", "GET /servers/detail", "slow", count=2, seconds=1.5)
    with pytest.raises(CloudUnavailable):
        client.list_servers()
    client.first_server(20.0)
    assert client.counters.snapshot()["GET /servers/detail", "200"].longest >= 1.5


@pytest.mark.parametrize("fault", ["hang_after", "reset_after", "status_after"])
def test_a_create_without_a_good_answer_is_unclear_and_its_server_is_there(
    sim: SimCloud, connect: Connect, fault: str
) -> None:
    patient, client = connect(), connect(read_timeout=0.5, total_timeout=1.0)
    wanted = spec(patient)
    sim.fault("one", "POST /servers", fault, count=1, seconds=20, status=503)
    with pytest.raises(CloudUnavailable) as caught:
        client.create_server(wanted)
    assert caught.value.unclear
    (server,) = eventually(patient.list_servers)
    assert server.launch_mark == "1-1-a"


def test_a_cloud_that_is_not_there(sim: SimCloud, connect: Connect, tmp_path: Path) -> None:
    document = json.loads(sim.clouds_yaml.read_text())
    document["clouds"]["one"]["auth"]["auth_url"] = "http://127.0.0.1:9/v3"
    path = tmp_path / "clouds.yaml"
    path.write_text(json.dumps(document))
    client = connect(clouds_config=str(path))
    with pytest.raises(CloudUnavailable, match="no connection") as caught:
        client.create_server(ServerSpec("np1", "i", "f", {}))
    assert not caught.value.unclear
    assert client.counters.result() == {"POST /auth/tokens": {"no-connection": 1}}


def test_a_wrong_password(sim: SimCloud, connect: Connect, tmp_path: Path) -> None:
    path = tmp_path / "clouds.yaml"
    path.write_text(sim.clouds_yaml.read_text().replace("secret-of-one", "wrong-word"))
    with pytest.raises(CloudAuthError, match="entry 'one' in") as caught:
        connect(clouds_config=str(path)).list_servers()
    assert "wrong-word" not in str(caught.value)
    assert sim.counts("one")["by_status"] == {"POST /auth/tokens": {"401": 1}}


def test_tokens_that_end_in_the_middle_are_replaced_once(sim: SimCloud, connect: Connect) -> None:
    client = connect()
    client.list_servers()
    sim.revoke_tokens("one")
    errors: list[Exception] = []

    def work() -> None:
        try:
            for _unused in range(5):
                client.list_servers()
        except Exception as problem:
            errors.append(problem)

    threads = [threading.Thread(target=work) for _unused in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert errors == []
    assert sim.counts("one")["by_kind"]["POST /auth/tokens"] == 2


def test_wrong_requests_are_refused_with_the_clouds_own_words(connect: Connect) -> None:
    client = connect()
    with pytest.raises(CloudRefused, match="answered with 400"):
        client.create_server(ServerSpec("np1", "no-such-image", "no-such-flavor", {}))
    with pytest.raises((CloudNotFound, CloudRefused)):
        client.create_floating_ip("no-such-network", "no-such-port", None, "mark")


def test_a_client_that_is_closed_leaves_neither_memory_nor_connections(connect, sim):
    """A launcher makes a new client with each change of credentials, for months."""
    path = str(sim.clouds_yaml)

    def used() -> weakref.ref[CloudClient]:
        client = CloudClient(Provider("p1", "one", rate=0.0), clouds_config=path)
        client.list_servers()
        client.close()
        return weakref.ref(client)

    used()
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    left = [used() for _unused in range(10)]
    gc.collect()
    assert [reference for reference in left if reference() is not None] == []
    assert len(os.listdir("/proc/self/fd")) <= before


def test_an_id_that_leads_to_another_service_of_the_same_host_deletes_nothing_there(connect: Connect) -> None:
    """Whoever may write to ZooKeeper chooses what stands as ``external_id`` in the record of a node."""
    client = connect()
    (image,) = client.images_named("debian-12")
    assert image is not None
    way = f"../../../../one/image/v2/images/{image.id}"  # the endpoints are /one/compute/v2.1 and /one/image/v2
    assert client.delete_server(way) is False
    assert client.get_server(way) is None
    assert client.images_named("debian-12") == [image]
