# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All records of a kind, brought up to date by what has changed since the last look."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from ...model.documents import StatefulDocument
from .session import Session
from .tree import Entry, Tree

R = TypeVar("R", bound=StatefulDocument)


class View(Generic[R]):
    """For one thread. The records belong to the cache: a caller that changes one takes a copy.

    :param root: the directory of the records; *lock_root* is where their locks are.
    :param parse: makes a record of an entry, None of one that is no JSON object.
    :ivar records: all records by id, in no particular order.
    :ivar free: those of them that are not locked.
    :ivar unreadable: ids of those that are there and cannot be read here; their writer may be able to.
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
        """Look again.

        :return: the ids of records that are new, different, gone, locked or unlocked since the last look.
        """
        tree = self._session.tree
        if tree is not self._tree:
            # Another connection: its tree was read anew.
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
