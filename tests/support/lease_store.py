# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree in memory with the verbs of the store that a lease uses, which can be killed between any two changes.

Only for properties over thousands of kill points; the same machine runs against a real ZooKeeper in the integration
tests.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest


class Killed(BaseException):
    """The process that works on the tree ends here."""


class _Held:
    def __init__(self, locks: set[str], path: str) -> None:
        self._locks = locks
        self._path = path
        self.valid = True

    def release(self) -> None:
        self._locks.discard(self._path)


class _Entities:
    def __init__(self, tree: MemoryStore, kind: str) -> None:
        self._tree = tree
        self._kind = kind
        self.items: dict[str, Any] = {}
        self._next = 0

    def list(self) -> list[Any]:
        return [item.clone() for item in self.items.values()]

    def get(self, key: str) -> Any:
        found = self.items.get(key)
        return found.clone() if found else None

    read = get

    def written(self, key: str) -> float | None:
        return self._tree.written.get(key)

    def create(self, item: Any, *, priority: int = 100, ephemeral: bool = False) -> None:
        self._tree.count("create " + self._kind)
        item.id = f"{priority:03d}-{self._next:010d}" if self._kind == "request" else f"{self._next:010d}"
        self._next += 1
        self.items[item.id] = item.clone()
        self._tree.count("created " + self._kind)

    def write(self, item: Any) -> None:
        self._tree.count("write " + self._kind)
        assert item.id in self.items
        if self._kind == "node":
            assert f"node/{item.id}" in self._tree.locks, "a node is written by who holds its lock"
        self.items[item.id] = item.clone()
        self._tree.count("written " + self._kind)

    def delete(self, key: str) -> None:
        self._tree.count("delete " + self._kind)
        self.items.pop(key, None)
        self._tree.count("deleted " + self._kind)

    def lock(self, key: str) -> _Held | None:
        path = f"{self._kind}/{key}"
        if path in self._tree.locks or key not in self.items:
            return None
        self._tree.locks.add(path)
        return _Held(self._tree.locks, path)


class _Own:
    def __init__(self, tree: MemoryStore) -> None:
        self._tree = tree
        self.documents: dict[str, dict[str, Any]] = {}

    def get(self, path: str) -> dict[str, Any] | None:
        return self.documents.get(path)

    read = get

    def children(self, folder: str) -> list[str]:
        return sorted(path.removeprefix(f"{folder}/") for path in self.documents if path.startswith(f"{folder}/"))

    def put(self, path: str, document: dict[str, Any]) -> None:
        self._tree.count("put")
        self.documents[path] = document
        self._tree.count("have put")

    def create_once(self, path: str, document: dict[str, Any]) -> dict[str, Any]:
        if path not in self.documents:
            self.put(path, document)
        return self.documents[path]

    def server_time(self, _folder: str) -> float:
        return self._tree.server_time

    def delete(self, path: str) -> None:
        self._tree.count("delete own")
        self.documents.pop(path, None)
        self._tree.count("deleted own")

    def lock(self, path: str) -> _Held | None:
        if path in self._tree.locks:
            return None
        self._tree.locks.add(path)
        return _Held(self._tree.locks, path)


class MemoryStore:
    """Raises Killed at the change of number *kill_at*; a kill releases all locks, as the end of a session does."""

    def __init__(self) -> None:
        self.nodes = _Entities(self, "node")
        self.requests = _Entities(self, "request")
        self.own = _Own(self)
        self.components = SimpleNamespace(pools=list)
        self.locks: set[str] = set()
        self.written: dict[str, float] = {}
        """Node → when its record was written, by ZooKeeper's clock."""
        self.server_time = 1000.0
        self.kill_at: int | None = None
        self.changes = 0
        self.seen: Callable[[], None] = lambda: None

    def count(self, what: str) -> None:
        """Called before and after each change."""
        self.seen()
        self.changes += 1
        if self.kill_at is not None and self.changes >= self.kill_at:
            self.kill_at = None
            self.locks.clear()
            raise Killed(what)

    def add_node(self, **values: Any) -> Node:
        node = Node(**values)
        node.id = f"{self.nodes._next:010d}"
        self.nodes._next += 1
        self.nodes.items[node.id] = node
        return node

    def all_requests(self) -> list[NodeRequest]:
        return list(self.requests.items.values())
