# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The life of servers on a clock that the test turns by hand."""

from __future__ import annotations

import heapq
import itertools
import random

import orjson
import pytest

from tests.simcloud.answers import Refusal
from tests.simcloud.call import Call
from tests.simcloud.cloud import Cloud
from tests.simcloud.compute import listing
from tests.simcloud.config import parse
from tests.simcloud.faults import Faults
from tests.simcloud.identity import Identity
from tests.support.simcloud_process import default_cloud

BASE = "http://127.0.0.1:1"


class HandClock:
    def __init__(self):
        self.moment = 1000.0
        self._waiting = []
        self._order = itertools.count()

    def now(self):
        return self.moment

    def later(self, delay, action):
        if delay <= 0:
            action()
        else:
            heapq.heappush(self._waiting, (self.moment + delay, next(self._order), action))

    def pass_time(self, seconds):
        end = self.moment + seconds
        while self._waiting and self._waiting[0][0] <= end:
            self.moment, _order, action = heapq.heappop(self._waiting)
            action()
        self.moment = end


class World:
    def __init__(self, tmp_path, **overrides):
        self.clock = HandClock()
        config = parse({"clouds": default_cloud("a", **overrides)}).clouds["a"]
        self.cloud = Cloud(config, Identity(config, BASE, self.clock), BASE, tmp_path, self.clock)
        self.machines = self.cloud.machines

    def post(self, *faults, flavor="small", **changes):
        rules = Faults(random.Random(1))
        for fault in faults:
            rules.add(fault if isinstance(fault, dict) else {"fault": fault}, 0.0)
        chosen = next(item for item in self.cloud.flavors.values() if item.name == flavor)
        image = next(iter(self.cloud.images.images))
        server = {"name": "x", "flavorRef": chosen.id, "imageRef": image, "networks": "auto", **changes}
        call = Call(
            "POST",
            ["servers"],
            f"{BASE}/a/compute/v2.1",
            headers={"OpenStack-API-Version": "compute 2.53"},
            body=orjson.dumps({"server": server}),
            effects=rules.strike("POST /servers", 0.0, "x"),
        )
        return self.machines.servers[self.cloud.compute_api.handle(call).body["server"]["id"]]

    def get(self, *path):
        call = Call("GET", list(path), f"{BASE}/a/compute/v2.1", headers={"OpenStack-API-Version": "compute 2.53"})
        return self.cloud.compute_api.handle(call)

    def used(self):
        return self.machines.usage.instances

    def names(self, query):
        call = Call("GET", ["servers", "detail"], BASE, query=query)
        return [server.wish.name for server in listing.select(call, self.machines)]


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def test_a_server_boots_and_is_deleted(world):
    server = world.post()
    assert (server.status, server.task_state, world.used()) == ("BUILD", "scheduling", 0)
    world.clock.pass_time(0.3)
    assert (server.status, server.task_state, world.used()) == ("BUILD", "spawning", 1)
    world.clock.pass_time(0.6)
    assert server.status == "BUILD"
    world.clock.pass_time(0.2)
    assert (server.status, server.task_state, server.launched) == ("ACTIVE", None, 1001.0)
    assert world.cloud.network.server_ports(server.id)[0]["status"] == "ACTIVE"
    world.machines.delete(server)
    assert (server.status, server.task_state, world.used()) == ("ACTIVE", "deleting", 1)
    world.clock.pass_time(0.6)
    assert (server.status, world.used(), len(world.cloud.network.ports)) == ("DELETED", 1, 0)
    world.clock.pass_time(0.5)
    assert world.used() == 0


def test_the_usage_of_a_project_counts_servers_from_active_to_their_end(world):
    def usage(**period):
        path = ["os-simple-tenant-usage", world.machines.project_id]
        query = list(period.items())
        call = Call("GET", path, f"{BASE}/a/compute/v2.1", query)
        return world.cloud.compute_api.handle(call).body["tenant_usage"]

    begin, end = "1970-01-01T00:00:00", "1970-01-01T10:00:00"
    assert usage(start=begin, end=end) == {}
    server = world.post()
    world.clock.pass_time(101.0)
    running = usage(start=begin, end=end)
    assert running["total_hours"] == pytest.approx(100 / 3600)
    world.machines.delete(server)
    world.clock.pass_time(50.0)
    (row,) = usage(start=begin, end=end)["server_usages"]
    assert (row["instance_id"], row["state"], row["flavor"]) == (server.id, "terminated", "small")
    assert row["hours"] == pytest.approx((server.terminated - server.launched) / 3600)
    assert usage(start="1970-01-01T00:17:21", end=end)["total_hours"] == pytest.approx(
        (server.terminated - 1041) / 3600
    )
    assert usage(start=end, end="1970-01-02T00:00:00") == {}
    with pytest.raises(Refusal):
        usage(start=end, end=begin)
    with pytest.raises(Refusal):
        usage(start="yesterday")
    with pytest.raises(Refusal):
        world.get("os-simple-tenant-usage", "of-another")


def test_creates_at_once_race_for_the_quota(tmp_path):
    world = World(tmp_path, quota={"instances": 3})
    servers = [world.post() for _number in range(8)]
    world.clock.pass_time(5)
    assert sorted(server.status for server in servers) == ["ACTIVE"] * 3 + ["ERROR"] * 5
    assert world.used() == 8
    loser = next(server for server in servers if server.status == "ERROR")
    assert loser.fault["code"] == 413
    expected = "Quota exceeded for instances: Requested 1, but already used 3 of 3 instances"
    assert loser.fault["message"] == expected
    with pytest.raises(Refusal) as caught:
        world.post()
    assert caught.value.answer.status == 403
    assert "already used 8 of 3" in caught.value.answer.body["forbidden"]["message"]


def test_without_a_race_the_quota_is_exact(tmp_path):
    world = World(tmp_path, quota={"instances": 3}, quota_race=0)
    for _number in range(3):
        world.post()
    with pytest.raises(Refusal):
        world.post()


def test_what_is_being_deleted_counts(tmp_path):
    world = World(tmp_path, quota={"instances": 1}, delete=10)
    server = world.post()
    world.clock.pass_time(2)
    world.machines.delete(server)
    world.clock.pass_time(9)
    with pytest.raises(Refusal):
        world.post()
    world.clock.pass_time(2)
    assert world.post().status == "BUILD"


def test_a_deleted_server_is_listed_for_a_while_and_counts(tmp_path):
    world = World(tmp_path, quota={"instances": 1}, delete=1, shown_deleted=5)
    server = world.post(metadata={"a": "b"})
    world.clock.pass_time(2)
    world.machines.delete(server)
    world.clock.pass_time(3)
    (row,) = world.get("servers", "detail").body["servers"]
    shown = orjson.loads(orjson.dumps(row))
    assert (shown["status"], shown["metadata"], shown["addresses"]) == ("DELETED", {"a": "b"}, {})
    with pytest.raises(Refusal):
        world.post()
    world.clock.pass_time(4)
    assert world.get("servers", "detail").body["servers"] == [] and world.used() == 0


@pytest.mark.parametrize("listed", [False, True])
def test_a_fault_is_shown_with_the_one_server(tmp_path, listed):
    world = World(tmp_path, faults_in_lists=listed)
    server = world.post("error")
    world.clock.pass_time(2)
    (row,) = world.get("servers", "detail").body["servers"]
    assert ("fault" in orjson.loads(orjson.dumps(row))) is listed
    one = orjson.loads(orjson.dumps(world.get("servers", server.id).body["server"]))
    assert one["fault"]["message"] == "No valid host was found. "


def test_a_nova_whose_cells_are_away(tmp_path):
    world = World(tmp_path)
    server = world.post()
    world.clock.pass_time(2)
    world.cloud.settings.change({"cells_down": True})
    assert world.get("servers", "detail").body["servers"] == []
    assert world.get("os-availability-zone").body == {"availabilityZoneInfo": []}
    assert world.get("limits").body["limits"]["absolute"]["totalInstancesUsed"] == 0
    with pytest.raises(Refusal) as caught:
        world.get("servers", server.id)
    assert caught.value.answer.status == 500
    with pytest.raises(Refusal) as caught:
        world.post(availability_zone="az1")
    assert caught.value.answer.body["badRequest"]["message"] == "The requested availability zone is not available"
    world.cloud.settings.change({"cells_down": False})
    assert len(world.get("servers", "detail").body["servers"]) == 1


@pytest.mark.parametrize(
    ("fault", "status", "message"),
    [
        ("error", "ERROR", "No valid host was found. "),
        ("error_quota", "ERROR", "Quota exceeded for instances: Requested 1, but already used 20 of 20 instances"),
        ({"fault": "error", "message": "boom", "code": 504}, "ERROR", "boom"),
        ("stuck_build", "BUILD", None),
    ],
)
def test_faults_of_servers(world, fault, status, message):
    server = world.post(fault)
    world.clock.pass_time(1000)
    assert server.status == status
    assert (server.fault or {}).get("message") == message
    assert world.used() == 1
    world.machines.delete(server)
    world.clock.pass_time(1)
    assert (server.status, world.used()) == ("DELETED", 0)


def test_a_server_without_address(world):
    server = world.post("no_address")
    world.clock.pass_time(2)
    assert server.status == "ACTIVE" and world.cloud.views.addresses(server) == {}


def test_a_lost_delete_leaves_the_server(world):
    server = world.post()
    world.clock.pass_time(2)
    rules = Faults(random.Random(1))
    rules.add({"fault": "lost_delete"}, 0.0)
    world.machines.delete(server, rules.strike("DELETE /servers/{id}", 0.0))
    world.clock.pass_time(100)
    assert (server.status, server.task_state) == ("ACTIVE", None)


def test_a_locked_server_is_not_deleted(world):
    server = world.post()
    world.machines.lock(server, True, "because")
    with pytest.raises(Refusal) as caught:
        world.machines.delete(server)
    assert caught.value.answer.status == 409


def test_a_server_deleted_while_it_boots_never_becomes_active(world):
    server = world.post()
    world.clock.pass_time(0.4)
    world.machines.delete(server)
    world.clock.pass_time(100)
    assert server.status == "DELETED" and server.launched is None


def test_ports_run_out_at_the_api_and_later(tmp_path):
    world = World(tmp_path, quota={"ports": 1})
    first, second = world.post(), world.post()
    world.clock.pass_time(2)
    assert (first.status, second.status) == ("ACTIVE", "ERROR")
    assert "Maximum number of ports exceeded" in second.fault["message"]
    with pytest.raises(Refusal) as caught:
        world.post()
    assert caught.value.answer.body["forbidden"]["message"] == "Maximum number of ports exceeded"


def test_boot_from_volume_makes_and_deletes_the_volume(world):
    image = next(iter(world.cloud.images.images))
    device = {
        "boot_index": "0",
        "uuid": image,
        "source_type": "image",
        "destination_type": "volume",
        "volume_size": 30,
        "delete_on_termination": True,
    }
    server = world.post(imageRef="", block_device_mapping_v2=[device])
    world.clock.pass_time(2)
    assert [volume["size"] for volume in world.cloud.volumes.volumes.values()] == [30]
    assert world.cloud.views.full(server, (2, 53), listed=False)["image"] == ""
    world.machines.delete(server)
    world.clock.pass_time(1)
    assert world.cloud.volumes.volumes == {}


def test_the_flavor_is_embedded_from_2_47(world):
    server = world.post(flavor="medium")
    assert sorted(world.cloud.views.full(server, (2, 46), listed=True)["flavor"]) == ["id", "links"]
    assert world.cloud.views.full(server, (2, 47), listed=True)["flavor"]["original_name"] == "medium"


def test_a_changed_server_is_shown_anew(world):
    server = world.post()
    before = orjson.loads(orjson.dumps(world.cloud.views.fragment(server, (2, 53), listed=True)))
    world.clock.pass_time(5)
    after = orjson.loads(orjson.dumps(world.cloud.views.fragment(server, (2, 53), listed=True)))
    assert (before["status"], after["status"]) == ("BUILD", "ACTIVE")


def test_a_boot_can_be_ended(world):
    booting, stuck = world.post(), world.post()
    stuck.stuck = True
    world.clock.pass_time(0.5)
    assert world.machines.end_boots() == 1
    assert (booting.status, stuck.status) == ("ACTIVE", "BUILD")
    assert world.machines.end_boots() == 0


def test_outsiders_count_whatever_the_quota_says(world):
    flavor = next(iter(world.cloud.flavors.values()))
    world.machines.add_outsiders(25, flavor, [])
    assert world.used() == 25
    with pytest.raises(Refusal):
        world.post()
    assert world.machines.remove_outsiders(10) == 10
    assert world.used() == 15
    assert world.machines.remove_outsiders(None) == 15


def test_changes_since_shows_what_was_deleted(world):
    first = world.post(name="first")
    world.clock.pass_time(10)
    world.post(name="second")
    world.machines.delete(first)
    world.clock.pass_time(10)
    assert world.names([]) == ["second"]
    assert world.names([("changes-since", "1970-01-01T00:16:50Z")]) == ["second", "first"]
    assert world.names([("changes-since", "1970-01-01T01:00:00Z")]) == []


def test_filters(world):
    for name in ("np001", "np002", "other"):
        world.clock.pass_time(1)
        world.post(name=name)
    assert world.names([("name", "^np")]) == ["np002", "np001"]
    assert world.names([("status", "build")]) == ["other"]
    assert world.names([("status", "active")]) == ["np002", "np001"]
    assert world.names([("status", "nonsense")]) == []
