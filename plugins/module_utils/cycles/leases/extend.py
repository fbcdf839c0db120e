# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes when the nodes of a lease expire. Nothing is requested."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ...clients.zookeeper.link.paths import segment
from ...model.errors import StoreGone, UnknownName
from ...model.lease import Lease, LeaseError, LeaseSpec, is_held, lock_path, node_expiry
from ...model.node import Node
from ...model.own_tree import LEASES
from ...model.request import RequestState
from .lease_cycle import LeaseStatus, SetStatus

if TYPE_CHECKING:
    from ...clients.zookeeper.store import Store

SAME = 2.0
"""Seconds by which two expiries may differ and count as the same: one who repeats "until 18:00" changes nothing."""


def extend(
    store: Store,
    spec: LeaseSpec,
    *,
    preview: bool = False,
    max_hold_age: float = 0.0,
    clock: Callable[[], float] = time.time,
) -> tuple[LeaseStatus, LeaseStatus]:
    """Have all nodes of the lease expire *spec.expires* seconds from now; return the status before and after.

    The time in state is kept, so that max-hold-age counts from the beginning of the lease.

    :param preview: write nothing; return what would be.
    :param max_hold_age: seconds after which a launcher deletes every held node; 0 for no limit.
    :raises UnknownName: there is no lease of this name.
    :raises LeaseError: the lease is not complete, a node is busy, or max-hold-age does not allow it.
    """
    now = clock()
    path = f"{LEASES}/{segment(spec.name)}"
    lock = None if preview else store.own.lock(lock_path(spec.name))
    if lock is None and not preview:
        raise LeaseError(f"lease {spec.name}: another requestor works on this lease: try again")
    try:
        document = store.own.read(path)
        lease = Lease.from_document(document) if document else None
        nodes = _nodes(store, spec.name, lease, now)
        before = _status(lease, nodes)
        changing = [node for node in nodes if abs((node_expiry(node) or math.inf) - now - spec.expires) > SAME]
        for node in nodes:
            since = now if node.state_time is None else node.state_time
            if max_hold_age and now + spec.expires - since > max_hold_age + SAME:
                raise LeaseError(
                    f"lease {spec.name}: max-hold-age of the configuration releases node {node.id} in"
                    f" {max(0.0, since + max_hold_age - now):.0f} s: a lease cannot last longer"
                )
        if lease is not None and changing and not preview:
            lease.expires_at = max(lease.expires_at, now + spec.expires)
            lease.expires = spec.expires
            store.own.put(path, lease.document())
        after = _status(
            lease, [_extended(store, node, spec, now, preview) if node in changing else node for node in nodes]
        )
        after.changed = bool(changing)
        return before, after
    finally:
        if lock is not None:
            lock.release()


def _nodes(store: Store, name: str, lease: Lease | None, now: float) -> list[Node]:
    if lease is None:
        raise UnknownName([f"lease {name} does not exist: ask for the nodes first (state: present)"])
    found = [node for key in lease.node_ids if (node := store.nodes.read(key)) is not None]
    found = [node for node in found if is_held(node, name, now)]
    if len(found) != len(lease.node_ids) or not all(part.nodes for part in lease.sets):
        raise LeaseError(f"lease {name} is not complete, or some of its nodes are gone: ask again (state: present)")
    return found


def _extended(store: Store, node: Node, spec: LeaseSpec, now: float, preview: bool) -> Node:
    """Write the new expiry under the node's lock; return the node as it is then."""
    lock = None if preview else store.nodes.lock(node.id)
    if lock is None and not preview:
        raise LeaseError(f"lease {spec.name}: node {node.id} is locked by another program: try again")
    try:
        # A copy: the preview also shows the node as it is.
        fresh = replace(node) if preview else store.nodes.read(node.id)
        if fresh is None or not is_held(fresh, spec.name, now):
            raise LeaseError(f"lease {spec.name}: node {node.id} has just been released or taken over")
        since = now if fresh.state_time is None else fresh.state_time
        fresh.hold_expiration = math.ceil(now - since + spec.expires)
        if not preview:
            store.nodes.write(fresh)
        return fresh
    except StoreGone:
        raise LeaseError(f"lease {spec.name}: node {node.id} was deleted just now") from None
    finally:
        if lock is not None:
            lock.release()


def _status(lease: Lease | None, nodes: list[Node]) -> LeaseStatus:
    sets = [SetStatus(part.request, RequestState.FULFILLED) for part in lease.sets] if lease else []
    return LeaseStatus(done=True, lease=lease, sets=sets, nodes=list(nodes), ready=len(nodes), wanted=len(nodes))
