# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of a cycle are found by their mark, whatever sessions they begin, and only they are ended."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop import processes
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.processes import (
    MARK,
    belonging,
    kill,
    lives,
)

# A child that begins a session of its own, whose child has no mark and begins another one.
FAMILY = """
import os, subprocess, sys
os.setsid()
bare = {name: value for name, value in os.environ.items() if name != %r}
child = subprocess.Popen(["setsid", "sleep", "1000"], env=bare)
print(child.pid, flush=True)
child.wait()
"""


@pytest.fixture
def mark() -> str:
    return f"{uuid.uuid4().hex}:1:"


@pytest.fixture
def family(mark) -> Iterator[tuple[int, int]]:
    """A marked process and its child without a mark."""
    process = subprocess.Popen(
        [sys.executable, "-c", FAMILY % MARK], env={**os.environ, MARK: mark}, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    yield process.pid, child
    for found in belonging(mark):
        kill(found)
    process.wait(10)


def test_children_without_a_mark_in_sessions_of_their_own_belong_to_it(mark, family):
    assert {process.pid for process in belonging(mark)} == set(family)


@pytest.mark.parametrize("other", ["", "1", ":1:", "x"])
def test_other_marks_find_nothing_of_it(mark, family, other):
    assert belonging(f"{uuid.uuid4().hex}{other}") == []


def test_the_mark_of_cycle_one_is_not_that_of_cycle_twelve(family, mark):
    assert belonging(mark.replace(":1:", ":12:")) == []
    assert {process.pid for process in belonging(mark.replace(":1:", ":"))} == set(family)


def test_all_of_it_is_ended(mark, family):
    for process in belonging(mark):
        kill(process)
    os.waitpid(family[0], 0)
    assert not lives(family[0], 0)
    assert belonging(mark) == []


def test_who_got_the_number_meanwhile_is_not_killed():
    me = processes.find(os.getpid())
    assert me is not None
    kill(replace(me, started=me.started + 1))
    assert lives(me.pid, me.started) and not lives(me.pid, me.started + 1)


def test_whoever_looks_is_never_among_them(mark, monkeypatch):
    monkeypatch.setenv(MARK, mark)
    environment = {**os.environ, MARK: mark}
    program = f"from {processes.__name__} import belonging; print(belonging({mark!r}))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout.strip() == "[]"
