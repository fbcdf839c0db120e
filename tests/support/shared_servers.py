# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all workers of a test run use together: ZooKeeper, and the processes from which others are forked.

These are modules, commands and simulated clouds. Each takes a second of CPU to start, and Java another few until it is
warm. pytest's controlling process starts them before its workers, which learn of them by a variable of their
environment.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.ansible_run import BEGUN, COLLECTIONS, ROOT, ModuleServer, begun, environment
from tests.support.warm_ansible import WarmAnsible
from tests.support.warm_python import WarmServer
from tests.support.zookeeper_server import ZooKeeperMissing, ZooKeeperServer

TICK_MS = 100
HEAP_MIB = 768
"""For the trees of all tests of a run, which nobody deletes."""


@contextlib.contextmanager
def shared_servers() -> Iterator[None]:
    """Start them for the processes that this one starts; they need not be ready when it goes on."""
    with contextlib.ExitStack() as stack:
        ansible, modules = WarmAnsible(environment(ROOT), COLLECTIONS), ModuleServer()
        clouds = WarmServer(["tests.simcloud.__main__"], os.environ)
        for warm in (ansible, modules, clouds):
            stack.callback(warm.close)
        told: dict[str, Any] = {"ansible": ansible.addresses, "modules": modules.address, "clouds": clouds.address}
        # The test that needs ZooKeeper says what is missing.
        with contextlib.suppress(ZooKeeperMissing):
            server = ZooKeeperServer(tick_ms=TICK_MS, heap_mib=HEAP_MIB, leaves_archive=True)
            stack.callback(server.close)
            server.spawn()
            told["zookeeper"] = [server.port, str(server.directory)]
        os.environ[BEGUN] = json.dumps(told)
        stack.callback(os.environ.pop, BEGUN)
        yield


def shared_zookeeper() -> ZooKeeperServer | None:
    """The server that another process has started for this one, which cannot be stopped or paused here."""
    if "zookeeper" not in (known := begun()):
        return None
    port, directory = known["zookeeper"]
    return ZooKeeperServer(tick_ms=TICK_MS, port=port, data_dir=Path(directory))
