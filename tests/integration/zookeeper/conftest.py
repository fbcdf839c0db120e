# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A ZooKeeper of their own: some count all its watches and reads, or pause it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fixtures_zookeeper import store, zk_chroot, zk_client
from tests.support.shared_servers import TICK_MS
from tests.support.zookeeper_server import ZooKeeperServer

__all__ = ["store", "zk_chroot", "zk_client"]


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[ZooKeeperServer]:
    with ZooKeeperServer(tick_ms=TICK_MS) as server:
        yield server
