# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One ZooKeeper and one process of simulated clouds for all tests; two fresh clouds and a builder's host for each."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.builder_playbooks import BuilderHost
from tests.support.fixtures_zookeeper import zookeeper
from tests.support.launcher_case import CloudBank, Site
from tests.support.zookeeper_server import ZooKeeperServer

__all__ = ["zookeeper"]


@pytest.fixture(scope="session")
def bank() -> Iterator[CloudBank]:
    with CloudBank() as made:
        yield made


@pytest.fixture
def host(zookeeper: ZooKeeperServer, bank: CloudBank, tmp_path: Path) -> Iterator[BuilderHost]:
    """Cloud ``one`` takes qcow2, cloud ``two`` takes raw."""
    site = Site(tmp_path, zookeeper, f"/test-{uuid.uuid4().hex}", bank)
    made = BuilderHost(site)
    made.cloud("one", "qcow2")
    made.cloud("two", "raw")
    yield made
    site.close()
