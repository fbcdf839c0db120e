# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps the usage of each day in ZooKeeper: an entry for each node that is being deleted, and a document for each day.

An entry is written in the transaction that makes the node's record ``deleting``, and closed in the one that deletes the
record. A closed entry of a node without record is counted by one cycle of the tree: one transaction writes the document
of a day and deletes the entries, or none of both. So each life is counted once, whatever is killed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from ....clients.zookeeper.link.batch import Batch
from ....clients.zookeeper.store import Store
from ....launching.life_shares import Share, next_share
from ....model.day_usage import Usage, day_of
from ....model.errors import StoreConflict, StoreGone
from ....model.launch import Launch
from ....model.node import Node
from ....model.node_use import NodeUse, lost, use_of
from ....model.own_tree import USAGE_DAYS, USAGE_ENTRIES
from .context import Context

EVERY = 30.0
"""Seconds between two looks at the entries."""
MOST_ENTRIES = 200
"""Largest number of entries that one transaction counts."""
MOST_TRANSACTIONS = 10
"""Largest number of transactions of one look."""
KEPT_DAYS = 62
"""Days whose usage is kept: this month and the whole month before."""
ABANDONED = 3600.0
"""Seconds after which an open entry is closed whose node another program has deleted."""


def opened(context: Context, node: Node, launch: Launch | None, now: float) -> NodeUse:
    """Return the use of a node whose deletion is about to begin; that of an earlier cycle if it had begun it.

    :param node: its record before its state changes.
    """
    stored = context.store.own.understood(_path(node.id), NodeUse.from_document, key="node_id")
    if stored is not None:
        return stored
    ages = context.ages
    return use_of(node, launch, in_use_since=ages.in_use_since(node.id), held_since=ages.held_since(node.id), ends=now)


def put(store: Store, use: NodeUse, batch: Batch | None = None) -> None:
    """Store an entry.

    :param batch: store it together with these changes.
    """
    store.own.folder(USAGE_ENTRIES)
    store.own.put(_path(use.node_id), use.document(), batch)


def forget_launch(context: Context, node_id: str, node: Node | None = None) -> None:
    """Remove the launch record of a node that is gone or has no server, and store what it has used before.

    :param node: its record; None if another program has deleted it.
    """
    store, launch, now, batch = context.store, context.launch(node_id), context.now(), context.store.batch()
    if launch is not None and (node is None or launch.thrown) and store.own.get(_path(node_id)) is None:
        put(store, lost(launch, now) if node is None else replace(use_of(node, launch, ends=now), gone=now), batch)
    context.forget(node_id, batch)
    try:
        batch.commit()
    except (StoreConflict, StoreGone):
        context.forget(node_id)


class UsageBook:
    """Counts closed entries in the documents of the days. Only the leading cycle of a tree does so."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._due = 0.0

    def step(self, now: float) -> None:
        """Count what is closed, every EVERY seconds."""
        if now >= self._due:
            self._due = now + EVERY
            self.count(now)

    def count(self, now: float) -> None:
        """Count what is closed, and delete days that are too old."""
        open_entries = self._entries(now)
        for _round in range(MOST_TRANSACTIONS):
            if not open_entries:
                break
            open_entries = self._count_a_day(open_entries)
        self._forget(now)

    def _entries(self, now: float) -> dict[str, NodeUse]:
        """Return the closed entries of nodes without record, by node.

        An entry that cannot be used is deleted when it is old; an open one is closed then, as another program has
        deleted the node.
        """
        store, found = self._context.store, {}
        for name in store.own.children(USAGE_ENTRIES):
            if store.nodes.get(name) is not None:
                continue
            use = store.own.understood(_path(name), NodeUse.from_document, key="node_id")
            written = store.own.written(_path(name))
            is_old = written is not None and now - written > ABANDONED
            if use is None and is_old:
                store.own.delete(_path(name))
            elif use is not None and (use.gone is not None or is_old):
                found[name] = use if use.gone is not None else replace(use, gone=use.left or now)
        return found

    def _count_a_day(self, uses: dict[str, NodeUse]) -> dict[str, NodeUse]:
        """Count the first day of up to MOST_ENTRIES entries; return what is left to count.

        When another client has changed something meanwhile, nothing is counted; the next look begins anew.
        """
        by_day: dict[str, dict[str, Share]] = defaultdict(dict)
        for name, use in uses.items():
            share = next_share(use, use.gone or 0.0)
            by_day[share.day][name] = share
        day = min(by_day)
        chosen = dict(list(by_day[day].items())[:MOST_ENTRIES])
        own = self._context.store.own
        usage = own.understood(f"{USAGE_DAYS}/{day}", Usage.from_document) or Usage()
        for share in chosen.values():
            usage.merge(share.usage)
        documents = {f"{USAGE_DAYS}/{day}": usage.bounded().document()}
        documents |= {_path(name): share.rest.document() for name, share in chosen.items() if share.rest is not None}
        own.folder(USAGE_DAYS)
        done = [_path(name) for name, share in chosen.items() if share.rest is None]
        if not own.replace_as_known(documents, done):
            return {}
        rest = {name: share.rest for name, share in chosen.items() if share.rest is not None}
        return {**{name: use for name, use in uses.items() if name not in chosen}, **rest}

    def _forget(self, now: float) -> None:
        own = self._context.store.own
        first = day_of(now - KEPT_DAYS * 86400)
        old = [name for name in own.children(USAGE_DAYS) if name < first]
        if old:
            own.delete_as_known(*(f"{USAGE_DAYS}/{name}" for name in old[:MOST_ENTRIES]))


def _path(node_id: str) -> str:
    return f"{USAGE_ENTRIES}/{node_id}"
