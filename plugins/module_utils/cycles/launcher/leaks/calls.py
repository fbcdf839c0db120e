# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The calls of a sweep: those that read and delete each kind of thing, and the last check before a deletion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....clients.openstack.cloud_client import CloudClient
from ....clients.zookeeper.store import Store
from ....model.documents import seconds
from ....model.lease import lock_path
from ....model.node import NodeState
from ....model.own_tree import LEASES
from ....model.request import RequestState
from ....sweeping.candidate import Kind, LeakCandidate

READS: dict[str, tuple[str, str, Callable[[CloudClient], Any]]] = {
    Kind.PORT: ("ports", "GET /ports", lambda client: client.list_down_ports()),
    Kind.FLOATING_IP: ("floating_ips", "GET /floatingips", lambda client: client.list_floating_ips()),
    Kind.VOLUME: ("volumes", "GET /volumes/detail", lambda client: client.list_volumes()),
    Kind.IMAGE: ("images", "GET /images", lambda client: client.list_own_images()),
    Kind.SERVER: ("servers", "GET /servers/detail", lambda client: {each.id: each for each in client.list_servers()}),
}
"""Kind → its attribute of :class:`Seen`, the call's name and the call.

The calls are made in this order. Servers come last, so that their list has the server of every thing read before."""
CALLS: dict[str, tuple[str, Callable[[CloudClient, str], bool]]] = {
    Kind.SERVER: ("DELETE /servers/{id}", lambda client, ident: client.delete_server(ident)),
    Kind.PORT: ("DELETE /ports/{id}", lambda client, ident: client.delete_port(ident)),
    Kind.FLOATING_IP: ("DELETE /floatingips/{id}", lambda client, ident: client.delete_floating_ip(ident)),
    Kind.VOLUME: ("DELETE /volumes/{id}", lambda client, ident: client.delete_volume(ident)),
    Kind.IMAGE: ("DELETE /images/{id}", lambda client, ident: client.delete_image(ident)),
}
"""Kind → the call's name and the call, which returns False if the resource was already gone."""


def may_go(store: Store, candidate: LeakCandidate) -> bool:
    """Return True if the candidate may be deleted: a resource that a node uses is never deleted.

    This is the last check. It reads the node's record from ZooKeeper, not from the cache.
    """
    if candidate.node_id is None:
        return True
    node = store.nodes.read(candidate.node_id)
    if node is None:
        return candidate.node_id not in store.nodes.ids()
    if candidate.kind == Kind.PORT:
        return bool(node.external_id != candidate.figures["server"])
    if candidate.kind not in (Kind.SERVER, Kind.FLOATING_IP):
        return False
    idle = node.state == NodeState.READY and not store.nodes.is_locked(node.id)
    return idle and node.external_id != candidate.id


def clear_znode(store: Store, candidate: LeakCandidate, now: float) -> bool:
    """Remove a leaked record from the tree; return False if it has an owner after all."""
    return _ZNODES[candidate.kind](store, candidate.id, now)


def _empty_node(store: Store, node_id: str, now: float) -> bool:
    if store.nodes.is_locked(node_id) or store.nodes.read(node_id) is not None:
        return False
    store.nodes.delete(node_id)
    return True


def _request_lock(store: Store, request_id: str, now: float) -> bool:
    if store.requests.free_since(request_id) is None or store.requests.read(request_id) is not None:
        return False
    store.requests.delete_lock(request_id)
    return True


def _lost_request(store: Store, request_id: str, now: float) -> bool:
    """Free the nodes of the request and set it back to state requested, as Nodepool does."""
    held = store.requests.lock(request_id)
    if held is None:
        return False
    try:
        request = store.requests.read(request_id)
        if request is None or request.state != RequestState.PENDING:
            return False
        for node in store.nodes.list():
            if node.allocated_to == request_id:
                _free(store, node.id, request_id, now)
        request.nodes = []
        request.set_state(RequestState.REQUESTED, now)
        store.requests.write(request, held=held)
        return True
    finally:
        held.release()


def _free(store: Store, node_id: str, request_id: str, now: float) -> None:
    held = store.nodes.lock(node_id)
    if held is None:
        return
    try:
        node = store.nodes.read(node_id)
        if node is not None and node.allocated_to == request_id:
            node.allocated_to = None
            if node.state == NodeState.INIT:
                node.set_state(NodeState.DELETING, now)
            store.nodes.write(node, held=held)
    finally:
        held.release()


def _document(store: Store, path: str, now: float) -> bool:
    document = store.own.get(path)
    if document is None or not path.startswith(f"{LEASES}/"):
        store.own.delete(path)
        return True
    # A client may be creating the lease again under its lock, or may have done so since the check.
    held = store.own.lock(lock_path(str(document.get("name"))))
    if held is None:
        return False
    try:
        there = store.own.get(path)
        if there == document and now >= (seconds(document.get("expires_at")) or 0):
            store.own.delete(path)
            return True
        return False
    finally:
        held.release()


_ZNODES: dict[str, Callable[[Store, str, float], bool]] = {
    Kind.EMPTY_NODE: _empty_node,
    Kind.REQUEST_LOCK: _request_lock,
    Kind.LOST_REQUEST: _lost_request,
    Kind.DOCUMENT: _document,
}
