# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The time of a call; what happens on the wire is tested in tests/integration/openstack/test_transport.py."""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Iterator

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.transport import (
    _BoundedReader,
    _Call,
)

Pair = tuple[socket.socket, socket.socket]


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def pair() -> Iterator[Pair]:
    near, far = socket.socketpair()
    with near, far:
        yield near, far


def test_each_operation_gets_what_is_left(pair: Pair):
    clock = Clock()
    call = _Call(10.0, 3.0, 5.0, clock)
    call.bound(pair[0], 5.0)
    assert pair[0].gettimeout() == 5.0
    clock.now += 8.0
    call.bound(pair[0], 5.0)
    assert pair[0].gettimeout() == 2.0
    clock.now += 2.0
    assert call.over
    with pytest.raises(TimeoutError):
        call.bound(pair[0], 5.0)


def test_an_answer_that_drips_ends_with_the_time_of_the_call(pair: Pair):
    clock = Clock()
    call = _Call(10.0, 3.0, 5.0, clock)

    class Dripping(io.RawIOBase):
        def readinto(self, buffer):
            clock.now += 4.0
            buffer[0] = 120
            return 1

    reader = io.BufferedReader(_BoundedReader(Dripping(), pair[0], call))
    with pytest.raises(TimeoutError):
        reader.read(100)
    assert clock.now == 112.0


def test_an_operation_under_way_is_aborted(pair: Pair):
    call = _Call(600.0, 600.0, 600.0, Clock())
    call.bound(pair[0], 600.0)
    read: list[bytes] = []
    thread = threading.Thread(target=lambda: read.append(pair[0].recv(1)))
    thread.start()
    call.abort()
    thread.join(60)
    assert read == [b""]
    assert call.over
    with pytest.raises(TimeoutError):
        call.bound(pair[0], 600.0)


def test_what_serves_another_call_now_is_left_alone(pair: Pair):
    call = _Call(600.0, 600.0, 600.0, Clock())
    call.bound(pair[0], 600.0)
    call.end()
    call.abort()
    pair[1].sendall(b"x")
    assert pair[0].recv(1) == b"x"
