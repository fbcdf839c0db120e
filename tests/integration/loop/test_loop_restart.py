# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loop is stopped and started while nodes are in use and spares wait."""

from __future__ import annotations

import pytest

from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site
from tests.support.loop_process import UP_SECONDS, LoopProcess


@pytest.mark.timeout(240)
def test_a_loop_that_is_stopped_and_started_keeps_nodes_in_use_and_spares(site: Site):
    """fleeting-plugin-openstack 43: a restart of the service deleted all servers."""
    site.configure(labels={"medium": {"min-ready": 1}})
    known = {"nodepool_config": str(site.config), "nodepool_clouds_config": str(site.clouds_yaml)}
    requestor = site.requestor
    with LoopProcess(site.folder, {"playbook": "stackci.nodepool.launcher", "duration": 600}, known) as loop:
        first = loop.wait_serving()
        request = requestor.ask("small")
        requestor.wait_for(request, seconds=UP_SECONDS)
        (used,) = requestor.accept(request)
        eventually(lambda: sorted(node["state"] for node in requestor.nodes().values()) == ["in-use", "ready"], 40.0)
        before = {server["id"] for server in site.cloud.servers()}
        assert loop.end() == 0
        loop.start()
        loop.wait_serving(after=first)
        later = requestor.ask("medium")
        requestor.wait_for(later, seconds=UP_SECONDS)
        assert requestor.node(used)["state"] == "in-use"
        assert loop.end() == 0
    assert requestor.node(requestor.nodes_of(later)[0])["external_id"] in before
    assert (
        before <= {server["id"] for server in site.cloud.servers()} and site.cloud.calls("DELETE /servers/{id}") == []
    )
    assert not [line for line in loop.lines() if "Traceback" in line]
