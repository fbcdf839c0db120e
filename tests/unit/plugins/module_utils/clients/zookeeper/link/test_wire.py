# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is between kazoo and its connection; the connection itself is in tests/integration/zookeeper."""

from __future__ import annotations

import select
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.wire import Answer, Handler


@pytest.fixture
def handler() -> Iterator[Handler]:
    handler = Handler(1.0)
    handler.start()
    yield handler
    handler.stop()


def rings(bell) -> bool:
    return bool(select.select([bell], [], [], 0)[0])


@given(st.lists(st.booleans(), max_size=40))
def test_the_bell_rings_exactly_while_requests_wait(steps: list[bool]) -> None:
    """True: a request; False: the thread deals with one, which it does only where there is one."""
    bell, _same = Handler(1.0).create_socket_pair()
    waiting = 0
    try:
        for is_request in steps:
            if is_request:
                assert bell.send(b"\0") == 1
                waiting += 1
            elif waiting:
                assert bell.recv(1) == b"\0"
                waiting -= 1
            assert rings(bell) is (waiting > 0)
    finally:
        bell.close()


def test_a_request_that_is_dealt_with_before_it_was_told_does_not_ring() -> None:
    bell, _same = Handler(1.0).create_socket_pair()
    bell.send(b"\0")
    bell.recv(1)
    bell.recv(1)
    bell.send(b"\0")
    assert not rings(bell)
    bell.send(b"\0")
    assert rings(bell)
    bell.close()


def test_who_rings_a_bell_that_is_closed_is_told() -> None:
    bell, _same = Handler(1.0).create_socket_pair()
    bell.close()
    with pytest.raises(OSError, match="closed"):
        bell.send(b"\0")


def test_an_answer_is_told_once(handler: Handler) -> None:
    told: list[Answer] = []
    handler.begin()
    answer = Answer(handler, told.append)
    answer.set("value")
    answer.set_exception(ValueError("too late"))
    assert told == [answer]
    assert (answer.value, answer.exception) == ("value", None)


def test_the_threads_of_requests_do_not_call_what_waits_for_answers(handler: Handler) -> None:
    called: list[int] = []
    over = threading.Event()

    def callback(_answer: Answer) -> None:
        called.append(threading.get_ident())
        over.set()

    Answer(handler, callback).set_exception(OSError())
    assert over.wait(10)
    assert called != [threading.get_ident()]


def test_what_fails_does_not_end_the_connections_thread(handler: Handler, caplog) -> None:
    handler.begin()
    handler.tell(lambda: 1 // 0)
    assert "ZeroDivisionError" in caplog.text
