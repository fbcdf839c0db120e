# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes that ZooKeeper makes together or not at all, in one round trip. The caller may wait for the answer later."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ....model.errors import StoreConflict, StoreError, StoreGone
from . import paths
from .multi import Multi, failure
from .session import Session
from .store_answers import StoreAnswer, translated
from .tree import Stat
from .tree_client import TreeClient

try:
    from kazoo.protocol.serialization import Create2, Delete, SetData
except ImportError:  # reported by client.require_kazoo
    Create2 = Delete = SetData = object

_EPHEMERAL, _SEQUENCE = 1, 2

Then = Callable[[str, "Stat | None"], None]


class Batch:
    """A list of changes that :meth:`send` sends. ZooKeeper makes them in the order in which they were added.

    :param client: the only session that may send them; None for the present session.
    """

    def __init__(self, session: Session, client: TreeClient | None = None) -> None:
        self._session = session
        self._using = client
        self._operations: list[Any] = []
        self.paths: list[str] = []
        self.then: list[Then | None] = []
        self.made: list[tuple[str, Stat | None]] = []
        self.unknown: list[Callable[[], None]] = []
        self._known: dict[str, set[str] | None] = {}
        """Of each parent of a sequence: the children that were there when the answer was lost."""

    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequence: bool = False, then: Then | None = None
    ) -> None:
        """Add the creation of a znode. Its parent must exist.

        :param then: called with the path and stat of the znode by the thread that waits for the answer.
        """
        flags = _EPHEMERAL * ephemeral | _SEQUENCE * sequence
        self._add(Create2(self._client.absolute(path), data, self._session.access.of(path), flags), path, then)
        if sequence and data:
            parent = paths.split(path)[0]
            self._known[parent] = None
            self.if_unknown(lambda: self._session.undo_creation(path, data, self._known[parent]))

    def write(self, path: str, data: bytes, version: int = -1, *, then: Then | None = None) -> None:
        """Add the replacement of a znode's data; *version* is that of :meth:`Session.write`."""
        self._add(SetData(self._client.absolute(path), data, version), path, then)

    def remove(self, path: str, version: int = -1, *, then: Then | None = None) -> None:
        """Add the deletion of a znode without children; *version* is that of :meth:`Session.write`."""
        self._add(Delete(self._client.absolute(path), version), path, then)

    def copy(self) -> Batch:
        """Return a new batch that begins with these changes."""
        twin = Batch(self._session, self._using)
        twin._operations, twin.paths, twin.then = list(self._operations), list(self.paths), list(self.then)
        twin.unknown = list(self.unknown)
        return twin

    def if_unknown(self, call: Callable[[], None]) -> None:
        """Have *call* called when it is unknown whether ZooKeeper made the changes."""
        self.unknown.append(call)

    def use(self, client: TreeClient) -> None:
        """Bind all changes to one session.

        :raises StoreError: the batch is bound to another session already.
        """
        self._using = self._using or client
        if self._using is not client:
            raise StoreError(f"{self._path} cannot be changed: the ZooKeeper session that held its lock is gone")

    def send(self) -> Sent:
        """Send the changes without waiting for the answer.

        :raises StoreError: there is no connection, or the session of the batch is gone; nothing was sent.
        """
        client = self._session.writer(self._path, self._client)
        request, lost = Multi(tuple(self._operations)), self._lose if self._known else None
        answer = self._session.submit(request, client=client, apply=self._learn, lost=lost)
        return Sent(self, answer, self._session.timeout)

    def send_later(self) -> None:
        """Send the changes, and leave the wait for the answer to :meth:`Session.catch_up`.

        This is for changes that are read only after a crash.
        """
        if self._operations:
            self._session.owe(self.send())

    def commit(self) -> None:
        """Send the changes and wait for the answer.

        :raises StoreGone, StoreConflict: ZooKeeper refused one of the changes and made none.
        """
        if self._operations:
            self.send().wait()

    @property
    def _client(self) -> TreeClient:
        if self._using is None:
            self._using = self._session.writer(self._path)
        return self._using

    @property
    def _path(self) -> str:
        return self.paths[0] if self.paths else "/nodepool"

    def _add(self, operation: Any, path: str, then: Then | None) -> None:
        self._operations.append(operation)
        self.paths.append(path)
        self.then.append(then)

    def _lose(self) -> None:
        """In the connection's thread: who waits for the answer may look when the tree has been read again."""
        for parent in self._known:
            self._known[parent] = set(self._session.tree.names(parent))

    def _learn(self, results: list[Any]) -> None:
        """Store the written documents in the cache; called in the connection's thread, before any other callback."""
        client = self._client
        if failure(results) is not None:
            return
        for operation, result in zip(self._operations, results, strict=True):
            if isinstance(operation, Create2):
                path, stat = client.unchroot(result[0]), result[1]
            else:
                path, stat = client.unchroot(operation.path), None if isinstance(operation, Delete) else result
            if stat is not None:
                self._session.written(path, operation.data, stat, client)
            self.made.append((path, stat))


class Sent:
    """A batch that was sent.

    The holder of a lock keeps this object as long as the lock. So, once the outcome is known, the object keeps neither
    the documents that were written nor the answer.
    """

    def __init__(self, batch: Batch, answer: StoreAnswer, timeout: float) -> None:
        self._pending: tuple[Batch, StoreAnswer] | None = (batch, answer)
        self._until = time.monotonic() + timeout
        self._error: StoreError | None = None

    @property
    def there(self) -> bool:
        """True when the answer has arrived."""
        return self._pending is None or self._pending[1].there

    def wait(self) -> None:
        """Wait for the answer.

        :raises StoreGone, StoreConflict: ZooKeeper refused one of the changes and made none.
        :raises StoreError: it is unknown whether ZooKeeper made the changes; those that can be undone will be.
        """
        if self._pending is not None:
            pending, self._pending = self._pending, None
            self._error = _outcome(*pending, max(0.0, self._until - time.monotonic()))
        if self._error is not None:
            raise self._error

    def refused(self) -> StoreError | None:
        """Wait for the answer; return why ZooKeeper made none of the changes, or None when it made all.

        :raises StoreError: it is unknown whether ZooKeeper made the changes.
        """
        try:
            self.wait()
        except (StoreGone, StoreConflict) as problem:
            return problem
        return None


def _outcome(batch: Batch, answer: StoreAnswer, seconds: float) -> StoreError | None:
    try:
        results = answer.wait(seconds)
    except Exception as problem:
        for call in batch.unknown:
            call()
        return translated(problem, batch.paths[0], "change")
    wrong = failure(results)
    if wrong is not None:
        return translated(wrong[1], batch.paths[wrong[0]], "change")
    for then, (path, stat) in zip(batch.then, batch.made, strict=True):
        if then is not None:
            then(path, stat)
    return None
