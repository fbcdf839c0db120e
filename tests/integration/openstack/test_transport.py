# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The transport against servers that misbehave on the wire."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.call_counters import CallCounters
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.ratelimit import RateLimiter
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.transport import (
    Transport,
    UploadTimes,
    status_without_answer,
)

Behave = Callable[[socket.socket], None]
PACE = 0.02
WHOLE = "no complete answer within 0.8 s"


class Server:
    """Accepts connections and lets *behave* treat each in a thread of its own."""

    def __init__(self, behave: Behave, wrap: Callable[[socket.socket], socket.socket] | None = None) -> None:
        self._behave = behave
        self._wrap = wrap
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.accepted = 0
        self.stopping = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _peer = self._listener.accept()
                self.accepted += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), (self._wrap or (lambda plain: plain))(connection) as channel:
            self._behave(channel)

    def close(self) -> None:
        self.stopping.set()
        # Without the shutdown the accepting thread keeps the port open.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def make(behave: Behave, **options: object) -> Server:
        servers.append(Server(behave, **options))  # type: ignore[arg-type]
        return servers[-1]

    yield make
    for server in servers:
        server.close()


@contextlib.contextmanager
def session(counters: CallCounters | None = None, *, rate: float = 0.0, **options: float) -> Iterator[requests.Session]:
    timeouts = {"connect_timeout": 1.0, "read_timeout": 0.4, "total_timeout": 0.8, "concurrency": 4, **options}
    transport = Transport(RateLimiter(rate), counters or CallCounters(), **timeouts)  # type: ignore[arg-type]
    with requests.Session() as made:
        made.trust_env = False
        made.mount("http://", transport)
        made.mount("https://", transport)
        yield made


def read_request(connection: socket.socket) -> bool:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return False
        data += piece
    return True


def drip(connection: socket.socket, text: bytes) -> None:
    for byte in text:
        connection.sendall(bytes([byte]))
        time.sleep(PACE)


def silent(connection: socket.socket) -> None:
    while connection.recv(65536):
        pass


def dripping_headers(connection: socket.socket) -> None:
    read_request(connection)
    drip(connection, b"HTTP/1.1 200 OK\r\n" + b"X-Long: " + b"x" * 10000)


def dripping_body(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n")
    drip(connection, b"y" * 10000)


def dripping_chunks(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _unused in range(1000):
        connection.sendall(b"1\r\nz\r\n")
        time.sleep(PACE)


def dripping_without_length(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
    drip(connection, b"w" * 10000)


def good(connection: socket.socket) -> None:
    while read_request(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")


@pytest.mark.parametrize(
    ("behave", "seconds", "told"),
    [
        (silent, 0.4, "read timeout=0.4"),
        (dripping_headers, 0.8, WHOLE),
        (dripping_body, 0.8, WHOLE),
        (dripping_chunks, 0.8, WHOLE),
        (dripping_without_length, 0.8, WHOLE),
    ],
)
def test_a_call_ends_in_its_time_however_slow_the_answer_comes(
    serve, behave: Behave, seconds: float, told: str
) -> None:
    """The answers would take for ever, or minutes."""
    counters = CallCounters()
    server = serve(behave)
    with session(counters) as http:
        began = time.monotonic()
        with pytest.raises(requests.exceptions.ReadTimeout, match=told):
            http.get(f"http://127.0.0.1:{server.port}/v2.1/servers/detail")
        assert time.monotonic() - began >= seconds - 0.05
    assert counters.result() == {"GET /servers/detail": {"timeout": 1}}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    key = path.with_suffix(".key")
    subprocess.run(
        [*command.split(), "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(path)],
        check=True,
        capture_output=True,
        timeout=60,
    )
    path.write_text(path.read_text() + key.read_text())
    return path


@pytest.mark.parametrize(("behave", "fine"), [(dripping_body, False), (good, True)])
def test_tls_is_bounded_too(serve, certificate: Path, behave: Behave, fine: bool) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = serve(behave, wrap=lambda plain: context.wrap_socket(plain, server_side=True))
    with session() as http:
        http.verify = str(certificate)
        if fine:
            for _unused in range(3):
                assert http.get(f"https://127.0.0.1:{server.port}/").content == b"{}"
            assert server.accepted == 1
        else:
            with pytest.raises(requests.exceptions.ReadTimeout, match=WHOLE):
                http.get(f"https://127.0.0.1:{server.port}/")


def test_a_tls_handshake_that_is_never_answered_ends(serve) -> None:
    counters = CallCounters()
    url = f"https://127.0.0.1:{serve(silent).port}/"
    timed_out = pytest.raises(requests.exceptions.RequestException, match=rf"timeout=0\.4|{WHOLE}")
    with timed_out, session(counters, connect_timeout=0.4) as http:
        http.get(url)


def test_nobody_listening_is_no_connection() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v2.1/servers"
        counters = CallCounters()
        with session(counters) as http, pytest.raises(requests.exceptions.ConnectionError) as caught:
            http.post(url, data=b"{}")
    assert status_without_answer(caught.value) == "no-connection"
    assert counters.result() == {"POST /servers": {"no-connection": 1}}


def test_a_name_that_does_not_resolve_is_no_connection() -> None:
    counters = CallCounters()
    with session(counters) as http, pytest.raises(requests.exceptions.ConnectionError):
        http.get("http://cloud.invalid/v3")
    assert counters.result() == {"GET /v3": {"no-connection": 1}}


def test_a_connection_that_breaks_is_a_reset(serve) -> None:
    def cut(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")

    def slam(connection: socket.socket) -> None:
        read_request(connection)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    counters = CallCounters()
    with session(counters) as http:
        for behave in (cut, slam):
            with pytest.raises(requests.exceptions.RequestException):
                http.get(f"http://127.0.0.1:{serve(behave).port}/v2.1/limits")
    assert counters.result() == {"GET /limits": {"reset": 2}}


def test_one_connection_is_used_again_and_a_late_call_harms_no_other(serve) -> None:
    server = serve(good)
    with session() as http:
        for _unused in range(20):
            assert http.get(f"http://127.0.0.1:{server.port}/").content == b"{}"
        assert server.accepted == 1
        with pytest.raises(requests.exceptions.ReadTimeout):
            http.get(f"http://127.0.0.1:{serve(dripping_body).port}/")
        assert http.get(f"http://127.0.0.1:{server.port}/").content == b"{}"
        assert server.accepted == 1


def side_by_side(http: requests.Session, url: str, number: int) -> None:
    """Ask *number* times at once."""
    threads = [threading.Thread(target=http.get, args=(url,)) for _unused in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)


def test_a_kept_connection_that_a_proxy_has_ended_meanwhile_costs_no_call(serve) -> None:
    ended = threading.Event()

    def once(connection: socket.socket) -> None:
        if read_request(connection):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            connection.shutdown(socket.SHUT_RDWR)
            ended.set()

    server, counters = serve(once), CallCounters()
    with session(counters) as http:
        for number in (1, 2, 3):
            assert http.get(f"http://127.0.0.1:{server.port}/v2.1/limits").content == b"{}"
            assert ended.wait(10) and server.accepted == number
            ended.clear()
    assert counters.result() == {"GET /limits": {"200": 3}}


def test_calls_start_at_the_rate(serve) -> None:
    starts: list[float] = []

    def quick(connection: socket.socket) -> None:
        while read_request(connection):
            starts.append(time.monotonic())
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    server = serve(quick)
    with session(rate=0.05, concurrency=9, total_timeout=5.0, read_timeout=5.0) as http:
        began = time.monotonic()
        side_by_side(http, f"http://127.0.0.1:{server.port}/", 9)
    # A start may reach the server late, but never before it was allowed.
    assert [round(start - began, 3) for place, start in enumerate(sorted(starts)) if start - began < place * 0.05] == []
    assert len(starts) == 9


def test_no_more_calls_than_allowed_run_side_by_side(serve) -> None:
    running = most = total = 0
    lock = threading.Lock()

    def slow(connection: socket.socket) -> None:
        nonlocal running, most, total
        while read_request(connection):
            with lock:
                total += 1
                running += 1
                most = max(most, running)
            time.sleep(0.2)
            with lock:
                running -= 1
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    server = serve(slow)
    with session(rate=0.001, concurrency=3, total_timeout=5.0, read_timeout=5.0) as http:
        side_by_side(http, f"http://127.0.0.1:{server.port}/", 9)
    assert total == 9
    assert most == 3


def test_waiting_for_a_slot_is_bounded_too(serve) -> None:
    counters = CallCounters()
    server = serve(silent)
    with session(counters, concurrency=1, read_timeout=0.6, total_timeout=0.3) as http:
        adapter: Any = http.get_adapter("http://")
        adapter._slots.acquire()
        with pytest.raises(requests.exceptions.ConnectTimeout, match="no free slot"):
            http.get(f"http://127.0.0.1:{server.port}/")
    assert (counters.result(), server.accepted) == ({"GET /": {"queue-timeout": 1}}, 0)


def stuck(connection: socket.socket) -> None:
    """Takes the headers and nothing more."""
    read_request(connection)
    time.sleep(30)


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("behave", [silent, stuck])
def test_an_upload_is_ended_by_another_thread(serve, certificate: Path, behave: Behave, tls: bool) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = serve(behave, wrap=(lambda plain: context.wrap_socket(plain, server_side=True)) if tls else None)
    problems: list[BaseException] = []
    with session(connect_timeout=20.0) as http:
        http.verify = str(certificate)
        transport = http.get_adapter("https://")
        assert isinstance(transport, Transport)

        def upload() -> None:
            pieces = iter([b"x" * 2**20] * 64)
            try:
                http.put(f"http{'s' * tls}://127.0.0.1:{server.port}/", data=pieces, timeout=UploadTimes(300.0, 600.0))  # type: ignore[arg-type]
            except requests.exceptions.RequestException as problem:
                problems.append(problem)

        thread = threading.Thread(target=upload)
        thread.start()
        while not server.accepted:
            assert thread.is_alive()
            time.sleep(0.01)
        transport.abort_uploads()
        thread.join(60)
        assert not thread.is_alive()
    assert [type(problem) for problem in problems] == [requests.exceptions.ReadTimeout]
