# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A view of all records of a kind. A refresh looks only at the records that have changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from ...model.documents import StatefulDocument
from .link.session import Session
from .link.tree import Entry, Tree

R = TypeVar("R", bound=StatefulDocument)


class View(Generic[R]):
    """A view of the records in one directory, for one thread.

    The records belong to the cache: a caller that wants to change one copies it first.

    :param root: the directory of the records.
    :param lock_root: the directory of their locks.
    :param parse: makes a record from an entry; None when the entry is not a JSON object.
    :ivar records: all records by id, in no particular order.
    :ivar free: the records that are not locked, by id.
    :ivar unreadable: ids of znodes that have data, but no JSON object; their writer may be able to read them.
    """

    def __init__(
        self,
        session: Session,
        root: str,
        lock_root: str,
        lock_path: Callable[[str], str],
        parse: Callable[[Entry, str], R | None],
    ) -> None:
        self._session = session
        self._root = root
        self._lock_root = lock_root
        self._lock_path = lock_path
        self._parse = parse
        self._tree: Tree | None = None
        self.records: dict[str, R] = {}
        self.free: dict[str, R] = {}
        self.unreadable: set[str] = set()

    def refresh(self) -> set[str]:
        """Bring the view up to date.

        :return: the ids of records that are new, changed, gone, locked or unlocked since the last refresh.
        """
        tree = self._session.tree
        if tree is not self._tree:
            # After a reconnection the tree is a new object.
            self._tree = tree
            for root in sorted({self._root, self._lock_root}):
                tree.follow(root)
            changed = {*self.records, *self.unreadable, *tree.names(self._root)}
        else:
            changed = tree.changed(self._root)
        if self._lock_root != self._root:
            changed |= {name for name in tree.changed(self._lock_root) if name in self.records}
        for record_id in changed:
            self._look_at(tree, record_id)
        return changed

    def _look_at(self, tree: Tree, record_id: str) -> None:
        entry = tree.entry(f"{self._root}/{record_id}")
        record = self._parse(entry, record_id) if entry is not None else None
        self.unreadable.discard(record_id)
        if record is None:
            if entry is not None and entry.data:
                self.unreadable.add(record_id)
            self.records.pop(record_id, None)
            self.free.pop(record_id, None)
            return
        self.records[record_id] = record
        if tree.is_locked(self._lock_path(record_id)):
            self.free.pop(record_id, None)
        else:
            self.free[record_id] = record
