# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nodes and requests have in common: documents in a directory, each with a lock."""

from __future__ import annotations

import builtins
from functools import partial
from typing import ClassVar, Generic, TypeVar

from ...model.documents import (
    StatefulDocument,
    why_unreadable,
)
from . import paths
from .batch import Batch
from .locks import Held, Turn, claim, holder, queue
from .session import Session
from .tree import Entry, Stat
from .view import View

R = TypeVar("R", bound=StatefulDocument)


class Records(Generic[R]):
    """The documents in one directory."""

    ROOT: ClassVar[str]
    LOCK_ROOT: ClassVar[str] = ""
    """Where the locks are, unless it is below ``ROOT``."""
    KIND: type[R]

    def __init__(self, session: Session) -> None:
        self._session = session
        self._view: View[R] | None = None

    def list(self) -> builtins.list[R]:
        """All records, from the cache; each object is the caller's own. Znodes without a JSON object are left out."""
        records = []
        for name, entry in self._session.tree.documents(self.ROOT):
            record = self._parsed(entry, name)
            if record is not None:
                records.append(record.clone())
        return records

    def view(self) -> View[R]:
        """All records without a copy of each, and what has changed from one look to the next.

        All callers share one: the first caller after a change is told of it.
        """
        if self._view is None:
            self._view = View(self._session, self.ROOT, self.LOCK_ROOT or self.ROOT, self._lock_path, self._parsed)
        return self._view

    def _parsed(self, entry: Entry, record_id: str) -> R | None:
        record: R | None = entry.parsed(self._parse, record_id)
        if record is None and entry.data:
            self._session.unusable.add(self._path(record_id), why_unreadable(entry.data) or "it cannot be read")
        elif record is not None and record.broken:
            self._session.unusable.add(self._path(record_id), record.lack())
        return record

    def ids(self) -> builtins.list[str]:
        """The ids of all znodes, parseable or not, from the cache, in order."""
        return sorted(name for name, _entry in self._session.tree.documents(self.ROOT))

    def get(self, record_id: str) -> R | None:
        """One record from the cache; the object is the caller's own."""
        entry = self._session.tree.entry(self._path(record_id))
        record = self._parsed(entry, record_id) if entry else None
        return record.clone() if record else None

    def read(self, record_id: str) -> R | None:
        """One record fresh from ZooKeeper; None when it is gone or holds no JSON object."""
        found = self._session.read(self._path(record_id))
        return self.KIND.from_bytes(record_id, found[0], found[1].version) if found else None

    def write(
        self, record: R, *, held: Held | None = None, if_unchanged: bool = False, batch: Batch | None = None
    ) -> None:
        """Replace the whole document, unknown keys included; the cache knows it at once. Sets ``record.version``.

        :param held: the lock that allows it; the write happens in the session that took it or not at all.
        :param if_unchanged: write only when the znode still has ``record.version``.
        :param batch: write it together with these changes, when they are sent.
        :raises StoreGone: the record was deleted.
        :raises StoreConflict: another client has written it since (with *if_unchanged*).
        """
        version = record.version if if_unchanged else -1
        path = self._path(record.id)
        client = held.client if held else None
        if batch is not None:
            if client is not None:
                batch.use(client)
            batch.write(path, record.to_bytes(), version, then=partial(_written, record))
            return
        record.version = self._session.write(path, record.to_bytes(), version, client=client).version

    def delete(self, record_id: str) -> None:
        """Delete the record and all below it; one that is absent is fine."""
        self._session.delete(self._path(record_id))

    def remove(self, record_id: str, held: Held, batch: Batch) -> None:
        """Delete the record and all below it, its lock too, together with these changes.

        The batch is refused where the cache was behind; :meth:`delete` then does it.
        """
        for path in self._session.tree.subtree(self._path(record_id)):
            if path == held.contender:
                held.release(batch)
            else:
                batch.remove(path)

    def lock(self, record_id: str) -> Held | None:
        """Take the lock without waiting; None when it is held or the record is gone."""
        raise NotImplementedError

    def claim(self, record_id: str, batch: Batch) -> Held | None:
        """Take the lock of a record together with *batch*; see :func:`locks.claim`."""
        return claim(self._session, self._lock_path(record_id), batch)

    def is_locked(self, record_id: str) -> bool:
        """True when the lock has contenders, from the cache."""
        return self._session.tree.is_locked(self._lock_path(record_id))

    def queue(self, record_id: str) -> Turn | None:
        """Queue for the lock; None when the record is gone."""
        return queue(self._session, self._lock_path(record_id))

    def holder(self, record_id: str) -> str | None:
        """What the client that holds the lock wrote into it, fresh ("" is usual); None when the lock is free."""
        return holder(self._session, self._lock_path(record_id))

    def exists(self, record_id: str) -> bool:
        """True when there is a znode, whatever it holds; fresh from ZooKeeper."""
        return self._session.read(self._path(record_id)) is not None

    def given_out(self) -> int:
        """How many ids ZooKeeper has given out here, fresh: all smaller numbers were there at some time.

        ``cversion`` counts what was created and what was deleted (``DataNode.copyStat`` of ZooKeeper).
        """
        found = self._session.read(self.ROOT)
        return (found[1].cversion + found[1].numChildren) // 2 if found else 0

    def empty(self) -> builtins.list[str]:
        """Ids of znodes without data: what remains after a client locked a deleted record."""
        return [name for name, entry in self._session.tree.documents(self.ROOT) if not entry.data]

    def _parse(self, record_id: str, data: bytes, version: int) -> R | None:
        return self.KIND.from_bytes(record_id, data, version)

    def _path(self, record_id: str) -> str:
        return f"{self.ROOT}/{record_id}"

    def _lock_path(self, record_id: str) -> str:
        return f"{self.ROOT}/{record_id}/{paths.LOCK}"


def _written(record: StatefulDocument, _path: str, stat: Stat | None) -> None:
    record.version = stat.version if stat is not None else -1
