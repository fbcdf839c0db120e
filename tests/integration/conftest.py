# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all tests share: one ZooKeeper, for each worker the processes of simulated clouds; and their order."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.collected import pytest_collection_finish
from tests.support.fixtures_zookeeper import store, zk_chroot, zk_client, zookeeper
from tests.support.launcher_case import CloudBank, Site
from tests.support.reserves import pytest_runtest_protocol
from tests.support.shared_servers import shared_servers
from tests.support.tarball import shared, tarball
from tests.support.zookeeper_server import ZooKeeperServer

__all__ = [
    "bank",
    "pytest_collection_finish",
    "pytest_runtest_protocol",
    "shared",
    "site",
    "store",
    "tarball",
    "zk_chroot",
    "zk_client",
    "zookeeper",
]


@pytest.fixture(scope="session")
def bank() -> Iterator[CloudBank]:
    with CloudBank() as made:
        yield made


@pytest.fixture
def site(zookeeper: ZooKeeperServer, bank: CloudBank, tmp_path: Path) -> Iterator[Site]:
    """The world of a test: a tree and clouds of its own. Some folders have another one."""
    made = Site(tmp_path, zookeeper, f"/test-{uuid.uuid4().hex}", bank)
    yield made
    made.close()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """In the controlling process, before the workers are started."""
    stack = contextlib.ExitStack()
    stack.enter_context(shared_servers())
    config.add_cleanup(stack.close)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Have the long ones begin first, spread over the workers.

    ``--dist worksteal`` cuts the list into one piece for each worker, and who has nothing left takes from the end of
    another's piece: what stands at the beginning of one is not taken away and begins at once.
    """
    long = [item for item in items if item.get_closest_marker("long")]
    rest = [item for item in items if not item.get_closest_marker("long")]
    workers = int(getattr(config, "workerinput", {}).get("workercount", 1))
    left = len(items)
    items.clear()
    for number in range(workers):
        begun = long[number::workers]
        size = left // (workers - number)
        left -= size
        taken = max(size - len(begun), 0)
        items += begun + rest[:taken]
        rest = rest[taken:]
    items += rest
