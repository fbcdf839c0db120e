# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests that can be served: what the requestor sees, in which order, and what is left afterwards."""

from __future__ import annotations

from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider


def test_a_single_request_is_fulfilled(site: Site):
    site.configure()
    request = site.requestor.ask("small")
    result = site.run()
    (node_id,) = site.requestor.nodes_of(request)
    node = site.requestor.node(node_id)
    assert (node["state"], node["allocated_to"], node["type"]) == ("ready", request, ["small"])
    assert not site.requestor.is_locked(node_id)
    assert site.cloud.server(node_id)["id"] == node["external_id"]
    assert result["requests"]["fulfilled"] == [request]
    assert result["nodes"]["ready"] == result["nodes"]["launched"] == [node_id]
    assert result["changed"] is True


def test_a_second_cycle_finds_nothing_to_do(site: Site):
    site.configure()
    request = site.requestor.ask("small")
    site.run()
    before = site.requestor.request(request)
    result = site.run()
    assert result["changed"] is False
    assert site.requestor.request(request) == before
    assert len(site.cloud.servers()) == 1


def test_the_nodes_of_a_set_are_in_the_order_of_its_labels_in_one_pool_and_zone(site: Site):
    site.configure(provider("one", pool("main"), pool("other")), provider("two"))
    labels = ("large", "small", "medium", "small")
    requests = [site.requestor.ask(*labels) for _unused in range(3)]
    site.run()
    zones = []
    for request in requests:
        nodes = [site.requestor.node(node_id) for node_id in site.requestor.nodes_of(request)]
        assert [node["type"] for node in nodes] == [[name] for name in labels]
        assert len({(node["provider"], node["pool"], node["az"]) for node in nodes}) == 1
        zones.append(nodes[0]["az"])
        for node, name in zip(nodes, labels, strict=True):
            cloud = site.clouds[node["provider"]]
            server = next(server for server in cloud.servers() if server["id"] == node["external_id"])
            assert server["flavor"] == name
    assert set(zones) <= {"az1", "az2"}


def test_a_ready_node_is_reused_without_a_create(site: Site):
    site.configure(labels={"small": {"min-ready": 1}})
    site.run()
    (node_id,) = site.requestor.nodes()
    site.cloud.clear_calls()
    request = site.requestor.ask("small", tenant="tenant-two")
    with site.stay():
        site.requestor.wait_for(request)
        assert site.requestor.nodes_of(request) == [node_id]
        node = site.requestor.node(node_id)
        assert (node["allocated_to"], node["tenant_name"]) == (request, "tenant-two")
        assert node["requestor"] == site.requestor.request(request)["requestor"]
        # min-ready is replenished by another one.
        eventually(lambda: len(site.cloud.servers()) == 2)
    assert len(site.cloud.calls("POST /servers")) == 1
    assert site.cloud.server(node_id)


def test_a_request_without_reuse_gets_a_new_node(site: Site):
    site.configure(labels={"small": {"min-ready": 1}})
    site.run()
    (ready,) = site.requestor.nodes()
    request = site.requestor.ask("small", reuse=False)
    site.run()
    assert site.requestor.nodes_of(request) != [ready]
    assert site.requestor.node(ready)["allocated_to"] is None


def test_a_set_takes_ready_nodes_of_one_zone_and_launches_the_rest_there(site: Site):
    site.configure(labels={"small": {"min-ready": 2}})
    site.run()
    zones = {node_id: node["az"] for node_id, node in site.requestor.nodes().items()}
    assert len(set(zones.values())) == 2
    request = site.requestor.ask("small", "small")
    site.run()
    taken = site.requestor.nodes_of(request)
    assert len(set(taken) & set(zones)) == 1
    assert len({site.requestor.node(node_id)["az"] for node_id in taken}) == 1


def serve_one_by_one(site: Site, count: int) -> list[str]:
    """Requests in the order in which they were served by a pool with room for one node."""
    served: list[str] = []
    requestor = site.requestor
    with site.stay():
        while len(served) < count:
            fulfilled = eventually(
                lambda: [
                    name for name in requestor.children("/nodepool/requests") if requestor.state(name) == "fulfilled"
                ]
            )
            assert len(fulfilled) == 1
            served += fulfilled
            requestor.give_back(*requestor.accept(fulfilled[0]))
    return served


def test_requests_are_served_by_priority_then_relative_priority_then_age(site: Site):
    site.configure(provider("one", pool("main", max_servers=1)))
    low = site.requestor.ask("small", priority=300)
    later = site.requestor.ask("small", priority=200, relative_priority=2)
    first = site.requestor.ask("small", priority=200, relative_priority=1)
    second = site.requestor.ask("small", priority=200, relative_priority=1)
    urgent = site.requestor.ask("small", priority=100, relative_priority=9)
    assert serve_one_by_one(site, 5) == [urgent, first, second, later, low]
    assert site.cloud.counts()["by_status"]["POST /servers"] == {"202": 5}


def test_a_revised_priority_counts(site: Site):
    site.configure(provider("one", pool("main", max_servers=1)))
    requestor = site.requestor
    holder = requestor.ask("small")
    with site.stay():
        requestor.wait_for(holder)
        early = requestor.ask("small", relative_priority=5)
        late = requestor.ask("small", relative_priority=5)
        for request in (early, late):
            requestor.wait_until_waiting(request, "no-room")
        path = f"/nodepool/requests/{late}"
        data, stat = requestor.client.get(path)
        # As Zuul does: only where nobody has written meanwhile.
        requestor.client.set(path, data.replace(b'"relative_priority": 5', b'"relative_priority": 1'), stat.version)
        requestor.give_back(*requestor.accept(holder))
        requestor.wait_for(late)
        assert requestor.state(early) == "requested"


def test_what_zuul_does_with_a_set(site: Site):
    """Accept, lock, delete the request, in-use, used, unlock; then servers and znodes are gone."""
    site.configure()
    requestor = site.requestor
    with site.stay() as cycle:
        request = requestor.ask("small", "medium")
        requestor.wait_for(request)
        assert requestor.children(f"/nodepool/requests-lock/{request}") == []
        node_ids = requestor.accept(request)
        assert [requestor.node(node_id)["state"] for node_id in node_ids] == ["in-use", "in-use"]
        # Another request comes and goes; the nodes in use are nobody else's.
        other = requestor.ask("small")
        requestor.wait_for(other)
        assert not set(requestor.nodes_of(other)) & set(node_ids)
        assert {server["name"] for server in site.cloud.servers()} >= {f"np{node_id}" for node_id in node_ids}
        requestor.give_back(*node_ids)
        requestor.wait_gone(node_ids)
        left = {server["name"] for server in site.cloud.servers()}
        assert left == {f"np{node_id}" for node_id in requestor.nodes_of(other)}
        eventually(lambda: not set(requestor.children("/nodepool/stackci/launches")) & set(node_ids))
        result = cycle.end()
    assert sorted(result["nodes"]["deleted"]) == sorted(node_ids)
    # The parent of the request's lock survives the request; nobody holds it.
    assert requestor.client.exists(f"/nodepool/requests-lock/{request}")
    assert requestor.children(f"/nodepool/requests-lock/{request}") == []


def test_a_node_is_unlocked_before_its_request_says_that_it_is_there(site: Site):
    """Zuul locks within 30 s of the news; a launcher that still holds the lock would be in its way."""
    site.configure()
    requestor = site.requestor
    locked_at_the_news: list[bool] = []
    request = requestor.ask("small")
    path = f"/nodepool/requests/{request}"

    def changed(data: bytes | None, stat: object) -> None:
        if data and b'"fulfilled"' in data:
            (node_id,) = requestor.nodes()
            locked_at_the_news.append(requestor.is_locked(node_id))

    requestor.client.DataWatch(path, changed)
    site.run()
    eventually(lambda: locked_at_the_news)
    assert locked_at_the_news == [False]


def test_an_executor_that_dies_leaves_a_node_that_is_reclaimed(site: Site):
    site.configure()
    requestor = site.requestor
    with site.stay():
        request = requestor.ask("small")
        requestor.wait_for(request)
        (node_id,) = requestor.accept(request)
        # Its ephemeral lock vanishes; the node stays in-use, which without a lock is garbage.
        requestor.unlock(node_id)
        requestor.wait_gone([node_id])
    assert site.cloud.servers() == []


def test_labels_of_several_pools_go_where_they_are_offered(site: Site):
    site.configure(
        provider("one", pool("a", label("small")), pool("b", label("medium"))),
        provider("two", pool("c", label("large"))),
    )
    requests = {name: site.requestor.ask(name) for name in ("small", "medium", "large")}
    site.run()
    places = {}
    for name, request in requests.items():
        (node_id,) = site.requestor.nodes_of(request)
        node = site.requestor.node(node_id)
        places[name] = (node["provider"], node["pool"])
    assert places == {"small": ("one", "a"), "medium": ("one", "b"), "large": ("two", "c")}


def test_a_smaller_priority_number_goes_first_and_the_next_takes_what_is_left(site: Site):
    site.configure(
        provider("one", pool("main", priority=50, max_servers=2)), provider("two", pool("main", priority=80))
    )
    requests = [site.requestor.ask("small") for _unused in range(4)]
    site.run()
    places = [site.requestor.node(site.requestor.nodes_of(request)[0])["provider"] for request in requests]
    assert places == ["one", "one", "two", "two"]
