# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the listed servers belong to this tree? Several trees may share a project and names of providers. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..model.cloud import META_SITE
from ..model.errors import NodepoolError

ANY = "any"
"""The choice of all trees."""


def own_servers(
    rows: Sequence[dict[str, Any]],
    records: Iterable[Mapping[str, Any]],
    *,
    chosen: str = "",
    tree: str | None = None,
) -> list[dict[str, Any]]:
    """Return the rows of the servers of one tree.

    A server belongs to the tree whose id its metadata has, and to a tree that has a record of it: Nodepool writes no
    id.

    :param records: the node records of this tree.
    :param chosen: the id of another tree than this one, or ``any``; "" for this tree.
    :param tree: the id of this tree, "" for one without an id; None when it is unknown.
    :raises NodepoolError: this tree is unknown, and the servers are of several trees.
    """
    if chosen == ANY:
        return list(rows)
    wanted = chosen or tree
    if wanted is None:
        _refuse_several(rows)
        return list(rows)
    recorded = {(record["id"], record["external_id"]) for record in records}
    return [
        row
        for row in rows
        if (wanted and mark_of(row) == wanted) or (not chosen and (row["node_id"], row["server_id"]) in recorded)
    ]


def mark_of(row: Mapping[str, Any]) -> str:
    """Return the id of a server's tree; "" for a server of Nodepool."""
    return str(row["metadata"].get(META_SITE) or "")


def _refuse_several(rows: Iterable[Mapping[str, Any]]) -> None:
    trees = Counter(mark for row in rows if (mark := mark_of(row)))
    if len(trees) > 1:
        named = ", ".join(f"{mark} ({count})" for mark, count in sorted(trees.items()))
        raise NodepoolError(
            f"the servers belong to several trees (id: number of servers): {named}. Choose one with tree, or"
            f" all with tree: {ANY}; with zookeeper: true, it is the tree of nodepool_config"
        )
