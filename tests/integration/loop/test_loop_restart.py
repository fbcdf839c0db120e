# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loop is stopped and started while nodes are in use and spares wait, and started before ZooKeeper."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import CloudBank, Site
from tests.support.launcher_requestor import Requestor
from tests.support.loop_process import UP_SECONDS, LoopProcess
from tests.support.zookeeper_server import ZooKeeperServer

pytestmark = pytest.mark.timeout(240)


def loop_of(site: Site, **changes: object) -> LoopProcess:
    """The launcher's loop on a test's site; what its processes are is for other tests."""
    known = {"nodepool_config": str(site.config), "nodepool_clouds_config": str(site.clouds_yaml)}
    return LoopProcess(
        site.folder, {"playbook": "stackci.nodepool.launcher", "duration": 600, **changes}, known, forked=True
    )


def test_a_loop_that_is_stopped_and_started_keeps_nodes_in_use_and_spares(site: Site):
    """fleeting-plugin-openstack 43: a restart of the service deleted all servers."""
    site.configure(labels={"medium": {"min-ready": 1}})
    requestor = site.requestor
    with loop_of(site) as loop:
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


def test_a_loop_that_is_started_before_zookeeper_serves_when_it_is_there(bank: CloudBank, tmp_path: Path):
    """As after a power failure."""
    chroot = f"/test-{uuid.uuid4().hex}"
    with ZooKeeperServer(tick_ms=100) as server:
        site = Site(tmp_path, server, chroot, bank)
        site.configure()
        server.stop()
        with loop_of(site, first_pause=1, longest_pause=1) as loop:
            eventually(lambda: [line for line in loop.lines() if "cycle 1 failed" in line], UP_SECONDS)
            server.start()
            loop.wait_serving()
            requestor = Requestor(server, chroot)  # the session of the other one may be over
            requestor.wait_for(requestor.ask("small"), seconds=UP_SECONDS)
            requestor.close()
            assert loop.end() == 0
        assert "Traceback" not in "".join(loop.lines())
        site.close()
