# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of labels: the pools that offer them, their nodes, and how many nodes are requested."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import Found, TreeReading
from ...model.config.types import NodepoolConfig
from ...model.documents import text, words
from ...model.node import NodeState
from ...model.request import RequestState
from .fields import known_state
from .names import known_names, pool_documents
from .request_rows import request_rows

ROOTS = (paths.NODES, paths.REQUESTS)
LOCKS = (paths.NODES,)
"""Where :func:`label_rows` needs the locks: a free node is unlocked."""
COMING = (NodeState.READY, NodeState.BUILDING, NodeState.INIT)
"""States in which an unallocated node counts for min-ready."""


def label_rows(
    config: NodepoolConfig, reading: TreeReading, now: float, requests: Sequence[Mapping[str, Any]] | None = None
) -> list[dict[str, Any]]:
    """Return all labels of the configuration and of the tree, sorted by name.

    :param requests: the rows of all requests, when the caller already has them.
    """
    offered, absent = _pools(reading)
    states: dict[str, Counter[str]] = defaultdict(Counter)
    free: Counter[str] = Counter()
    spare: Counter[str] = Counter()
    for (labels, state, is_free, is_spare), count in Counter(reading.facts(paths.NODES, kind_of_node)).items():
        for label in labels:
            states[label][state] += count
            free[label] += count * is_free
            spare[label] += count * is_spare
    waiting: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in request_rows(reading, now) if requests is None else requests:
        if row["state"] in (RequestState.REQUESTED, RequestState.PENDING):
            for label in row["labels"]:
                waiting[label].append(row)
    rows = []
    for name in sorted(known_names("label", config, reading) | set(waiting) | set(states)):
        settings, asked = config.labels.get(name), waiting[name]
        wanted = settings.min_ready if settings else 0
        rows.append(
            {
                "label": name,
                "configured": settings is not None,
                "min_ready": settings.min_ready if settings else None,
                "max_ready_age": settings.max_ready_age if settings else None,
                "min_ready_missing": max(0, wanted - spare[name]),
                "pools": sorted(offered[name]),
                "pools_absent": sorted(absent[name] - offered[name]),
                "nodes": dict(sorted(states[name].items())),
                "free": free[name],
                "wanted": len(asked),
                "requests": len({row["id"] for row in asked}),
                "oldest_request_age": max((row["created_age"] or 0.0 for row in asked), default=None),
            }
        )
    return rows


def kind_of_node(node: Found) -> tuple[tuple[str, ...], str, bool, bool]:
    """Return a node's labels and state, whether it is free, and whether it counts for min-ready."""
    state, unused = text(node.document.get("state")), node.document.get("allocated_to") is None
    return (
        tuple(words(node.document.get("type"))),
        known_state(state, NodeState.ALL),
        unused and state == NodeState.READY and not node.locked,
        unused and state in COMING,
    )


def _pools(reading: TreeReading) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return two mappings from label to pools: to registered pools, and to pools that only have a stored document."""
    offered: dict[str, set[str]] = defaultdict(set)
    remembered: dict[str, set[str]] = defaultdict(set)
    for pool, registered in pool_documents(reading):
        where = f"{text(pool.document.get('provider_name')) or '?'}/{text(pool.document.get('name')) or '?'}"
        for label in words(pool.document.get("supported_labels")):
            (offered if registered else remembered)[label].add(where)
    return offered, remembered
