# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways by which a cycle is told to end."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.stop import (
    CONTROLLER_GONE,
    STOPPED,
    Stop,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime import control
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.control import Control, controlled


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(control, "PACE", 0.001)


def asked(stop):
    """Wait until it is asked for."""
    heard = threading.Event()
    stop.tell(heard.set)
    assert heard.wait(10)
    return stop.reason


@pytest.mark.parametrize("text", ["stop", "stop\n", " stop \nplease\n"])
def test_the_word_stop_in_the_file(tmp_path, text):
    file = tmp_path / "control"
    stop = Stop()
    with Control(stop, str(file), controller_gone=lambda: False):
        assert stop.reason is None
        file.write_text(text, encoding="utf-8")
        assert asked(stop) == STOPPED


def test_a_word_that_was_there_before_counts(tmp_path):
    (tmp_path / "control").write_text("stop", encoding="utf-8")
    stop = Stop()
    with Control(stop, str(tmp_path / "control"), controller_gone=lambda: False):
        assert stop.reason == STOPPED


@pytest.mark.parametrize("make", ["missing", "empty", "other", "folder", "pipe", "binary"])
def test_anything_else_is_no_wish(tmp_path, make):
    file = tmp_path / "control"
    if make == "folder":
        file.mkdir()
    elif make == "pipe":
        os.mkfifo(file)
    elif make != "missing":
        file.write_bytes({"empty": b"", "other": b"stopping", "binary": b"\xff\x00" * 100}[make])
    looks = Control(Stop(), str(file), controller_gone=lambda: False)
    assert not looks.look()


def test_a_controller_that_is_gone():
    stop = Stop()
    with Control(stop, controller_gone=lambda: True):
        assert asked(stop) == CONTROLLER_GONE


def test_the_first_signal_is_a_wish_and_the_second_acts_as_before():
    heard = []
    # Whatever it is: a shell without job control has its background jobs ignore it.
    interrupt = signal.getsignal(signal.SIGINT)
    before = signal.signal(signal.SIGTERM, lambda *_frame: heard.append("second"))
    try:
        stop = Stop()
        with Control(stop, controller_gone=lambda: False):
            os.kill(os.getpid(), signal.SIGTERM)
            assert stop.reason == STOPPED
            assert heard == []
            os.kill(os.getpid(), signal.SIGTERM)
            assert heard == ["second"]
        assert signal.getsignal(signal.SIGINT) is interrupt
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_signal_is_heard_while_the_main_thread_waits_for_something_else():
    stop = Stop()
    wakeup = signal.set_wakeup_fd(-1)
    try:
        with Control(stop, controller_gone=lambda: False):
            # As if another thread had taken the signal: Python's handler does not run, only its number is written.
            signal.signal(signal.SIGTERM, lambda *_frame: None)
            os.kill(os.getpid(), signal.SIGTERM)
            assert asked(stop) == STOPPED
        assert signal.set_wakeup_fd(-1) == -1
    finally:
        signal.set_wakeup_fd(wakeup)


def test_no_descriptor_is_left_open():
    before = len(os.listdir("/proc/self/fd"))
    for _round in range(3):
        with Control(Stop(), controller_gone=lambda: False):
            pass
    assert len(os.listdir("/proc/self/fd")) == before


def test_signals_are_left_alone_where_no_control_is_wanted():
    before = signal.getsignal(signal.SIGTERM)
    with controlled(wanted=False) as stop:
        assert signal.getsignal(signal.SIGTERM) is before
        assert stop.reason is None
    with controlled():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_first_reason_stays_and_late_listeners_hear_of_it():
    stop, heard = Stop(), []
    stop.ask(STOPPED)
    stop.ask(CONTROLLER_GONE)
    stop.tell(lambda: heard.append(stop.reason))
    assert heard == [STOPPED]
