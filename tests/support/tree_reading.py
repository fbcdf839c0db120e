# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a read of the tree brings, without a ZooKeeper."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.tree import Tree
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.tree_reading import TreeReading
from tests.support import populated_tree

NOW = 1_795_198_332.0


@dataclass(frozen=True)
class Written:
    """The stat of a znode."""

    mzxid: int
    czxid: int = 1
    version: int = 0
    mtime: int = int(NOW * 1000)
    ctime: int = int(NOW * 1000)
    numChildren: int = 0  # noqa: N815 (kazoo's name)
    cversion: int = 0


def tree_of(documents: Mapping[str, Any], locks: Iterable[str] = ()) -> Tree:
    """A tree in which there is exactly this; bytes are taken as they are."""
    tree = Tree()
    for number, (path, document) in enumerate(documents.items(), start=1):
        parent = paths.split(path)[0]
        while parent.startswith(f"{paths.ROOT}/") and tree.entry(parent) is None:
            tree.put(parent, b"", Written(number))
            parent = paths.split(parent)[0]
        data = document if isinstance(document, bytes) else json.dumps(document).encode()
        tree.put(path, data, Written(number + len(documents)))
    for lock in locks:
        tree.touch(lock)
    return tree


def reading_of(documents: Mapping[str, Any], locks: Iterable[str] = ()) -> TreeReading:
    """A reading of that tree."""
    return TreeReading(tree_of(documents, locks))


def populated() -> TreeReading:
    """The tree of :mod:`populated_tree`."""
    return reading_of(populated_tree.documents(NOW), populated_tree.locks())
