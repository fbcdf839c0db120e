# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""TLS with client certificates."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
import time

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config import types
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from tests.support.fixtures_zookeeper import bare_client, end, new_store, settings_for
from tests.support.zookeeper_certificates import Certificates
from tests.support.zookeeper_server import HOST, ZooKeeperServer


@pytest.fixture(scope="module")
def server():
    with ZooKeeperServer(tls=True) as own:
        yield own


@pytest.fixture(scope="module")
def strangers(tmp_path_factory):
    """A CA that nobody here knows."""
    return Certificates(tmp_path_factory.mktemp("strangers"))


def settings(server, *, cert=None, key=None, ca=None, port=None):
    own = server.certificates
    tls = types.ZooKeeperTls(str(cert or own.client_cert), str(key or own.client_key), str(ca or own.ca))
    return types.ZooKeeperSettings((types.ZooKeeperServer(HOST, port or server.tls_port, "/tls"),), tls=tls)


def refused(configured):
    with pytest.raises(StoreError) as raised:
        new_store(configured, connect_timeout=1.5).open()
    return str(raised.value)


def test_the_same_tree_over_tls_and_plain(server):
    with new_store(settings(server)) as store:
        store.nodes.create(Node(type=["a"], provider="p"))
        held = store.nodes.lock("0000000000")
        client = bare_client(server, "/tls")
        assert client.get_children("/nodepool/nodes") == ["0000000000"]
        assert len(client.get_children("/nodepool/nodes/0000000000/lock")) == 1
        assert held.valid
        end(client)


def test_the_wrong_ca(server, strangers):
    told = refused(settings(server, ca=strangers.ca))
    assert "certificate is not accepted" in told
    assert "ca of zookeeper-tls" in told
    assert f"{HOST}:{server.tls_port}" in told


def test_a_client_certificate_of_a_stranger(server, strangers):
    told = refused(settings(server, cert=strangers.client_cert, key=strangers.client_key))
    assert "cert of zookeeper-tls must be signed by a CA that the server trusts" in told


def test_plain_to_the_port_for_tls(server):
    configured = types.ZooKeeperSettings((types.ZooKeeperServer(HOST, server.tls_port),), timeout=1.0)
    assert "TLS" in refused(configured)


def test_tls_to_the_plain_port(server):
    assert "secureClientPort" in refused(settings(server, port=server.port))


@pytest.mark.parametrize("which", ["cert", "key", "ca"])
def test_a_file_that_is_missing(server, which):
    assert f"{which} is /nowhere/x.pem, which is not a file" in refused(settings(server, **{which: "/nowhere/x.pem"}))


def test_a_key_that_does_not_belong_to_the_certificate(server, strangers):
    assert "cannot be used together" in refused(settings(server, key=strangers.client_key))


def test_a_ca_without_certificate(server, tmp_path):
    empty = tmp_path / "ca.pem"
    empty.write_text("nothing")
    assert "has no certificate" in refused(settings(server, ca=empty))


def test_plain_is_allowed(server):
    with new_store(settings_for(server, "/plain")) as store:
        store.nodes.create(Node())


class Dribble(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Hands on to *port* and back what comes, the answers in pieces that end within records of TLS."""

    daemon_threads = True

    def __init__(self, port):
        super().__init__((HOST, 0), _Dribbling)
        self.target = (HOST, port)
        self.port = self.server_address[1]


class _Dribbling(socketserver.BaseRequestHandler):
    server: Dribble

    def handle(self):
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with socket.create_connection(self.server.target) as there:
            asking = threading.Thread(target=self._ask, args=[there], daemon=True)
            asking.start()
            with contextlib.suppress(OSError):
                while came := there.recv(3000):
                    self.request.sendall(came)
                    time.sleep(0.001)

    def _ask(self, there):
        with contextlib.suppress(OSError):
            while came := self.request.recv(65536):
                there.sendall(came)
            there.shutdown(socket.SHUT_WR)


def test_records_that_arrive_in_pieces_do_not_end_the_connection(server, caplog):
    """kazoo warns of each connection that it drops."""
    with new_store(settings(server)) as store:
        for number in range(5):
            store.own.put(f"large/{number}", {"texts": ["x" * 2000] * 100})
    with Dribble(server.tls_port) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        try:
            with new_store(settings(server, port=proxy.port)) as store:
                for _again in range(3):
                    found = [store.own.read(f"large/{number}")["texts"] for number in range(5)]
                    assert {len("".join(texts)) for texts in found} == {200_000}
        finally:
            proxy.shutdown()
    assert "Connection dropped" not in caplog.text
