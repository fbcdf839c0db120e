# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who must live for a module to go on."""

from __future__ import annotations

import os

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.controller import Controller, Seen, find

PLAYBOOK = ("python3", "ansible-playbook")


class Processes(dict[int, Seen]):
    """A table of processes: pid → Seen."""

    def add(self, pid, parent, session, *names):
        self[pid] = Seen(pid, parent, session, names)

    def reparent(self, pid, parent):
        seen = self[pid]
        self[pid] = Seen(pid, parent, seen.session, seen.names)


@pytest.fixture
def local():
    """What ansible-playbook makes of a module on localhost."""
    table = Processes()
    table.add(1, 0, 1, "init")
    table.add(10, 1, 10, "bash")
    table.add(20, 10, 10, *PLAYBOOK)
    table.add(30, 20, 30, *PLAYBOOK)
    table.add(40, 30, 30, "sh", "-c")
    table.add(41, 40, 30, "sh", "-c")
    table.add(50, 41, 30, "python3", "AnsiballZ_node_launch.py")
    return table


def test_all_is_well(local):
    assert not Controller(50, local.get).gone()


@pytest.mark.parametrize("pid", [20, 30, 40, 41])
def test_whoever_dies_below_ansible_playbook_is_missed(local, pid):
    controller = Controller(50, local.get)
    del local[pid]
    for child in [seen.pid for seen in local.values() if seen.parent == pid]:
        local.reparent(child, 1)
    assert controller.gone()


def test_the_shell_above_ansible_playbook_may_end(local):
    controller = Controller(50, local.get)
    del local[10]
    local.reparent(20, 1)
    assert not controller.gone()


def test_a_reused_pid_does_not_deceive(local):
    controller = Controller(50, local.get)
    local.reparent(30, 1)
    local.add(20, 1, 20, *PLAYBOOK)
    assert controller.gone()


def test_an_asynchronous_task_outlives_its_controller(local):
    local.add(41, 40, 41, "python3", "async_wrapper.py")
    controller = Controller(50, local.get)
    del local[20]
    local.reparent(30, 1)
    assert not controller.gone()


def test_without_ansible_it_is_whoever_began_the_session():
    table = Processes()
    table.add(1, 0, 1, "init")
    table.add(5, 1, 5, "sshd")
    table.add(6, 5, 6, "sh")
    table.add(7, 6, 6, "python3")
    controller = Controller(7, table.get)
    assert not controller.gone()
    table.reparent(6, 1)
    assert controller.gone()


@pytest.mark.parametrize("name", ["sh", "ansible-playbook"])
def test_with_nohup_only_ansible_is_missed(name):
    table = Processes()
    table.add(1, 0, 1, "init")
    table.add(5, 1, 5, "sshd")
    table.add(6, 5, 6, name)
    table.add(7, 6, 6, "python3")
    controller = Controller(7, table.get, outlives=True)
    table.reparent(7, 1)
    assert controller.gone() is (name == "ansible-playbook")


def test_a_daemon_has_no_controller():
    table = Processes()
    table.add(1, 0, 1, "init")
    table.add(7, 1, 7, "python3")
    assert not Controller(7, table.get).gone()


def test_a_circle_ends():
    table = Processes()
    table.add(7, 8, 7)
    table.add(8, 7, 7)
    assert not Controller(7, table.get).gone()


def test_this_process_as_it_is():
    seen = find(os.getpid())
    assert seen is not None
    assert (seen.pid, seen.parent, seen.session) == (os.getpid(), os.getppid(), os.getsid(0))
    assert seen.names
    assert not Controller(os.getpid()).gone()
    assert find(2**22 + 1) is None


def test_what_cannot_be_looked_at_now_is_not_gone(local):
    """Too many open files, or no memory: that says nothing about a process."""
    failing: list[bool] = []

    def see(pid):
        if failing:
            raise OSError(24, "Too many open files")
        return local.get(pid)

    controller = Controller(50, see)
    failing.append(True)
    assert controller.gone() is False
    failing.clear()
    local.reparent(30, 1)
    assert controller.gone() is True
