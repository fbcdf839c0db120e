# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a tree that was read folder by folder has each thing once, although others moved things meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

from .link.session import Session

TRIES = 3
"""Most readings of the tree. What moves does so twice a minute, so that the second reading is almost always good."""


@dataclass(frozen=True)
class Moves:
    """How things move from folder to folder.

    :ivar sources: the children of this folder get an entry before they are deleted.
    :ivar entries: the folder of these entries.
    :ivar sums: one transaction adds entries to documents of this folder, and deletes or rewrites the entries.
    """

    sources: str
    entries: str
    sums: str


def is_steady(session: Session, moves: Moves) -> bool:
    """Return True when the tree of the session has each thing once. It is compared with what is stored now.

    :raises StoreError: ZooKeeper does not answer.
    """
    tree = session.tree
    sums = {f"{moves.sums}/{name}" for name in session.children(moves.sums)}
    entries = session.children(moves.entries)
    # A thing without entry and source was deleted between the readings of the two folders.
    if set(entries) - {*tree.names(moves.entries), *tree.names(moves.sources)}:
        return False
    known = {path: entry.stat.mzxid for path in sums if (entry := tree.entry(path)) is not None}
    now = {path: stat.mzxid for path, (_data, stat) in session.read_together(sums).items()}
    if known != now:
        return False
    read = {f"{moves.entries}/{name}": entry.stat.mzxid for name, entry in tree.documents(moves.entries)}
    stored = {path: stat.mzxid for path, (_data, stat) in session.read_together(read).items()}
    # A sum may have been read after the transaction that has moved an entry, and the entry before it.
    summed = set(now.values())
    return all(path in stored and (stored[path] == at or stored[path] not in summed) for path, at in read.items())
