# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What others see of us in the tree, and we of them: played with a bare kazoo client."""

from __future__ import annotations

import json
import time

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreConflict, StoreGone
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest, RequestState
from tests.support.fixtures_zookeeper import eventually

ZUUL_REQUEST = {
    "requestor_data": {"build_set_uuid": "b", "tenant_name": "t1", "job_name": "unit", "span_info": None},
    "node_types": ["small", "small"],
    "requestor": "3d8ee0f6",
    "created_time": 1795198332.84,
    "provider": None,
    "state": "requested",
    "state_time": 1795198332.84,
    "relative_priority": 0,
    "event_id": "ev1",
    "tenant_name": "t1",
}


def document(client, path):
    return json.loads(client.get(path)[0])


def test_zuul_asks_accepts_uses_and_returns_nodes(store, zk_client):
    """The sequence of Zuul's scheduler and executor; nothing of it goes through our code."""
    path = zk_client.create("/nodepool/requests/200-", json.dumps(ZUUL_REQUEST).encode(), sequence=True, makepath=True)
    request_id = path.rsplit("/", 1)[1]
    seen = []
    zk_client.get(path, watch=lambda event: seen.append(event.type))

    # -- the launcher
    request = eventually(lambda: store.requests.get(request_id))
    assert (request.id[3], request.priority, request.sequence) == ("-", 200, 0)
    assert request.requestor_data == ZUUL_REQUEST["requestor_data"]
    request_lock = store.requests.lock(request_id)
    request.set_state(RequestState.PENDING, 1.0)
    store.requests.write(request, held=request_lock)
    nodes = []
    for label in request.node_types:
        node = Node(type=[label], provider="p", pool="main", allocated_to=request_id, launcher="l")
        node.set_state(NodeState.INIT, 1.0)
        store.nodes.create(node)
        lock = store.nodes.lock(node.id)
        node.set_state(NodeState.BUILDING, 2.0)
        store.nodes.write(node, held=lock)
        node.set_state(NodeState.READY, 3.0)
        node.host_keys = ["ssh-ed25519 AAAA"]
        store.nodes.write(node, held=lock)
        nodes.append((node, lock))
    for _node, lock in nodes:
        lock.release()
    request.nodes = [node.id for node, _lock in nodes]
    request.set_state(RequestState.FULFILLED, 4.0)
    store.requests.write(request, held=request_lock)
    request_lock.release()

    # -- Zuul: the scheduler hears of it, the executor accepts
    eventually(lambda: seen)
    fulfilled = document(zk_client, path)
    assert fulfilled["state"] == "fulfilled"
    assert fulfilled["requestor_data"] == ZUUL_REQUEST["requestor_data"]
    locks = []
    for node_id in fulfilled["nodes"]:
        node_path = f"/nodepool/nodes/{node_id}"
        assert document(zk_client, node_path)["allocated_to"] == request_id
        lock = zk_client.Lock(f"{node_path}/lock")
        assert lock.acquire(blocking=True, timeout=30)
        locks.append(lock)
    zk_client.delete(path)
    for node_id in fulfilled["nodes"]:
        data = document(zk_client, f"/nodepool/nodes/{node_id}")
        data |= {"id": node_id, "state": "in-use", "state_time": time.time(), "user_data": {"zuul_system": "s"}}
        zk_client.set(f"/nodepool/nodes/{node_id}", json.dumps(data).encode())
    eventually(lambda: [node.state for node in store.nodes.list()] == ["in-use", "in-use"])
    assert store.requests.get(request_id) is None
    assert all(store.nodes.is_locked(node_id) for node_id in fulfilled["nodes"])
    assert store.nodes.lock(fulfilled["nodes"][0]) is None
    assert store.nodes.get(fulfilled["nodes"][0]).user_data == {"zuul_system": "s"}
    for node_id, lock in zip(fulfilled["nodes"], locks, strict=True):
        data = document(zk_client, f"/nodepool/nodes/{node_id}") | {"state": "used"}
        zk_client.set(f"/nodepool/nodes/{node_id}", json.dumps(data).encode())
        lock.release()

    # -- the launcher again
    eventually(lambda: not any(store.nodes.is_locked(node.id) for node in store.nodes.list()))
    # An event tells at once that a lock is gone, but a document must be read: whoever acts reads it under the lock.
    eventually(lambda: [node.state for node in store.nodes.list()] == ["used", "used"])
    for node in store.nodes.list():
        lock = store.nodes.lock(node.id)
        store.nodes.delete(node.id)
        lock.release()
    assert store.nodes.list() == []
    assert zk_client.get_children("/nodepool/nodes") == []
    assert zk_client.get_children(f"/nodepool/requests-lock/{request_id}") == []


def test_a_node_as_it_is_stored(store, zk_client):
    node = Node(type=["small"], provider="p", pool="main", allocated_to="100-0000000000")
    node.set_state(NodeState.INIT, 1795198332.84)
    node.created_time = node.state_time
    store.nodes.create(node)
    data, stat = zk_client.get(f"/nodepool/nodes/{node.id}")
    assert node.id == "0000000000"
    assert (node.version, stat.version, stat.ephemeralOwner) == (0, 0, 0)
    assert data == node.to_bytes()
    assert json.loads(data)["state_time"] == 1795198332.84
    assert zk_client.get_acls(f"/nodepool/nodes/{node.id}")[0][0].id.id == "anyone"
    assert zk_client.get("/nodepool/nodes")[0] == b""


def test_requests_of_ours(store, zk_client):
    lasting, fleeting = NodeRequest(node_types=["a"]), NodeRequest(node_types=["b"], event_id="mine")
    store.requests.create(lasting)
    store.requests.create(fleeting, priority=900, ephemeral=True)
    assert (lasting.id, fleeting.id) == ("100-0000000000", "900-0000000001")
    assert len(lasting.event_id or "") == 32
    assert document(zk_client, "/nodepool/requests/900-0000000001")["event_id"] == "mine"
    assert zk_client.get("/nodepool/requests/900-0000000001")[1].ephemeralOwner != 0
    assert {request.id for request in store.requests.list()} == {lasting.id, fleeting.id}
    store.close()
    assert zk_client.get_children("/nodepool/requests") == ["100-0000000000"]


def test_unknown_keys_survive_a_rewrite(store, zk_client):
    path = zk_client.create(
        "/nodepool/nodes/",
        b'{"state":"ready","type":["a"],"provider":"p","id":"x","novel":{"deep":[1,null]}}',
        sequence=True,
        makepath=True,
    )
    node = eventually(lambda: store.nodes.get(path.rsplit("/", 1)[1]))
    node.set_state("hold", 5.0)
    store.nodes.write(node)
    stored = document(zk_client, path)
    assert stored["novel"] == {"deep": [1, None]}
    assert "id" not in stored
    assert store.nodes.get(node.id) == node == store.nodes.read(node.id)


def test_broken_documents_do_not_hide_the_good_ones(store, zk_client):
    for data in (b"", b"{", b"[]", b'{"state":"ready"}'):
        zk_client.create("/nodepool/nodes/", data, sequence=True, makepath=True)
    store.nodes.create(Node(type=["a"], provider="p"))
    eventually(lambda: len(store.nodes.ids()) == 5)
    assert [(node.id, node.broken) for node in store.nodes.list()] == [("0000000003", True), ("0000000004", False)]
    assert store.nodes.empty() == ["0000000000"]
    assert store.nodes.get("0000000001") is None
    assert store.nodes.read("0000000001") is None


def test_writing_what_is_gone_or_has_changed(store, zk_client):
    node = Node(type=["a"], provider="p")
    store.nodes.create(node)
    zk_client.set(f"/nodepool/nodes/{node.id}", b"{}")
    with pytest.raises(StoreConflict, match=node.id):
        store.nodes.write(node, if_unchanged=True)
    store.nodes.write(node)
    assert node.version == 2
    zk_client.delete(f"/nodepool/nodes/{node.id}")
    with pytest.raises(StoreGone, match=f"/nodepool/nodes/{node.id}"):
        store.nodes.write(node)
    store.nodes.delete(node.id)
    assert store.nodes.read(node.id) is None


def test_writes_are_in_the_cache_at_once_and_objects_are_independent(store):
    for number in range(200):
        node = Node(type=["a"], provider="p", comment=str(number))
        store.nodes.create(node)
        assert store.nodes.get(node.id).comment == str(number)
        node.comment = "again"
        store.nodes.write(node)
        first = store.nodes.get(node.id)
        assert first.comment == "again"
        first.type.append("b")
        assert store.nodes.get(node.id).type == ["a"]
        if number % 2:
            store.nodes.delete(node.id)
            assert store.nodes.get(node.id) is None
    assert len(store.nodes.list()) == 100
