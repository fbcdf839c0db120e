# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a session of ZooKeeper keeps, leaves behind and hands on; and how it stays alive."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import socket
import subprocess
import sys
import threading
import weakref

import pytest
from kazoo.client import KazooClient

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import (
    ZooKeeperServer,
    ZooKeeperSettings,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from tests.support.fixtures_zookeeper import eventually, expire_session, new_store
from tests.support.zookeeper_server import HOST


def made(store):
    node = Node(type=["a"], provider="p")
    store.nodes.create(node)
    return node


def descriptors() -> set[tuple[str, str]]:
    """Number and meaning of each open descriptor of this process."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the one that lists them is closed by now
            found.add((name, os.readlink(f"/proc/self/fd/{name}")))
    return found


@pytest.fixture
def no_log():
    """pytest keeps each line of the log with the error that it tells of, and with that the client."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def test_a_store_that_is_closed_leaves_no_thread_no_descriptor_and_no_memory(zookeeper, zk_chroot, no_log):
    def used():
        store = new_store(zk_chroot)
        store.open()
        node = made(store)
        store.nodes.lock(node.id)
        store.close()
        store.close()
        return weakref.ref(store), weakref.ref(store._session)

    used()
    gc.collect()
    threads, before = set(threading.enumerate()), len(descriptors())
    left = [reference for _unused in range(5) for reference in used()]

    def gone() -> bool:
        gc.collect()
        return not [one for one in left if one() is not None] and not set(threading.enumerate()) - threads

    eventually(gone)
    assert len(descriptors()) <= before


def test_lost_sessions_leave_nothing_behind(zookeeper, store, no_log):
    """A launcher runs for months; each lost session has a client of its own."""

    def lose() -> None:
        generation = store.generation
        expire_session(zookeeper, store)
        eventually(lambda: store.generation > generation and store.state == "connected")

    def clients() -> int:
        gc.collect()
        return sum(isinstance(one, KazooClient) for one in gc.get_objects())

    lose()
    known, threads, before = clients(), len(threading.enumerate()), len(descriptors())
    for _unused in range(5):
        lose()
    eventually(lambda: clients() <= known and len(threading.enumerate()) <= threads)
    assert len(descriptors()) <= before


def test_programs_that_are_started_do_not_inherit_the_connection(zookeeper, store):
    """A build that outlives its cycle would keep the session's connection open."""
    made(store)
    look = "import os; print([os.readlink(f'/proc/self/fd/{n}') for n in ('0', '1', '2', *os.listdir('/proc/self/fd'))"
    look += " if os.path.exists(f'/proc/self/fd/{n}')])"
    told = subprocess.run(
        [sys.executable, "-c", look], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True
    )
    assert "socket:" not in told.stdout
    ours = store._session.client._connection._socket.fileno()
    assert not os.get_inheritable(ours)


def test_answers_without_end_do_not_cost_the_session(zookeeper, store, zk_client):
    """Signs of life are sent while large answers arrive one after the other for longer than a session lasts."""
    paths = []
    for number in range(20):
        paths.append(f"/nodepool/stackci/large/{number}")
        zk_client.create(paths[-1], b"x" * 900_000, makepath=True)
    client = store._session.client
    seconds = client._session_timeout / 1000 if client._session_timeout > 100 else client._session_timeout
    stop = threading.Event()
    read = [0]

    def reading() -> None:
        while not stop.is_set():
            for answer in [client.get_async(path) for path in paths]:
                answer.get(60)
                read[0] += 1

    readers = [threading.Thread(target=reading, daemon=True) for _unused in range(2)]
    for thread in readers:
        thread.start()
    stop.wait(3 * min(seconds, 2.0))
    stop.set()
    for thread in readers:
        thread.join(60)
    assert read[0] > len(paths)
    assert (store.generation, store.state) == (1, "connected")
    made(store)


def test_attempts_to_connect_that_fail_leave_no_descriptor(no_log):
    """The server hangs up in the middle of each greeting, as one does that is just starting."""
    counts: list[int] = []
    with socket.create_server((HOST, 0)) as listener:

        def hang_up() -> None:
            while True:
                try:
                    connection = listener.accept()[0]
                except OSError:
                    return
                with connection:
                    counts.append(len(descriptors()))

        settings = ZooKeeperSettings((ZooKeeperServer(HOST, listener.getsockname()[1]),), timeout=10.0)
        threading.Thread(target=hang_up, daemon=True).start()
        with pytest.raises(StoreError):
            new_store(settings, connect_timeout=6.0).open()
        listener.shutdown(socket.SHUT_RDWR)
    assert 3 <= len(counts) <= 60, "it is tried again, and not without pauses"
    assert max(counts[2:]) <= max(counts[:2])
