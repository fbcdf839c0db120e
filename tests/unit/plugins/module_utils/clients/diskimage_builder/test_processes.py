# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose processes are ended, and how."""

from __future__ import annotations

import os
import signal

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder import processes
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.processes import (
    MARK,
    end,
    of_build,
    send,
)

ID = "b" * 32


@pytest.fixture
def proc(tmp_path):
    """Makes a process in a /proc of its own, which is the test's folder."""

    def make(pid, parent=1, group=0, session=0, mark=None, state="S"):
        folder = tmp_path / str(pid)
        folder.mkdir()
        (folder / "stat").write_bytes(f"{pid} (a ) b) {state} {parent} {group} {session}{' 0' * 16}".encode())
        environment = f"A=1\0{MARK}={mark}\0" if mark else "A=1\0"
        (folder / "environ").write_bytes(environment.encode())

    (tmp_path / "self").mkdir()
    return make


def test_mark_group_session_and_descendants(proc, tmp_path):
    proc(100001, mark=ID)
    proc(100002, parent=100001)  # sudo dropped the mark
    proc(100003, parent=100002)
    proc(100004, group=77)
    proc(100005, session=77)
    proc(100006, mark="c" * 32)
    proc(100007)
    assert of_build(ID, 77, str(tmp_path)) == {100001, 100002, 100003, 100004, 100005}
    assert of_build(ID, None, str(tmp_path)) == {100001, 100002, 100003}


def test_what_has_ended_is_not_there(proc, tmp_path):
    proc(100001, mark=ID, state="Z")
    proc(100002, parent=100001)
    assert of_build(ID, None, str(tmp_path)) == {100002}


def test_never_ourselves_nor_what_is_above_us(proc, tmp_path):
    proc(100001, mark=ID)
    proc(os.getppid(), parent=100001)
    proc(os.getpid(), parent=os.getppid(), mark=ID)
    proc(100002, parent=os.getpid(), mark=ID)
    assert of_build(ID, None, str(tmp_path)) == {100002}


class Crowd:
    """Processes on paper. *stubborn*: they need that many SIGKILLs; *polite*: looks until SIGTERM ends them."""

    def __init__(self, polite=None, stubborn=1):
        self.polite, self.stubborn = polite, stubborn
        self.sent, self.slept = [], 0.0

    def find(self):
        return {7} if self.stubborn > 0 else set()

    def signal(self, pids, number):
        self.sent.append(number)
        if number == signal.SIGKILL:
            self.stubborn -= 1

    def sleep(self, seconds):
        self.slept += seconds
        if self.polite is not None and signal.SIGTERM in self.sent:
            self.polite -= 1
            self.stubborn = 0 if self.polite <= 0 else self.stubborn

    def end(self, grace=2.0):
        return end(self.find, grace=grace, sleep=self.sleep, signal_to=self.signal)


def test_who_goes_when_asked_is_not_killed():
    crowd = Crowd(polite=3)
    assert crowd.end() == set()
    assert crowd.sent == [signal.SIGTERM]


def test_who_does_not_is_killed_after_the_grace():
    crowd = Crowd()
    assert crowd.end() == set()
    assert crowd.sent == [signal.SIGTERM, signal.SIGKILL]
    assert crowd.slept == pytest.approx(2.1)


def test_who_cannot_be_killed_is_told():
    crowd = Crowd(stubborn=10_000)
    assert crowd.end(grace=0.0) == {7}
    assert crowd.sent == [signal.SIGKILL] * processes.ROUNDS


def test_processes_of_root_are_signalled_by_sudo(monkeypatch):
    def refuse(pid, number):
        raise ProcessLookupError if pid == 1000001 else PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    ran = []

    def note(argv):
        ran.append(argv)

    send([1000001, 1000002, 1000003], signal.SIGTERM, note)
    assert ran == [["sudo", "-n", "kill", "-TERM", "1000002", "1000003"]]
