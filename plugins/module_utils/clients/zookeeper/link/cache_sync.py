# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The synchronization of a tree with ZooKeeper: one walk at the beginning, then events."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

from . import paths
from .multi import TOGETHER, MultiRead
from .own_writes import Awaited, OwnWrites
from .tree import Entry, Tree
from .tree_client import (
    CREATED,
    DELETED,
    TreeClient,
)

try:
    from kazoo.exceptions import NoAuthError, NoNodeError
    from kazoo.protocol.serialization import GetChildren, GetData, Sync
    from kazoo.protocol.states import ZnodeStat
except ImportError:  # reported by client.require_kazoo
    NoAuthError = NoNodeError = Exception


def closed() -> Entry:
    """Return the entry of a document that this client may not read or change; its content is no JSON."""
    return Entry(b"?", ZnodeStat(*[-1] * len(ZnodeStat._fields)))


class _Part(NamedTuple):
    """The result of one of several reads in a request, in the form of a :class:`wire.Answer`."""

    value: Any
    exception: Exception | None


class CacheSync:
    """A feed that fills a new tree over a connected client and keeps it up to date.

    All of it happens in the connection's thread, where answers and events come in the order in which the
    server sent them; so an answer never restores a znode that an event has removed.

    :param before: the tree from before the reconnection: entries that have not changed since are not parsed again.
    :param notify: called with the path of each change after the walk.
    :param roots: the paths that are read and followed, with everything below them.
    :param locks: the paths of :data:`paths.LOCKED` that the walk reads with their locks.
    :param unreadable: called with each path that this client may not read.
    :param closed_before: the documents that are not used any more; those that vanish are taken out.
    """

    def __init__(
        self,
        client: TreeClient,
        before: Tree,
        notify: Callable[[str], None],
        roots: Iterable[str] = paths.DOCUMENT_ROOTS,
        locks: Iterable[str] = paths.LOCKED,
        unreadable: Callable[[str], None] = lambda _path: None,
        closed_before: set[str] | None = None,
    ) -> None:
        self.tree = Tree()
        self._closed = set() if closed_before is None else closed_before
        self._unreadable = unreadable
        self.problem: Exception | None = None
        self.own_writes = OwnWrites()
        self._client = client
        self._before = before
        self._notify = notify
        self._roots = tuple(roots)
        self._without_locks = frozenset(paths.LOCKED).difference(locks)
        # Requests are made with this prefix instead of client.absolute: names from the server need no check.
        self._chroot = client.absolute(paths.ROOT).removesuffix(paths.ROOT)
        self._open = 0
        self._next: list[tuple[Any, Callable[[Any], None]]] = []
        self._walked = threading.Event()
        self._reading: dict[str, bool] = {}

    def being_read(self, root: str) -> int:
        """Return the number of znodes below *root* that have changed and are being read; any thread may call it."""
        return sum(1 for path in list(self._reading) if paths.below(path, root))

    def start(self, *, watch: bool) -> None:
        """Begin the walk."""
        self._client.on_event = self.on_event
        if watch:
            self._client.watch_below(paths.ROOT, self._begin)
        else:
            self._client.submit(Sync(self._client.absolute("/")), self._begin)

    def wait(self, timeout: float) -> bool:
        """Wait for the end of the walk; True when it ended, False after *timeout*. ``problem`` says why it failed."""
        return self._walked.wait(timeout)

    def on_event(self, kind: int, path: str) -> None:
        """Handle the event of a change."""
        if not paths.is_cached(path, self._roots):
            return
        if kind == DELETED:
            self._closed.discard(path)
            self.tree.remove(path)
            self._changed(path)
            return
        if kind == CREATED and paths.is_lock(path):
            self.tree.touch(path)
        if not self.own_writes.is_ours(path):
            self._look(path)

    def answered(self, awaited: Awaited, written: Collection[str]) -> None:
        """Handle the answer to a write of this session.

        Called in the order of answers.

        :param written: the paths that the request has changed.
        """
        for path in self.own_writes.answered(awaited, written):
            self._look(path)

    def close(self, path: str) -> None:
        """Do not use a document any more."""
        self._closed.add(path)
        self.tree.carry(path, closed())
        self._changed(path)

    def _look(self, path: str) -> None:
        if paths.is_lock(path):
            self._changed(path)
        else:
            self._refresh(path)

    def _changed(self, path: str) -> None:
        if self._walked.is_set():
            self._notify(path)

    def _refresh(self, path: str) -> None:
        """Read *path*. Events that come before the answer cause together one more read."""
        if path in self._reading:
            self._reading[path] = True
            return
        self._reading[path] = False

        def answered(result: Any) -> None:
            again = self._reading.pop(path)
            if again and result.exception is None:
                self._refresh(path)
            if self._received(path, result):
                self._changed(path)

        self._client.submit(GetData(self._client.absolute(path), None), answered)

    def _received(self, path: str, result: Any) -> bool:
        """Store an answer; return True when it changed the tree."""
        if isinstance(result.exception, NoNodeError):
            self.tree.remove(path)
            return True
        if isinstance(result.exception, NoAuthError):
            # It counts as a document that exists and that nobody can use, not as a missing one.
            self._unreadable(path)
            self.tree.carry(path, closed())
            return True
        if result.exception is not None:
            return False  # the connection is gone: the next walk reads it
        if path in self._closed:
            self.tree.carry(path, closed())
            return True
        data, stat = result.value
        before = self._before.entry(path)
        if before is not None and before.stat.mzxid == stat.mzxid and self.tree.entry(path) is None:
            self.tree.carry(path, before)
            return True
        return self.tree.put(path, data, stat)

    # -- the walk -----------------------------------------------------------------------------------------------

    def _begin(self, result: Any) -> None:
        if result.exception is not None:
            self._fail(result.exception)
            return
        self._open += 1
        for root in self._roots:
            self._visit(root, paths.split(root)[0])
        self._send()
        self._close()

    def _visit(self, path: str, parent: str) -> None:
        def answered(result: Any) -> None:
            self._received(path, result)
            if result.exception is None:
                self._look_below(path, parent, result.value[1].numChildren)

        self._gather(GetData(self._chroot + path, None), answered)

    def _look_below(self, path: str, parent: str, children: int) -> None:
        if parent in self._without_locks:
            return
        if parent == paths.REQUESTS:
            # Locks outlive their requests by hours; only those of existing requests matter.
            self._list_lock(f"{paths.REQUEST_LOCKS}/{paths.split(path)[1]}")
        if parent == paths.NODES and children == 1:
            # The only child of a node is its lock, except in unusual trees. To list its name would cost one more read
            # for each node.
            self._list_lock(f"{path}/{paths.LOCK}", otherwise=path)
        elif children:
            self._list(path)

    def _list(self, path: str) -> None:
        """List and visit the children of *path*."""

        def answered(result: Any) -> None:
            for name in result.value if result.exception is None else ():
                child = f"{path}/{name}"
                if paths.is_lock(child):
                    self.tree.touch(child)
                    self._list_lock(child)
                else:
                    self._visit(child, path)

        self._gather(GetChildren(self._chroot + path, None), answered)

    def _list_lock(self, path: str, otherwise: str | None = None) -> None:
        """List the contenders of the lock *path*, or the children of *otherwise* where there is no such lock."""

        def answered(result: Any) -> None:
            if result.exception is None:
                self.tree.touch(path, result.value)
            elif otherwise is not None and isinstance(result.exception, NoNodeError):
                self._list(otherwise)

        self._gather(GetChildren(self._chroot + path, None), answered)

    def _gather(self, reading: Any, answered: Callable[[Any], None]) -> None:
        self._next.append((reading, answered))

    def _send(self) -> None:
        """Send the gathered reads."""
        gathered, self._next = self._next, []
        for begin in range(0, len(gathered), TOGETHER):
            self._read_together(gathered[begin : begin + TOGETHER])

    def _read_together(self, gathered: list[tuple[Any, Callable[[Any], None]]]) -> None:
        self._open += 1

        def answered(result: Any) -> None:
            if result.exception is None:
                for (reading, tell), value in zip(gathered, result.value, strict=True):
                    problem = value if isinstance(value, Exception) else None
                    path = reading.path.removeprefix(self._chroot)
                    denied = isinstance(problem, NoAuthError) and path not in self._roots
                    if problem is not None and not denied and not isinstance(problem, NoNodeError):
                        self._fail(problem)
                    if denied:
                        self._unreadable(path)  # any client may make such a znode: it stops nobody
                    tell(_Part(value, problem))
                self._send()
            self._close(result.exception)

        self._client.submit(MultiRead(tuple(reading for reading, _tell in gathered)), answered)

    def _close(self, problem: Exception | None = None) -> None:
        if problem is not None and not isinstance(problem, NoNodeError):
            self._fail(problem)
        self._open -= 1
        if self._open == 0:
            self._before = Tree()
            self._walked.set()

    def _fail(self, problem: Exception) -> None:
        self.problem = self.problem or problem
        self._walked.set()
