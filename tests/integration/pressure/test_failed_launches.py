# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Launches that fail: where they are tried again, what is kept, what the requestor is told, what is left behind."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching import breaking, machine
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider


def of_node(site: Site, node_id: str, cloud: str = "one") -> list[dict[str, Any]]:
    """The servers that stand for a node now."""
    return [server for server in site.clouds[cloud].servers() if server["name"] == f"np{node_id}"]


# -- where they are tried again ----------------------------------------------------------------------------------


@pytest.mark.long
def test_a_single_node_goes_through_the_zones_and_then_to_another_pool(site: Site):
    """Every reason of every pool is told when nobody can, and every failed server is deleted to the end."""
    site.configure(
        provider("one", pool("main", priority=1), launch_retries=2),
        provider("two", pool("main", priority=2), launch_retries=2),
    )
    site.clouds["one"].fault("POST /servers", "error", seconds=0.0, message="Image 1 is unacceptable: not raw")
    site.clouds["two"].fault("POST /servers", "error", seconds=0.0, message="Image 1 is unacceptable: not there")
    requestor = site.requestor
    request = requestor.ask("small")
    zones: dict[str, list[str]] = {"one": [], "two": []}
    with site.stay() as cycle:

        def look() -> bool:
            for name in zones:
                for server in site.clouds[name].servers():
                    if server["az"] not in zones[name]:
                        zones[name].append(server["az"])
            return requestor.state(request) == "failed"

        eventually(look, 40)
        eventually(lambda: requestor.nodes() == {})
        result = cycle.end()
    assert {name: sorted(found) for name, found in zones.items()} == {"one": ["az1", "az2"], "two": ["az1", "az2"]}
    (failed,) = result["requests"]["failed"]
    texts = {reason["where"]: reason["text"] for reason in failed["reasons"]}
    assert set(texts) == {"one/main", "two/main"}
    for where, said in (("one/main", "not raw"), ("two/main", "not there")):
        assert (texts[where].count(said), texts[where].count("(2 attempts)")) == (1, 1)
    assert site.clouds["one"].servers() == site.clouds["two"].servers() == []
    assert len(requestor.request(request)["declined_by"]) == 2


def test_in_a_set_one_node_is_tried_again_where_its_sisters_are_and_they_are_kept(site: Site):
    """Their servers are the same ones from the beginning to the end."""
    site.configure(provider("one", launch_retries=3))
    site.cloud.fault("POST /servers", "error", name="np0000000001", count=1, seconds=0.1)
    requestor = site.requestor
    request = requestor.ask("small", "small", "small", "small", "small")
    seen: dict[str, set[str]] = {}
    with site.stay():

        def look() -> bool:
            for server in site.cloud.servers():
                seen.setdefault(server["name"], set()).add(server["id"])
            return requestor.state(request) == "fulfilled"

        eventually(look, 30)
    nodes = [requestor.node(node_id) for node_id in requestor.nodes_of(request)]
    assert len(nodes) == 5 and len({(node["pool"], node["az"]) for node in nodes}) == 1
    assert {name: len(ids) for name, ids in seen.items() if name != "np0000000001"} == {
        f"np000000000{number}": 1 for number in (0, 2, 3, 4)
    }
    assert len(site.cloud.calls("POST /servers")) == 6
    assert len(site.cloud.servers()) == 5


def test_a_set_that_cannot_be_completed_moves_as_a_whole(site: Site):
    site.configure(
        provider("one", pool("main", priority=1), launch_retries=2), provider("two", pool("main", priority=2))
    )
    broken = "Image 1 is unacceptable"
    site.clouds["one"].fault("POST /servers", "error", name="np0000000002", seconds=0.0, message=broken)
    requestor = site.requestor
    request = requestor.ask("small", "medium", "large")
    with site.stay() as cycle:
        requestor.wait_for(request, seconds=40)
        nodes = [requestor.node(node_id) for node_id in requestor.nodes_of(request)]
        assert [node["type"] for node in nodes] == [["small"], ["medium"], ["large"]]
        assert {node["provider"] for node in nodes} == {"two"} and len({node["az"] for node in nodes}) == 1
        # The healthy ones of the first pool are there for anybody.
        idle = [node for node in requestor.nodes().values() if node["provider"] == "one" and node["state"] == "ready"]
        assert {node["allocated_to"] for node in idle} <= {None}
        eventually(lambda: not of_node(site, "0000000002"))
        result = cycle.end()
    assert result["requests"]["failed"] == []


# -- the kinds of failure ----------------------------------------------------------------------------------------


def test_a_server_without_an_address_fails_its_attempt(site: Site):
    site.configure(provider("one", pool("main", host_key_checking=True), launch_retries=3, boot_timeout=2))
    site.add_cloud("one", "guest")
    port = site.cloud.ssh_port()
    images = [{"name": "debian-12", "username": "zuul", "connection-port": port}]
    site.configure(provider("one", pool("main", host_key_checking=True), boot_timeout=4, cloud_images=images))
    site.cloud.fault("POST /servers", "no_address", count=1)
    request = site.requestor.ask("small")
    with site.stay() as cycle:
        site.requestor.wait_for(request, seconds=40)
        eventually(lambda: len(site.cloud.servers()) == 1)
        cycle.end()
    assert any("no usable address" in line for line in cycle.lines)
    assert site.requestor.node(site.requestor.nodes_of(request)[0])["host_keys"]


def test_a_guest_that_never_answers_is_replaced_and_its_console_is_told(site: Site):
    site.add_cloud("one", "guest")
    port = site.cloud.ssh_port()
    images = [{"name": "debian-12", "username": "zuul", "connection-port": port}]
    offered = label("small", console_log=True)
    site.configure(provider("one", pool("main", offered, host_key_checking=True), boot_timeout=2, cloud_images=images))
    site.cloud.fault("POST /servers", "unreachable", count=1)
    request = site.requestor.ask("small")
    with site.stay() as cycle:
        site.requestor.wait_for(request, seconds=40)
        eventually(lambda: len(site.cloud.servers()) == 1)
        cycle.end()
    (line,) = [line for line in cycle.lines if "unreachable" in line]
    assert "console:" in line
    (node_id,) = site.requestor.nodes_of(request)
    assert site.requestor.node(node_id)["external_id"] == site.cloud.server(node_id)["id"]


def test_a_floating_ip_that_cannot_be_made_costs_an_attempt_and_nothing_is_left(site: Site):
    site.add_cloud("one", private=False)
    site.configure(provider("one", pool("main", auto_floating_ip=True), launch_retries=2))
    site.cloud.fault("POST /floatingips", "status", status=400, message="bad network", count=1)
    request = site.requestor.ask("small")
    with site.stay():
        site.requestor.wait_for(request, seconds=40)
        eventually(lambda: len(site.cloud.servers()) == 1)
    assert site.cloud.state()["floating_ips"] == 1
    assert len(site.cloud.calls("POST /servers")) == 2


# -- creates whose answer does not come --------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["status_after", "reset_after", "hang_after"])
def test_a_create_that_was_done_without_an_answer_is_found_at_once(site: Site, fault: str):
    site.configure()
    site.cloud.fault("POST /servers", fault, status=504, count=3)
    request = site.requestor.ask("small", "small", "small")
    with site.stay(api_timeout=1.0):
        site.requestor.wait_for(request, seconds=30)
        assert len(site.cloud.servers()) == 3
    assert len(site.cloud.calls("POST /servers")) == 3


def test_a_server_that_is_made_long_after_its_create_was_given_up_goes(site: Site, monkeypatch: pytest.MonkeyPatch):
    """The call hangs in the cloud, is taken for lost and made again; then both are done. One survives."""
    monkeypatch.setattr(machine, "SETTLE_SECONDS", 0.5)
    site.configure()
    # Of a cloud of which nothing is known a create is waited for ten times as long as a call.
    site.cloud.fault("POST /servers", "slow", seconds=16.0, count=1)
    requestor = site.requestor
    request = requestor.ask("small")
    with site.stay(api_timeout=1.0):
        requestor.wait_for(request, seconds=60)
        (node_id,) = requestor.nodes_of(request)
        kept = requestor.node(node_id)["external_id"]
        eventually(lambda: len(site.cloud.calls("POST /servers")) == 2)
        slow = min(site.cloud.calls("POST /servers"), key=lambda call: call["start"])
        eventually(lambda: len(of_node(site, node_id)) == 2 or kept not in _ids(site, node_id), 20)
        # Somebody else's business makes the cycle look at the list of servers.
        requestor.wait_for(requestor.ask("small"))
        eventually(lambda: _ids(site, node_id) == [kept], 20)
    assert slow["status"] != 202 or slow["end"] - slow["start"] >= 5


def _ids(site: Site, node_id: str) -> list[str]:
    return [str(server["id"]) for server in of_node(site, node_id)]


# -- the breaker -------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_after_failures_in_a_row_an_image_is_left_alone_others_go_on_and_success_closes(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(breaking, "FIRST", 3.0)
    # Retries for an image are spaced, so that they cost six creates in two minutes; here in four seconds.
    monkeypatch.setattr(breaking, "SPACE", 0.8)
    monkeypatch.setattr(breaking, "WINDOW", 4.0)
    site.configure(provider("one", pool("main", label("small"), label("medium")), launch_retries=3))
    site.cloud.quota(instances=100)
    # The servers of one label fail; the names of the first nodes tell which those are.
    text = "Image 1 is unacceptable"
    for number in range(2):
        site.cloud.fault("POST /servers", "error", name=f"np{number:010}", seconds=0.0, message=text)
    requestor = site.requestor
    with site.stay() as cycle:
        broken = [requestor.ask("small") for _unused in range(2)]
        for request in broken:
            requestor.wait_for(request, "failed", seconds=30)
        waiting = requestor.ask("small")
        reason = requestor.wait_until_waiting(waiting, "breaker")
        assert "image" in reason["text"] or "debian-12" in reason["text"]
        assert reason["count"] >= breaking.FAILURES
        stored = requestor.read("/nodepool/stackci/breakers/one")
        assert list(stored) == ["debian-12/small"]
        other = requestor.ask("medium")
        requestor.wait_for(other)
        assert requestor.state(waiting) == "requested"
        site.cloud.clear_faults()
        requestor.wait_for(waiting, seconds=20)
        eventually(lambda: requestor.read("/nodepool/stackci/breakers/one") == {})
        result = cycle.end()
    assert any("failed 5 times in a row" in line for line in cycle.lines)
    assert result["breakers"] == {}


@pytest.mark.long
def test_an_open_breaker_is_kept_by_the_next_cycle_and_in_its_result(site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(breaking, "FAILURES", 2)
    site.configure(provider("one", launch_retries=2))
    site.cloud.fault("POST /servers", "error", seconds=0.0, message="Image 1 is unacceptable")
    first = site.requestor.ask("small")
    result = site.run()
    assert site.requestor.state(first) == "failed"
    assert set(result["breakers"]["one"]) == {"debian-12/small"}
    before = len(site.cloud.calls("POST /servers"))
    second = site.requestor.ask("small")
    again = site.run(duration=2.0)
    assert again["breakers"] == result["breakers"]
    assert len(site.cloud.calls("POST /servers")) == before
    assert site.requestor.state(second) == "requested"
    # The second choice is no worse for it.
    third = site.requestor.ask("medium")
    site.cloud.clear_faults()
    site.run(duration=8.0)
    assert site.requestor.state(third) == "fulfilled"


# -- cells that are away -------------------------------------------------------------------------------------------


def test_cells_that_are_away_for_a_while_cost_nothing(site: Site):
    """Lists lack their servers, a question about one is answered with 500, and their zones are denied."""
    site.configure(provider("one", launch_retries=1))
    site.cloud.settings(boot=2.0)
    requestor = site.requestor

    def answers(kind: str) -> dict[str, int]:
        return dict(site.cloud.counts()["by_status"].get(kind, {}))

    with site.stay() as cycle:
        first = requestor.ask("small")
        eventually(lambda: answers("POST /servers").get("202"))
        site.cloud.settings(cells_down=True)
        eventually(lambda: answers("GET /servers/{id}").get("500"), 40)
        site.cloud.settings(cells_down=False)
        requestor.wait_for(first, seconds=40)
        site.cloud.settings(cells_down=True)
        second = requestor.ask("small")
        eventually(lambda: answers("POST /servers").get("400"), 40)
        site.cloud.settings(cells_down=False)
        requestor.wait_for(second, seconds=60)
        result = cycle.end()
    assert answers("POST /servers")["202"] == 2
    assert result["requests"]["failed"] == [] and result["nodes"]["failed"] == []
