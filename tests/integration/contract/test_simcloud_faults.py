# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the simulated cloud as the real SDK meets them over HTTP."""

from __future__ import annotations

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor

import openstack
import pytest
import requests

from tests.support.simcloud_process import ControlError, SimCloud, default_cloud

CLOUD = "faulty"
BOOT = {"boot": 0.2, "delete": 0.1, "quota_race": 0.05}


@pytest.fixture(scope="module")
def running():
    clouds = default_cloud(CLOUD, **BOOT) | default_cloud("second", identity_of=CLOUD, region="RegionTwo", **BOOT)
    with SimCloud(clouds) as sim:
        yield sim


@pytest.fixture
def sim(running):
    yield running
    running.clear_faults()
    calm = {"default": 0, "GET /limits": 0, "POST /servers": 0}
    running.settings(CLOUD, latency=calm, quota={"instances": 20}, page_limit=1000, **BOOT)
    running.remove_outsiders(CLOUD)
    left = running.servers(CLOUD)
    if left:
        conn = connect(running)
        for server in left:
            conn.compute.delete_server(server["id"])
        settle(lambda: not running.servers(CLOUD))


def connect(sim, cloud=CLOUD, **options):
    config = openstack.config.OpenStackConfig(config_files=[str(sim.clouds_yaml)], load_envvars=False)
    return openstack.connection.Connection(config=config.get_one(cloud, **options))


def settle(condition, seconds=15.0):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, f"did not settle within {seconds} s"
        time.sleep(0.02)


@pytest.fixture
def conn(sim):
    return connect(sim)


def create(conn, name="x"):
    return conn.compute.create_server(
        name=name,
        flavor_id=conn.compute.find_flavor("small").id,
        image_id=conn.image.find_image("debian-12").id,
        networks=[{"uuid": conn.network.find_network("private").id}],
        key_name="ci",
    )


def raw(conn, method, path, timeout=5.0):
    headers = {"X-Auth-Token": conn.auth_token}
    return requests.request(method, f"{conn.compute.get_endpoint()}{path}", headers=headers, timeout=timeout)


def test_a_server_from_cradle_to_grave(sim, conn):
    server = conn.compute.wait_for_server(create(conn), interval=0.05, wait=20)
    assert [row["OS-EXT-IPS:type"] for row in server.addresses["private"]] == ["fixed"]
    floating = conn.create_floating_ip(network="public", server=server, wait=True, timeout=20)
    addresses = conn.compute.get_server(server.id).addresses["private"]
    assert {row["addr"] for row in addresses} >= {floating.floating_ip_address}
    assert conn.delete_floating_ip(floating.id)
    assert conn.delete_server(server.id, wait=True, timeout=20)
    assert sim.state(CLOUD)["usage"]["instances"] == 0
    assert conn.block_storage.get_limits().absolute.max_total_volumes == 10


def test_the_journal_has_what_there_has_ever_been(sim, conn):
    data = b"the data of an image"
    image = conn.image.create_image("tiny", data=data, disk_format="raw", wait=True, timeout=20)
    server = conn.compute.create_server(
        name="once",
        flavor_id=conn.compute.find_flavor("small").id,
        image_id=image.id,
        networks=[{"uuid": conn.network.find_network("private").id}],
    )
    conn.compute.delete_server(server.id)
    settle(lambda: not sim.servers(CLOUD))
    assert sim.journal(CLOUD)["images"][image.id]["deleted"] is None
    conn.image.delete_image(image.id)
    journal = sim.journal(CLOUD)
    kept = journal["images"][image.id]
    assert kept["md5"] == hashlib.md5(data).hexdigest() and kept["stored"] < kept["deleted"]
    (row,) = [row for row in journal["servers"] if row["id"] == server.id]
    assert (row["name"], row["image"]) == ("once", image.id) and kept["stored"] < row["created"]


def test_regions_share_a_keystone(sim):
    second = connect(sim, "second")
    assert second.compute.get_endpoint().startswith(f"{sim.url}/second/")
    assert [zone.name for zone in second.compute.availability_zones()] == ["az1", "az2"]
    assert sim.counts("second")["by_kind"]["GET /os-availability-zone"] == 1


def test_a_refusal_while_the_limits_say_there_is_room(sim, conn):
    sim.fault(CLOUD, None, "quota", count=1)
    with pytest.raises(openstack.exceptions.ForbiddenException, match="already used 20 of 20 instances"):
        create(conn)
    assert conn.compute.get_limits().absolute.instances_used < 20
    conn.delete_server(create(conn).id, wait=True, timeout=20)


@pytest.mark.parametrize(("status", "retry_after"), [(500, None), (502, None), (503, 7), (429, 3)])
def test_a_failure_before_the_work(sim, conn, status, retry_after):
    sim.fault(CLOUD, "GET /limits", "status", status=status, retry_after=retry_after)
    answer = raw(conn, "GET", "/limits")
    assert answer.status_code == status
    assert answer.headers.get("Retry-After") == (None if retry_after is None else str(retry_after))


def test_a_failure_after_the_work(sim, conn):
    flavor, image = conn.compute.find_flavor("small").id, conn.image.find_image("ubuntu").id
    body = {"server": {"name": "hidden", "flavorRef": flavor, "imageRef": image, "networks": "auto"}}
    sim.fault(CLOUD, "POST /servers", "status_after", status=504, count=1)
    answer = conn.compute.post("/servers", json=body, microversion="2.53", raise_exc=False)
    assert answer.status_code == 504
    hidden = [server for server in sim.servers(CLOUD) if server["name"] == "hidden"]
    assert len(hidden) == 1
    conn.delete_server(hidden[0]["id"], wait=True, timeout=20)


def test_slow_work_is_done_although_the_client_has_gone(sim, conn):
    sim.fault(CLOUD, "POST /servers", "slow", seconds=0.6, count=1)
    flavor, image = conn.compute.find_flavor("small").id, conn.image.find_image("ubuntu").id
    network = {"uuid": conn.network.find_network("private").id}
    body = {"server": {"name": "late", "flavorRef": flavor, "imageRef": image, "networks": [network]}}
    headers = {"X-Auth-Token": conn.auth_token}
    with pytest.raises(requests.exceptions.ReadTimeout):
        requests.post(f"{conn.compute.get_endpoint()}/servers", headers=headers, json=body, timeout=0.2)
    assert sim.servers(CLOUD) == []
    settle(lambda: [server["name"] for server in sim.servers(CLOUD)] == ["late"])


@pytest.mark.parametrize("fault", ["hang", "hang_after"])
def test_a_call_that_is_never_answered(sim, conn, fault):
    token_ready = conn.auth_token
    assert token_ready
    sim.fault(CLOUD, "GET /limits", fault, count=1)
    with pytest.raises(requests.exceptions.ReadTimeout):
        raw(conn, "GET", "/limits", timeout=0.5)
    assert raw(conn, "GET", "/limits").status_code == 200
    assert sim.calls(CLOUD)[-2]["fault"] == fault


def test_a_dripping_answer_outlasts_the_read_timeout(sim, conn):
    assert raw(conn, "GET", "/limits").status_code == 200
    sim.fault(CLOUD, "GET /os-availability-zone", "drip", interval=0.005, count=1)
    begin = time.monotonic()
    answer = raw(conn, "GET", "/os-availability-zone", timeout=0.5)
    assert answer.json()["availabilityZoneInfo"]
    assert time.monotonic() - begin > 0.5


@pytest.mark.parametrize("fault", ["reset", "reset_after"])
def test_a_connection_that_is_reset(sim, conn, fault):
    assert raw(conn, "GET", "/limits").status_code == 200
    sim.fault(CLOUD, "GET /limits", fault, count=1)
    with pytest.raises(requests.exceptions.ConnectionError):
        raw(conn, "GET", "/limits")


def test_garbage(sim, conn):
    sim.fault(CLOUD, "GET /limits", "garbage", count=1)
    answer = raw(conn, "GET", "/limits")
    with pytest.raises(ValueError, match=r"Expecting|Invalid"):
        answer.json()


def test_latency_and_a_slow_call(sim, conn):
    assert conn.auth_token
    sim.settings(CLOUD, latency={"default": 0.05, "GET /limits": 0.2})
    sim.fault(CLOUD, "GET /limits", "slow", seconds=0.2, count=1)
    times = []
    for _call in range(2):
        begin = time.monotonic()
        raw(conn, "GET", "/limits")
        times.append(time.monotonic() - begin)
    assert times[0] > 0.4 and times[1] > 0.2
    assert [call["fault"] for call in sim.calls(CLOUD)[-2:]] == ["slow", None]


def test_revoked_and_expired_tokens_are_refused_and_the_sdk_gets_new_ones(sim, conn):
    old = conn.auth_token
    assert sim.revoke_tokens(CLOUD) >= 1
    url = f"{conn.compute.get_endpoint()}/limits"
    assert requests.get(url, headers={"X-Auth-Token": old}, timeout=5).status_code == 401
    before = sim.counts(CLOUD)["by_status"]["POST /auth/tokens"]["201"]
    assert conn.compute.get_limits().absolute.instances == 20
    assert sim.counts(CLOUD)["by_status"]["POST /auth/tokens"]["201"] == before + 1


def test_the_quota_race_over_http(sim, conn):
    sim.settings(CLOUD, quota={"instances": 3}, quota_race=1.5, boot=2)
    flavor, image = conn.compute.find_flavor("small").id, conn.image.find_image("ubuntu").id
    body = {"server": {"name": "race", "flavorRef": flavor, "imageRef": image, "networks": "auto"}}

    def post(_number):
        return conn.compute.post("/servers", json=body, microversion="2.53", raise_exc=False).status_code

    with ThreadPoolExecutor(8) as pool:
        accepted = list(pool.map(post, range(8))).count(202)
    settle(lambda: all(server["status"] != "BUILD" for server in sim.servers(CLOUD)))
    statuses = sorted(server["status"] for server in sim.servers(CLOUD))
    assert statuses == ["ACTIVE"] * 3 + ["ERROR"] * (accepted - 3)
    assert accepted > 3


def test_outsiders_fill_the_project(sim, conn):
    assert len(sim.outsiders(CLOUD, 20)) == 20
    with pytest.raises(openstack.exceptions.ForbiddenException):
        create(conn)
    assert sim.remove_outsiders(CLOUD) == 20
    assert sim.state(CLOUD)["ports"] == 0


def test_the_control_endpoint_refuses_nonsense(sim):
    with pytest.raises(ControlError, match="unknown fault"):
        sim.fault(CLOUD, None, "nonsense")
    with pytest.raises(ControlError, match="unknown setting"):
        sim.settings(CLOUD, nonsense=1)


def test_listings_are_paged_by_the_server(sim, conn):
    sim.settings(CLOUD, page_limit=7)
    sim.outsiders(CLOUD, 20, ports=False)
    assert len({server.id for server in conn.compute.servers()}) == 20
    assert sim.remove_outsiders(CLOUD) == 20
