# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A requestor deletes its request, at any time: that is all the notice a launcher gets."""

from __future__ import annotations

import pytest

from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider


def test_while_it_waits(site: Site):
    site.configure(provider("one", pool("main", max_servers=1)))
    requestor = site.requestor
    with site.stay() as cycle:
        first, second, third = (requestor.ask("small") for _unused in range(3))
        requestor.wait_for(first)
        requestor.wait_until_waiting(third, "no-room")
        requestor.cancel(second)
        requestor.give_back(*requestor.accept(first))
        requestor.wait_for(third)
        result = cycle.end()
    assert result["requests"]["fulfilled"] == [first, third]
    assert result["requests"]["waiting"] == []
    assert len(site.cloud.calls("POST /servers")) == 2


@pytest.mark.parametrize("phase", ["creating", "booting"])
def test_while_its_servers_are_made_and_boot(site: Site, phase: str):
    """They become ordinary ready nodes and serve the next request."""
    site.configure()
    requestor = site.requestor
    site.cloud.settings(boot=1.5)
    if phase == "creating":
        site.cloud.fault("POST /servers", "slow", seconds=1.0)
    with site.stay() as cycle:
        request = requestor.ask("small", "small")
        requestor.wait_phase(phase)
        requestor.cancel(request)
        eventually(lambda: [node["state"] for node in requestor.nodes().values()] == ["ready", "ready"])
        assert {node["allocated_to"] for node in requestor.nodes().values()} == {None}
        eventually(lambda: not any(requestor.is_locked(node_id) for node_id in requestor.nodes()))
        node_ids = list(requestor.nodes())
        second = requestor.ask("small")
        assert requestor.wait_for(second)["nodes"][0] in node_ids
        result = cycle.end()
    assert result["requests"]["canceled"] == [request]
    assert result["requests"]["fulfilled"] == [second]
    assert len(site.cloud.calls("POST /servers")) == 2
    assert requestor.children(f"/nodepool/requests-lock/{request}") == []


def test_while_it_is_scanned(site: Site):
    site.add_cloud(kind="late")
    site.configure(
        provider(
            "one",
            pool("main", host_key_checking=True),
            cloud_images=[{"name": "debian-12", "connection-port": site.cloud.ssh_port()}],
        )
    )
    requestor = site.requestor
    with site.stay():
        request = requestor.ask("small")
        node_id = requestor.wait_phase("reaching")
        requestor.cancel(request)
        eventually(lambda: requestor.node(node_id)["allocated_to"] is None)
        eventually(lambda: requestor.node(node_id)["state"] == "ready")
        assert requestor.node(node_id)["host_keys"]


def test_while_one_of_a_set_is_ready(site: Site):
    site.configure()
    requestor = site.requestor
    site.cloud.fault("POST /servers", "stuck_build", name="np0000000001", count=1)
    with site.stay() as cycle:
        request = requestor.ask("small", "small")
        eventually(lambda: sorted(node["state"] for node in requestor.nodes().values()) == ["building", "ready"])
        requestor.cancel(request)
        eventually(lambda: {node["allocated_to"] for node in requestor.nodes().values()} == {None})
        ready = next(node_id for node_id, node in requestor.nodes().items() if node["state"] == "ready")
        eventually(lambda: not requestor.is_locked(ready))
        second = requestor.ask("small")
        assert requestor.wait_for(second)["nodes"] == [ready]
        result = cycle.end()
    assert result["requests"]["canceled"] == [request]


def test_between_fulfilled_and_accepted(site: Site):
    site.configure()
    requestor = site.requestor
    request = requestor.ask("small", "medium")
    site.run()
    node_ids = requestor.nodes_of(request)
    requestor.cancel(request)
    site.run()
    assert [requestor.node(node_id)["allocated_to"] for node_id in node_ids] == [None, None]
    assert len(site.cloud.servers()) == 2


def test_while_failed(site: Site):
    site.configure(provider("one", pool("main", label("small"))))
    request = site.requestor.ask("gigantic")
    site.run()
    site.requestor.cancel(request)
    result = site.run()
    assert result["changed"] is False


def test_many_that_come_and_go_leave_nothing_behind(site: Site):
    site.configure(provider("one", pool("main", max_servers=3)))
    requestor = site.requestor
    with site.stay():
        for _unused in range(5):
            requests = [requestor.ask("small") for _unused in range(6)]
            for request in requests:
                requestor.cancel(request)
        last = requestor.ask("medium")
        requestor.wait_for(last)
        requestor.give_back(*requestor.accept(last))
        eventually(
            lambda: all(
                node["state"] == "ready" and node["allocated_to"] is None for node in requestor.nodes().values()
            )
        )
        eventually(lambda: requestor.children("/nodepool/stackci/waits") == [])
    names = {server["name"] for server in site.cloud.servers()}
    assert names == {f"np{node_id}" for node_id in requestor.nodes()}
