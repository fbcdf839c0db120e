# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads from ZooKeeper the facts that the rules for leaks need."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any

from ....clients.zookeeper.store import Store
from ....model.launch import Launch
from ....model.node import Node
from ....model.own_tree import LAUNCHES
from ....sweeping.find import AdoptionRules, Known
from ....sweeping.find_in_tree import (
    OWNERS,
    REQUEST_LOCK_AGE,
    TreeView,
)
from ..context.sweep_memory import read_tombstones

MOST_LOCKS = 100
"""Largest number of lock directories of vanished requests that one sweep reads; the oldest come first."""


def known_to(store: Store, site: str, provider: str, claims: AdoptionRules | None = None) -> Known:
    """Return the facts for a sweep of a provider; call it after the cloud was read.

    :param site: the id of the tree.
    """
    by_id: dict[str, Node | None] = dict.fromkeys(store.nodes.ids())
    by_id.update((node.id, node) for node in store.nodes.list())

    def launch(node_id: str) -> Launch | None:
        return store.own.understood(f"{LAUNCHES}/{node_id}", Launch.from_document, key="node_id")

    return Known(
        provider=provider,
        nodes=by_id,
        is_locked=store.nodes.is_locked,
        launch=launch,
        launch_ids=[name for name in store.own.children(LAUNCHES) if name not in by_id],
        tombstones=cache(lambda: read_tombstones(store, provider)),
        uploads=cache(lambda: [each for image in store.images.names() for each in store.images.uploads(image)]),
        site=site,
        claims=claims or AdoptionRules(),
    )


def tree_view(store: Store, now: float) -> TreeView:
    """Return the tree by the cache. The locks of vanished requests are read from ZooKeeper, the oldest first."""
    requests = {request.id: request for request in store.requests.list()}
    known = {*store.requests.ids()}
    return TreeView(
        empty_nodes=[node_id for node_id in store.nodes.empty() if not store.nodes.is_locked(node_id)],
        request_locks=dict(_old_locks(store, known, now)),
        requests=requests,
        unlocked_requests=[request_id for request_id in requests if not store.requests.is_locked(request_id)],
        node_ids=store.nodes.ids(),
        documents=_documents(store),
        pools={pool.id for pool in store.components.pools()},
    )


def _old_locks(store: Store, known: Collection[str], now: float) -> Iterator[tuple[str, float]]:
    """Yield old locks of vanished requests, sorted by sequence number: the first young one ends the search."""
    gone = [request_id for request_id in store.requests.lock_ids() if request_id not in known]
    for request_id in sorted(gone, key=lambda name: name.rpartition("-")[2])[:MOST_LOCKS]:
        since = store.requests.free_since(request_id)
        if since is None:
            continue
        if now - since < REQUEST_LOCK_AGE:
            return
        yield request_id, since


def _documents(store: Store) -> Mapping[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for folder in OWNERS:
        for name in store.own.children(folder):
            document = store.own.get(f"{folder}/{name}")
            if document is not None:
                found[f"{folder}/{name}"] = document
    return found
