# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures arrive where the environment says, and never harm whoever notes them."""

from __future__ import annotations

import contextlib
import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients import statsd as room
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.statsd import Statsd, clean


@pytest.fixture
def server():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind(("127.0.0.1", 0))
        made.settimeout(5)
        yield made


def environment(server: socket.socket, **more: str) -> dict[str, str]:
    return {"STATSD_HOST": "127.0.0.1", "STATSD_PORT": str(server.getsockname()[1]), **more}


def test_what_was_noted_is_sent_at_the_end_in_one_packet(server):
    with Statsd.of_environment(environment(server)) as sink:
        assert sink.wanted and sink.problem is None
        sink.incr("nodepool.launch.ready")
        sink.gauge("nodepool.nodes.in-use", 3)
        sink.timing("nodepool.launch.ready", 1.5)
    assert server.recv(2000).decode().splitlines() == [
        "nodepool.launch.ready:1|c",
        "nodepool.nodes.in-use:3|g",
        "nodepool.launch.ready:1500.000000|ms",
    ]


def test_the_prefix_comes_before_the_names(server):
    with Statsd.of_environment(environment(server, STATSD_PREFIX="site-a")) as sink:
        sink.incr("nodepool.x", 2)
    assert server.recv(2000) == b"site-a.nodepool.x:2|c"


@pytest.mark.parametrize("environ", [{}, {"STATSD_HOST": ""}, {"STATSD_PORT": "1"}])
def test_without_a_host_nothing_is_kept_and_nobody_works(environ):
    with Statsd.of_environment(environ) as sink:
        sink.incr("a")
        assert not sink.wanted and sink.problem is None and not sink._waiting


@pytest.mark.parametrize("port", ["x", "0", "70000", "-1"])
def test_a_port_that_is_none_is_a_problem_and_no_failure(port):
    with Statsd.of_environment({"STATSD_HOST": "h", "STATSD_PORT": port}) as sink:
        sink.incr("a")
        assert not sink.wanted
        assert f"STATSD_PORT is {port!r}" in sink.problem


def test_without_the_library_nothing_is_sent_and_that_is_said(monkeypatch):
    monkeypatch.setattr(room, "HAS_STATSD", False)
    with Statsd.of_environment({"STATSD_HOST": "h"}) as sink:
        assert not sink.wanted and "statsd is not installed" in sink.problem


def test_a_look_up_that_hangs_or_fails_holds_nobody_up():
    asked, hangs = threading.Event(), threading.Event()
    calls = []

    def make(host, port):
        calls.append((host, port, threading.current_thread() is threading.main_thread()))
        asked.set()
        hangs.wait(30)
        raise OSError("no such host")

    sink = Statsd("gone.example", make=make)
    sink.incr("first")
    assert asked.wait(30)
    for _turn in range(room.MOST_WAITING + 10):
        sink.incr("a")
    assert not hangs.is_set()
    assert len(sink._waiting) == room.MOST_WAITING
    hangs.set()
    sink.close()
    assert calls == [("gone.example", 8125, False)]


def test_a_host_that_cannot_be_resolved_is_told_once_until_it_is(monkeypatch):
    """Nobody waits for it; what was noted meanwhile is sent as soon as the name is known."""
    monkeypatch.setattr(room, "RETRY", 0.0)
    told: list[str] = []
    sent, known, tried = threading.Event(), threading.Event(), threading.Semaphore(0)

    class Client:
        def pipeline(self):
            sent.set()
            return contextlib.nullcontext(self)

        def incr(self, name, count):
            assert (name, count) == ("a", 1)

        def close(self):
            return None

    def make(host, port):
        tried.release()
        if not known.is_set():
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return Client()

    with Statsd("gone.example", make=make, tell=told.append) as sink:
        sink.incr("a")
        for _turn in range(3):
            assert tried.acquire(timeout=30)
        assert sink.wanted and sink.problem in told
        known.set()
        assert sent.wait(30) and sink.problem is None
    (problem,) = told
    assert "'gone.example' of STATSD_HOST cannot be resolved (Name or service not known)" in problem


@given(st.text())
def test_a_name_cannot_break_the_line(text):
    cleaned = clean(text)
    assert cleaned.isascii() and not set(cleaned) & set(":|@ \n\t#/")
    assert len(cleaned) == len(text)


def test_usual_names_stay_as_they_are():
    assert clean("nodepool.label.ubuntu-jammy_8GB.nodes.in-use") == "nodepool.label.ubuntu-jammy_8GB.nodes.in-use"


def test_a_slash_makes_no_folder_of_a_store():
    """Graphite keeps a.b in a folder a: the metrics of a label a/b would be mixed with those of a label a.b."""
    assert clean("nodepool.label.team/large.nodes.ready") == "nodepool.label.team_large.nodes.ready"
