# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The common base of nodes and requests: documents in a directory, each with a lock."""

from __future__ import annotations

import builtins
from functools import partial
from typing import ClassVar, Generic, TypeVar

from ...model.documents import (
    StatefulDocument,
    why_unreadable,
)
from .link import paths
from .link.batch import Batch
from .link.session import Session
from .link.tree import Entry, Stat
from .locks import Held, Turn, claim, holder, queue
from .record_view import View

R = TypeVar("R", bound=StatefulDocument)


class Records(Generic[R]):
    """The documents in one directory."""

    ROOT: ClassVar[str]
    LOCK_ROOT: ClassVar[str] = ""
    """The directory of the locks, when they are not below ``ROOT``."""
    KIND: type[R]

    def __init__(self, session: Session) -> None:
        self._session = session
        self._view: View[R] | None = None

    def list(self) -> builtins.list[R]:
        """Return copies of all records, from the cache. Znodes without a JSON object are left out."""
        records = []
        for name, entry in self._session.tree.documents(self.ROOT):
            record = self._parsed(entry, name)
            if record is not None:
                records.append(record.clone())
        return records

    def view(self) -> View[R]:
        """Return the view of all records, which makes no copies and tells what has changed since its last refresh.

        All callers share one view: only the first one that refreshes it after a change gets the change.
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
        elif record is not None and record.remark:
            self._session.unusable.remark(self._path(record_id), record.remark)
        return record

    def ids(self) -> builtins.list[str]:
        """Return the ids of all znodes, parseable or not, from the cache, in order."""
        return sorted(name for name, _entry in self._session.tree.documents(self.ROOT))

    def get(self, record_id: str) -> R | None:
        """Return a copy of one record from the cache; None when there is none."""
        entry = self._session.tree.entry(self._path(record_id))
        record = self._parsed(entry, record_id) if entry else None
        return record.clone() if record else None

    def written(self, record_id: str) -> float | None:
        """Return the time of the record's last write (UNIX seconds, ZooKeeper's clock); None when there is none."""
        entry = self._session.tree.entry(self._path(record_id))
        return entry.stat.mtime / 1000.0 if entry is not None else None

    def read(self, record_id: str) -> R | None:
        """Return one record fresh from ZooKeeper; None when it is gone or holds no JSON object."""
        entry = self._session.read_entry(self._path(record_id))
        record: R | None = entry.parsed(self._parse, record_id) if entry else None
        return record.clone() if record else None

    def write(
        self, record: R, *, held: Held | None = None, if_unchanged: bool = False, batch: Batch | None = None
    ) -> None:
        """Replace the whole document, including unknown keys. Sets ``record.version``, and updates the cache.

        :param held: the lock that allows the write; it happens in the session that took the lock, or not at all.
        :param if_unchanged: write only when the znode still has ``record.version``.
        :param batch: add the write to this batch instead.
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
        """Delete the record and all below it. It is not an error when it does not exist."""
        self._session.delete(self._path(record_id))

    def remove(self, record_id: str, held: Held, batch: Batch) -> None:
        """Add to *batch* the deletion of the record and all below it, including its lock.

        ZooKeeper refuses the batch when the cache was behind; :meth:`delete` works then.
        """
        for path in self._session.tree.subtree(self._path(record_id)):
            if path == held.contender:
                held.release(batch)
            else:
                batch.remove(path)

    def lock(self, record_id: str) -> Held | None:
        """Take the lock without waiting; return None when it is held or the record is gone."""
        raise NotImplementedError

    def claim(self, record_id: str, batch: Batch) -> Held | None:
        """Take the lock of a record together with *batch*; see :func:`locks.claim`."""
        return claim(self._session, self._lock_path(record_id), batch)

    def is_locked(self, record_id: str) -> bool:
        """Return True when the lock has contenders, from the cache."""
        return self._session.tree.is_locked(self._lock_path(record_id))

    def queue(self, record_id: str) -> Turn | None:
        """Queue for the lock; return None when the record is gone."""
        return queue(self._session, self._lock_path(record_id))

    def holder(self, record_id: str) -> str | None:
        """Return, fresh, the data that the lock's holder wrote into it ("" is usual); None when the lock is free."""
        return holder(self._session, self._lock_path(record_id))

    def exists(self, record_id: str) -> bool:
        """Return True when the znode exists, with any content; fresh from ZooKeeper."""
        return self._session.read(self._path(record_id)) is not None

    def given_out(self) -> int:
        """Return, fresh, how many ids ZooKeeper has given out here: each smaller number existed at some time.

        ``cversion`` counts both creations and deletions (``DataNode.copyStat`` of ZooKeeper).
        """
        found = self._session.read(self.ROOT)
        return (found[1].cversion + found[1].numChildren) // 2 if found else 0

    def empty(self) -> builtins.list[str]:
        """Return the ids of znodes without data, which remain when a client locks a deleted record."""
        return [name for name, entry in self._session.tree.documents(self.ROOT) if not entry.data]

    def _parse(self, record_id: str, data: bytes, version: int) -> R | None:
        return self.KIND.from_bytes(record_id, data, version)

    def _path(self, record_id: str) -> str:
        return f"{self.ROOT}/{record_id}"

    def _lock_path(self, record_id: str) -> str:
        return f"{self.ROOT}/{record_id}/{paths.LOCK}"


def _written(record: StatefulDocument, _path: str, stat: Stat | None) -> None:
    record.version = stat.version if stat is not None else -1
