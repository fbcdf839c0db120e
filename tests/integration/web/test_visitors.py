# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many visitors, slow ones and bad ones; and how a change in ZooKeeper reaches them."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.crowd import Crowd
from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.listening import Listening
from tests.support.fixtures_zookeeper import eventually
from tests.support.web_service import ask, running, write_config

MANY = 500
CROWD = 2200
"""More than the server's connections and its queue of new ones."""
FILES = 3 * CROWD
PATIENCE = 20.0
"""Less than the time after which the server closes a connection without any bytes."""


@pytest.fixture
def service(tmp_path, zk_chroot):
    with running(write_config(tmp_path / "nodepool.yaml", zk_chroot)) as found:
        eventually(lambda: found.get("/node-list").status == 200)
        yield found


@pytest.fixture
def many_files() -> Iterator[None]:
    """Both ends of the connections are in this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < FILES:
        pytest.skip(f"this user may open {hard} files at most")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, FILES), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def connected(service, stack: contextlib.ExitStack) -> socket.socket:
    place = urlsplit(service.address)
    made = socket.create_connection((place.hostname, place.port), 60)
    return stack.enter_context(made)


def test_a_change_in_zookeeper_reaches_the_next_answers(service, zk_client):
    zk_client.create("/nodepool/nodes/0000000001", json.dumps({"state": "ready"}).encode(), makepath=True)
    eventually(lambda: [row["state"] for row in nodes(service)] == ["ready"])
    zk_client.set("/nodepool/nodes/0000000001", json.dumps({"state": "in-use"}).encode())
    eventually(lambda: [row["state"] for row in nodes(service)] == ["in-use"])
    zk_client.delete("/nodepool/nodes/0000000001")
    eventually(lambda: nodes(service) == [])


def nodes(service):
    return service.get("/node-list", Accept="application/json").json()


@pytest.mark.usefixtures("many_files")
def test_five_hundred_connections_at_once_are_answered(service):
    with contextlib.ExitStack() as stack:
        visitors = [connected(service, stack) for _number in range(MANY)]
        for visitor in visitors:
            visitor.sendall(b"GET /label-list HTTP/1.1\r\nHost: x\r\n\r\n")
        answers = [visitor.recv(65536) for visitor in visitors]
        assert {answer.split(b"\r\n")[0] for answer in answers} == {b"HTTP/1.1 200 OK"}
        assert service.get("/health").status == 200


def test_slow_visitors_keep_nobody_waiting(service, zk_client):
    labels = ["x" * 1000] * 500
    zk_client.create(
        "/nodepool/nodes/0000000001", json.dumps({"state": "ready", "type": labels}).encode(), makepath=True
    )
    eventually(lambda: nodes(service) != [])
    with contextlib.ExitStack() as stack:
        for _number in range(50):
            connected(service, stack).sendall(b"GET /node-list HTTP/1.1\r\nHo")
        for _number in range(50):
            connected(service, stack).sendall(b"GET /node-list HTTP/1.1\r\nHost: x\r\n\r\n")
        assert service.get("/health").status == 200
        assert len(service.get("/node-list").data) > 500_000


@pytest.mark.usefixtures("many_files")
def test_more_slow_connections_than_there_is_room_for_silence_nobody(service):
    with contextlib.ExitStack() as stack:
        for _number in range(CROWD):
            connected(service, stack).sendall(b"GET /health HTTP/1.1\r\nHo")
        visitor = connected(service, stack)
        visitor.settimeout(PATIENCE)
        visitor.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert visitor.recv(4096).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("takes", [b"nothing", b"a byte now and then"])
def test_a_visitor_who_does_not_take_an_answer_does_not_keep_the_connection(takes):
    """waitress closes a connection only when it can be written to, which such a visitor prevents."""
    answer = b"x" * (16 << 20)  # more than the kernel keeps for a connection

    def application(_environ, start_response):
        start_response("200 OK", [("Content-Length", str(len(answer)))])
        return [answer]

    with Listening(application, "127.0.0.1", 0) as listening, socket.socket() as visitor:
        listening._crowd = Crowd(taking_seconds=1.0)
        visitor.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        visitor.connect((listening.host, listening.port))
        visitor.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        channels = listening._server.active_channels
        assert eventually(lambda: any(channel.total_outbufs_len for channel in list(channels.values())))

        def gone() -> bool:
            if takes != b"nothing":
                with contextlib.suppress(ConnectionResetError):
                    visitor.recv(1)
            return not channels

        assert eventually(gone, 60)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"POST /node-list HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n", b"413"),
        (b"POST /node-list HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", b"405"),
        (b"GET /" + b"x" * 20000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"431"),
        (b"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", b"404"),
        (b"GET /page/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", b"404"),
        (b"GET http://elsewhere/node-list HTTP/1.1\r\nHost: x\r\n\r\n", b"200"),
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET /node-list?" + b"fields=id&" * 300 + b" HTTP/1.1\r\nHost: x\r\n\r\n", b"414"),
    ],
    ids=["body", "post", "long", "traversal", "encoded", "absolute", "nonsense", "query"],
)
def test_a_hostile_request_gets_an_answer_and_harms_no_other(service, request_bytes, status):
    with contextlib.ExitStack() as stack:
        visitor = connected(service, stack)
        visitor.sendall(request_bytes)
        assert visitor.recv(4096).split(b" ")[1] == status
    assert service.get("/health").status == 200


def test_every_answer_is_read_only(service):
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert ask(service.address, "/node-list", method).status == 405
