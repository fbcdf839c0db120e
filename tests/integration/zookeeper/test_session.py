# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Losing the connection, the session and the server."""

from __future__ import annotations

import socket
import threading
import uuid
from collections import deque
from functools import partial
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import EXCEPTIONS, NodeExistsError

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.cache_sync import CacheSync
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config import types
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreError, StoreTooLarge
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from tests.support.fixtures_zookeeper import (
    bare_client,
    break_connection,
    end,
    eventually,
    expire_session,
    new_store,
    settings_for,
)
from tests.support.zookeeper_server import HOST, ZooKeeperServer, free_port

FOR_EVER = 10_000.0


@pytest.fixture
def server():
    """One that may be stopped."""
    with ZooKeeperServer(tick_ms=100) as own:
        yield own


def made(store, **fields):
    node = Node(type=["a"], provider="p", **fields)
    store.nodes.create(node)
    return node


def is_back(store):
    return store.state == "connected" and store.generation == 1


def test_an_expired_session_is_followed_by_a_new_one(zookeeper, store, zk_client):
    told: list[str] = []
    store.on_change(told.append)
    node = made(store)
    registration = store.components.register("pool", "host", {"id": "i", "provider_name": "p"})
    before = registration.path
    expire_session(zookeeper, store)
    eventually(lambda: store.generation == 2 and store.state == "connected")
    assert "" in told
    assert store.nodes.get(node.id) == node
    eventually(lambda: registration.path not in (None, before))
    eventually(lambda: zk_client.get_children("/nodepool/components/pool") == [registration.path.rsplit("/", 1)[1]])
    zk_client.set(f"/nodepool/nodes/{node.id}", b'{"state":"used"}')
    eventually(lambda: store.nodes.get(node.id).state == "used")


def test_what_happened_in_between_is_seen_after_a_restart(server):
    # What waits for an answer, or for the connection, waits longer than any test may take.
    with new_store(settings_for(server, timeout=5.0), connect_timeout=FOR_EVER) as store:
        gone, kept = made(store), made(store)
        held = store.nodes.lock(kept.id)
        server.stop()
        eventually(lambda: store.state == "suspended")
        with pytest.raises(StoreError, match=f"/nodepool/nodes/{kept.id}.*suspended"):
            store.nodes.write(kept)
        with pytest.raises(StoreError, match="suspended"):
            store.nodes.lock(gone.id)
        assert store.nodes.get(gone.id) == gone
        server.start()
        eventually(lambda: store.state == "connected")
        client = bare_client(server)
        client.delete(f"/nodepool/nodes/{gone.id}", recursive=True)
        eventually(lambda: store.nodes.get(gone.id) is None)
        if store.generation == 1:
            assert held.valid
            assert len(client.get_children(f"/nodepool/nodes/{kept.id}/lock")) == 1
        store.nodes.write(kept)
        end(client)


def test_changes_during_an_interruption_are_caught_up_with(server):
    """Only our connection breaks; the others go on."""
    with new_store(settings_for(server, timeout=10.0)) as store:
        nodes = [made(store) for _unused in range(5)]
        held = store.nodes.lock(nodes[4].id)
        client = bare_client(server)
        hold_back = threading.Event()
        connection = store._session.client._connection
        connect = connection._connect

        def delayed(*arguments):
            hold_back.wait(10)
            return connect(*arguments)

        connection._connect = delayed
        break_connection(store)
        eventually(lambda: store.state == "suspended")
        client.delete("/nodepool/nodes/0000000000", recursive=True)
        client.set("/nodepool/nodes/0000000001", b'{"state":"used"}')
        client.create("/nodepool/nodes/", b'{"state":"ready"}', sequence=True)
        lock = client.Lock("/nodepool/nodes/0000000002/lock")
        lock.acquire()
        assert store.nodes.get("0000000000") is not None
        hold_back.set()
        eventually(lambda: store.state == "connected")
        assert store.generation == 1
        names = store.nodes.ids()
        assert (names[:4], len(names)) == ([f"{number:010d}" for number in (1, 2, 3, 4)], 5)
        assert store.nodes.get("0000000001").state == "used"
        assert store.nodes.is_locked("0000000002")
        assert held.valid
        assert store.nodes.is_locked(nodes[4].id)
        store.nodes.write(nodes[4], held=held)
        client.set("/nodepool/nodes/0000000003", b'{"state":"hold"}')  # the new watch works
        eventually(lambda: store.nodes.get("0000000003").state == "hold")
        end(client)


def test_a_server_that_hangs_suspends_and_then_loses_the_session(server):
    states = []
    with new_store(settings_for(server, timeout=1.0), connect_timeout=2.0) as store:
        store.on_change(lambda path: states.append(store.state))
        node = made(store)
        held = store.nodes.lock(node.id)
        server.pause()
        eventually(lambda: store.state == "suspended")
        eventually(lambda: store.state == "lost")
        assert not held.valid
        with pytest.raises(StoreError, match="lost"):
            store.nodes.create(Node())
        server.resume()
        eventually(lambda: store.state == "connected")
        assert store.generation == 2
        seen = [state for state in states if state in ("suspended", "lost")]
        assert list(dict.fromkeys(seen)) == ["suspended", "lost"]
        eventually(lambda: not store.nodes.is_locked(node.id))
        assert store.nodes.lock(node.id) is not None


def test_an_operation_is_bounded_and_a_creation_without_answer_is_undone(server):
    """The server gets our request while it hangs, and obeys it when it wakes up."""
    with new_store(settings_for(server, timeout=60.0), connect_timeout=1.0) as store:
        told: list[str] = []
        store.on_change(told.append)
        keep = made(store, comment="same")
        server.pause()
        with pytest.raises(StoreError, match="did not answer in time"):
            made(store, comment="same")
        with pytest.raises(StoreError, match="did not answer in time"):
            store.nodes.lock(keep.id)
        assert store.state == "connected", "nobody has missed the server yet"
        server.resume()
        eventually(lambda: "/nodepool/nodes/0000000001" in told)  # it did happen
        eventually(lambda: [node.id for node in store.nodes.list()] == [keep.id])
        eventually(lambda: not store.nodes.is_locked(keep.id))
        held = store.nodes.lock(keep.id)
        assert held is not None
        assert store.generation == 1


def test_a_lock_released_without_connection_is_released_later(server):
    with new_store(settings_for(server, timeout=20.0), connect_timeout=1.0) as store:
        node = made(store)
        held = store.nodes.lock(node.id)
        server.pause()
        held.release()
        assert not held.valid
        server.resume()
        eventually(lambda: not store.nodes.is_locked(node.id))
        assert store.nodes.lock(node.id) is not None


def test_one_dead_host_of_two(server):
    dead = types.ZooKeeperServer(HOST, free_port())
    settings = types.ZooKeeperSettings((dead, *settings_for(server, "/both").servers))
    settings = types.ZooKeeperSettings(tuple(types.ZooKeeperServer(s.host, s.port, "/both") for s in settings.servers))
    for _unused in range(3):
        with new_store(settings) as store:
            made(store)
    client = bare_client(server)
    assert len(client.get_children("/both/nodepool/nodes")) == 3
    end(client)


def test_a_name_that_cannot_be_resolved_costs_nothing_where_another_server_answers(server):
    unknown = types.ZooKeeperServer("no-such-host.invalid", 2181)
    settings = types.ZooKeeperSettings((unknown, types.ZooKeeperServer(HOST, server.port)))
    for _unused in range(3):
        with new_store(settings) as store:
            made(store)
            # The name is tried again with each new connection.
            break_connection(store)
            eventually(partial(is_back, store))


def test_a_host_that_answers_nothing_does_not_use_up_the_time(server):
    with socket.create_server((HOST, 0)) as silent:
        settings = types.ZooKeeperSettings(
            (types.ZooKeeperServer(HOST, silent.getsockname()[1]), types.ZooKeeperServer(HOST, server.port)),
            timeout=2.0,
        )
        for _unused in range(3):
            with new_store(settings, connect_timeout=5.0) as store:
                made(store)


def test_a_nested_chroot_is_made(server):
    with new_store(settings_for(server, "/a/b/c/")) as store:
        made(store)
    client = bare_client(server)
    assert client.get_children("/a/b/c/nodepool/nodes") == ["0000000000"]
    assert client.exists("/nodepool") is None
    end(client)


def test_ipv6_addresses_are_put_in_brackets():
    port = free_port()
    settings = types.ZooKeeperSettings((types.ZooKeeperServer("::1", port), types.ZooKeeperServer("[::1]", port)))
    with pytest.raises(StoreError, match=rf"\[::1\]:{port}: it refused the connection"):
        new_store(settings, connect_timeout=0.5).open()


@pytest.mark.parametrize(
    ("host", "told"),
    [
        ("127.0.0.1", "it refused the connection: check that ZooKeeper is running"),
        ("zookeeper.invalid", "check the name and the DNS"),
    ],
)
def test_an_unreachable_host_is_named_with_a_remedy(host, told):
    port = free_port()
    with pytest.raises(StoreError, match=told) as raised:
        new_store(types.ZooKeeperSettings((types.ZooKeeperServer(host, port),)), connect_timeout=0.6).open()
    assert f"{host}:{port}" in str(raised.value)
    assert "within 0.6 s" in str(raised.value)


@pytest.mark.parametrize("session_timeout", [1.0, 10.0])
def test_a_server_that_hangs_is_not_waited_for_longer_than_said(server, session_timeout):
    server.pause()
    with pytest.raises(StoreError, match=f"{server.port}: it accepts the connection, but ZooKeeper does not answer"):
        new_store(settings_for(server, timeout=session_timeout), connect_timeout=1.5).open()
    server.resume()


def test_different_chroots_are_refused(zookeeper):
    servers = tuple(types.ZooKeeperServer(HOST, zookeeper.port, chroot) for chroot in ("/a", "/b"))
    with pytest.raises(StoreError, match="different chroots"):
        new_store(types.ZooKeeperSettings(servers)).open()


def test_reading_only_writes_nothing_at_all(zookeeper):
    chroot = f"/never-{uuid.uuid4().hex}"
    client = KazooClient(zookeeper.hosts)
    client.start()
    store = new_store(settings_for(zookeeper, chroot))
    store.open(watch=False)
    assert store.nodes.list() == []
    for change in (
        lambda: store.nodes.create(Node()),
        lambda: store.own.put("site", {}),
        lambda: store.own.lock("providers/p"),
        lambda: store.components.register("pool", "h", {}),
    ):
        with pytest.raises(StoreError, match="reading only"):
            change()
    assert client.exists(chroot) is None
    # Other sessions of the same server may watch their own trees.
    assert chroot not in zookeeper.command("wchp")
    store.close()
    end(client)


def test_reading_only_sees_the_tree_as_it_is(store, zk_chroot):
    node = made(store)
    held = store.nodes.lock(node.id)
    reader = new_store(zk_chroot)
    reader.open(watch=False)
    assert reader.nodes.list() == [node]
    assert reader.nodes.is_locked(node.id)
    held.release()
    assert reader.nodes.read(node.id) == node
    assert reader.nodes.is_locked(node.id)
    reader.close()


def test_a_store_that_was_never_opened_says_so(zk_chroot):
    store = new_store(zk_chroot)
    assert store.state != "connected"
    with pytest.raises(StoreError):
        store.nodes.read("0000000000")
    with pytest.raises(StoreError):
        store.nodes.create(Node())
    store.close()


def test_a_closed_store_says_so(zk_chroot):
    store = new_store(zk_chroot)
    store.open()
    store.close()
    store.close()
    assert store.state == "lost"
    with pytest.raises(StoreError, match="closed"):
        store.nodes.create(Node())
    with pytest.raises(StoreError):
        store.nodes.read("0000000000")


def test_a_connection_that_breaks_and_is_back_before_the_tree_is_taken_over(store, zk_client, monkeypatch):
    """The watch went with the connection, so what was read over it does not do, although there is a connection."""
    walked = CacheSync.wait
    broken: list[CacheSync] = []

    def wait(feed, timeout):
        over = walked(feed, timeout)
        if not broken:
            broken.append(feed)
            connection = store._session.client._connection
            before = connection._socket
            break_connection(store)
            eventually(lambda: connection._socket not in (None, before) and store._session.client.connected)
        return over

    store.nodes.create(Node(type=["a"], provider="p"))
    monkeypatch.setattr(CacheSync, "wait", wait)
    break_connection(store)
    eventually(lambda: broken and store.state == "connected")
    zk_client.create("/nodepool/nodes/0000000777", b'{"type": ["a"], "provider": "p"}')
    eventually(lambda: store.nodes.get("0000000777"))


@pytest.mark.parametrize("ending", ["the session", "the connection"])
def test_what_is_asked_for_in_the_moment_of_the_end_is_not_waited_for(zookeeper, store, monkeypatch, ending):
    """kazoo looks at the state, and only then queues; in between it may have failed all that was queued."""
    client = store._session.client
    up = threading.Event()

    class Queue(deque[Any]):
        def append(self, request):
            if ending == "the session":
                expire_session(zookeeper, store)
                eventually(lambda: client._queue is not self)
            else:
                break_connection(store)
                eventually(lambda: not client.connected)
            super().append(request)

    if ending == "the connection":
        connect = client._connection._connect
        monkeypatch.setattr(client._connection, "_connect", lambda *target: up.wait(60) and connect(*target))
    client._queue = Queue()
    with pytest.raises(StoreError, match="broke"):
        store.own.put("late", {})
    up.set()


def test_an_error_that_kazoo_does_not_know_concerns_one_request_only(store, monkeypatch):
    """kazoo 2.9 does not know that of an exceeded quota, for one."""
    store.own.put("there", {})
    monkeypatch.delitem(EXCEPTIONS, NodeExistsError.code)
    with pytest.raises(StoreError, match=rf"refused to create .*{NodeExistsError.code}"):
        store._session.create("/nodepool/stackci/there")
    assert store.own.read("there") == {}
    assert store.generation == 1


def test_a_creation_without_answer_is_undone_also_where_its_sender_looks_late(server):
    """By then the tree has been read again, and what was created is in it."""
    with new_store(settings_for(server)) as store:
        store.nodes.create(Node(type=["a"], provider="first"))
        server.pause()
        sent = store.nodes.send(Node(type=["a"], provider="lost"))
        eventually(lambda: store._session.client._pending)
        break_connection(store)
        eventually(lambda: store.state != "connected")
        server.resume()
        eventually(lambda: store.state == "connected")
        assert [node.provider for node in store.nodes.list()] == ["first", "lost"]
        with pytest.raises(StoreError, match="broke"):
            sent.wait()
        eventually(lambda: [node.provider for node in store.nodes.list()] == ["first"])


def test_a_deep_and_a_wide_tree_are_deleted_in_parts(zookeeper, store, zk_client):
    """The paths of a chain of 50 znodes with long names are 12 MB in all, of which a request takes one.

    ZooKeeper looks for watches on each znode above a changed one: what that costs it grows with the cube of the depth.
    """
    path = "/nodepool/nodes/0000000001"
    for depth in range(50):
        path += f"/{'n' * 10_000}{depth}"
    zk_client.create(path, b"", makepath=True)
    wide = "/nodepool/nodes/0000000002"
    zk_client.ensure_path(wide)
    for number in range(1500):
        zk_client.create_async(f"{wide}/{number}", b"")
    eventually(lambda: len(zk_client.get_children(wide)) == 1500)
    for name in ("0000000001", "0000000002"):
        store.nodes.delete(name)
        assert zk_client.exists(f"/nodepool/nodes/{name}") is None


def test_a_write_that_zookeeper_would_not_take_is_refused_before_it_is_sent(zookeeper, store, zk_client):
    node = made(store)
    generation = store.generation
    node.comment = "x" * 1_100_000
    with pytest.raises(StoreTooLarge, match="cannot be changed"):
        store.nodes.write(node)
    store.own.put("waits/1", {"text": "x" * 1_000_000})
    assert store.own.read("waits/1") is None
    assert any("waits/1 is not stored" in line for line in store.odd_documents())
    assert (store.state, store.generation) == ("connected", generation)


def test_each_address_of_a_name_is_tried(server, monkeypatch):
    """Name servers may still tell the address of a server that has gone."""
    resolve = socket.getaddrinfo

    def addresses(host, *more, **options):
        known = ("127.0.0.99", HOST) if host == "zk.example.org" else (host,)
        return [found for address in known for found in resolve(address, *more, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", addresses)
    settings = types.ZooKeeperSettings((types.ZooKeeperServer("zk.example.org", server.port),))
    for _unused in range(5):  # in any order
        with new_store(settings) as store:
            made(store)
