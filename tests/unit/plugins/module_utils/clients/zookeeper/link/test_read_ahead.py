# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import fcntl
import resource
import socket
import ssl
import threading
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.read_ahead import (
    ReadAheadSocket,
    ready,
)
from tests.support.zookeeper_certificates import Certificates

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

    def test_a_process_with_thousands_of_open_files_is_served_as_any_other(self, pair: Pair) -> None:
        """select() can only watch descriptors below 1024."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < 4096:
            pytest.skip("this machine allows too few open files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
        try:
            number = fcntl.fcntl(pair[0].fileno(), fcntl.F_DUPFD_CLOEXEC, 3000)
            with socket.socket(fileno=number) as high:
                reader = ReadAheadSocket(high)
                assert reader.fileno() >= 3000
                assert ready([reader], [reader], 0.0) == ([], [reader])
                pair[1].sendall(b"x")
                assert ready([reader], [], None) == ([reader], [])
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

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


class TlsServer:
    """The far end of a TLS connection: what it encrypts is sent when, and in which pieces, a test wants it.

    :ivar reader: the near end, after the handshake.
    :ivar tickets: what the server sends of its own accord after that, as TLS 1.3 has it; nothing in it is for us.
    """

    def __init__(self, certificates: Certificates, near: socket.socket, far: socket.socket) -> None:
        self._far = far
        self._arrived, self._leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        here = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        here.load_cert_chain(certificates.server_pair)
        self._tls = here.wrap_bio(self._arrived, self._leaving, server_side=True)
        there = ssl.create_default_context(cafile=certificates.ca)
        there.check_hostname = False
        shaking = threading.Thread(target=self._shake_hands)
        shaking.start()
        secured = there.wrap_socket(near)
        shaking.join()
        secured.setblocking(False)
        self.reader = ReadAheadSocket(secured)
        self.tickets = self._leaving.read()

    def _shake_hands(self) -> None:
        while True:
            try:
                self._tls.do_handshake()
                return
            except ssl.SSLWantReadError:
                self._far.sendall(self._leaving.read())
                self._arrived.write(self._far.recv(65536))

    def encrypted(self, data: bytes) -> bytes:
        """One record with *data* in it."""
        self._tls.write(data)
        return self._leaving.read()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("tls"))


class TestReadyWithTls:
    @pytest.fixture
    def server(self, certificates: Certificates) -> Iterator[tuple[TlsServer, Callable[[bytes], None]]]:
        near, far = socket.socketpair()
        with near, far:
            server = TlsServer(certificates, near, far)
            yield server, far.sendall
            server.reader.close()

    def test_what_is_for_tls_itself_is_nothing_to_read(self, server: tuple[TlsServer, Callable[[bytes], None]]) -> None:
        tls, send = server
        assert tls.tickets
        send(tls.tickets)
        assert ready([tls.reader], [], 0.01) == ([], [])

    def test_half_a_record_is_waited_for(self, server: tuple[TlsServer, Callable[[bytes], None]]) -> None:
        tls, send = server
        record = tls.encrypted(b"answer")
        send(tls.tickets + record[:10])
        assert ready([tls.reader], [], 0.01) == ([], [])
        rest = threading.Timer(0.05, send, [record[10:]])
        rest.start()
        assert ready([tls.reader], [], None) == ([tls.reader], [])
        rest.join()
        assert tls.reader.recv(100) == b"answer"

    def test_half_a_record_does_not_hide_the_other(self, server: tuple[TlsServer, Callable[[bytes], None]]) -> None:
        tls, send = server
        send(tls.encrypted(b"answer")[:10])
        other, far = socket.socketpair()
        with other, far:
            assert ready([tls.reader], [tls.reader], None) == ([], [tls.reader])
            far.sendall(b"x")
            assert ready([tls.reader, other], [], None) == ([other], [])

    def test_what_tls_cannot_write_before_it_reads_is_waited_for_until_the_end_only(self, pair: Pair) -> None:
        class Tls:
            def recv(self, size: int) -> bytes:
                raise ssl.SSLWantWriteError

            def fileno(self) -> int:
                return int(pair[0].fileno())

        pair[1].sendall(b"x")
        assert ready([ReadAheadSocket(Tls())], [], 0.01) == ([], [])


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
