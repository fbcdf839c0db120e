# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.read_ahead import (
    ReadAheadSocket,
    ready,
)

Pair = tuple[ReadAheadSocket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ReadAheadSocket(ours), theirs


@given(messages=st.lists(st.binary(min_size=1, max_size=300), min_size=1), size=st.integers(1, 400))
def test_what_is_sent_arrives_in_order_whatever_the_pieces(messages: list[bytes], size: int) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        reader, arrived = ReadAheadSocket(ours), b""
        for message in messages:
            theirs.sendall(message)
        theirs.close()
        while piece := reader.recv(size):
            assert len(piece) <= size
            arrived += piece
    assert arrived == b"".join(messages)


def test_pending_counts_what_was_read_and_not_handed_out(pair: Pair) -> None:
    reader, theirs = pair
    theirs.sendall(b"0123456789")
    assert reader.pending() == 0
    assert reader.recv(4) == b"0123"
    assert reader.pending() == 6


def test_pending_counts_what_tls_holds() -> None:
    class Tls:
        def recv(self, size: int) -> bytes:
            return b"abc"

        def pending(self) -> int:
            return 5

    reader = ReadAheadSocket(Tls())
    assert reader.recv(1) == b"a"
    assert reader.pending() == 7


def test_the_rest_is_the_sockets_own(pair: Pair) -> None:
    reader, theirs = pair
    reader.send(b"x")
    assert theirs.recv(1) == b"x"
    reader.close()
    assert reader.fileno() == -1


class TestReady:
    def test_nothing_has_arrived(self, pair: Pair) -> None:
        reader, _theirs = pair
        assert ready([reader], [], 0.0) == ([], [])
        assert ready([reader], [reader], 0.0) == ([], [reader])

    def test_something_has_arrived(self, pair: Pair) -> None:
        reader, theirs = pair
        theirs.sendall(b"x")
        assert ready([reader], [], None) == ([reader], [])

    def test_what_was_read_ahead_counts_although_the_socket_is_silent_and_does_not_hide_the_other(
        self, pair: Pair
    ) -> None:
        reader, theirs = pair
        other, far = socket.socketpair()
        with other, far:
            theirs.sendall(b"0123")
            reader.recv(1)
            assert ready([reader, other], [], None) == ([reader], [])
            far.sendall(b"x")
            assert ready([reader, other], [], None) == ([reader, other], [])

    def test_the_peer_is_gone(self, pair: Pair) -> None:
        reader, theirs = pair
        theirs.close()
        assert ready([reader], [], None) == ([reader], [])
        assert reader.recv(1) == b""

    def test_closed_by_ourselves_so_that_its_user_gets_the_error(self, pair: Pair) -> None:
        reader, _theirs = pair
        reader.close()
        assert ready([reader], [], None) == ([reader], [])
        assert ready([], [reader], None) == ([], [reader])
        with pytest.raises(OSError, match="Bad file descriptor"):
            reader.recv(1)


@given(bodies=st.lists(st.binary(max_size=40), min_size=1), cut=st.integers(0, 30))
def test_whole_messages_are_known_and_taken_whole(bodies: list[bytes], cut: int) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        reader = ReadAheadSocket(ours)
        sent = b"".join(len(body).to_bytes(4, "big") + body for body in bodies)
        theirs.sendall(sent[: len(sent) - min(cut, len(sent) - 1)])
        reader.fill()
        whole = reader.messages
        for number, body in enumerate(bodies):
            assert reader.has_message() is (number < whole)
            if number < whole:
                assert reader.take(4) == len(body).to_bytes(4, "big")
                assert reader.take(len(body)) == body
        assert whole == len(bodies) or cut > 0
        assert reader.messages == 0
        assert reader.take(1000) is None
