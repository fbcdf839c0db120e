# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures with a real ZooKeeper: one server for all tests of all workers, a chroot of its own for each.

A directory of tests takes them over in its conftest.py:
``from tests.support.fixtures_zookeeper import zookeeper``
"""

from __future__ import annotations

import contextlib
import math
import select
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.handlers.threading import SequentialThreadingHandler

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.store import Store
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config import types
from tests.support.pace import allowed
from tests.support.shared_servers import TICK_MS, shared_zookeeper
from tests.support.zookeeper_server import HOST, ZooKeeperServer

__all__ = ["store", "zk_chroot", "zk_client", "zookeeper"]


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[ZooKeeperServer]:
    """A running server, plain. Tests that stop or pause one, or count what it does, start their own."""
    if shared := shared_zookeeper():
        eventually(shared.answers, 120.0)
        yield shared
        return
    with ZooKeeperServer(tick_ms=TICK_MS) as server:
        yield server


def settings_for(server: ZooKeeperServer, chroot: str = "", *, timeout: float = 10.0) -> types.ZooKeeperSettings:
    """How a Store reaches *server* over its plain port."""
    return types.ZooKeeperSettings((types.ZooKeeperServer(HOST, server.port, chroot),), timeout=timeout)


@pytest.fixture
def zk_chroot(zookeeper: ZooKeeperServer) -> types.ZooKeeperSettings:
    """Settings with a chroot that does not exist yet."""
    return settings_for(zookeeper, f"/test-{uuid.uuid4().hex}")


@pytest.fixture
def store(zk_chroot: types.ZooKeeperSettings) -> Iterator[Store]:
    """An open store."""
    with Store(zk_chroot) as opened:
        yield opened


@pytest.fixture
def zk_client(zookeeper: ZooKeeperServer, zk_chroot: types.ZooKeeperSettings) -> Iterator[Any]:
    """A bare kazoo client in the same chroot: plays Zuul, Nodepool and everybody else."""
    with_chroot = bare_client(zookeeper, zk_chroot.servers[0].chroot)
    yield with_chroot
    end(with_chroot)


class PollingHandler(SequentialThreadingHandler):
    """kazoo's own, but its threads wait by poll(2).

    kazoo makes a selector each time that it waits, three times for each request: a third of the CPU time of a client.
    """

    def select(
        self, readers: Sequence[Any], writers: Sequence[Any], _exceptions: Sequence[Any], timeout: float | None = None
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """Which of them can be read from, and which can be written to.

        :raises ValueError: one is closed, as kazoo's own does.
        """
        wanted: dict[int, int] = {}
        for events, files in ((select.POLLIN, readers), (select.POLLOUT, writers)):
            for file in files:
                wanted[file.fileno()] = wanted.get(file.fileno(), 0) | events
        poll = select.poll()
        for number, events in wanted.items():
            poll.register(number, events)
        found = dict(poll.poll(None if timeout is None else math.ceil(timeout * 1000)))
        if any(events & select.POLLNVAL for events in found.values()):
            raise ValueError("Invalid event mask or fd")
        readable = [file for file in readers if found.get(file.fileno(), 0) & ~select.POLLOUT]
        return readable, [file for file in writers if found.get(file.fileno(), 0) & ~select.POLLIN], []


def bare_client(server: ZooKeeperServer, chroot: str = "", *, timeout: float = 10.0) -> Any:
    """A started kazoo client; the chroot exists afterwards.

    :param timeout: seconds without the server after which the session ends; kazoo looks for it twice a second.
    """
    if not chroot:
        client = KazooClient(server.hosts, handler=PollingHandler())
        client.start(10)
        return client
    retry = {"max_tries": -1, "delay": 0.1, "max_delay": 0.5}
    client = KazooClient(server.hosts, timeout=timeout, connection_retry=retry, handler=PollingHandler())
    client.start(10)
    client.ensure_path(chroot)
    # From here on, as if it had been in the address: that would need another session.
    client.chroot = chroot
    return client


def end(client: Any) -> None:
    """Stop a kazoo client."""
    client.stop()
    client.close()


def eventually(check: Callable[[], Any], seconds: float = 15.0, pause: Callable[[float], object] = time.sleep) -> Any:
    """What *check* returns, as soon as that is true.

    :param pause: waits for so many seconds, or for a change that is told.
    :raises AssertionError: when that takes longer than what is :func:`allowed` for *seconds*.
    """
    began = looking = time.monotonic()
    while not (result := check()):
        now = time.monotonic()
        waited, looked = now - began, now - looking
        if waited > seconds and waited > allowed(seconds):
            raise AssertionError(f"not within {waited:.1f} s ({seconds:g} s at rest); last answer: {result!r}")
        # Looking costs time that what is waited for needs: the longer it takes, the less it matters when it is seen,
        # and who runs a program to look leaves it more time than that takes.
        pause(min(3 * looked, 1.0) if looked > 0.1 else min(max(waited / 10, 0.005), 0.05))
        looking = time.monotonic()
    return result


def new_store(settings: types.ZooKeeperSettings, **options: Any) -> Any:
    """A store that is not open yet; of no type, because tests go straight for what may be None."""
    return Store(settings, **options)


def break_connection(store: Store) -> None:
    """Cut the connection of *store*; its session lives on, and kazoo reconnects."""
    session = store._session.client
    assert session is not None
    with contextlib.suppress(OSError, AttributeError):  # it may be down already, or have no socket at the moment
        session._connection._socket.shutdown(socket.SHUT_RDWR)


def expire_session(server: ZooKeeperServer, store: Store) -> None:
    """End the session of *store* from outside, as the server does when it has heard nothing for too long."""
    session = store._session.client
    assert session is not None
    thief = KazooClient(server.hosts, client_id=session.client_id)
    thief.start(10)
    end(thief)
