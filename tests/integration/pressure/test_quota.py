# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Full clouds and clouds whose limits lie: requests wait and say why, nothing fails, what is freed is used."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes import readings
from ansible_collections.stackci.nodepool.plugins.module_utils.launching import freezing
from ansible_collections.stackci.nodepool.plugins.module_utils.model import own_tree
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider

MOST_REFUSED = 6


@pytest.fixture
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full cloud is looked at every half second instead of every fifteen."""
    monkeypatch.setattr(readings, "LIMITS_AGE_WHEN_FULL", 0.5)


@pytest.fixture
def short_freezes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Freezes of 1, 4, 16 … seconds."""
    monkeypatch.setattr(freezing, "FIRST", 1.0)


@pytest.fixture
def long_freezes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first freeze lasts for about as long as one ever does."""
    monkeypatch.setattr(freezing, "FIRST", 0.9 * freezing.LONGEST)


def creates(site: Site, name: str = "one") -> dict[str, int]:
    """Answers to creates: status → how many."""
    return dict(site.clouds[name].counts()["by_status"].get("POST /servers", {}))


def freezes_of(site: Site) -> dict[str, dict[str, Any]]:
    """Stored freezes: resource → document, over all pools."""
    base = f"/nodepool/stackci/{own_tree.FREEZES}"
    found: dict[str, dict[str, Any]] = {}
    for key in site.requestor.children(base):
        found |= site.requestor.read(f"{base}/{key}") or {}
    return found


# -- limits that tell the truth ----------------------------------------------------------------------------------


def test_floating_ips_at_their_limit_make_wait_and_are_served_one_by_one(site: Site):
    """No server is made for a node that could not be reached."""
    site.add_cloud("one", private=False)
    site.configure(provider("one", pool("main", auto_floating_ip=True)))
    site.cloud.quota(floating_ips=2)
    requestor = site.requestor
    requests = [requestor.ask("small") for _unused in range(4)]
    with site.stay():
        for count, request in enumerate(requests):
            requestor.wait_for(request)
            for later in requests[count + 2 :]:
                reason = requestor.wait_until_waiting(later, "no-room")
                assert reason["resource"] == "floating-ips"
            assert len(site.cloud.servers()) <= 2
            if count == len(requests) - 1:
                break
            if count >= 1:
                nodes = requestor.accept(requests[count - 1])
                requestor.give_back(*nodes)
                requestor.wait_gone(nodes)
    assert creates(site) == {"202": 4}


def test_a_floating_ip_that_is_refused_makes_the_launch_wait_with_its_server(site: Site, short_freezes: None):
    """Neutron's 409 although its figures claim room: not the fault of the launch, whose server is kept."""
    site.add_cloud("one", private=False)
    site.configure(provider("one", pool("main", auto_floating_ip=True), launch_retries=1))
    refusal = site.cloud.fault("POST /floatingips", "quota")
    requestor = site.requestor
    request = requestor.ask("small")
    with site.stay() as cycle:
        eventually(lambda: site.cloud.struck(refusal) >= 1)
        eventually(lambda: "floating-ips" in freezes_of(site))
        (before,) = site.cloud.servers()
        waiting = requestor.ask("small")
        requestor.wait_until_waiting(waiting, "frozen")
        site.cloud.clear_faults()
        requestor.wait_for(request, seconds=40)
        requestor.wait_for(waiting, seconds=40)
        result = cycle.end()
    assert before["id"] in {server["id"] for server in site.cloud.servers()}
    assert creates(site) == {"202": 2}
    assert result["requests"]["failed"] == [] and result["nodes"]["failed"] == []


def test_servers_of_others_count_also_in_error_and_while_they_are_deleted(site: Site, quick_looks: None):
    site.configure()
    cloud, requestor = site.cloud, site.requestor
    cloud.quota(instances=3)
    cloud.settings(delete=3.0)
    cloud.fault("POST /servers", "error", seconds=0.0, count=1)
    cloud.outsiders(1)
    # One of ours that fails and takes its time to go, one of others: room for one.
    requests = [requestor.ask("small") for _unused in range(3)]
    with site.stay():
        eventually(lambda: any(server["status"] == "ERROR" for server in cloud.servers()))
        requestor.wait_for(requests[1])
        most = 0
        while any(requestor.state(name) != "fulfilled" for name in requests[:2]):
            most = max(most, cloud.state()["usage"]["instances"])
            time.sleep(0.02)
        assert most <= 3
        requestor.wait_until_waiting(requests[2], "no-room")
        cloud.remove_outsiders()
        requestor.wait_for(requests[2])
    assert "403" not in creates(site)


@pytest.mark.parametrize("resource", ["instances", "cores", "ram"])
def test_limits_that_are_raised_are_noticed(site: Site, quick_looks: None, resource: str):
    site.configure()
    site.cloud.quota(**{resource: 1 if resource == "instances" else 1024 if resource == "ram" else 1})
    first, second = site.requestor.ask("small"), site.requestor.ask("small")
    with site.stay():
        site.requestor.wait_for(first)
        reason = site.requestor.wait_until_waiting(second, "no-room")
        assert (reason["resource"], reason["where"]) == (resource, "one/main")
        site.cloud.quota(**{resource: 4096})
        site.requestor.wait_for(second)
    assert creates(site) == {"202": 2}


# -- limits that lie ---------------------------------------------------------------------------------------------


@pytest.mark.long
def test_limits_that_lie_for_a_while_with_thirty_waiting(site: Site, short_freezes: None):
    """Few refusals, and everything is served after the probe that follows the lift."""
    site.configure()
    site.cloud.quota(instances=100)
    lie = site.cloud.fault("POST /servers", "quota", lasts=4.0)
    requestor = site.requestor
    requests = [requestor.ask("small") for _unused in range(30)]
    with site.stay() as cycle:
        eventually(lambda: site.cloud.struck(lie) >= 1)
        frozen = requestor.wait_until_waiting(requests[-1], "frozen")
        assert "instances" in frozen["text"] and frozen["seconds"] >= 0
        assert freezes_of(site)["instances"]["refusals"]
        eventually(lambda: creates(site).get("202"), 40)
        for request in requests:
            requestor.wait_for(request)
        result = cycle.end()
    assert 1 <= creates(site)["403"] <= MOST_REFUSED
    assert result["nodes"]["refused_creates"] == creates(site)["403"]
    assert result["requests"]["failed"] == []


def test_a_freeze_is_stored_shown_and_kept_by_the_next_cycle(site: Site):
    site.configure()
    site.cloud.fault("POST /servers", "quota")
    request = site.requestor.ask("small")
    # Frozen is a limit: a cycle may settle on it.
    result = site.run()
    refused = creates(site)["403"]
    (frozen,) = result["freezes"]["one/main"].values()
    assert frozen["resource"] == "instances" and frozen["until"] > time.time()
    (waiting,) = result["requests"]["waiting"]
    assert (waiting["id"], waiting["reason"]["code"]) == (request, "frozen")
    assert site.requestor.state(request) == "requested"
    again = site.run()
    assert creates(site)["403"] == refused == 1
    assert again["freezes"] == result["freezes"]


def test_an_own_deletion_ends_a_freeze_for_as_much_as_it_freed(site: Site, quick_looks: None):
    """The cloud takes two and claims twenty."""
    site.configure()
    cloud, requestor = site.cloud, site.requestor
    requests = [requestor.ask("small") for _unused in range(2)]
    with site.stay():
        for request in requests:
            requestor.wait_for(request)
        lie = cloud.fault("POST /servers", "quota")
        waiting = [requestor.ask("small") for _unused in range(3)]
        requestor.wait_until_waiting(waiting[-1], "frozen")
        cloud.clear_faults()
        before = cloud.counts()["by_status"]["POST /servers"].get("202")
        requestor.give_back(*requestor.accept(requests[0]))
        requestor.wait_for(waiting[0])
        requestor.wait_until_waiting(waiting[1], "frozen")
        assert creates(site)["202"] == before + 1
    assert lie


def test_others_that_go_and_limits_that_rise_end_a_freeze(site: Site, quick_looks: None):
    site.configure()
    cloud, requestor = site.cloud, site.requestor
    cloud.outsiders(2)
    cloud.fault("POST /servers", "quota")
    requests = [requestor.ask("small") for _unused in range(6)]
    with site.stay():
        requestor.wait_until_waiting(requests[-1], "frozen")
        cloud.clear_faults()
        cloud.remove_outsiders(1)
        requestor.wait_for(requests[0])
        requestor.wait_until_waiting(requests[1], "frozen")
        cloud.quota(instances=30)
        for request in requests:
            requestor.wait_for(request)


def test_after_a_freeze_creates_begin_one_by_one_then_more(site: Site, short_freezes: None):
    site.configure()
    site.cloud.quota(instances=100)
    site.cloud.settings(latency={"POST /servers": 0.2})
    lie = site.cloud.fault("POST /servers", "quota")
    requests = [site.requestor.ask("small") for _unused in range(16)]
    with site.stay():
        eventually(lambda: site.cloud.struck(lie) >= 1)
        site.cloud.clear_faults()
        for request in requests:
            site.requestor.wait_for(request, seconds=30)
    calls = [call for call in site.cloud.calls("POST /servers") if call["status"] == 202]
    together = [sum(1 for other in calls if other["start"] <= call["start"] < other["end"]) for call in calls]
    assert together[0] == 1
    assert max(together[:4]) <= 3
    assert max(together) >= 3


def test_near_a_limit_at_most_three_creates_are_under_way(site: Site):
    site.configure()
    site.cloud.quota(instances=3)
    site.cloud.settings(latency={"POST /servers": 0.2}, quota_race=0.5, boot=0.3)
    requestor = site.requestor
    left = [requestor.ask("small") for _unused in range(9)]
    with site.stay() as cycle:
        while left:
            for request in list(left):
                if requestor.state(request) == "fulfilled":
                    requestor.give_back(*requestor.accept(request))
                    left.remove(request)
            time.sleep(0.02)
        result = cycle.end()
    calls = site.cloud.calls("POST /servers")
    most = max(sum(1 for other in calls if other["start"] <= call["start"] < other["end"]) for call in calls)
    assert most <= 3
    assert creates(site) == {"202": 9}
    assert result["nodes"]["refused_creates"] == 0


@pytest.mark.parametrize(
    ("fault", "options", "resource"),
    [
        ("error_quota", {"resources": ["cores"]}, "cores"),
        ("quota", {"resources": ["cores", "ram"]}, "ram"),
        ("status", {"status": 403, "message": "Maximum number of ports exceeded"}, "ports"),
        (
            "status",
            {"status": 403, "message": "Quota exceeded for instances: Requested 1, but already used"},
            "instances",
        ),
        (
            "status",
            {"status": 413, "message": "VolumeSizeExceedsAvailableQuota: exceeds allowed gigabytes quota"},
            "volume-gb",
        ),
    ],
    ids=["accepted-then-error", "two-resources", "ports", "instances", "volume"],
)
def test_every_kind_of_quota_refusal_freezes_its_resource_and_fails_nothing(
    site: Site, short_freezes: None, fault: str, options: dict[str, object], resource: str
):
    volume = {"boot_from_volume": True, "volume_size": 20} if resource == "volume-gb" else {}
    site.configure(provider("one", pool("main", label("small", **volume)), launch_retries=1))
    site.cloud.fault("POST /servers", fault, count=1, **options)
    request = site.requestor.ask("small")
    with site.stay() as cycle:
        eventually(lambda: resource in freezes_of(site))
        site.requestor.wait_for(request, seconds=30)
        result = cycle.end()
    assert result["requests"]["failed"] == [] and result["nodes"]["failed"] == []
    assert len(site.cloud.servers()) == 1


@pytest.mark.parametrize("where", ["same", "other"])
def test_a_second_pool_is_not_held_up_and_takes_over(site: Site, long_freezes: None, where: str):
    """The frozen pool has the better priority; the other takes what the frozen one had accepted."""
    first, second = pool("main", priority=1), pool("second")
    if where == "same":
        site.configure(provider("one", first, second))
        # Refused for one pool only: hosts of the first have another flavor of quota.
        site.cloud.fault("POST /servers", "quota", count=2)
    else:
        site.configure(provider("one", first), provider("two", second))
        site.cloud.fault("POST /servers", "quota")
    # As many as the first pool takes on at once: creates of both would race for the refusals.
    requests = [site.requestor.ask("small") for _unused in range(4)]
    with site.stay():
        for request in requests:
            site.requestor.wait_for(request)
    pools = {site.requestor.node(node)["pool"] for name in requests for node in site.requestor.nodes_of(name)}
    assert pools == {"second"}


def test_a_lie_about_one_resource_leaves_labels_alone_that_do_not_need_it(site: Site):
    on_volume = label("small", boot_from_volume=True, volume_size=20)
    site.configure(provider("one", pool("main", on_volume, label("medium"))))
    message = "VolumeLimitExceeded: Maximum number of volumes allowed"
    site.cloud.fault("POST /servers", "status", status=403, count=2, message=message)
    requestor = site.requestor
    held = requestor.ask("small")
    with site.stay():
        requestor.wait_until_waiting(held, "frozen")
        other = requestor.ask("medium")
        requestor.wait_for(other, seconds=10)
        assert requestor.state(held) == "requested"
