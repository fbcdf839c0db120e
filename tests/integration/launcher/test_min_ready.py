# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that nobody asked for: min-ready."""

from __future__ import annotations

from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, pool, provider


def free(site: Site) -> list[str]:
    return [
        node_id
        for node_id, node in site.requestor.nodes().items()
        if node["state"] == "ready" and node["allocated_to"] is None
    ]


def test_min_ready_is_kept(site: Site):
    site.configure(labels={"small": {"min-ready": 2}, "medium": {"min-ready": 1}, "large": {"min-ready": 0}})
    site.run()
    labels = sorted(node["type"][0] for node in site.requestor.nodes().values())
    assert labels == ["medium", "small", "small"]
    assert len(free(site)) == 3
    assert not any(site.requestor.is_locked(node_id) for node_id in site.requestor.nodes())
    assert site.requestor.children("/nodepool/requests") == []
    for node in site.requestor.nodes().values():
        assert (node["tenant_name"], node["requestor"]) in ((None, None), (None, "NodePool:min-ready"))


def test_a_second_cycle_adds_nothing(site: Site):
    site.configure(labels={"small": {"min-ready": 2}})
    site.run()
    before = site.requestor.nodes()
    result = site.run()
    assert (result["changed"], result["nodes"]["launched"]) == (False, [])
    assert site.requestor.nodes() == before


def test_nodes_that_still_boot_count(site: Site):
    """A cycle that ends while they boot does not make the next one launch as many again."""
    site.configure(labels={"small": {"min-ready": 2}})
    site.cloud.settings(boot=2.0)
    with site.stay():
        eventually(lambda: len(site.cloud.servers()) == 2)
    assert free(site) == []
    site.run()
    assert len(free(site)) == 2
    assert len(site.cloud.servers()) == 2
    assert len(site.cloud.calls("POST /servers")) == 2


def test_two_cycles_do_not_both_keep_it(site: Site):
    """A label that two providers offer, each provider acted for by another cycle."""
    site.configure(provider("one"), provider("two"), labels={"small": {"min-ready": 2}})
    with site.stay(providers=("one",)) as first, site.stay(providers=("two",)) as second:
        eventually(lambda: first.acts("one") and second.acts("two"))
        eventually(lambda: len(free(site)) == 2)
        request = site.requestor.ask("small")
        site.requestor.wait_for(request)
        eventually(lambda: len(free(site)) == 2)
        site.requestor.give_back(*site.requestor.accept(request))
        eventually(lambda: len(site.requestor.nodes()) == 2)
    assert len(site.requestor.nodes()) == 2


def test_min_ready_is_replenished_when_one_is_taken_or_lost(site: Site):
    site.configure(labels={"small": {"min-ready": 1}})
    requestor = site.requestor
    with site.stay():
        (first,) = eventually(lambda: free(site))
        request = requestor.ask("small")
        assert requestor.wait_for(request)["nodes"] == [first]
        eventually(lambda: len(free(site)) == 1 and free(site) != [first])
        # `nodepool delete` of an idle one.
        (second,) = free(site)
        requestor.lock(second)
        requestor.write_node(second, state="deleting")
        requestor.unlock(second)
        requestor.wait_gone([second])
        eventually(lambda: len(free(site)) == 1)
    assert first in requestor.nodes()


def test_without_its_image_a_label_waits_and_the_others_are_kept(site: Site):
    site.configure(
        provider(
            "one",
            pool(
                "main",
                {"name": "small", "cloud-image": "debian-12", "flavor-name": "small"},
                {"name": "broken", "cloud-image": "nothing", "flavor-name": "small"},
            ),
            cloud_images=[{"name": "debian-12"}, {"name": "nothing", "image-name": "not-in-glance"}],
        ),
        labels={"small": {"min-ready": 1}, "broken": {"min-ready": 2}},
    )
    result = site.run()
    assert [node["type"] for node in site.requestor.nodes().values()] == [["small"]]
    assert result["min_ready_unmet"] == {"broken": 2}


def test_at_capacity_min_ready_gives_way_and_nothing_fails(site: Site):
    site.configure(provider("one", pool("main", max_servers=2)), labels={"small": {"min-ready": 5}})
    result = site.run()
    assert len(free(site)) == 2
    assert result["min_ready_unmet"] == {"small": 3}
    assert result["nodes"]["failed"] == []


def test_an_idle_node_of_another_label_makes_room_for_a_request(site: Site):
    """At capacity with idle nodes, the oldest goes, one for what is missing and no more."""
    site.configure(provider("one", pool("main", max_servers=2)), labels={"small": {"min-ready": 2}})
    requestor = site.requestor
    site.run()
    oldest = min(free(site), key=lambda node_id: requestor.node(node_id)["state_time"])
    request = requestor.ask("large")
    site.run()
    (node_id,) = requestor.nodes_of(request)
    assert requestor.node(node_id)["type"] == ["large"]
    assert oldest not in requestor.nodes()
    assert len(free(site)) == 1
    assert len(site.cloud.calls("DELETE /servers/{id}")) == 1


def test_a_request_comes_before_min_ready(site: Site):
    site.configure(provider("one", pool("main", max_servers=1)), labels={"large": {"min-ready": 1}})
    request = site.requestor.ask("small")
    result = site.run()
    assert result["requests"]["fulfilled"] == [request]
    assert len(site.cloud.calls("POST /servers")) == 1
    assert result["min_ready_unmet"] == {"large": 1}
