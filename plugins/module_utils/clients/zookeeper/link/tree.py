# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cached tree as plain data: documents by path, names by parent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from sys import intern
from typing import Any, Protocol

from ....model.documents import parse, why_unreadable
from . import paths


class Stat(Protocol):
    """The fields of kazoo's stat of a znode that the collection uses."""

    @property
    def czxid(self) -> int:
        """The transaction that created the znode. These numbers give the order of events without any clock."""

    @property
    def mzxid(self) -> int:
        """The transaction that wrote the znode last."""

    @property
    def version(self) -> int:
        """The number of writes after the creation."""

    @property
    def ctime(self) -> int:
        """The time of the creation, in UNIX milliseconds by the clock of ZooKeeper."""

    @property
    def mtime(self) -> int:
        """The time of the last write, in UNIX milliseconds by the clock of ZooKeeper."""

    @property
    def numChildren(self) -> int:  # noqa: N802 (kazoo's name)
        """The number of children."""

    @property
    def cversion(self) -> int:
        """The number of creations and deletions of children."""


_UNPARSED = object()


class Entry:
    """One version of one znode. It is never changed, only replaced; its parsed form is kept with it.

    :ivar record: the last record that :mod:`.tree_reading` made of it; only that module uses it.
    """

    __slots__ = ("_document", "_parsed", "data", "record", "stat")

    def __init__(self, data: bytes, stat: Stat) -> None:
        self.data = data
        self.stat = stat
        self.record: Any = None
        self._parsed: Any = _UNPARSED
        self._document: tuple[Mapping[str, Any] | None, str | None] | None = None

    def parsed(self, parse: Callable[[str, bytes, int], Any], name: str) -> Any:
        """Return the result of *parse*, which is called only once. It belongs to the cache: hand out copies."""
        if self._parsed is _UNPARSED:
            self._parsed = parse(name, self.data, self.stat.version)
        return self._parsed

    def read(self) -> tuple[Mapping[str, Any] | None, str | None]:
        """Return the JSON object and None, or None and why there is none."""
        document = parse(self.data)
        return document, why_unreadable(self.data) if document is None else None

    def document(self) -> tuple[Mapping[str, Any] | None, str | None]:
        """Return the result of :meth:`read`, computed only once. It belongs to the cache."""
        if self._document is None:
            document, why = self.read()
            if document is not None:  # Thousands of documents share their keys, which are a third of their memory.
                document = {intern(key): value for key, value in document.items()}
            self._document = document, why
        return self._document


class Tree:
    """The cached tree. Thread-safe; one thread writes it, many read it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}
        self._names: dict[str, dict[str, None]] = {}
        self._followed: dict[str, set[str]] = {}
        self._counted: dict[str, dict[str, int]] = {}
        """Root → name → number of changes, for :meth:`changes`."""
        self._documents: dict[str, Sequence[tuple[str, Entry]]] = {}
        """Path → the result of :meth:`documents`, until a child is stored or removed."""

    def follow(self, root: str) -> None:
        """Collect the changes below *root* from now on, for one caller of :meth:`changed`."""
        with self._lock:
            self._followed.setdefault(root, set())

    def changed(self, root: str) -> set[str]:
        """Return the names below *root* with any change, including locks, since the last call."""
        with self._lock:
            changed, self._followed[root] = self._followed[root], set()
            return changed

    def changes(self, root: str, name: str) -> int:
        """Return a number that grows with any change at and below *root*/*name*, including locks.

        What is read afterwards is of this number or a later one: a change under way is waited for.
        """
        with self._lock:
            return self._counted.setdefault(root, {}).get(name, 0)

    def _mark(self, path: str) -> None:
        """Note a change of *path*. The caller holds the lock."""
        for root, counts in self._counted.items():
            if name := _name_below(root, path):
                counts[name] = counts.get(name, 0) + 1
        for root, changed in self._followed.items():
            if name := _name_below(root, path):
                changed.add(name)

    def entry(self, path: str) -> Entry | None:
        """Return the document at *path*."""
        return self._entries.get(path)

    def names(self, path: str) -> list[str]:
        """Return the names of all children of *path*, sorted."""
        with self._lock:
            return sorted(self._names.get(path, ()))

    def documents(self, path: str) -> Sequence[tuple[str, Entry]]:
        """Return the name and entry of each child of *path* that is not a lock, sorted by name.

        It is the same object as long as none of them changes, and belongs to the cache.
        """
        known = self._documents.get(path)
        if known is None:
            with self._lock:
                if path not in self._names:
                    return ()
                found = [(name, self._entries.get(f"{path}/{name}")) for name in sorted(self._names[path])]
                known = self._documents[path] = [(name, entry) for name, entry in found if entry is not None]
        return known

    def is_locked(self, lock_path: str) -> bool:
        """Return True when there are contenders in the lock directory."""
        if lock_path not in self._names:
            return False
        with self._lock:
            for name in self._names.get(lock_path, ()):
                if paths.CONTENDER in name:
                    return True
        return False

    def exists(self, path: str) -> bool:
        """Return True when there is a document or a lock at *path*."""
        parent, name = paths.split(path)
        with self._lock:
            return name in self._names.get(parent, ())

    def subtree(self, path: str) -> list[str]:
        """Return *path* and all known paths below it, children before their parents."""
        found = [path]
        for known in found:
            with self._lock:
                found.extend(f"{known}/{name}" for name in self._names.get(known, ()))
        return found[::-1]

    def put(self, path: str, data: bytes | None, stat: Stat) -> bool:
        """Store data that was read or written; return False when the tree has the same or a newer version."""
        before = self._entries.get(path)
        if before is not None and before.stat.mzxid >= stat.mzxid:
            return False
        self._store(path, Entry(data or b"", stat))
        return True

    def carry(self, path: str, entry: Entry) -> None:
        """Take over an entry of an older tree, with its parsed form."""
        self._store(path, entry)

    def _store(self, path: str, entry: Entry) -> None:
        parent, name = paths.split(path)
        with self._lock:
            self._entries[path] = entry
            self._documents.pop(parent, None)
            self._names.setdefault(parent, {})[name] = None
            self._mark(path)

    def touch(self, path: str, names: Iterable[str] = ()) -> None:
        """Store that *path*, which is not a document, exists, with children of these *names*."""
        parent, name = paths.split(path)
        with self._lock:
            self._names.setdefault(parent, {})[name] = None
            if names:
                self._names.setdefault(path, {}).update(dict.fromkeys(names))
            self._mark(path)

    def remove(self, path: str) -> None:
        """Forget *path*; ZooKeeper deletes children first, so there are none."""
        parent, name = paths.split(path)
        with self._lock:
            self._mark(path)
            self._entries.pop(path, None)
            self._documents.pop(path, None)
            self._documents.pop(parent, None)
            self._names.pop(path, None)
            siblings = self._names.get(parent)
            if siblings is not None:
                siblings.pop(name, None)
                if not siblings:
                    del self._names[parent]

    def content(self) -> tuple[dict[str, bytes], set[str]]:
        """Return the data of all documents by path, and the paths of all locks."""
        entries, locks = self.entries()
        return {path: entry.data for path, entry in entries.items()}, locks

    def entries(self) -> tuple[dict[str, Entry], set[str]]:
        """Return all documents by path, and the paths of all locks and their contenders."""
        with self._lock:
            entries = dict(self._entries)
            known = {f"{parent}/{name}" for parent, names in self._names.items() for name in names}
        return entries, known - entries.keys()


def _name_below(root: str, path: str) -> str:
    """Return the first name of *path* below *root*; "" if it is not below it."""
    if path.startswith(root) and path[len(root) : len(root) + 1] == "/":
        return path[len(root) + 1 :].partition("/")[0]
    return ""
