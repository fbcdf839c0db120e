# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection's own documents, below ``/nodepool/stackci``. All paths are relative to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from ...model.documents import (
    LARGEST_DOCUMENT,
    copied,
    dump,
    parse,
    why_unreadable,
)
from ...model.errors import StoreConflict, StoreError, StoreGone
from ...model.stored import BadDocument
from .link import paths
from .link.batch import Batch
from .link.session import Session
from .locks import Held, acquire

_ROUNDS = 10
T = TypeVar("T")


class OwnDocuments:
    """The JSON documents, stored in a tree. Use :func:`paths.segment` for names that users choose."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._made: dict[str, tuple[object, Any]] = {}

    def get(self, path: str) -> dict[str, Any] | None:
        """Return a copy of the document, from the cache; None when there is none or it is not a JSON object.

        It is not an error when no znode can have the path: other clients write names into their documents.
        """
        entry = self._session.tree.entry(f"{paths.OWN}/{path}")
        document = entry.parsed(_parse, path) if entry else None
        if document is None and entry is not None and entry.data:
            self._session.unusable.add(paths.own(path), why_unreadable(entry.data) or "it cannot be read")
        return copied(document)  # type: ignore[no-any-return]

    def understood(
        self,
        path: str,
        reader: Callable[[Mapping[str, Any]], T],
        *,
        key: str | None = None,
        fresh: bool = False,
    ) -> T | None:
        """Return the result of *reader* for the document; None when there is no document that it can use.

        :param reader: raises BadDocument for a document that it cannot use; each such document is reported once.
        :param key: under this key the document, if it has the key, must have the name of its znode.
        :param fresh: read from ZooKeeper instead of the cache.
        """
        document = self.read(path) if fresh else self.get(path)
        if document is None:
            return None
        try:
            if key is not None and key in document and document[key] != paths.split(path)[1]:
                raise BadDocument(f"{key!r} differs from the name of its znode")
            return reader(document)
        except BadDocument as problem:
            self._session.unusable.add(paths.own(path), str(problem))
            return None

    def unchanging(self, path: str, reader: Callable[[Mapping[str, Any]], T]) -> T | None:
        """Return the same as :meth:`understood`, but make it once for each state of the znode.

        :param reader: always the same for *path*. Nobody may change its result.
        """
        entry = self._session.tree.entry(paths.own(path))
        known = self._made.get(path)
        if entry is None:
            self._made.pop(path, None)
            return None
        if known is None or known[0] is not entry:
            known = self._made[path] = entry, self.understood(path, reader)
        return known[1]  # type: ignore[no-any-return]

    def read(self, path: str) -> dict[str, Any] | None:
        """Return the document, fresh from ZooKeeper; None when there is none or it is not a JSON object."""
        found = self._session.read(paths.own(path))
        return parse(found[0]) if found else None

    def children(self, path: str) -> list[str]:
        """Return the names below *path* ("" is the top), sorted, from the cache, without locks."""
        root = paths.own(path) if path else paths.OWN
        return [name for name, _entry in self._session.tree.documents(root)]

    def folder_of(self, path: str, reader: Callable[[Mapping[str, Any]], object], *, key: str | None = None) -> Folder:
        """Return the documents below *path*, from the cache, as a container that tells whether it has a name.

        :param reader: as in :meth:`understood`, like *key*; a document that it cannot use does not count.
        """
        return Folder(self, path, reader, key)

    def put(self, path: str, document: dict[str, Any], batch: Batch | None = None) -> None:
        """Create or replace the document; creates parents.

        :param batch: add the change to this batch instead; then the parent must exist.
        """
        full, data = paths.own(path), dump(document)
        if self._is_too_large(full, data):
            return
        if batch is not None:
            if self._session.tree.entry(full) is not None:
                batch.write(full, data)
            else:
                batch.create(full, data)
            return
        known = self._session.tree.entry(full) is not None
        for _round in range(_ROUNDS):
            try:
                if known:
                    self._session.write(full, data)
                else:
                    self._session.create(full, data, parents=True)
                return
            except (StoreGone, StoreConflict):
                known = not known
        raise StoreError(f"{full} could not be stored: other clients keep creating and deleting it")

    def change(self, path: str, edit: Callable[[dict[str, Any] | None], dict[str, Any] | None]) -> None:
        """Replace the document by the result of *edit*, without overwriting a write of another client meanwhile.

        :param edit: called, perhaps repeatedly, with the document, or with None when there is none or it is no JSON
            object. When it returns None, the document stays as it is.
        """
        full = paths.own(path)
        entry = self._session.tree.entry(full)
        found = (entry.data, entry.stat) if entry is not None else None
        asked = False
        for _round in range(_ROUNDS):
            before = parse(found[0]) if found else None
            if before is None and found and found[0]:
                self._session.unusable.add(full, why_unreadable(found[0]) or "it cannot be read")
            after = edit(before)
            if after is None and (found or asked):
                return
            if after is None:  # the cache may be behind
                found, asked = self._session.read(full), True
                continue
            data = dump(after)
            if self._is_too_large(full, data):
                return
            try:
                if found:
                    self._session.write(full, data, found[1].version)
                else:
                    self._session.create(full, data, parents=True)
                return
            except (StoreGone, StoreConflict):
                found, asked = self._session.read(full), True
        raise StoreError(f"{full} could not be stored: other clients keep changing it")

    def _is_too_large(self, full: str, data: bytes) -> bool:
        """Return True for a document that nobody could change any more; it is not stored, and that is told once."""
        if len(data) <= LARGEST_DOCUMENT:
            return False
        self._session.unusable.tell(f"{full} is not stored: it would have {len(data)} bytes")
        return True

    def absorb(
        self, path: str, other: str, edit: Callable[[dict[str, Any] | None, dict[str, Any] | None], dict[str, Any]]
    ) -> None:
        """Replace the document by the result of *edit* for it and *other*, and delete *other*: both or neither.

        :raises StoreConflict, StoreGone: one of them was changed meanwhile or does not exist; nothing is changed.
        """
        entries = [self._session.tree.entry(paths.own(place)) for place in (path, other)]
        if entries[0] is None or entries[1] is None:
            raise StoreGone(f"{paths.own(path)} or {paths.own(other)} does not exist")
        data = dump(edit(*(parse(entry.data) for entry in entries if entry is not None)))
        batch = Batch(self._session)
        batch.write(paths.own(path), data, entries[0].stat.version)
        batch.remove(paths.own(other), entries[1].stat.version)
        batch.commit()

    def written(self, path: str) -> float | None:
        """Return the time of the document's last write (UNIX seconds, ZooKeeper's clock); None when there is none."""
        entry = self._session.tree.entry(paths.own(path))
        return entry.stat.mtime / 1000.0 if entry is not None else None

    def folder(self, path: str) -> None:
        """Make sure that *path* exists, as a parent for documents."""
        self._session.ensure(paths.own(path))

    def create_once(self, path: str, document: dict[str, Any]) -> dict[str, Any]:
        """Create and return the document, or return the one that exists already, fresh from ZooKeeper."""
        full, data = paths.own(path), dump(document)
        for _round in range(_ROUNDS):
            try:
                self._session.create(full, data, parents=True)
                return copied(document)  # type: ignore[no-any-return]
            except StoreConflict:
                found = self._session.read(full)
            there = parse(found[0]) if found else None
            if there is not None:
                return there
            if found is None:
                continue
            try:  # the znode is a parent, perhaps of a lock, and has no document yet
                self._session.write(full, data, found[1].version)
                return copied(document)  # type: ignore[no-any-return]
            except (StoreConflict, StoreGone):
                continue
        raise StoreError(f"{full} could not be stored: other clients keep creating and deleting it")

    def delete(self, path: str, batch: Batch | None = None) -> None:
        """Delete the document and all below it. It is not an error when it does not exist.

        :param batch: add the deletion of the document to this batch instead; ZooKeeper refuses the batch when the
            document is gone or has children.
        """
        full = paths.own(path)
        if batch is None:
            self._session.delete(full)
        elif self._session.tree.entry(full) is not None:
            batch.remove(full)

    def delete_as_known(self, *many: str) -> bool:
        """Delete documents in one round trip if all of them are as in the cache.

        :return: False when another client has changed one of them meanwhile; then nothing is deleted.
        """
        return self.replace_as_known({}, many)

    def replace_as_known(self, documents: Mapping[str, dict[str, Any]], removed: Iterable[str]) -> bool:
        """Write *documents* (by path) and delete others in one round trip, if all of them are as in the cache.

        :return: False when another client has changed one of them meanwhile; then nothing is changed.
        """
        batch = Batch(self._session)
        for path, document in documents.items():
            full, data = paths.own(path), dump(document)
            entry = self._session.tree.entry(full)
            if entry is not None:
                batch.write(full, data, entry.stat.version)
            else:
                batch.create(full, data)
        for path in removed:
            entry = self._session.tree.entry(paths.own(path))
            if entry is not None:
                batch.remove(paths.own(path), entry.stat.version)
        try:
            batch.commit()
        except (StoreConflict, StoreGone):
            return False
        return True

    def server_time(self, folder: str) -> float:
        """Return ZooKeeper's time in UNIX seconds: that of a znode which is made in *folder* and deleted again.

        :raises StoreError: the znode could not be made.
        """
        made, stat = self._session.create(f"{paths.own(folder)}/at-", ephemeral=True, sequence=True, parents=True)
        self._session.remove([made])
        return stat.ctime / 1000.0

    def lock(self, path: str) -> Held | None:
        """Take the lock at ``<path>/lock`` without waiting; return None when it is held. Creates parents."""
        return acquire(self._session, f"{paths.own(path)}/{paths.LOCK}", parents=True)

    def is_locked(self, path: str) -> bool:
        """Return True when the lock has contenders, from the cache."""
        return self._session.tree.is_locked(f"{paths.own(path)}/{paths.LOCK}")


class Folder:
    """A container that tells whether there is a usable document with a name."""

    def __init__(
        self, own: OwnDocuments, path: str, reader: Callable[[Mapping[str, Any]], object], key: str | None
    ) -> None:
        self._own = own
        self._path = path
        self._reader = reader
        self._key = key

    def __contains__(self, name: object) -> bool:
        return self._own.understood(f"{self._path}/{name}", self._reader, key=self._key) is not None


def _parse(_path: str, data: bytes, _version: int) -> dict[str, Any] | None:
    return parse(data)
