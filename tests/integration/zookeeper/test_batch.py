# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes that happen together, and changes for which nobody waits at once."""

from __future__ import annotations

import contextlib
import re
import weakref

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreConflict, StoreError, StoreGone
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest, RequestState
from tests.support.fixtures_zookeeper import break_connection, eventually, expire_session, new_store


@pytest.fixture
def node(store):
    made = Node(type=["a"], provider="p")
    store.nodes.create(made)
    return made


@pytest.fixture
def request_(store):
    made = NodeRequest(node_types=["a"], state=RequestState.REQUESTED)
    store.requests.create(made)
    return made


def test_all_of_it_is_done_and_known_at_once(store, zk_chroot, node, request_):
    store.own.folder("launches")
    store.own.folder("launches")
    batch = store.batch()
    node.set_state(NodeState.READY, 1.0)
    request_.set_state(RequestState.FULFILLED, 1.0)
    store.nodes.write(node, batch=batch)
    store.requests.write(request_, batch=batch, if_unchanged=True)
    store.own.put("launches/1", {"phase": "ready"}, batch)
    assert store.nodes.get(node.id).state == NodeState.INIT
    batch.commit()
    assert store.nodes.get(node.id).state == NodeState.READY
    assert store.requests.get(request_.id).state == RequestState.FULFILLED
    assert store.own.get("launches/1") == {"phase": "ready"}
    assert (node.version, request_.version) == (1, 1)
    store.own.put("launches/1", {"phase": "more"}, batch := store.batch())
    batch.commit()
    with new_store(zk_chroot) as other:
        assert other.own.get("launches/1") == {"phase": "more"}
        assert other.nodes.get(node.id).state == NodeState.READY


def test_nothing_is_done_when_one_of_them_cannot_be(store, zk_client, node, request_):
    zk_client.delete(f"/nodepool/requests/{request_.id}")
    batch = store.batch()
    node.set_state(NodeState.READY, 1.0)
    store.nodes.write(node, batch=batch)
    store.requests.write(request_, batch=batch)
    with pytest.raises(StoreGone, match=request_.id):
        batch.commit()
    assert store.nodes.get(node.id).state == NodeState.INIT
    assert store.nodes.read(node.id).state == NodeState.INIT
    assert node.version == 0


def test_a_document_that_somebody_else_has_written_is_no_more_ours_to_write(store, zk_client, node):
    zk_client.set(f"/nodepool/nodes/{node.id}", b'{"type":["a"],"state":"hold"}')
    batch = store.batch()
    store.nodes.write(node, batch=batch, if_unchanged=True)
    assert isinstance(batch.send().refused(), StoreConflict)
    assert store.nodes.read(node.id).state == "hold"


def test_new_nodes_side_by_side(store, zk_client):
    nodes = [Node(type=[str(number)]) for number in range(20)]
    for sent in [store.nodes.send(node) for node in nodes]:
        sent.wait()
    assert len({node.id for node in nodes}) == 20
    assert all(store.nodes.get(node.id).type == node.type for node in nodes)
    assert len(zk_client.get_children("/nodepool/nodes")) == 20


def test_a_claimed_lock_is_kazoos_to_the_name(store, zk_client, node):
    batch = store.batch()
    held = store.nodes.claim(node.id, batch)
    store.nodes.write(node, batch=batch)
    batch.commit()
    assert held.valid
    assert store.nodes.is_locked(node.id)
    [contender] = zk_client.get_children(f"/nodepool/nodes/{node.id}/lock")
    assert held.contender.endswith(contender)
    assert re.fullmatch(r"[0-9a-f]{32}__lock__\d{10}", contender)
    assert zk_client.get(f"/nodepool/nodes/{node.id}/lock/{contender}")[1].ephemeralOwner != 0
    assert not zk_client.Lock(f"/nodepool/nodes/{node.id}/lock").acquire(blocking=False)
    held.release()
    assert not held.valid
    assert zk_client.get_children(f"/nodepool/nodes/{node.id}/lock") == []
    assert not store.nodes.is_locked(node.id)


def test_a_held_lock_keeps_nothing_of_the_batch_that_took_it(store, node):
    batch = store.batch()
    held = store.nodes.claim(node.id, batch)
    store.nodes.write(node, batch=batch)
    sent = batch.send()
    held.claimed_by(sent)
    assert sent.refused() is None
    kept = weakref.ref(batch)
    del batch
    store.own.put("launches/1", {"phase": "more"})  # kazoo's thread lets go of a request with the next one
    eventually(lambda: kept() is None)
    assert sent.there
    assert held.valid
    held.release()
    assert not store.nodes.is_locked(node.id)


def test_what_is_locked_cannot_be_claimed(store, node):
    held = store.nodes.lock(node.id)
    assert store.nodes.claim(node.id, store.batch()) is None
    held.release()


def test_what_was_locked_before_is_claimed_in_one_go(store, zk_client, node):
    store.nodes.lock(node.id).release()
    batch = store.batch()
    held = store.nodes.claim(node.id, batch)
    batch.commit()
    assert held.valid
    assert not zk_client.Lock(f"/nodepool/nodes/{node.id}/lock").acquire(blocking=False)
    eventually(lambda: store.nodes.is_locked(node.id))
    held.release()
    assert zk_client.Lock(f"/nodepool/nodes/{node.id}/lock").acquire(blocking=False)


def test_who_queues_for_a_lock_keeps_its_place_when_it_is_claimed(store, zk_client, node):
    store.nodes.lock(node.id).release()
    batch = store.batch()
    held = store.nodes.claim(node.id, batch)
    foreign = zk_client.Lock(f"/nodepool/nodes/{node.id}/lock")
    assert foreign.acquire(blocking=False)
    sent = batch.send()
    held.claimed_by(sent)
    assert isinstance(sent.refused(), StoreConflict)
    assert len(zk_client.get_children(f"/nodepool/nodes/{node.id}/lock")) == 1


def test_a_record_goes_with_its_lock_and_all_that_belongs_to_it(store, zk_client, node):
    held = store.nodes.lock(node.id)
    store.own.put(f"launches/{node.id}", {"phase": "more"})
    batch = store.batch()
    store.own.delete(f"launches/{node.id}", batch)
    store.nodes.remove(node.id, held, batch)
    assert held.valid
    batch.commit()
    assert not held.valid
    assert store.nodes.get(node.id) is None
    assert zk_client.exists(f"/nodepool/nodes/{node.id}") is None
    assert zk_client.exists(f"/nodepool/stackci/launches/{node.id}") is None


def test_a_record_below_which_something_was_created_stays_with_all_that_belongs_to_it(store, zk_client, node):
    held = store.nodes.lock(node.id)
    store.own.put(f"launches/{node.id}", {"phase": "more"})
    batch = store.batch()
    store.own.delete(f"launches/{node.id}", batch)
    store.nodes.remove(node.id, held, batch)
    zk_client.create(f"/nodepool/nodes/{node.id}/lock/another")
    assert isinstance(batch.send().refused(), StoreConflict)
    assert held.valid
    assert store.own.get(f"launches/{node.id}") == {"phase": "more"}
    store.nodes.delete(node.id)
    assert zk_client.exists(f"/nodepool/nodes/{node.id}") is None


def test_a_claim_that_comes_second_is_refused_with_all_that_belongs_to_it(store, zk_client, node):
    batch = store.batch()
    held = store.nodes.claim(node.id, batch)
    node.set_state(NodeState.READY, 1.0)
    store.nodes.write(node, batch=batch)
    foreign = zk_client.Lock(f"/nodepool/nodes/{node.id}/lock")
    assert foreign.acquire(blocking=False)
    sent = batch.send()
    held.claimed_by(sent)
    assert isinstance(sent.refused(), StoreConflict)
    held.release()
    assert len(zk_client.get_children(f"/nodepool/nodes/{node.id}/lock")) == 1
    assert store.nodes.read(node.id).state == NodeState.INIT


def test_a_lock_is_given_back_with_what_it_protected(store, zk_client, node):
    held = store.nodes.lock(node.id)
    batch = store.batch()
    node.set_state(NodeState.READY, 1.0)
    store.nodes.write(node, held=held, batch=batch)
    held.release(batch)
    assert held.valid
    batch.commit()
    assert not held.valid
    assert zk_client.get_children(f"/nodepool/nodes/{node.id}/lock") == []


def test_what_is_sent_for_later_is_there_after_catching_up(store, node):
    for state in (NodeState.BUILDING, NodeState.READY):
        node.set_state(state, 1.0)
        batch = store.batch()
        store.nodes.write(node, batch=batch)
        batch.send_later()
    store.catch_up()
    assert store.nodes.get(node.id).state == NodeState.READY
    assert node.version == 2


def test_who_catches_up_hears_what_was_not_done(store, zk_client, node):
    zk_client.delete(f"/nodepool/nodes/{node.id}")
    batch = store.batch()
    store.nodes.write(node, batch=batch)
    batch.send_later()
    with pytest.raises(StoreGone, match=node.id):
        store.catch_up()
    store.catch_up()


def test_nothing_is_written_after_something_that_was_lost(zookeeper, store, node):
    """The connection breaks and is there again before anybody has looked."""
    states: list[str] = []
    store.on_change(lambda path: None if path else states.append(store.state))
    zookeeper.pause()
    batch = store.batch()
    store.nodes.write(node, batch=batch)
    batch.send_later()
    break_connection(store)
    zookeeper.resume()
    eventually(lambda: states == ["suspended", "connected"])
    with pytest.raises(StoreError):
        store.own.put("afterwards", {})
    assert store.own.get("afterwards") is None
    store.own.put("afterwards", {"fresh": True})


def test_giving_up_forgets_what_was_not_done(store, zk_client, node):
    zk_client.delete(f"/nodepool/nodes/{node.id}")
    batches = [store.batch() for _unused in range(3)]
    for batch in batches:
        store.nodes.write(node, batch=batch)
    for batch in batches:
        # The first may have been answered by now: then the next is not sent.
        with contextlib.suppress(StoreGone):
            batch.send_later()
    store.give_up()
    store.own.put("afterwards", {})


def test_a_batch_stays_in_the_session_of_its_lock(zookeeper, store, node):
    held = store.nodes.lock(node.id)
    expire_session(zookeeper, store)
    eventually(lambda: store.generation == 2 and store.state == "connected")
    batch = store.batch()
    store.nodes.write(node, held=held, batch=batch)
    with pytest.raises(StoreError, match="held its lock is gone"):
        batch.commit()
