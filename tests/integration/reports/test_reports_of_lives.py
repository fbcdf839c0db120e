# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports of the field about single servers, from the first answer of their sshd to the last of their addresses.

Each test names its report, which docs/designs/033-field-reports.md tells.
"""

from __future__ import annotations

import json

from tests.support.ansible_run import ModuleProcess
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, pool, provider
from tests.support.launcher_process import START_SECONDS
from tests.support.leftovers import Leftovers

CREATE, DELETE, SHOW, LIST = "POST /servers", "DELETE /servers/{id}", "GET /servers/{id}", "GET /servers/detail"


def vanish(site: Site) -> None:
    """Somebody deletes all servers of the cloud, by its own interface."""
    somebody = Leftovers(site)
    for server in site.cloud.servers():
        somebody.sdk.compute.delete_server(server["id"])
    somebody.close()
    eventually(lambda: site.cloud.servers() == [])


def test_a_launcher_that_is_killed_and_started_again_leaves_nodes_in_use_and_spares_alone(site: Site):
    """openstack-cloud-plugin 256: a restart deleted the agents that were at work."""
    site.configure(labels={"medium": {"min-ready": 1}}, zookeeper_timeout=2.0)
    requestor = site.requestor
    with ModuleProcess("node_launch", {**site.files(), "duration": 120}, site.folder) as process:
        request = requestor.ask("small")
        requestor.wait_for(request, seconds=START_SECONDS)
        (used,) = requestor.accept(request)
        eventually(lambda: sorted(node["state"] for node in requestor.nodes().values()) == ["in-use", "ready"], 40.0)
        process.kill()
    before = {server["id"] for server in site.cloud.servers()}
    with site.stay():
        later = requestor.ask("small", "medium")
        requestor.wait_for(later, seconds=40.0)
        assert requestor.node(used)["state"] == "in-use"
    assert before <= {server["id"] for server in site.cloud.servers()}
    assert site.cloud.calls(DELETE) == []


def test_a_node_in_use_whose_server_the_list_leaves_out_is_left_to_its_job(site: Site):
    """openstack-cloud-plugin 207: servers that were missing in one list were taken for gone."""
    site.configure()
    requestor = site.requestor
    with site.stay():
        request = requestor.ask("small")
        requestor.wait_for(request)
        (used,) = requestor.accept(request)
        short = site.cloud.fault(LIST, "edited", set={"servers": []})
        other = requestor.ask("medium")
        eventually(lambda: site.cloud.struck(short) >= 3, 40.0)
        site.cloud.clear_faults()
        requestor.wait_for(other, seconds=40.0)
        assert requestor.node(used)["state"] == "in-use"
        assert site.cloud.server(used)["id"] == requestor.node(used)["external_id"]
    assert site.cloud.calls(DELETE) == []


def test_a_guest_whose_sshd_comes_late_is_handed_over_when_it_answers(site: Site):
    """openstack-cloud-plugin 73: the agent was started before its sshd was there."""
    site.add_cloud(kind="late")
    images = [{"name": "debian-12", "username": "zuul", "connection-port": site.cloud.ssh_port()}]
    site.configure(provider("one", pool("main", host_key_checking=True), cloud_images=images))
    requestor = site.requestor
    with site.stay():
        request = requestor.ask("small")
        node_id = requestor.wait_phase("reaching")
        assert site.cloud.server(node_id)["status"] == "ACTIVE" and requestor.state(request) == "pending"
        requestor.wait_for(request, seconds=40.0)
    keys = requestor.node(node_id)["host_keys"]
    assert keys and keys == site.cloud.server(node_id)["host_keys"]
    assert requestor.nodes_of(request) == [node_id] and len(site.cloud.calls(CREATE)) == 1


def test_spares_that_vanish_between_two_launchers_take_no_room(site: Site):
    """karpenter-provider-aws 2570: what had gone still counted."""
    site.configure(provider("one", pool("main", max_servers=2)), labels={"small": {"min-ready": 2}})
    requestor = site.requestor
    site.run()
    assert len(site.cloud.servers()) == 2
    vanish(site)
    with site.stay():
        requests = [requestor.ask("small") for _unused in range(2)]
        for request in requests:
            requestor.wait_for(request, seconds=40.0)
    nodes = [requestor.node(requestor.nodes_of(request)[0]) for request in requests]
    assert {node["external_id"] for node in nodes} == {server["id"] for server in site.cloud.servers()}


def test_a_full_pool_whose_servers_vanish_has_room_when_their_jobs_have_failed(site: Site):
    """openstack-cloud-plugin 74: the limit counted servers that did not exist."""
    site.configure(provider("one", pool("main", max_servers=2)))
    requestor = site.requestor
    with site.stay():
        first = requestor.ask("small", "small")
        requestor.wait_for(first)
        used = requestor.accept(first)
        vanish(site)
        second = requestor.ask("small", "small")
        requestor.wait_until_waiting(second, "no-room")
        requestor.give_back(*used)
        requestor.wait_gone(used)
        requestor.wait_for(second, seconds=40.0)
    nodes = [requestor.node(node_id) for node_id in requestor.nodes_of(second)]
    assert {node["external_id"] for node in nodes} == {server["id"] for server in site.cloud.servers()}
    assert len(site.cloud.calls(CREATE)) == 4


def test_a_floating_ip_that_is_refused_is_told_in_the_words_of_neutron(site: Site):
    """openstack-cloud-plugin 66: the refusal was a traceback."""
    site.add_cloud("one", private=False)
    site.configure(provider("one", pool("main", auto_floating_ip=True)))
    words = "Quota exceeded for resources: ['floatingip']."
    refusal = site.cloud.fault("POST /floatingips", "status", status=403, message=words)
    requestor = site.requestor
    with site.stay() as cycle:
        first = requestor.ask("small")
        eventually(lambda: site.cloud.struck(refusal) >= 1, 40.0)
        second = requestor.ask("small")
        told = requestor.wait_until_waiting(second, "frozen", seconds=40.0)
        assert "floating-ips" in json.dumps(told)
        assert requestor.state(first) != "failed"
        lines = [str(line) for line in cycle.lines]
    assert any(words in line for line in lines), lines
    assert not [line for line in lines if "Traceback" in line]


def test_a_floating_ip_whose_deletion_fails_is_deleted_later(site: Site):
    """openstack-cloud-plugin 81: a deletion that had failed once was never asked for again."""
    site.add_cloud("one", private=False)
    site.configure(provider("one", pool("main", auto_floating_ip=True)))
    fault = site.cloud.fault("DELETE /floatingips/{id}", "status", status=500, count=2)
    requestor = site.requestor
    with site.stay():
        request = requestor.ask("small")
        requestor.wait_for(request, seconds=40.0)
        node_ids = requestor.accept(request)
        assert site.cloud.state()["floating_ips"] == 1
        requestor.give_back(*node_ids)
        eventually(lambda: site.cloud.struck(fault) == 2, 60.0)
        requestor.wait_gone(node_ids, seconds=60.0)
    assert (site.cloud.state()["floating_ips"], site.cloud.servers()) == (0, [])


def test_a_spare_whose_server_is_in_error_is_no_capacity(site: Site):
    """fleeting-plugin-openstack 21: servers in ERROR counted as idle, so that nothing was made."""
    site.configure(provider("one", pool("main", max_servers=1)), labels={"small": {"min-ready": 1}})
    requestor = site.requestor
    site.run()
    (old,) = requestor.nodes()
    broken = {"status": "ERROR", "OS-EXT-STS:vm_state": "error"}
    for kind, place in ((LIST, "servers.*"), (SHOW, "server")):
        site.cloud.fault(kind, "edited", set={f"{place}.{key}": value for key, value in broken.items()})
    with site.stay():
        request = requestor.ask("small")
        eventually(lambda: site.cloud.calls(DELETE), 40.0)
        site.cloud.clear_faults()
        requestor.wait_for(request, seconds=40.0)
        requestor.wait_gone([old])
    (new,) = requestor.nodes_of(request)
    assert new != old and [server["name"] for server in site.cloud.servers()] == [f"np{new}"]
