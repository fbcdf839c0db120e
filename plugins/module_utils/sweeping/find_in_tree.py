# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find what has lost its owner in the ZooKeeper tree. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..model.documents import seconds
from ..model.own_tree import BREAKERS, FREEZES, KNOWN_POOLS, LEASES, STUCK, WAITS
from ..model.request import NodeRequest, RequestState
from .candidate import Kind, LeakCandidate, Ownership

REQUEST_LOCK_AGE = 8 * 3600.0
"""Age in seconds from which a request's lock is deleted, counted from the znode's mtime. Nodepool's value."""
PARTED_AFTER = 86400.0
"""Seconds after which the document of a pool that no launcher serves any more is deleted."""


@dataclass(frozen=True)
class TreeView:
    """The parts of the tree that a sweep judges; none of them is locked.

    *request_locks*: request id → mtime of its lock directory (UNIX time). *documents*: our documents by path. *pools*:
    ids of all registered pools, also those of other launchers.
    """

    empty_nodes: Collection[str] = ()
    request_locks: Mapping[str, float] = field(default_factory=dict)
    requests: Mapping[str, NodeRequest] = field(default_factory=dict)
    unlocked_requests: Collection[str] = ()
    node_ids: Collection[str] = ()
    documents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    pools: Collection[str] = ()


def find_in_tree(view: TreeView, now: float) -> list[LeakCandidate]:
    """Return everything in the tree that has no owner any more."""
    return [candidate for rule in TREE_RULES.values() for candidate in rule(view, now)]


def _left(kind: str, ident: str, code: str, created: float | None = None, **more: Any) -> LeakCandidate:
    floor = more.pop("min_age", None)
    return LeakCandidate(kind, ident, Ownership.LEAKED, code, figures=more, created=created, min_age=floor)


def _empty_nodes(view: TreeView, now: float) -> Iterator[LeakCandidate]:
    for node_id in view.empty_nodes:
        yield _left(Kind.EMPTY_NODE, node_id, "empty")


def _request_locks(view: TreeView, now: float) -> Iterator[LeakCandidate]:
    for request_id, changed in view.request_locks.items():
        if request_id not in view.requests:
            yield _left(
                Kind.REQUEST_LOCK, request_id, "request-gone", changed, request=request_id, min_age=REQUEST_LOCK_AGE
            )


def _lost_requests(view: TreeView, now: float) -> Iterator[LeakCandidate]:
    for request_id in view.unlocked_requests:
        request = view.requests.get(request_id)
        if request is not None and request.state == RequestState.PENDING:
            yield _left(Kind.LOST_REQUEST, request_id, "unserved", request.state_time, request=request_id)


def _documents(view: TreeView, now: float) -> Iterator[LeakCandidate]:
    for path, document in view.documents.items():
        folder, _slash, name = path.partition("/")
        found = OWNERS[folder](name, document, view, now) if folder in OWNERS else None
        if found is not None:
            code, created, owner = found
            yield _left(Kind.DOCUMENT, path, code, created, owner=owner)


Found: TypeAlias = "tuple[str, float | None, str] | None"


def _wait(request_id: str, document: Mapping[str, Any], view: TreeView, now: float) -> Found:
    return None if request_id in view.requests else ("owner-gone", None, f"request {request_id}")


def _lease(name: str, document: Mapping[str, Any], view: TreeView, now: float) -> Found:
    """Judge a lease: it is over when its time is over and nothing that it names is left."""
    over, sets = seconds(document.get("expires_at")), document.get("sets")
    if over is None or not isinstance(sets, list) or now < over:
        return None
    for part in sets:
        nodes = part.get("nodes") or [] if isinstance(part, Mapping) else None
        if not isinstance(nodes, list):
            return None
        if part.get("request") in [*view.requests] or any(node in nodes for node in view.node_ids):
            return None
    return "lease-over", over, "lease"


def _freeze(pool_id: str, document: Mapping[str, Any], view: TreeView, now: float) -> Found:
    if pool_id in view.pools or f"{KNOWN_POOLS}/{pool_id}" in view.documents or _in_force(document, now):
        return None
    return "owner-gone", None, f"pool {pool_id}"


def _breaker(provider: str, document: Mapping[str, Any], view: TreeView, now: float) -> Found:
    """Judge a breaker: it is deleted when no pool of its provider is known any more."""
    known = [item.get("provider_name") for key, item in view.documents.items() if key.startswith(f"{KNOWN_POOLS}/")]
    return None if provider in known or _in_force(document, now) else ("owner-gone", None, f"provider {provider}")


def _pool(pool_id: str, document: Mapping[str, Any], view: TreeView, now: float) -> Found:
    seen = seconds(document.get("last_seen"))
    if pool_id in view.pools or seen is None or abs(now - seen) < PARTED_AFTER:
        return None
    return "owner-gone", seen, f"the launcher of pool {pool_id}"


def _in_force(document: Mapping[str, Any], now: float) -> bool:
    """True when one of the document's freezes or breakers is not over yet."""
    return any(isinstance(item, Mapping) and (seconds(item.get("until")) or 0) > now for item in document.values())


def _stuck(name: str, document: Mapping[str, Any], view: TreeView, now: float) -> Found:
    """Judge a cycle's note of a deletion that made no progress; a cycle that still tries writes it again."""
    node_id, tried = document.get("node"), seconds(document.get("tried"))
    if node_id in [*view.node_ids] or tried is None:
        return None
    return "owner-gone", tried, f"node {node_id}" if node_id else "the object that it describes"


OWNERS: dict[str, Callable[[str, Mapping[str, Any], TreeView, float], Found]] = {
    WAITS: _wait,
    LEASES: _lease,
    FREEZES: _freeze,
    BREAKERS: _breaker,
    KNOWN_POOLS: _pool,
    STUCK: _stuck,
}
"""Folder of our subtree → the function that judges its documents."""

TREE_RULES: dict[str, Callable[[TreeView, float], Iterator[LeakCandidate]]] = {
    Kind.EMPTY_NODE: _empty_nodes,
    Kind.REQUEST_LOCK: _request_locks,
    Kind.LOST_REQUEST: _lost_requests,
    Kind.DOCUMENT: _documents,
}
"""Kind of thing in the tree → the function that judges it."""
