# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading this very process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.process_tree import ProcessTree, Seen, descendants

pytestmark = pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux's /proc")


@pytest.fixture
def child():
    """A process that lives until its standard input ends."""
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    yield process
    assert process.stdin is not None
    process.stdin.close()
    process.wait(10)


def test_children_are_found(child):
    assert child.pid in descendants(os.getpid())
    assert list(descendants(child.pid)) == [child.pid]


def test_cpu_of_a_process_that_has_ended_is_kept(child):
    tree = ProcessTree(os.getpid(), interval=60)
    before = tree.cpu()
    sum(number * number for number in range(3_000_000))
    child.stdin.close()
    child.wait(10)
    assert tree.cpu() > before
    tree.stop()


def test_memory_is_in_mebibytes():
    tree = ProcessTree(os.getpid(), interval=60)
    tree.sample()
    tree.stop()
    assert 5 < tree.together < 2000


@pytest.mark.parametrize(
    ("command", "is_module"),
    [
        ([b"/v/bin/python3", b"/tmp/AnsiballZ_node_launch.py"], True),
        ([b"/bin/sh", b"-c", b"/v/bin/python3 /tmp/AnsiballZ_node_launch.py"], False),
        ([b"/v/bin/python3", b"/v/bin/ansible-playbook"], False),
        ([], False),
    ],
)
def test_the_module_is_told_from_the_shell_around_it(command, is_module):
    assert Seen(1, command).is_module is is_module
