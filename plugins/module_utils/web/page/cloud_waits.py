# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long the oldest request waits for each provider."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ...model.request import RequestState

Rows = Sequence[Mapping[str, Any]]


def oldest_waits(providers: Rows, requests: Rows, nodes: Rows) -> dict[str, float]:
    """Return provider → age in seconds of the oldest request that waits for it; no entry where none does.

    A requested one waits for each provider of which a registered pool offers all its labels and has not declined it;
    for one provider only if it names that. A pending one waits for the providers of its nodes.

    :param nodes: the rows of all nodes, with *request* and *provider*.
    """
    pools = [
        (provider["name"], pool["id"], frozenset(pool["labels"]))
        for provider in providers
        for pool in provider["pools"]
        if pool["registered"]
    ]
    offering: dict[frozenset[str], list[tuple[str, str | None]]] = {}
    launching: dict[str, set[str]] = defaultdict(set)
    for node in nodes:
        if node["request"]:
            launching[node["request"]].add(node["provider"])
    oldest: dict[str, float] = {}
    for row in requests:
        places, waited = set[str](), row["created_age"]
        if row["state"] == RequestState.PENDING:
            places = launching[row["id"]]
        elif row["state"] == RequestState.REQUESTED and row["labels"]:
            labels = frozenset(row["labels"])
            if labels not in offering:
                offering[labels] = [(name, pool_id) for name, pool_id, offered in pools if labels <= offered]
            named, declined = row["provider"], row["declined_by"]
            able = {name for name, pool_id in offering[labels] if pool_id not in declined}
            places = able & {named} if named else able
        for name in places if waited is not None else ():
            oldest[name] = max(oldest.get(name, 0.0), waited)
    return oldest
