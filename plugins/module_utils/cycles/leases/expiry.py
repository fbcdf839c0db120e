# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leases whose time is over: the next run of any lease or sweep releases them, as does a launcher.

The launcher that acts for a provider deletes the servers. Where no launcher acts, the results of the modules say so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from ...clients.zookeeper.link.paths import segment
from ...model.errors import StoreGone
from ...model.lease import Lease, LeaseError, LeaseSpec, is_held, is_over, mark_of, request_expiry
from ...model.node import Node, NodeState
from ...model.own_tree import LEASES
from .lease_cycle import Leasing

if TYPE_CHECKING:
    from ...clients.zookeeper.store import Store


def release_expired(store: Store, now: float, *, but: str | None = None) -> None:
    """Release the leases and the nodes of leases whose time is over. Skips what another program has locked.

    :param now: UNIX time in seconds.
    :param but: the name of the lease that the caller itself works on.
    :raises StoreError: a call of ZooKeeper failed.
    """
    for node in store.nodes.list():
        if node.state == NodeState.HOLD and _is_over(store, node, now) and mark_of(node) != but:
            _release(store, node.id, now)
    for name in _expired(store, now):
        if name != but:
            Leasing(store, LeaseSpec(name), present=False, clock=lambda: now).advance()


def _release(store: Store, node_id: str, now: float) -> None:
    lock = store.nodes.lock(node_id)
    if lock is None:
        return
    try:
        node = store.nodes.read(node_id)
        if node is not None and node.state == NodeState.HOLD and _is_over(store, node, now):
            node.set_state(NodeState.USED, now)
            store.nodes.write(node)
    except StoreGone:
        return
    finally:
        lock.release()


def _expired(store: Store, now: float) -> list[str]:
    names = []
    for key in store.own.children(LEASES):
        document = store.own.get(f"{LEASES}/{key}") or {}
        try:
            lease = Lease.from_document(document)
        except LeaseError:
            continue  # only its own run tells of it
        if segment(lease.name) == key and is_expired(store, lease, now):
            names.append(lease.name)
    return names


def is_expired(store: Store, lease: Lease, now: float) -> bool:
    """Return True when no node of the lease is held any more, and no request of it can still be served."""
    if any(is_held(store.nodes.get(node_id), lease.name, now) for node_id in lease.node_ids):
        return False
    for request_id in lease.request_ids:
        request = store.requests.get(request_id)
        expiry = None if request is None else request_expiry(request, now)
        if request is not None and (expiry is None or now < expiry):
            return False
    return bool(lease.node_ids) or now >= lease.expires_at


def over(store: Store, now: float) -> list[Node]:
    """Return the nodes of all leases whose servers have to be deleted, in the order of ids."""
    return sorted((node for node in store.nodes.list() if _is_over(store, node, now)), key=lambda node: node.id)


def _is_over(store: Store, node: Node, now: float) -> bool:
    """Return True for a node that has to be deleted, also if the clock of the requestor that held it was ahead."""
    if node.state_time is not None and node.state_time > now:
        node.state_time = min(now, store.nodes.written(node.id) or now)
    return is_over(node, now)


def unattended(store: Store, nodes: Iterable[Node]) -> list[Node]:
    """Return those of the *nodes* at whose provider no launcher acts at the moment."""
    attended = {pool.provider_name for pool in store.components.pools()}
    return [node for node in nodes if node.provider not in attended]


def unattended_text(nodes: Collection[Node], what: str) -> str:
    """Return a sentence about nodes that nobody deletes.

    :param what: why they have to be deleted, the text that follows "node 0000000007".
    """
    ids, providers = ", ".join(node.id for node in nodes), ", ".join(sorted({node.provider or "?" for node in nodes}))
    return (
        f"no launcher serves {providers} now: node {ids} {what}; the next launcher, leak_cleanup, or"
        f" nodepool_request with launch: true deletes the server"
    )
