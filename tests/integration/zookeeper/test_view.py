# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A view shows what the cache has, and tells what has changed since the last look."""

from __future__ import annotations

import random
from functools import partial

from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest
from tests.support.fixtures_zookeeper import break_connection, eventually, expire_session


def is_connected_anew(store, before):
    return store._session.tree is not before and store.state == "connected"


def shown(view):
    return {key: record.state for key, record in view.records.items()}, set(view.free)


def listed(store):
    nodes = store.nodes.list()
    return {node.id: node.state for node in nodes}, {node.id for node in nodes if not store.nodes.is_locked(node.id)}


def test_own_and_foreign_changes_are_told_once(store, zk_client):
    view = store.nodes.view()
    node = Node(type=["a"], provider="p")
    store.nodes.create(node)
    assert view.refresh() == {node.id}
    assert view.refresh() == set()
    foreign = zk_client.create("/nodepool/nodes/", b'{"type":["a"],"state":"ready"}', sequence=True).rpartition("/")[2]
    eventually(lambda: store.nodes.get(foreign) is not None)
    assert view.refresh() == {foreign}
    node.set_state(NodeState.READY, 1.0)
    store.nodes.write(node)
    held = store.nodes.lock(foreign)
    assert view.refresh() == {node.id, foreign}
    assert shown(view) == ({node.id: "ready", foreign: "ready"}, {node.id})
    held.release()
    store.nodes.delete(node.id)
    assert view.refresh() == {node.id, foreign}
    assert shown(view) == ({foreign: "ready"}, {foreign})


def test_locks_of_requests_live_elsewhere_and_are_seen_all_the_same(store):
    view = store.requests.view()
    request = NodeRequest(node_types=["a"])
    store.requests.create(request)
    view.refresh()
    held = store.requests.lock(request.id)
    assert view.refresh() == {request.id}
    assert set(view.free) == set()
    held.release()
    assert view.refresh() == {request.id}
    assert set(view.free) == {request.id}


def test_what_is_no_document_is_not_shown(store, zk_client):
    view = store.nodes.view()
    zk_client.create("/nodepool/nodes/1", b"no JSON", makepath=True)
    eventually(lambda: store.nodes.ids() == ["1"])
    view.refresh()
    assert view.records == {}
    zk_client.set("/nodepool/nodes/1", b'{"type":["a"],"state":"ready"}')
    eventually(lambda: store.nodes.get("1") is not None)
    view.refresh()
    assert set(view.records) == {"1"}
    zk_client.set("/nodepool/nodes/1", b"")
    eventually(lambda: store.nodes.get("1") is None)
    view.refresh()
    assert (view.records, view.free) == ({}, {})


def test_after_a_reconnection_all_is_looked_at(zookeeper, store, zk_client):
    dice = random.Random(1)
    view = store.nodes.view()
    nodes = [Node(type=["a"], provider="p") for _unused in range(10)]
    for node in nodes:
        store.nodes.create(node)
    view.refresh()
    for end in (break_connection, lambda store: expire_session(zookeeper, store)):
        before = store._session.tree
        end(store)
        for node in dice.sample(nodes, 4):
            zk_client.set(f"/nodepool/nodes/{node.id}", b'{"type":["a"],"state":"used"}')
        eventually(partial(is_connected_anew, store, before), 20)
        eventually(lambda: view.refresh() is not None and shown(view) == listed(store))
    zk_client.delete(f"/nodepool/nodes/{nodes[0].id}")
    eventually(lambda: view.refresh() == {nodes[0].id})
