# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits: of the pool, of a tenant, of the cloud, and what others use. What is full makes wait, never fail."""

from __future__ import annotations

from functools import partial

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes import readings
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider

ON_VOLUME = {"boot_from_volume": True, "volume_size": 20}


def free_one_by_one(site: Site, requests: list[str], room: int) -> None:
    """With room for *room* nodes all the requests are served, never more at once, each as soon as another is done."""
    requestor = site.requestor
    served: list[str] = []

    def is_done(name: str) -> bool:
        return name in served or requestor.state(name) == "fulfilled"

    def are_done(wanted: int) -> bool:
        return sum(map(is_done, requests)) == wanted

    with site.stay():
        for count in range(len(requests)):
            wanted = min(len(requests), count + room)
            eventually(partial(are_done, wanted))
            waiting = [name for name in requests if not is_done(name)]
            assert len(waiting) == len(requests) - wanted
            for name in waiting:
                requestor.wait_until_waiting(name, "no-room")
                assert requestor.state(name) == "requested"
            assert len(site.cloud.servers()) <= room
            done = next(name for name in requests if name not in served)
            served.append(done)
            requestor.give_back(*requestor.accept(done))
    assert served == requests
    assert site.cloud.counts()["by_status"]["POST /servers"] == {"202": len(requests)}


@pytest.mark.parametrize(
    ("limit", "wanted"),
    [
        ({"max_servers": 2}, label("small")),
        ({"max_cores": 5}, label("medium")),
        ({"max_ram": 9000}, label("medium")),
        ({"max_volumes": 2}, label("small", **ON_VOLUME)),
        ({"max_volume_gb": 50}, label("small", **ON_VOLUME)),
    ],
    ids=["max-servers", "max-cores", "max-ram", "max-volumes", "max-volume-gb"],
)
def test_a_full_pool_serves_as_nodes_are_freed(site: Site, limit: dict[str, int], wanted: dict[str, object]):
    site.configure(provider("one", pool("main", wanted, **limit)))
    requests = [site.requestor.ask(str(wanted["name"])) for _unused in range(3)]
    free_one_by_one(site, requests, 2)


@pytest.mark.parametrize(
    ("quota", "wanted"),
    [
        ({"instances": 2}, label("small")),
        ({"cores": 5}, label("medium")),
        ({"ram": 9000}, label("medium")),
        ({"volumes": 2}, label("small", **ON_VOLUME)),
        ({"gigabytes": 50}, label("small", **ON_VOLUME)),
        ({"ports": 2}, label("small")),
    ],
    ids=["instances", "cores", "ram", "volumes", "gigabytes", "ports"],
)
def test_a_full_cloud_serves_as_nodes_are_freed(site: Site, quota: dict[str, int], wanted: dict[str, object]):
    site.configure(provider("one", pool("main", wanted)))
    site.cloud.quota(**quota)
    requests = [site.requestor.ask(str(wanted["name"])) for _unused in range(3)]
    free_one_by_one(site, requests, 2)


@pytest.mark.parametrize(
    ("limit", "wanted"),
    [
        ({"max-servers": 1}, label("small")),
        ({"max-cores": 3}, label("medium")),
        ({"max-ram": 5000}, label("medium")),
        ({"max-volumes": 1}, label("small", **ON_VOLUME)),
        ({"max-volume-gb": 30}, label("small", **ON_VOLUME)),
    ],
    ids=["servers", "cores", "ram", "volumes", "volume-gb"],
)
def test_a_tenant_at_its_limit_waits_while_others_are_served(
    site: Site, limit: dict[str, int], wanted: dict[str, object]
):
    site.configure(
        provider("one", pool("main", wanted)), tenant_resource_limits=[{"tenant-name": "tenant-one", **limit}]
    )
    requestor, name = site.requestor, str(wanted["name"])
    first, second = requestor.ask(name), requestor.ask(name)
    other = requestor.ask(name, tenant="tenant-two")
    with site.stay():
        requestor.wait_for(first)
        requestor.wait_for(other)
        requestor.wait_until_waiting(second, "tenant-limit")
        assert requestor.state(second) == "requested"
        requestor.give_back(*requestor.accept(first))
        requestor.wait_for(second)


def test_a_tenant_at_its_limit_gets_no_ready_node_either(site: Site):
    site.configure(
        labels={"small": {"min-ready": 2}}, tenant_resource_limits=[{"tenant-name": "tenant-one", "max-servers": 1}]
    )
    site.run()
    requests = [site.requestor.ask("small") for _unused in range(2)]
    result = site.run()
    assert result["requests"]["fulfilled"] == requests[:1]
    (waiting,) = result["requests"]["waiting"]
    assert (waiting["id"], waiting["reason"]["code"]) == (requests[1], "tenant-limit")


def test_a_set_larger_than_its_tenants_limit_waits_and_does_not_keep_others_out(site: Site):
    site.configure(tenant_resource_limits=[{"tenant-name": "tenant-one", "max-servers": 1}])
    large = site.requestor.ask("small", "small")
    other = site.requestor.ask("small", "small", tenant="tenant-two")
    result = site.run()
    assert result["requests"]["fulfilled"] == [other]
    assert site.requestor.state(large) == "requested"


@pytest.mark.parametrize("ports", [False, True])
def test_servers_of_others_count(site: Site, ports: bool):
    site.configure()
    if ports:
        site.cloud.quota(ports=3)
    else:
        site.cloud.quota(instances=3)
    site.cloud.outsiders(2, flavor="small", ports=ports)
    requests = [site.requestor.ask("small") for _unused in range(2)]
    result = site.run()
    assert result["requests"]["fulfilled"] == requests[:1]
    assert result["requests"]["waiting"][0]["reason"]["code"] == "no-room"
    assert result["nodes"]["refused_creates"] == 0
    assert site.cloud.counts()["by_status"]["POST /servers"] == {"202": 1}


def test_a_cloud_that_others_fill_makes_wait_until_they_go(site: Site):
    """Nodepool fails such requests at once."""
    site.configure()
    site.cloud.quota(instances=2)
    site.cloud.outsiders(2, flavor="small")
    request = site.requestor.ask("small", "small")
    assert site.run()["requests"]["waiting"][0]["reason"]["code"] == "no-room"
    assert site.requestor.state(request) == "requested"
    site.cloud.remove_outsiders()
    site.run()
    assert len(site.requestor.nodes_of(request)) == 2


def test_others_that_go_are_noticed_by_a_staying_cycle(site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(readings, "LIMITS_AGE_WHEN_FULL", 1.0)
    site.configure()
    site.cloud.quota(instances=2)
    site.cloud.outsiders(2, flavor="small")
    request = site.requestor.ask("small")
    with site.stay():
        site.requestor.wait_until_waiting(request, "no-room")
        site.cloud.remove_outsiders()
        site.requestor.wait_for(request)
    assert site.cloud.counts()["by_status"]["POST /servers"] == {"202": 1}


def test_a_quota_that_reads_zero_for_a_moment_fails_nothing(site: Site):
    """Nodepool failed everything that was pending, and for 300 s what came after."""
    site.configure()
    site.cloud.quota(instances=0)
    request = site.requestor.ask("small")
    with site.stay():
        site.requestor.wait_until_waiting(request, "unconfirmed")
        site.cloud.quota(instances=5)
        site.requestor.wait_for(request)


def test_a_pool_that_ignores_the_providers_quota(site: Site):
    site.configure(provider("one", pool("main", ignore_provider_quota=True)))
    # The limits say no, the API says yes: what unified limits look like through the old call.
    site.cloud.fault("GET /limits", "status", status=500)
    request = site.requestor.ask("small")
    with site.stay():
        site.requestor.wait_for(request)


@pytest.mark.parametrize(
    ("limit", "resource"),
    [
        ({"max_servers": 2}, "instances"),
        ({"max_cores": 2}, "cores"),
        ({"max_ram": 3000}, "ram"),
        ({"max_volumes": 1}, "volumes"),
        ({"max_volume_gb": 59}, "volume-gb"),
    ],
)
def test_what_is_larger_than_the_pool_fails_at_once_with_the_reason(site: Site, limit: dict[str, int], resource: str):
    site.configure(provider("one", pool("main", label("small", **ON_VOLUME), **limit)))
    request = site.requestor.ask("small", "small", "small")
    result = site.run()
    assert site.requestor.state(request) == "failed"
    (failed,) = result["requests"]["failed"]
    (reason,) = failed["reasons"]
    assert failed["id"] == request
    assert (reason["code"], reason["resource"], reason["where"]) == ("too-large-for-pool", resource, "one/main")
    document = site.requestor.request(request)
    assert (document["nodes"], len(document["declined_by"])) == ([], 1)
    assert site.cloud.calls("POST /servers") == []
    assert len(site.cloud.calls("GET /limits")) <= 1, "a pool's own limits need no second reading"


def test_what_is_larger_than_the_cloud_fails_after_two_readings(site: Site):
    site.configure()
    site.cloud.quota(instances=2)
    request = site.requestor.ask("small", "small", "small")
    fits = site.requestor.ask("small")
    with site.stay() as cycle:
        site.requestor.wait_for(request, "failed", seconds=30)
        site.requestor.wait_for(fits)
        result = cycle.end()
    (failed,) = result["requests"]["failed"]
    assert failed["reasons"][0]["code"] == "too-large-for-cloud"
    assert "3 instances" in failed["reasons"][0]["text"]
    assert len(site.cloud.calls("GET /limits")) >= 2


def test_what_is_too_large_for_one_pool_goes_to_another(site: Site):
    site.configure(provider("one", pool("main", priority=1, max_servers=1)), provider("two"))
    request = site.requestor.ask("small", "small")
    site.run()
    assert {node["provider"] for node in site.requestor.nodes().values()} == {"two"}
    assert len(site.requestor.nodes_of(request)) == 2


def test_a_large_request_is_not_starved_by_small_ones(site: Site):
    """Room is kept for the head of the queue; what comes later waits although it would fit."""
    site.configure(provider("one", pool("main", max_servers=3)))
    requestor = site.requestor
    holders = [requestor.ask("small") for _unused in range(2)]
    with site.stay():
        for holder in holders:
            requestor.wait_for(holder)
        large = requestor.ask("small", "small")
        requestor.wait_until_waiting(large, "no-room")
        little = requestor.ask("small")
        requestor.wait_until_waiting(little, "no-room")
        requestor.give_back(*requestor.accept(holders[0]))
        requestor.wait_for(large)
        assert requestor.state(little) == "requested"


def test_parallel_creates_at_a_small_quota_fail_nothing(site: Site):
    """nova checks without reserving, so it may accept too many and let them fail later: every request is served."""
    site.configure(provider("one", pool("main", ignore_provider_quota=True), launch_retries=2))
    site.cloud.quota(instances=2)
    site.cloud.settings(quota_race=0.3, boot=0.4)
    requestor = site.requestor
    requests = [requestor.ask("small") for _unused in range(6)]
    left = set(requests)
    with site.stay() as cycle:

        def one_done() -> bool:
            for name in list(left):
                state = requestor.state(name)
                assert state != "failed"
                if state == "fulfilled":
                    left.discard(name)
                    requestor.give_back(*requestor.accept(name))
            return not left

        eventually(one_done, 60)
        eventually(lambda: requestor.nodes() == {}, 30)
        result = cycle.end()
    assert sorted(result["requests"]["fulfilled"]) == requests
    assert result["requests"]["failed"] == []
    assert result["nodes"]["refused_creates"] > 0
    assert not [line for line in cycle.lines if "Traceback" in line or "Error" in line], "a full cloud is no defect"
    assert site.cloud.servers() == []


def test_max_concurrency_bounds_the_launches_in_flight(site: Site):
    site.configure(provider("one", max_concurrency=2))
    site.cloud.settings(boot=1.0)
    requests = [site.requestor.ask("small") for _unused in range(5)]
    most = 0
    with site.stay():

        def all_served() -> bool:
            nonlocal most
            booting = [server for server in site.cloud.servers() if server["status"] == "BUILD"]
            most = max(most, len(booting))
            return all(site.requestor.state(name) == "fulfilled" for name in requests)

        eventually(all_served, 40)
    assert most == 2


def test_providers_of_one_project_count_their_own_nodes_for_their_limits(site: Site):
    small = pool("main", label("small"), max_servers=2)
    site.configure(provider("one", small), provider("two", small, cloud="one"))
    requests = [site.requestor.ask("small") for _unused in range(5)]
    result = site.run()
    assert sorted(node["provider"] for node in site.requestor.nodes().values()) == ["one", "one", "two", "two"]
    assert len(result["requests"]["fulfilled"]) == 4 == len(site.cloud.servers())
    assert [row["reason"]["code"] for row in result["requests"]["waiting"]] == ["no-room"]
    assert {site.requestor.state(request) for request in requests} == {"fulfilled", "requested"}
