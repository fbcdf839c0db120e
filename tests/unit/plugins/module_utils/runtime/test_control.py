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
    assert not looks.read()


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


class Dumps:
    """Counts dumps, and lets a test wait for the next one."""

    def __init__(self) -> None:
        self.count = 0
        self._heard = threading.Condition()

    def write(self) -> None:
        with self._heard:
            self.count += 1
            self._heard.notify_all()

    def wait_for(self, count: int) -> None:
        with self._heard:
            assert self._heard.wait_for(lambda: self.count >= count, 10)


def test_the_word_dump_in_the_file_asks_once_for_each_time_that_it_is_written(tmp_path):
    file, dumps, stop = tmp_path / "control", Dumps(), Stop()
    with Control(stop, str(file), controller_gone=lambda: False, dump=dumps.write) as control:
        for number in (1, 2):
            (tmp_path / "new").write_text("dump\n", encoding="utf-8")
            (tmp_path / "new").replace(file)
            dumps.wait_for(number)
            control.read()
        assert dumps.count == 2 and stop.reason is None


def test_the_signal_asks_for_a_dump_also_while_the_cycle_ends_and_is_ignored_afterwards():
    before = signal.getsignal(signal.SIGUSR2)
    dumps, stop = Dumps(), Stop()
    try:
        with Control(stop, controller_gone=lambda: False, dump=dumps.write):
            os.kill(os.getpid(), signal.SIGUSR2)
            dumps.wait_for(1)
            assert stop.reason is None
            stop.ask(STOPPED)
            os.kill(os.getpid(), signal.SIGUSR2)
            dumps.wait_for(2)
        os.kill(os.getpid(), signal.SIGUSR2)
        assert dumps.count == 2
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_a_cycle_that_starts_programs_ignores_the_signal_as_they_will():
    before = signal.getsignal(signal.SIGUSR2)
    try:
        with Control(Stop(), controller_gone=lambda: False, dump_by_signal=False):
            assert signal.getsignal(signal.SIGUSR2) is signal.SIG_IGN
            os.kill(os.getpid(), signal.SIGUSR2)
    finally:
        signal.signal(signal.SIGUSR2, before)
