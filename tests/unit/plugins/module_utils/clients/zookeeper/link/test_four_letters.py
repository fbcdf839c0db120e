# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A ZooKeeper without TLS beside a port for TLS that does not answer is named."""

from __future__ import annotations

import itertools
import socket
import threading
from contextlib import suppress

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.four_letters import (
    four_letters,
    plain_remark,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import (
    ZooKeeperServer,
    ZooKeeperSettings,
    ZooKeeperTls,
)

TLS = ZooKeeperTls("cert", "key", "ca")
SERVERS = tuple(ZooKeeperServer(name, 2281) for name in ("zk1", "[::1]", "zk3", "zk4"))


@pytest.mark.parametrize(
    "answer", ["Zookeeper version: 3.9.3-1", "srvr is not executed because it is not in the whitelist.\n"]
)
def test_the_port_without_tls_and_the_keys_to_change_are_named(answer: str) -> None:
    asked = []

    def ask(host: str, port: int, word: str) -> str:
        asked.append((host, port, word))
        return answer if host == "::1" else ""

    told = plain_remark(ZooKeeperSettings(SERVERS, TLS), ask)
    assert "on port 2181 of ::1" in told and "set port: 2181 in zookeeper-servers and remove zookeeper-tls" in told
    assert asked[-1] == ("::1", 2181, "srvr")


def test_nothing_is_told_without_reason() -> None:
    assert plain_remark(ZooKeeperSettings(SERVERS), lambda *_words: "Zookeeper version") == ""
    hosts: list[str] = []

    def ask(host: str, _port: int, _word: str) -> str:
        hosts.append(host)
        return "SSH-2.0"

    assert plain_remark(ZooKeeperSettings(SERVERS, TLS), ask) == ""
    assert hosts == ["zk1", "::1", "zk3"], "more would take too long"
    assert four_letters("127.0.0.1", 1, "srvr") == ""


def test_an_answer_that_does_not_end_is_left_when_the_time_is_over() -> None:
    def serve() -> None:
        peer, _address = listener.accept()
        with peer, suppress(OSError):
            while True:
                peer.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        ticks = itertools.count()
        answer = four_letters("127.0.0.1", listener.getsockname()[1], "srvr", 10.0, clock=lambda: float(next(ticks)))
    assert answer.startswith("x") and next(ticks) < 20
