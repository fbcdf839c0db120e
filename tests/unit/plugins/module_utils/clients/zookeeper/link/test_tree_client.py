# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests of a session without a server; with one: tests/integration/zookeeper/test_session.py."""

from __future__ import annotations

from typing import Any

import pytest
from kazoo.exceptions import ConnectionClosedError, ConnectionLoss, SessionExpiredError
from kazoo.protocol.serialization import GetData
from kazoo.protocol.states import KeeperState

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.tree_client import TreeClient

REQUEST = GetData("/nodepool", None)


class Waker:
    """The socket that wakes the connection's thread; a signal's handler may raise while it is used."""

    def __init__(self, problem: BaseException | None = None) -> None:
        self.problem = problem

    def send(self, _data: bytes) -> None:
        if self.problem is not None:
            raise self.problem


@pytest.fixture
def client():
    made = TreeClient(
        "127.0.0.1:1",
        tls=None,
        auth=None,
        timeout=10.0,
        attempt_timeout=1.0,
        on_link=lambda _client, _state: None,
        on_event=lambda _kind, _path: None,
    )
    made._state = KeeperState.CONNECTED
    return made


def submitted(client: TreeClient) -> list[Any]:
    """The exceptions of the answers to a request."""
    answers: list[Any] = []
    client.submit(REQUEST, lambda result: answers.append(type(result.exception)))
    return answers


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
def test_what_the_handler_of_a_signal_raises_is_not_lost(client, raised):
    client._connection._write_sock = Waker(raised())
    with pytest.raises(raised):
        submitted(client)
    assert [request for request, _answer in client._queue] == [REQUEST]


@pytest.mark.parametrize("waker", [None, Waker(OSError(9, "closed"))])
def test_without_a_connection_a_request_fails_at_once(client, waker):
    client._connection._write_sock = waker
    assert submitted(client) == [ConnectionClosedError]


def test_a_request_waits_for_its_answer(client):
    client._connection._write_sock = Waker()
    assert submitted(client) == [] and len(client._queue) == 1


def test_a_request_to_a_session_that_has_ended_is_not_queued(client):
    client._state = KeeperState.EXPIRED_SESSION
    assert submitted(client) == [SessionExpiredError] and not client._queue
    client._state = KeeperState.CONNECTING
    client._connection._write_sock = Waker()
    assert submitted(client) == [ConnectionLoss]
