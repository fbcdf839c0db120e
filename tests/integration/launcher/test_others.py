# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What others do and leave in the same tree: locks, leftovers, holds, broken documents."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any

import pytest

from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, pool, provider

HELD_AT_ONCE = 100


def test_a_ready_node_that_somebody_has_locked_is_not_taken(site: Site):
    site.configure(labels={"small": {"min-ready": 1}})
    site.run()
    (node_id,) = site.requestor.nodes()
    site.requestor.lock(node_id)
    request = site.requestor.ask("small")
    site.run()
    assert site.requestor.nodes_of(request) != [node_id]
    assert site.requestor.node(node_id)["allocated_to"] is None


@pytest.mark.parametrize("state", ["used", "in-use", "failed", "deleting", "deleted", "aborted"])
def test_a_locked_node_is_nobodys_garbage_until_it_is_unlocked(site: Site, state: str):
    site.configure()
    requestor = site.requestor
    request = requestor.ask("small")
    with site.stay():
        requestor.wait_for(request)
        (node_id,) = requestor.accept(request)
        requestor.write_node(node_id, state=state)
        other = requestor.ask("medium")
        requestor.wait_for(other)
        assert requestor.node(node_id)["state"] == state
        assert site.cloud.server(node_id)
        requestor.unlock(node_id)
        requestor.wait_gone([node_id])
    assert f"np{node_id}" not in [server["name"] for server in site.cloud.servers()]


@pytest.mark.parametrize("state", ["used", "in-use", "failed", "deleting", "deleted", "aborted"])
def test_leftovers_of_others_without_a_server_are_removed(site: Site, state: str):
    site.configure()
    node_id = site.requestor.make_node(state)
    result = site.run()
    assert result["nodes"]["deleted"] == [node_id]
    assert not site.requestor.client.exists(f"/nodepool/nodes/{node_id}")


def test_leftovers_of_a_stock_launcher_are_removed_with_their_server(site: Site):
    site.configure()
    (server,) = site.cloud.outsiders(1, flavor="small")
    node_id = site.requestor.make_node("used", external_id=server)
    site.run()
    assert not site.requestor.client.exists(f"/nodepool/nodes/{node_id}")
    assert site.cloud.state()["servers"] == {}


def test_nodes_of_providers_that_are_not_ours_are_left_alone(site: Site):
    site.configure()
    node_id = site.requestor.make_node("used", provider="elsewhere")
    before = site.requestor.node(node_id)
    assert site.run()["changed"] is False
    assert site.requestor.node(node_id) == before


@pytest.mark.parametrize("state", ["init", "building"])
def test_a_node_on_its_way_of_a_dead_launcher_is_removed_after_a_while(site: Site, state: str):
    """Nobody but its launcher can go on with it. A young one may still be about to be locked."""
    site.configure()
    old = site.requestor.make_node(state, state_time=time.time() - 3600)
    young = site.requestor.make_node(state)
    site.run()
    assert list(site.requestor.nodes()) == [young]
    assert old not in site.requestor.nodes()


def test_a_ready_node_whose_request_is_gone_becomes_free_and_is_reused(site: Site):
    site.configure()
    requestor = site.requestor
    with site.stay():
        first = requestor.ask("small")
        requestor.wait_for(first)
        (node_id,) = requestor.nodes_of(first)
        requestor.cancel(first)
        eventually(lambda: requestor.node(node_id)["allocated_to"] is None)
        second = requestor.ask("small")
        assert requestor.wait_for(second)["nodes"] == [node_id]
    assert len(site.cloud.calls("POST /servers")) == 1


def test_documents_that_cannot_be_read_harm_nobody(site: Site):
    site.configure(labels={"small": {"min-ready": 1}})
    requestor = site.requestor
    broken = [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"state": 7, "type": 1, "resources": "many"}',
        b'{"state": "ready"}',
        b"\xff",
    ]
    for number, data in enumerate(broken):
        requestor.put(f"/nodepool/nodes/broken-{number}", data)
        requestor.put(f"/nodepool/requests/500-broken{number}", data)
        requestor.put(f"/nodepool/components/pool/broken{number:010}", data)
        requestor.put(f"/nodepool/stackci/launches/broken-{number}", data)
        requestor.put(f"/nodepool/stackci/pools/broken-{number}", data)
    requestor.make_node("ready", resources=None, type="small", provider=None, pool=None)
    requestor.make_node("hold", resources={"cores": "x"}, hold_expiration={"odd": 1}, state_time=None)
    request = requestor.ask("small", "medium")
    with site.stay():
        requestor.wait_for(request)
    for number, data in enumerate(broken[:4]):
        assert requestor.client.get(f"/nodepool/requests/500-broken{number}")[0] == data


def test_a_node_without_resources_counts_as_one_instance(site: Site):
    site.configure(provider("one", pool("main", max_servers=2)))
    site.requestor.make_node("hold", resources=None)
    requests = [site.requestor.ask("small") for _unused in range(2)]
    result = site.run()
    assert result["requests"]["fulfilled"] == requests[:1]


# -- ages and holds -----------------------------------------------------------------------------------------------


def test_a_ready_node_older_than_max_ready_age_is_replaced(site: Site):
    site.configure(labels={"small": {"min-ready": 1, "max-ready-age": 100}, "medium": {"min-ready": 1}})
    site.run()
    small, medium = sorted(
        site.requestor.nodes(), key=lambda node_id: -site.requestor.node(node_id)["resources"]["cores"]
    )[::-1]
    site.run()
    assert set(site.requestor.nodes()) == {small, medium}
    for node_id in (small, medium):
        site.requestor.write_node(node_id, state_time=time.time() - 101)
    site.run()
    left = site.requestor.nodes()
    assert small not in left and medium in left
    assert sorted(node["type"][0] for node in left.values()) == ["medium", "small"]


def test_an_old_ready_node_that_is_allocated_stays(site: Site):
    site.configure(labels={"small": {"max-ready-age": 100}})
    request = site.requestor.ask("small")
    site.run()
    (node_id,) = site.requestor.nodes_of(request)
    site.requestor.write_node(node_id, state_time=time.time() - 1000)
    site.run()
    assert site.requestor.nodes_of(request) == [node_id]
    assert site.cloud.server(node_id)


@pytest.mark.parametrize(
    ("limit", "expiration", "age", "deleted"),
    [
        (0, None, 10**6, False),
        (100, None, 40, False),
        (100, None, 101, True),
        (0, 100, 40, False),
        (0, 100, 101, True),
        (0, "100", 101, True),
        (0, "100", 40, False),
        (1000, 100, 101, True),
        (100, 1000, 101, True),
        (100, "notanumber", 101, True),
        (0, "notanumber", 10**6, False),
        (100, 0, 101, True),
        (0, -5, 10**6, False),
    ],
)
def test_held_nodes_go_when_their_time_is_over(site: Site, limit: int, expiration: Any, age: int, deleted: bool):
    """The smaller of the node's own limit and the configuration's; what is no number is no limit."""
    site.configure(max_hold_age=limit)
    (server,) = site.cloud.outsiders(1, flavor="small")
    node_id = site.requestor.make_node(
        "hold",
        external_id=server,
        state_time=time.time() - age,
        hold_expiration=expiration,
        hold_job="t p j r",
        comment="debugging",
    )
    site.run()
    assert bool(site.requestor.client.exists(f"/nodepool/nodes/{node_id}")) is not deleted
    assert (site.cloud.state()["servers"] == {}) is deleted


def test_a_limit_of_a_hold_that_is_none_is_told_once(site: Site):
    site.configure(max_hold_age=0)
    node_id = site.requestor.make_node("hold", hold_expiration="1h")
    with site.stay() as cycle:
        eventually(cycle.acts)
        site.requestor.wait_gone([site.requestor.make_node("used")])
    told = "'hold_expiration' is '1h', not a number of seconds: only max-hold-age ends the hold"
    assert [line for line in cycle.lines if node_id in line] == [f"/nodepool/nodes/{node_id}: {told}"]


def test_a_node_that_is_held_and_given_back_at_once_is_kept(site: Site):
    """The launcher hears that the lock is gone before it knows what was written under it."""
    site.configure()
    requestor = site.requestor
    nodes = [requestor.make_node("hold") for _unused in range(HELD_AT_ONCE)]
    for node_id in nodes:
        requestor.lock(node_id)
        requestor.write_node(node_id, state="in-use")
    with site.stay() as cycle:
        eventually(cycle.acts)
        for node_id in nodes:
            requestor.hold_at_once(node_id)
        # It has looked at everything once more when this is done.
        requestor.wait_gone([requestor.make_node("used")])
    assert {requestor.node(node_id)["state"] for node_id in nodes} == {"hold"}


def test_a_held_node_is_not_handed_out_and_counts(site: Site):
    site.configure(provider("one", pool("main", max_servers=1)))
    site.requestor.make_node("hold")
    request = site.requestor.ask("small")
    result = site.run()
    assert [item["id"] for item in result["requests"]["waiting"]] == [request]


# -- leases -------------------------------------------------------------------------------------------------------


def lease_request(expires_at: float) -> dict[str, Any]:
    data = {"lease": "web", "nonce": uuid.uuid4().hex, "set": 0, "expires_at": expires_at}
    return {"requestor": "stackci.nodepool", "requestor_data": data}


def test_a_lease_request_that_has_expired_is_removed_and_its_nodes_are_free(site: Site):
    site.configure()
    requestor = site.requestor
    kept = requestor.ask("small", **lease_request(time.time() + 3600))
    site.run()
    (node_id,) = requestor.nodes_of(kept)
    document = requestor.request(kept)
    document["requestor_data"]["expires_at"] = time.time() - 1
    requestor.put(f"/nodepool/requests/{kept}", document)
    waiting = requestor.ask("gigantic", **lease_request(time.time() - 1))
    with site.stay():
        eventually(lambda: requestor.children("/nodepool/requests") == [])
        eventually(lambda: requestor.node(node_id)["allocated_to"] is None)
    assert requestor.request(waiting) is None


def test_a_request_of_somebody_else_never_expires(site: Site):
    site.configure()
    data = {"lease": "web", "expires_at": 1.0}
    request = site.requestor.ask("small", requestor_data=data)
    site.run()
    assert site.requestor.nodes_of(request)
    assert site.requestor.request(request)["requestor_data"] == data


# -- deleting -----------------------------------------------------------------------------------------------------


def test_a_delete_that_fails_is_tried_again_and_the_record_stays_until_the_server_is_gone(site: Site):
    site.configure()
    requestor = site.requestor
    fault = site.cloud.fault("DELETE /servers/{id}", "status", status=500, count=1)
    with site.stay():
        request = requestor.ask("small")
        requestor.wait_for(request)
        node_ids = requestor.accept(request)
        requestor.give_back(*node_ids)
        eventually(lambda: site.cloud.struck(fault) == 1)
        assert requestor.node(node_ids[0])["state"] == "deleting"
        requestor.wait_gone(node_ids)
    assert site.cloud.servers() == []
    assert site.cloud.counts()["by_status"]["DELETE /servers/{id}"] == {"500": 1, "204": 1}


def test_the_record_stays_while_the_server_is_being_deleted(site: Site):
    site.configure(provider("one", pool("main", max_servers=1)))
    site.cloud.settings(delete=2.0)
    requestor = site.requestor
    with site.stay():
        request = requestor.ask("small")
        requestor.wait_for(request)
        node_ids = requestor.accept(request)
        waiting = requestor.ask("small")
        requestor.give_back(*node_ids)
        eventually(lambda: site.cloud.servers()[0]["task_state"] == "deleting")
        assert requestor.node(node_ids[0])["state"] == "deleting"
        assert requestor.is_locked(node_ids[0])
        assert requestor.state(waiting) == "requested"
        requestor.wait_for(waiting)
    assert site.cloud.counts()["by_status"]["POST /servers"] == {"202": 2}


def test_a_server_that_somebody_has_deleted_already_is_no_trouble(site: Site):
    site.configure()
    request = site.requestor.ask("small")
    site.run()
    node_ids = site.requestor.accept(request)
    site.cloud.fault("DELETE /servers/{id}", "status_after", status=404, count=1)
    site.requestor.give_back(*node_ids)
    site.run()
    site.requestor.wait_gone(node_ids)
    eventually(lambda: site.cloud.servers() == [])


def test_unknown_keys_of_a_node_survive_what_we_write(site: Site):
    site.configure(labels={"small": {"min-ready": 1}})
    site.run()
    (node_id,) = site.requestor.nodes()
    site.requestor.write_node(node_id, key_of_a_newer_version={"kept": [1, None]})
    request = site.requestor.ask("small")
    site.run()
    assert site.requestor.nodes_of(request) == [node_id]
    assert site.requestor.node(node_id)["key_of_a_newer_version"] == {"kept": [1, None]}
    json.dumps(site.requestor.node(node_id))
