# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our locks among other people's."""

from __future__ import annotations

import contextlib
import re
import threading

import pytest
from kazoo.exceptions import NotEmptyError

from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest
from tests.support.effort import first
from tests.support.fixtures_zookeeper import bare_client, end, eventually, expire_session


@pytest.fixture
def node(store):
    made = Node(type=["a"], provider="p")
    store.nodes.create(made)
    return made


def test_a_lock_is_kazoos_to_the_name(store, zk_client, node):
    held = store.nodes.lock(node.id)
    assert held.valid
    assert store.nodes.is_locked(node.id)
    [contender] = zk_client.get_children(f"/nodepool/nodes/{node.id}/lock")
    assert re.fullmatch(r"[0-9a-f]{32}__lock__\d{10}", contender)
    data, stat = zk_client.get(f"/nodepool/nodes/{node.id}/lock/{contender}")
    assert data == b""
    assert stat.ephemeralOwner != 0
    assert not zk_client.Lock(f"/nodepool/nodes/{node.id}/lock").acquire(blocking=False)
    held.release()
    assert not held.valid
    assert not store.nodes.is_locked(node.id)
    assert zk_client.get_children(f"/nodepool/nodes/{node.id}/lock") == []
    held.release()


def test_a_lock_that_went_with_its_record_is_forgotten(store, zk_client, node):
    """Otherwise a launcher remembers every node that it ever deleted."""
    held = store.nodes.lock(node.id)
    assert store._session.held
    batch = store.batch()
    store.nodes.remove(node.id, held, batch)
    batch.commit()
    assert zk_client.exists(f"/nodepool/nodes/{node.id}") is None
    assert not held.valid
    held.release()
    assert not store._session.held


def test_a_foreign_lock_is_respected_and_waits_for_ours(store, zk_client, node):
    foreign = zk_client.Lock(f"/nodepool/nodes/{node.id}/lock")
    assert foreign.acquire(blocking=False)
    eventually(lambda: store.nodes.is_locked(node.id))
    assert store.nodes.lock(node.id) is None
    assert len(zk_client.get_children(f"/nodepool/nodes/{node.id}/lock")) == 1
    foreign.release()
    held = store.nodes.lock(node.id)
    got = []
    waiter = threading.Thread(target=lambda: got.append(foreign.acquire(timeout=10)))
    waiter.start()
    eventually(lambda: len(zk_client.get_children(f"/nodepool/nodes/{node.id}/lock")) == 2)
    held.release()
    waiter.join(10)
    assert got == [True]


def test_locking_what_is_gone_leaves_nothing_behind(store, zk_client, node):
    store.nodes.delete(node.id)
    assert store.nodes.lock(node.id) is None
    assert zk_client.get_children("/nodepool/nodes") == []


@pytest.mark.parametrize("seed", first(1, range(3)))
def test_a_node_deleted_while_it_is_being_locked_does_not_come_back(store, zk_client, seed):
    """The cache is behind at some of these moments, whatever the order turns out to be."""
    for number in range(60):
        made = Node(type=["a"], provider="p")
        store.nodes.create(made)
        if (number + seed) % 3:
            store.nodes.lock(made.id).release()
        start = threading.Barrier(2)

        def delete(path=f"/nodepool/nodes/{made.id}", start=start):
            start.wait()
            while zk_client.exists(path):
                with contextlib.suppress(NotEmptyError):  # kazoo does not expect company
                    zk_client.delete(path, recursive=True)

        deleter = threading.Thread(target=delete)
        deleter.start()
        start.wait()
        held = store.nodes.lock(made.id)
        deleter.join(10)
        if held:
            held.release()
    assert [
        child for child in zk_client.get_children("/nodepool/nodes") if not zk_client.get(f"/nodepool/nodes/{child}")[0]
    ] == []


def test_request_locks_live_apart_and_need_a_request(store, zk_client):
    request = NodeRequest(node_types=["a"])
    store.requests.create(request)
    held = store.requests.lock(request.id)
    assert len(zk_client.get_children(f"/nodepool/requests-lock/{request.id}")) == 1
    assert zk_client.get_children(f"/nodepool/requests/{request.id}") == []
    assert store.requests.is_locked(request.id)
    assert store.requests.lock(request.id) is None
    zk_client.delete(f"/nodepool/requests/{request.id}")
    assert held.valid
    held.release()
    eventually(lambda: store.requests.get(request.id) is None)
    assert store.requests.lock(request.id) is None


def test_closing_gives_up_all_locks(store, zk_client, node):
    store.nodes.lock(node.id)
    store.close()
    assert zk_client.get_children(f"/nodepool/nodes/{node.id}/lock") == []


def test_only_one_of_many_gets_it(zookeeper, zk_chroot, store, node):
    others = [bare_client(zookeeper, zk_chroot.servers[0].chroot) for _unused in range(4)]
    start = threading.Barrier(5)
    got = []

    def take(client):
        lock = client.Lock(f"/nodepool/nodes/{node.id}/lock")
        start.wait()
        got.append(lock.acquire(blocking=False))

    threads = [threading.Thread(target=take, args=(client,)) for client in others]
    for thread in threads:
        thread.start()
    start.wait()
    got.append(store.nodes.lock(node.id) is not None)
    for thread in threads:
        thread.join(10)
    assert sum(got) <= 1
    for client in others:
        end(client)


def test_a_lost_session_invalidates_its_locks(zookeeper, store, node):
    held = store.nodes.lock(node.id)
    assert held.generation == store.generation == 1
    expire_session(zookeeper, store)
    eventually(lambda: store.generation == 2 and store.state == "connected")
    assert not held.valid
    assert not store.nodes.is_locked(node.id)
    with pytest.raises(Exception, match="session that held its lock is gone"):
        store.nodes.write(node, held=held)
    held.release()
    again = store.nodes.lock(node.id)
    assert again.generation == 2
    held.release()
    assert store.nodes.is_locked(node.id)


def test_what_is_no_contender_holds_no_lock_back(store, zk_client, node):
    path = f"/nodepool/nodes/{node.id}/lock"
    zk_client.create(f"{path}/note-0000000000", b"", makepath=True)
    eventually(lambda: store._session.tree.exists(f"{path}/note-0000000000"))
    assert not store.nodes.is_locked(node.id)
    held = store.nodes.lock(node.id)
    assert held is not None and held.valid
    assert not zk_client.Lock(path).acquire(blocking=False)
    held.release()
    assert zk_client.Lock(path).acquire(blocking=False)
