# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The id of the tree in ZooKeeper. Every cloud resource that is created for this tree carries it.

The id belongs to the data, not to the server: an ensemble that was emptied or replaced has another id, or none.
"""

from __future__ import annotations

import uuid

from ...clients.zookeeper.link.paths import own
from ...clients.zookeeper.store import Store
from ...model.errors import TreeExchanged
from ...model.own_tree import SITE


def site_of(store: Store, *, create: bool) -> str:
    """Return the id of the tree; create it if it is missing. Without *create* (check mode) a missing id is ""."""
    known = store.own.get(SITE) or {}
    if not create or (isinstance(known.get("id"), str) and known["id"]):
        return _id(known)  # to create what exists would need the account that owns this part of the tree
    fresh = uuid.uuid4().hex
    found = store.own.create_once(SITE, {"id": fresh}).get("id")
    if not isinstance(found, str) or not found:
        # The document is damaged. Resources with the old id no longer belong to this tree.
        store.own.put(SITE, {"id": fresh})
        return fresh
    return found


def check_tree(store: Store, site: str) -> None:
    """Check in the cache that the tree is the one that the cycle began with; read ZooKeeper only if it differs.

    :raises TreeExchanged: it is another tree, or the id is gone.
    """
    if _id(store.own.get(SITE)) != site:
        confirm_tree(store, site)


def confirm_tree(store: Store, site: str) -> None:
    """Check in ZooKeeper that the tree has the id *site*. Call it before a deletion for lack of a record.

    :raises TreeExchanged: it is another tree, or the id is gone.
    :raises StoreError: the id cannot be read from ZooKeeper.
    """
    there = _id(store.own.read(SITE))
    if there == site:
        return
    found = f"it says {there!r} now" if there else "it is gone"
    raise TreeExchanged(
        f"the tree in ZooKeeper has changed since the start: {own(SITE)} said {site!r}, and {found}. ZooKeeper"
        f" was emptied, restored or replaced; nothing was deleted because of that. Check zookeeper-servers,"
        f" chroot and that its data is complete, then start again (docs/operating.md, 'Another tree')"
    )


def _id(document: dict[str, object] | None) -> str:
    return str((document or {}).get("id", ""))
