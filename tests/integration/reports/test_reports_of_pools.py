# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports of people who run pools of servers, tried in the same form with whole cycles of a launcher.

Each test names its report, which docs/designs/033-field-reports.md tells.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.ansible_run import run_module
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Cloud, Site, label, pool, provider
from tests.support.leftovers import Leftovers, sweep, verdicts

CREATE, DELETE, SHOW, LIST = "POST /servers", "DELETE /servers/{id}", "GET /servers/{id}", "GET /servers/detail"


@contextmanager
def most_servers(cloud: Cloud) -> Iterator[list[int]]:
    """The numbers of servers that a cloud has had at any look, while the block runs."""
    seen: list[int] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            seen.append(len(cloud.servers()))

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join(10)


def test_a_burst_never_makes_more_servers_than_the_template_allows(site: Site):
    """openstack-cloud-plugin 68; what is given back is used at once, which is when plugins made too many."""
    site.configure(provider("one", pool("main", max_servers=3)))
    requestor = site.requestor
    with most_servers(site.cloud) as seen, site.stay():
        waiting = [requestor.ask("small") for _unused in range(9)]
        while waiting:
            done = eventually(lambda: [request for request in waiting if requestor.state(request) == "fulfilled"], 30.0)
            for request in done:
                waiting.remove(request)
                requestor.give_back(*requestor.accept(request))
    assert max(seen) == 3


def test_an_account_without_any_right_on_floating_ips_makes_and_deletes_servers(site: Site):
    """openstack-cloud-plugin 147."""
    site.configure()
    for path in ("* /floatingips", "* /floatingips/{id}"):
        site.cloud.fault(path, "status", status=403, message="Policy doesn't allow it to be performed.")
    requestor = site.requestor
    with site.stay():
        request = requestor.ask("small")
        requestor.wait_for(request)
        node_ids = requestor.accept(request)
        requestor.give_back(*node_ids)
        requestor.wait_gone(node_ids)
    assert site.cloud.servers() == []


def test_a_record_that_somebody_removes_while_its_server_is_deleted_leaves_no_server(site: Site):
    """garm 699: the database entry went while the instance was being deleted, and nobody finished it."""
    site.configure()
    site.cloud.settings(delete=2.0)
    requestor = site.requestor
    lost = site.cloud.fault(DELETE, "lost_delete", count=1)
    with site.stay():
        request = requestor.ask("small")
        requestor.wait_for(request)
        (node_id,) = requestor.accept(request)
        requestor.give_back(node_id)
        eventually(lambda: site.cloud.struck(lost) == 1)
        requestor.client.delete(f"/nodepool/nodes/{node_id}", recursive=True)
        follower = requestor.ask("small")
        requestor.wait_for(follower)
    assert len(site.cloud.servers()) == 2
    result = sweep(site)
    assert list(verdicts(result).values()).count("deleted") >= 1
    eventually(lambda: [server["name"] for server in site.cloud.servers()] == [f"np{requestor.nodes_of(follower)[0]}"])


def test_a_retry_in_a_cloud_with_unique_names_beside_the_failed_server_is_served(site: Site):
    """garm 79: the second server of one name."""
    site.configure()
    site.cloud.settings(unique_names=True, delete=3.0)
    site.cloud.fault(CREATE, "error", count=1, seconds=0.1, message="Image 1 is unacceptable: not raw")
    requestor = site.requestor
    with site.stay():
        request = requestor.ask("small")
        requestor.wait_for(request, seconds=45.0)
        (node_id,) = requestor.nodes_of(request)
        eventually(lambda: len(site.cloud.servers()) == 1)
    server = site.cloud.server(node_id)
    assert (server["id"], server["status"]) == (requestor.node(node_id)["external_id"], "ACTIVE")


def test_a_server_that_fails_early_is_not_waited_for_until_its_time_is_over(site: Site):
    """cluster-api-provider-openstack 968: here servers need two minutes, and may take ten."""
    site.configure(provider("one", pool(), launch_timeout=600))
    site.requestor.put("/nodepool/stackci/providers/one", {"boot_seconds": [120.0] * 10})
    site.cloud.settings(boot=0.2)
    fault = site.cloud.fault(CREATE, "error", count=1, seconds=0.2, message="Image 1 is unacceptable: not raw")
    with site.stay():
        request = site.requestor.ask("small")
        eventually(lambda: site.cloud.struck(fault) == 1)
        # The failed server has been seen as soon as its attempt is over, and that is long before any time-out.
        eventually(lambda: len(site.cloud.calls(CREATE)) == 2, 40.0)
        assert site.requestor.state(request) == "pending"


def test_one_thing_that_cannot_be_deleted_holds_up_no_other(site: Site):
    """cluster-api-provider-openstack 1596: a server, a floating IP and an image stay, the others go."""
    site.configure()
    somebody = Leftovers(site)
    servers = [somebody.server() for _unused in range(2)]
    floating = [somebody.floating_ip(somebody.description(f"0000099999-{number}-a")) for number in range(2)]
    images = [somebody.image("one", upload=f"000000000{number}") for number in (1, 2)]
    everything = {*servers, *floating, *images}
    stays = [
        site.cloud.fault(kind, "status", status=409, count=1, message="It is in use.")
        for kind in (DELETE, "DELETE /floatingips/{id}", "DELETE /images/{id}")
    ]
    told = verdicts(sweep(site))
    assert [site.cloud.struck(fault) for fault in stays] == [1, 1, 1]
    assert everything <= set(told)
    assert [told[ident] for ident in sorted(everything)].count("deleted") == 3
    eventually(lambda: len(everything & somebody.left()) == 3)
    eventually(lambda: sweep(site, ahead=7200.0) and not everything & somebody.left(), 60.0)
    somebody.close()


def test_a_delete_that_is_forbidden_and_allowed_later_is_done(site: Site):
    """cluster-api-provider-openstack 1792."""
    site.configure()
    fault = site.cloud.fault(DELETE, "status", status=403, message="Policy doesn't allow it to be performed.", count=2)
    requestor = site.requestor
    with site.stay():
        request = requestor.ask("small")
        requestor.wait_for(request)
        node_ids = requestor.accept(request)
        requestor.give_back(*node_ids)
        eventually(lambda: site.cloud.struck(fault) == 2, 40.0)
        requestor.wait_gone(node_ids, seconds=60.0)
    assert site.cloud.servers() == []


def test_a_server_that_nova_keeps_for_restoring_is_deleted_once_and_its_record_goes(site: Site):
    """cluster-api-provider-openstack 2618: SOFT_DELETED to whoever asks for it, and in no list."""
    site.configure()
    requestor = site.requestor
    with site.stay():
        request = requestor.ask("small")
        requestor.wait_for(request)
        node_ids = requestor.accept(request)
        site.cloud.fault(DELETE, "lost_delete")
        site.cloud.fault(LIST, "edited", set={"servers": []})
        site.cloud.fault(SHOW, "edited", set={"server.status": "SOFT_DELETED"})
        requestor.give_back(*node_ids)
        requestor.wait_gone(node_ids, seconds=60.0)
    assert len(site.cloud.calls(DELETE)) == 1


def test_a_server_that_nova_lists_and_denies_is_deleted_in_the_end(site: Site):
    """openshift installer 4083: 404 for the deletion of what the list shows."""
    site.configure()
    somebody = Leftovers(site)
    ghost = somebody.server()
    site.cloud.fault(DELETE, "status", status=404, count=1)
    assert verdicts(sweep(site))[ghost] in ("deleted", "gone")
    assert ghost in somebody.left()
    sweep(site, ahead=7200.0)
    eventually(lambda: ghost not in somebody.left())
    somebody.close()


def test_a_flavor_without_hosts_stops_no_other_and_leaves_no_port(site: Site):
    """karpenter-provider-aws 5578 and cluster-api-provider-openstack 1404."""
    metal = label("large", cloud_image="ubuntu")
    images = [{"name": "debian-12", "username": "zuul"}, {"name": "ubuntu", "username": "zuul"}]
    site.configure(provider("one", pool("main", label("small"), metal), cloud_images=images))
    ubuntu = next(ident for ident, one in site.cloud.state()["images"].items() if one["name"] == "ubuntu")
    site.cloud.fault(CREATE, "error", image=ubuntu, seconds=0.1)
    requestor = site.requestor
    with site.stay():
        large = [requestor.ask("large") for _unused in range(3)]
        told = requestor.wait_until_waiting(large[2], "frozen", seconds=40.0)
        assert told["owner"] == "capacity"
        small = [requestor.ask("small") for _unused in range(5)]
        for request in small:
            requestor.wait_for(request, seconds=40.0)
        assert [requestor.state(request) for request in large].count("failed") == 0
        for request in large:
            requestor.cancel(request)
        eventually(lambda: len(site.cloud.servers()) == 5, 40.0)
        assert site.cloud.state()["ports"] == 5


def test_pipes_in_the_place_of_files_hold_nobody_up(site: Site):
    """awx 11681: the check of the configuration and the launcher say what is wrong instead of waiting for a writer."""
    site.configure()
    for file in (site.config, site.clouds_yaml):
        whole = file.read_bytes()
        file.unlink()
        os.mkfifo(file)
        for module, options in (("nodepool_config_check", {}), ("node_launch", {"duration": 1})):
            result = run_module(module, {**site.files(), **options}, site.folder).result
            assert result["failed"], result
            assert str(file) in json.dumps(result), result
        file.unlink()
        file.write_bytes(whole)


def test_a_key_that_does_not_exist_costs_few_creates_and_leaves_no_port(site: Site):
    """cluster-api-provider-openstack 723: each try left a port."""
    site.configure(provider("one", pool("main", label("small", key_name="nobodys"), label("medium")), launch_retries=3))
    requestor = site.requestor
    with site.stay():
        bad = [requestor.ask("small") for _unused in range(4)]
        for request in bad:
            requestor.wait_for(request, "failed", seconds=60.0)
        good = requestor.ask("medium")
        requestor.wait_for(good)
    assert "nobodys" in json.dumps(requestor.read(f"/nodepool/stackci/waits/{bad[0]}"))
    assert len(site.cloud.calls(CREATE)) <= 3 + 1
    assert len(site.cloud.servers()) == site.cloud.state()["ports"] == 1


def test_spares_beyond_the_limit_of_their_pool_come_to_rest(site: Site):
    """karpenter-provider-aws 3921: nodes were removed and added in a loop."""
    site.configure(
        provider("one", pool("main", max_servers=3)), labels={"small": {"min-ready": 2}, "medium": {"min-ready": 2}}
    )
    site.run()
    before = site.requestor.nodes()
    assert [node["state"] for node in before.values()] == ["ready"] * 3
    for _unused in range(2):
        result = site.run()
        assert (result["nodes"]["launched"], result["nodes"]["deleted"]) == ([], [])
    with site.stay():
        request = site.requestor.ask("large")
        site.requestor.wait_for(request)
    after = site.requestor.nodes()
    assert len(site.cloud.servers()) == 3 and len(set(before) & set(after)) == 2
    creates = len(site.cloud.calls(CREATE))
    site.run()
    assert len(site.cloud.calls(CREATE)) == creates and set(site.requestor.nodes()) == set(after)
