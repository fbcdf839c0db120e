# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An ensemble of three loses its leader while the launcher creates, waits for boots and deletes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import CloudBank, Site
from tests.support.zookeeper_ensemble import ZooKeeperEnsemble
from tests.support.zookeeper_server import HOST

NUMBER = 6


@pytest.fixture
def ensemble() -> Iterator[ZooKeeperEnsemble]:
    with ZooKeeperEnsemble() as made:
        yield made


@pytest.fixture
def site(ensemble: ZooKeeperEnsemble, bank: CloudBank, tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path, ensemble, f"/test-{uuid.uuid4().hex}", bank)  # type: ignore[arg-type]
    yield made
    made.close()


def lose_the_leader(ensemble: ZooKeeperEnsemble, site: Site) -> None:
    """Kill it; return when another one leads and the requestor is connected again. The dead one comes back."""
    eventually(lambda: ensemble.leader is not None)
    dead = ensemble.leader
    dead.kill()
    eventually(lambda: ensemble.leader is not None, 30)
    eventually(lambda: site.requestor.client.connected, 30)
    dead.start()


def test_the_leader_is_lost_while_nodes_boot_and_while_they_are_deleted(ensemble: ZooKeeperEnsemble, site: Site):
    servers = [{"host": HOST, "port": member.port, "chroot": site.chroot} for member in ensemble.members]
    site.configure(zookeeper_servers=servers)
    site.cloud.settings(boot=2.0, delete=1.0)
    site.cloud.quota(instances=100)
    requestor = site.requestor
    with site.stay() as cycle:
        eventually(cycle.acts)
        requests = [requestor.ask("small") for _unused in range(NUMBER)]
        eventually(site.cloud.servers)
        lose_the_leader(ensemble, site)
        for request in requests:
            requestor.wait_for(request, seconds=60)
        # None was thrown away or made twice.
        assert len(site.cloud.servers()) == len(site.cloud.calls("POST /servers")) == NUMBER
        nodes = [node for request in requests for node in requestor.accept(request)]
        requestor.give_back(*nodes)
        eventually(lambda: site.cloud.calls("DELETE /servers/{id}"))
        lose_the_leader(ensemble, site)
        eventually(lambda: requestor.nodes() == {}, 60)
        assert cycle.running
        last = requestor.ask("small")
        requestor.wait_for(last, seconds=30)
        result = cycle.end()
    assert len(site.cloud.servers()) == 1
    assert result["requests"]["failed"] == []
