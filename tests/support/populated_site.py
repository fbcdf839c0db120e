# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules that act on a tree with something of every kind in it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import ZooKeeperSettings
from tests.support.ansible_run import Ran, run_alone
from tests.support.populated_tree import populate

LABEL = {"name": "small", "diskimage": "debian", "min-ram": 2048}
WEST = {
    "name": "west",
    "cloud": "west",
    "diskimages": [{"name": "debian"}],
    "pools": [{"name": "main", "max-servers": 4, "labels": [LABEL]}],
}


class PopulatedSite:
    """A configuration that leads to a tree.

    :param client: a kazoo client in the chroot of *settings*.
    """

    def __init__(self, folder: Path, settings: ZooKeeperSettings, client: Any) -> None:
        server = settings.servers[0]
        self.folder, self.client = folder, client
        self.document: dict[str, Any] = {
            "zookeeper-servers": [{"host": server.host, "port": server.port, "chroot": server.chroot}],
            "images-dir": str(folder / "images"),
            "labels": [{"name": "small"}],
            "diskimages": [{"name": "debian"}],
            "providers": [WEST],
        }

    def fill(self) -> None:
        """Make the tree."""
        populate(self.put, time.time())

    def put(self, path: str, data: bytes) -> None:
        """Make a znode, or fill one that was made as a parent."""
        if self.client.exists(path):
            self.client.set(path, data)
        else:
            self.client.create(path, data, makepath=True)

    def run(
        self,
        module: str,
        runner: Callable[..., Ran] = run_alone,
        *,
        check: bool = False,
        diff: bool = False,
        **options: Any,
    ) -> dict[str, Any]:
        """What the module returns."""
        (self.folder / "nodepool.yaml").write_text(json.dumps(self.document), "utf-8")
        given = {"config": "nodepool.yaml", **options}
        return runner(module, given, self.folder, check=check, diff=diff).result

    def tree(self, path: str = "/nodepool") -> dict[str, bytes]:
        """Every znode with its data; the sessions of others have ended."""
        if not self.client.exists(path):
            return {}
        found = {path: self.client.get(path)[0]}
        for name in self.client.get_children(path):
            found |= self.tree(f"{path}/{name}")
        return found
