# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module is killed in each phase of a launch; the next cycle finishes the same servers.

While nodes are deleted it is killed below ansible-playbook, elsewhere without Ansible around it.
"""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching import machine
from tests.support.ansible_run import ModuleProcess
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, pool, provider
from tests.support.launcher_process import START_SECONDS, LauncherProcess

SESSION_SECONDS = 2.0
"""How long the locks of a killed module stay."""


def one_server_each(site: Site, node_ids: list[str]) -> None:
    """Every node has exactly the server that its record names, and there is no other."""
    servers = {server["name"]: server for server in site.cloud.servers()}
    assert sorted(servers) == sorted(f"np{node_id}" for node_id in node_ids)
    assert len(site.cloud.servers()) == len(node_ids)
    for node_id in node_ids:
        assert site.requestor.node(node_id)["external_id"] == servers[f"np{node_id}"]["id"]


def kill_in(site: Site, phase: str, count: int, ready: Any = None) -> list[str]:
    """Kill the module once all nodes are in that phase; their ids."""
    requestor = site.requestor

    def there() -> list[str]:
        found = [
            node_id
            for node_id in requestor.children("/nodepool/stackci/launches")
            if (record := requestor.launch(node_id)) is not None and record["phase"] == phase
        ]
        return found if len(found) == count and (ready is None or ready()) else []

    with ModuleProcess("node_launch", {**site.files(), "duration": 120}, site.folder):
        return list(eventually(there, START_SECONDS))


def finish(site: Site, request: str, node_ids: list[str]) -> dict[str, Any]:
    """The next cycle: the same nodes, without another create."""
    with site.stay() as cycle:
        site.requestor.wait_for(request, seconds=30)
        result = cycle.end()
    assert sorted(site.requestor.nodes_of(request)) == sorted(node_ids)
    assert sorted(site.requestor.nodes()) == sorted(node_ids)
    one_server_each(site, node_ids)
    assert sorted(result["nodes"]["adopted"]) == sorted(node_ids)
    assert result["nodes"]["launched"] == []
    return result


def test_killed_while_a_request_waits_for_a_fact_of_the_cloud(site: Site):
    """What follows, between the record of a node and its create, is tested in test_launches_continued.py."""
    site.add_cloud(private=False)
    site.configure(provider("one", pool("main", auto_floating_ip=True)), zookeeper_timeout=SESSION_SECONDS)
    site.cloud.fault("GET /networks", "hang")
    requestor = site.requestor
    request = requestor.ask("small", "medium")
    with ModuleProcess("node_launch", {**site.files(), "duration": 120}, site.folder):
        eventually(lambda: requestor.children("/nodepool/stackci/waits") == [request], START_SECONDS)
    assert site.cloud.calls("POST /servers") == [] and requestor.nodes() == {}
    site.cloud.clear_faults()
    with site.stay():
        requestor.wait_for(request, seconds=40)
    assert len(site.cloud.calls("POST /servers")) == 2


@pytest.mark.parametrize("made", [True, False], ids=["done", "not-done"])
def test_killed_during_the_create(site: Site, made: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(machine, "SETTLE_SECONDS", 1.0)
    site.configure(zookeeper_timeout=SESSION_SECONDS)
    fault = site.cloud.fault("POST /servers", "hang_after" if made else "hang")
    request = site.requestor.ask("small", "small")
    node_ids = kill_in(site, "creating", 2, lambda: site.cloud.struck(fault) == 2)
    site.cloud.clear_faults()
    assert len(site.cloud.servers()) == (2 if made else 0)
    finish(site, request, node_ids)
    assert len(site.cloud.calls("POST /servers")) == (2 if made else 4)


def test_killed_while_the_servers_boot(site: Site):
    site.configure(zookeeper_timeout=SESSION_SECONDS)
    site.cloud.settings(boot=2.0)
    request = site.requestor.ask("large", "small")
    node_ids = kill_in(site, "booting", 2)
    finish(site, request, node_ids)
    assert [site.requestor.node(node_id)["type"][0] for node_id in site.requestor.nodes_of(request)] == [
        "large",
        "small",
    ]
    assert len(site.cloud.calls("POST /servers")) == 2


def test_killed_while_a_floating_ip_is_made(site: Site):
    site.add_cloud(private=False)
    site.configure(provider("one", pool("main", auto_floating_ip=True)), zookeeper_timeout=SESSION_SECONDS)
    fault = site.cloud.fault("POST /floatingips", "hang")
    request = site.requestor.ask("small")
    node_ids = kill_in(site, "addressing", 1, lambda: site.cloud.struck(fault) == 1)
    site.cloud.clear_faults()
    finish(site, request, node_ids)
    assert site.cloud.state()["floating_ips"] == 1
    site.requestor.give_back(*site.requestor.accept(request))
    site.run()
    assert (site.cloud.state()["floating_ips"], site.cloud.servers()) == (0, [])


def test_killed_while_the_guests_are_scanned(site: Site):
    site.add_cloud(kind="late")
    site.configure(
        provider(
            "one",
            pool("main", host_key_checking=True),
            cloud_images=[{"name": "debian-12", "connection-port": site.cloud.ssh_port()}],
        ),
        zookeeper_timeout=SESSION_SECONDS,
    )
    request = site.requestor.ask("small", "small")
    node_ids = kill_in(site, "reaching", 2)
    finish(site, request, node_ids)
    for node_id in node_ids:
        assert site.requestor.node(node_id)["host_keys"] == site.cloud.server(node_id)["host_keys"]


def test_killed_while_nodes_are_deleted(site: Site):
    site.configure(zookeeper_timeout=SESSION_SECONDS)
    request = site.requestor.ask("small", "small")
    site.run()
    node_ids = site.requestor.accept(request)
    fault = site.cloud.fault("DELETE /servers/{id}", "hang")
    site.requestor.give_back(*node_ids)
    with LauncherProcess(site, launcher_duration=120) as process:
        eventually(lambda: site.cloud.struck(fault) == 2, START_SECONDS)
        process.kill_module()
    site.cloud.clear_faults()
    assert {site.requestor.node(node_id)["state"] for node_id in node_ids} == {"deleting"}
    with site.stay():
        site.requestor.wait_gone(node_ids)
    assert site.cloud.servers() == []
    assert site.requestor.children("/nodepool/stackci/launches") == []


def test_a_request_that_was_canceled_while_nobody_acted(site: Site):
    """Its servers are finished all the same and serve the next one."""
    site.configure()
    site.cloud.settings(boot=1.0)
    requestor = site.requestor
    request = requestor.ask("small", "small")
    with site.stay():
        eventually(lambda: len(site.cloud.servers()) == 2)
    assert requestor.state(request) == "pending"
    requestor.cancel(request)
    site.run()
    assert [(node["state"], node["allocated_to"]) for node in requestor.nodes().values()] == [("ready", None)] * 2
    other = requestor.ask("small")
    site.run()
    assert requestor.nodes_of(other)[0] in requestor.nodes()
    assert len(site.cloud.calls("POST /servers")) == 2


def test_a_pending_request_of_a_dead_stock_launcher_is_served(site: Site):
    """Pending, nobody holds its lock, nodes of its own that never came to anything."""
    site.configure()
    requestor = site.requestor
    request = requestor.ask("small", state="pending", nodes=[], declined_by=[])
    node_id = requestor.make_node("ready", allocated_to=request, state_time=1.0)
    with site.stay():
        requestor.wait_for(request)
    assert requestor.nodes_of(request) == [node_id]
    empty = requestor.ask("small", state="pending", nodes=[], declined_by=[])
    site.run()
    assert requestor.nodes_of(empty)


def test_a_server_that_vanished_while_nobody_acted_is_made_again(site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(machine, "SETTLE_SECONDS", 1.0)
    site.configure()
    site.cloud.settings(boot=3.0)
    requestor = site.requestor
    request = requestor.ask("small")
    with site.stay():
        node_id = requestor.wait_phase("booting")
    record = requestor.launch(node_id)
    requestor.put(
        f"/nodepool/stackci/launches/{node_id}", {**record, "server_id": "00000000-0000-0000-0000-000000000000"}
    )
    with site.stay():
        requestor.wait_for(request, seconds=40)
    assert requestor.nodes_of(request) == [node_id]
    assert requestor.node(node_id)["external_id"] in [server["id"] for server in site.cloud.servers()]
