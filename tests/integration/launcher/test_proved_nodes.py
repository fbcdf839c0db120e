# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Through the playbook: what is handed over is a machine of its own, and it works."""

from __future__ import annotations

import subprocess
import time
from typing import Any

import pytest

from tests.support.ansible_run import ROOT, command
from tests.support.launcher_case import Site, pool, provider

PLAYBOOK = ROOT / "playbooks" / "launcher.yml"


def launch(site: Site, **variables: Any) -> subprocess.CompletedProcess[str]:
    ran = command("ansible-playbook", PLAYBOOK, "-v", "-e", site.variables(**variables), folder=site.folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran


def scanned(site: Site) -> None:
    """Nodes whose host keys are collected."""
    images = [{"name": "debian-12", "username": "zuul", "connection-port": site.cloud.ssh_port()}]
    site.configure(provider("one", pool("main", host_key_checking=True), boot_timeout=10, cloud_images=images))


@pytest.mark.parametrize("in_use", [True, False], ids=["in use", "fulfilled"])
def test_a_ghost_at_the_address_of_a_live_node_is_not_handed_over(site: Site, in_use: bool):
    site.add_cloud("one", "guest")
    scanned(site)
    requestor = site.requestor
    first = requestor.ask("small")
    launch(site)
    (old,) = requestor.nodes_of(first)
    if in_use:
        requestor.accept(first)
    site.cloud.fault("POST /servers", "ghost", count=1)
    second = requestor.ask("small")
    ran = launch(site)
    (new,) = requestor.nodes_of(second)
    nodes = [requestor.node(node_id) for node_id in (old, new)]
    assert len({node["interface_ip"] for node in nodes}) == len({str(node["host_keys"]) for node in nodes}) == 2
    assert "not proved" in ran.stdout and f"of node {old}" in ran.stdout
    assert nodes[0]["state"] == ("in-use" if in_use else "ready")
    assert len(site.cloud.servers()) == 2, "the ghost is deleted"


def test_a_ghost_is_found_where_no_host_keys_are_collected(site: Site):
    site.configure()
    first = site.requestor.ask("small")
    launch(site)
    site.cloud.fault("POST /servers", "ghost", count=1)
    second = site.requestor.ask("small")
    ran = launch(site)
    (old,), (new,) = (site.requestor.nodes_of(request) for request in (first, second))
    assert site.requestor.node(old)["interface_ip"] != site.requestor.node(new)["interface_ip"]
    assert f"has the address of node {old}" in ran.stdout


def test_a_request_for_no_nodes_ends_at_once(site: Site):
    site.configure()
    request = site.requestor.ask()
    ran = launch(site)
    assert site.requestor.request(request)["state"] == "fulfilled"
    assert site.requestor.nodes_of(request) == [] == site.cloud.servers()
    assert "1 request fulfilled" in ran.stdout


@pytest.mark.parametrize("state", ["spare", "in use"])
def test_a_spare_that_was_stopped_is_replaced_and_a_node_in_use_is_left_alone(site: Site, state: str):
    site.configure()
    requestor = site.requestor
    first = requestor.ask("small")
    launch(site)
    (old,) = requestor.nodes_of(first)
    if state == "in use":
        requestor.accept(first)
    else:
        requestor.cancel(first)
    assert site.cloud.stop_servers() == 1
    second = requestor.ask("small")
    launch(site)
    (new,) = requestor.nodes_of(second)
    assert new != old and requestor.node(new)["state"] == "ready"
    if state == "in use":
        assert requestor.node(old)["state"] == "in-use" and len(site.cloud.servers()) == 2
    else:
        requestor.wait_gone([old])
        assert [server["name"] for server in site.cloud.servers()] == [f"np{new}"]


@pytest.mark.long
def test_an_old_spare_whose_guest_is_away_is_not_handed_out(site: Site):
    """nova still shows the server as ACTIVE; its node's record names an address at which nobody answers."""
    site.add_cloud("one", "guest")
    scanned(site)
    requestor = site.requestor
    first = requestor.ask("small")
    launch(site)
    (old,) = requestor.nodes_of(first)
    requestor.cancel(first)
    launch(site)
    requestor.write_node(old, connection_port=1, state_time=time.time() - 500)
    second = requestor.ask("small")
    ran = launch(site, launcher_spare_ssh_after=400, launcher_until="deadline", launcher_duration=25)
    (new,) = requestor.nodes_of(second)
    assert new != old and f"node {old}: not assigned: no host key from" in ran.stdout


def test_nodes_of_cancelled_requests_go_after_an_idle_time(site: Site):
    site.configure()
    requestor = site.requestor
    requests = [requestor.ask("small") for _unused in range(3)]
    launch(site)
    nodes = [node_id for request in requests for node_id in requestor.nodes_of(request)]
    for request in requests:
        requestor.cancel(request)
    launch(site)
    assert {requestor.node(node_id)["allocated_to"] for node_id in nodes} == {None}
    for node_id in nodes[1:]:
        requestor.write_node(node_id, state_time=time.time() - 700)
    launch(site)
    requestor.wait_gone(nodes[1:])
    assert requestor.node(nodes[0])["state"] == "ready" and len(site.cloud.servers()) == 1
