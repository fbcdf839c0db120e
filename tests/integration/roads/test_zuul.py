# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Somebody runs Zuul with Nodepool and has docs/migration.md and README: their playbooks, in the order of the pages."""

from __future__ import annotations

import getpass
import shlex
import uuid
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ansible_run import command
from tests.support.examples import lines_of
from tests.support.launcher_case import Cloud, Site, label, pool, provider
from tests.support.zookeeper_server import ZooKeeperServer

FILE = "/etc/nodepool/nodepool.yaml"
LOOKING, ADOPTING = (
    [line for line in lines_of("docs/migration.md") if line.startswith(f"ansible-playbook stackci.nodepool.{name}")]
    for name in ("launcher", "leak_cleanup")
)
SERVING = [line for line in lines_of("README.md") if "-e launcher_until=settled" in line]


@pytest.fixture
def site(zookeeper: ZooKeeperServer, guests: deque[Cloud], tmp_path: Path) -> Iterator[Site]:
    """A tree in which no launcher works, and an open request of Zuul in it."""
    made = Site(tmp_path, zookeeper, f"/zuul-{uuid.uuid4().hex}", None)
    cloud = made.use_cloud(guests.popleft())
    image = {"name": "debian-12", "username": getpass.getuser(), "connection-port": cloud.ssh_port()}
    offered = pool("main", label("debian-12", flavor_name="small"), host_key_checking=True)
    made.configure(provider("one", offered, cloud_images=[image]))
    yield made
    made.close()


def play(site: Site, line: str) -> str:
    """Run a line of a page with this site's file; what was on the screen."""
    given = f"-e nodepool_config={site.config}"
    line = line.replace(f"-e nodepool_config={FILE}", given).replace("-e nodepool_config=nodepool.yaml", given)
    program, *words = shlex.split(line.replace("…", given), comments=True)
    done = command(program, *words, "-e", f"nodepool_clouds_config={site.clouds_yaml}", folder=site.folder, timeout=180)
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_launcher_is_looked_at_first_and_then_serves_zuuls_request(site: Site) -> None:
    request = site.requestor.ask("debian-12")
    before = site.requestor.tree("/nodepool")
    assert LOOKING and ADOPTING and SERVING
    for line in LOOKING:
        assert "1 request" in play(site, line)
    assert "--check" in ADOPTING[0]
    play(site, ADOPTING[0])
    assert site.requestor.tree("/nodepool") == before and site.cloud.servers() == []
    for line in SERVING:
        play(site, line)
    nodes = site.requestor.accept(request)
    assert len(nodes) == 1 == len(site.cloud.servers())
    play(site, ADOPTING[1])
    assert len(site.cloud.servers()) == 1, "a node in use is no leak"
    site.requestor.give_back(*nodes)
    play(site, SERVING[0])
    assert site.cloud.servers() == [] and site.requestor.nodes() == {}
