# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cache says what the tree says."""

from __future__ import annotations

import contextlib
import json
import random
import threading
from typing import Any

import pytest
from kazoo.exceptions import KazooException

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreConflict, StoreGone
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest
from tests.support.effort import first
from tests.support.fixtures_zookeeper import break_connection, eventually, expire_session, new_store

FOLLOWED = ("nodes", "requests", "images", "components", "stackci")


def walk(client, path="/nodepool"):
    """Documents and locks, read one by one by somebody else."""
    documents, locks = {}, set()

    def visit(at, locked):
        if locked:
            locks.add(at)
        else:
            documents[at] = client.get(at)[0]
        for name in client.get_children(at):
            is_image = at == f"{path}/images"  # which may be called anything
            visit(f"{at}/{name}", locked or (name == "lock" and not is_image))

    for root in FOLLOWED:
        if client.exists(f"{path}/{root}"):
            visit(f"{path}/{root}", False)
    for request in client.get_children(f"{path}/requests") if client.exists(f"{path}/requests") else ():
        directory = f"{path}/requests-lock/{request}"
        if client.exists(directory):
            locks.add(directory)
            locks.update(f"{directory}/{name}" for name in client.get_children(directory))
    return documents, locks


def cached(store):
    documents, locks = store._session.tree.content()
    requests = {f"/nodepool/requests-lock/{name}" for name in store.requests.ids()}
    return documents, {
        lock
        for lock in locks
        if not lock.startswith("/nodepool/requests-lock") or any(lock.startswith(request) for request in requests)
    }


def a_change(client, dice, locks):
    """One random thing that somebody might do."""
    parent = dice.choice(
        [
            "/nodepool/nodes",
            "/nodepool/requests",
            "/nodepool/components/pool",
            "/nodepool/stackci/launches",
            "/nodepool/images/lock/builds",
            "/nodepool/images/a/builds/0000000001/providers/p/images",
        ]
    )
    names = client.get_children(parent)
    name = dice.choice(names) if names else None
    data = json.dumps({"n": dice.random()}).encode()
    what = dice.random()
    if name is None or what < 0.3:
        prefix = "100-" if parent.endswith("requests") else ""
        client.create(f"{parent}/{prefix}", dice.choice([data, b""]), sequence=True)
    elif what < 0.6:
        client.set(f"{parent}/{name}", data)
    elif what < 0.75:
        client.delete(f"{parent}/{name}", recursive=True)
    elif what < 0.95 and not parent.endswith("pool"):
        top = "/nodepool/requests-lock" if parent.endswith("requests") else parent
        lock = client.Lock(f"{top}/{name}" + ("" if top.endswith("requests-lock") else "/lock"))
        if lock.acquire(blocking=False):
            locks.append(lock)
    elif locks:
        locks.pop(dice.randrange(len(locks))).release()


@pytest.mark.parametrize("seed", first(1, range(4)))
def test_after_a_storm_of_foreign_changes(zookeeper, zk_chroot, zk_client, seed):
    dice = random.Random(seed)
    for path in (
        "/nodepool/nodes",
        "/nodepool/requests",
        "/nodepool/components/pool",
        "/nodepool/stackci/launches",
        "/nodepool/images/lock/builds/lock",
        "/nodepool/images/a/builds/0000000001/providers/p/images/lock",
    ):
        zk_client.ensure_path(path)
    locks: list[Any] = []
    for _unused in range(60):
        a_change(zk_client, dice, locks)
    with new_store(zk_chroot) as store:
        for number in range(400):
            try:
                a_change(zk_client, dice, locks)
            except KazooException:
                continue  # it chose a lock directory, or what its own earlier choice had removed
            if number in (100, 250):
                break_connection(store)
            if number == 180:
                expire_session(zookeeper, store)
        with contextlib.suppress(AssertionError):  # pytest shows the difference better
            eventually(lambda: store.state == "connected" and cached(store) == walk(zk_client), 20)
        assert cached(store) == walk(zk_client)
        with new_store(zk_chroot) as fresh:
            assert cached(fresh) == walk(zk_client)


@pytest.mark.parametrize("seed", first(1, range(3)))
def test_after_a_storm_of_own_and_foreign_changes(zk_chroot, zk_client, store, seed):
    """What is ours is not read again; what somebody else wrote at the same moment is."""
    dice = random.Random(seed)
    over = threading.Event()
    zk_client.ensure_path("/nodepool/nodes")

    def foreign():
        while not over.is_set():
            names = zk_client.get_children("/nodepool/nodes")
            with contextlib.suppress(KazooException):
                if not names or dice.random() < 0.3:
                    zk_client.create("/nodepool/nodes/", b'{"by":"them"}', sequence=True)
                else:
                    zk_client.set(f"/nodepool/nodes/{dice.choice(names)}", b'{"by":"them","n":%d}' % dice.randrange(9))

    other = threading.Thread(target=foreign)
    other.start()
    for number in range(150):
        ours = Node(type=["a"], provider="p", comment=str(number))
        store.nodes.create(ours)
        for _unused in range(4):
            chosen = dice.choice([*store.nodes.ids(), ours.id])
            with contextlib.suppress(StoreGone, StoreConflict):
                store.nodes.write(
                    Node(id=chosen, version=dice.choice([0, 1, -1]), comment=str(number)), if_unchanged=True
                )
    over.set()
    other.join(10)
    with contextlib.suppress(AssertionError):
        eventually(lambda: cached(store) == walk(zk_client), 10)
    assert cached(store) == walk(zk_client)


def test_an_own_write_is_not_read_again(zookeeper, store):
    node = Node(type=["a"], provider="p")
    store.nodes.create(node)
    before = zookeeper.counts()[1]
    for _unused in range(50):
        store.nodes.write(node)
    assert zookeeper.counts()[1] - before < 10


def test_every_change_is_told_with_its_path_after_the_cache_knows_it(store, zk_client):
    seen = []
    store.on_change(lambda path: seen.append((path, store.nodes.get(path.rsplit("/", 1)[1]) is not None)))
    path = zk_client.create("/nodepool/nodes/", b'{"state":"ready"}', sequence=True, makepath=True)
    eventually(lambda: (path, True) in seen)
    zk_client.delete(path)
    eventually(lambda: (path, False) in seen)


def test_a_callback_that_fails_harms_nobody(store, zk_client):
    told: list[str] = []

    def fail(_path):
        raise RuntimeError("mine alone")

    store.on_change(fail)
    store.on_change(told.append)
    path = zk_client.create("/nodepool/nodes/", b"{}", sequence=True, makepath=True)
    eventually(lambda: path in told)


def test_lock_contenders_are_not_read(zookeeper, zk_chroot, zk_client):
    for number in range(3):
        zk_client.Lock(f"/nodepool/nodes/000000000{number}/lock", f"data {number}").acquire()
    with new_store(zk_chroot) as store:
        assert all(store.nodes.is_locked(f"000000000{number}") for number in range(3))
        assert all("lock" not in path for path in store._session.tree.content()[0])


def test_a_thousand_nodes(store, zk_chroot):
    """All of them are there at once, in order, and again; how long that takes is the benchmark's."""
    sample = Node(type=["a"], provider="p", host_keys=["ssh-ed25519 AAAA"], attributes={"zone": "z"}, pool="main")
    for _unused in range(1000):
        store.nodes.create(sample.clone())
    for _unused in range(200):
        store.requests.create(NodeRequest(node_types=["a"]))
    with new_store(zk_chroot) as other:
        nodes = other.nodes.list()
        assert (len(nodes), len(other.requests.list())) == (1000, 200)
        assert [node.id for node in nodes] == sorted(node.id for node in nodes)
        assert other.nodes.list() == nodes
