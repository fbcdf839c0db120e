# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents of our own, below ``/nodepool/stackci``. All paths are relative to it."""

from __future__ import annotations

from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.batch import Batch
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.locks import Held, acquire
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.session import Session
from ansible_collections.stackci.nodepool.plugins.module_utils.model.documents import copied, dump, parse
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreConflict, StoreError, StoreGone

_ROUNDS = 10


class OwnDocuments:
    """JSON objects in a tree. Use :func:`paths.segment` for names that users choose."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, path: str) -> dict[str, Any] | None:
        """The document, from the cache; None when there is none or it is no JSON object. The caller's own copy."""
        entry = self._session.tree.entry(paths.own(path))
        return copied(entry.parsed(_parse, path)) if entry else None

    def read(self, path: str) -> dict[str, Any] | None:
        """The document, fresh from ZooKeeper; None when there is none or it is no JSON object."""
        found = self._session.read(paths.own(path))
        return parse(found[0]) if found else None

    def children(self, path: str) -> list[str]:
        """Names below *path* ("" is the top), sorted, from the cache; a lock is not among them."""
        root = paths.own(path) if path else paths.OWN
        return [name for name, _entry in self._session.tree.documents(root)]

    def folder_of(self, path: str) -> Folder:
        """What there is below *path*, from the cache, for whoever asks for single names."""
        return Folder(self._session, paths.own(path))

    def put(self, path: str, document: dict[str, Any], batch: Batch | None = None) -> None:
        """Create or replace the document; creates parents.

        :param batch: do it together with these changes, when they are sent. The parent must be there.
        """
        full, data = paths.own(path), dump(document)
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
        raise StoreError(f"{full} is created and deleted by others again and again")

    def folder(self, path: str) -> None:
        """Make sure that there is a parent for documents."""
        self._session.ensure(paths.own(path))

    def create_once(self, path: str, document: dict[str, Any]) -> dict[str, Any]:
        """Create the document, or return the one that is there already, fresh from ZooKeeper."""
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
            try:  # a parent of something else, or a lock: nobody has written it yet
                self._session.write(full, data, found[1].version)
                return copied(document)  # type: ignore[no-any-return]
            except (StoreConflict, StoreGone):
                continue
        raise StoreError(f"{full} is created and deleted by others again and again")

    def delete(self, path: str) -> None:
        """Delete the document and all below it; one that is absent is fine."""
        self._session.delete(paths.own(path))

    def lock(self, path: str) -> Held | None:
        """Take the lock at ``<path>/lock`` without waiting; None when somebody has it. Creates parents."""
        return acquire(self._session, f"{paths.own(path)}/{paths.LOCK}", parents=True)

    def is_locked(self, path: str) -> bool:
        """True when the lock has contenders, from the cache."""
        return self._session.tree.is_locked(f"{paths.own(path)}/{paths.LOCK}")


class Folder:
    """Tells whether there is a document of some name."""

    def __init__(self, session: Session, root: str) -> None:
        self._session = session
        self._root = root

    def __contains__(self, name: object) -> bool:
        return self._session.tree.entry(f"{self._root}/{name}") is not None


def _parse(_path: str, data: bytes, _version: int) -> dict[str, Any] | None:
    return parse(data)
