# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One cycle, with a program in the place of ansible-runner that ends at once."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.proc import process
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.stop import ENDED, SERVING, STARTING
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.cycle import RunningCycle
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.log import INFO, Entry
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.settings import Settings

NEVER = 2**22 + 1
"""No process has this id."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of the cycle; the user has no ansible.cfg."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    programs = tmp_path / "programs"
    programs.mkdir()
    runner = programs / "ansible-runner"
    runner.write_text('#!/bin/sh\necho "$@"\n', "utf-8")
    runner.chmod(0o755)
    return tmp_path / "000007"


def begin(folder: Path, **settings: Any) -> RunningCycle:
    """A cycle of the loop *launcher*."""
    table = Settings(
        name="launcher",
        playbook="stackci.nodepool.launcher",
        prefix="launcher",
        state_dir=str(folder.parent),
        programs=str(folder.parent / "programs"),
        **settings,
    )
    return RunningCycle(table, 7, folder, "launcher:7:", 100.0)


def beat(folder: Path, state: str, pid: int) -> None:
    """The module shows how it is."""
    seen = process(pid)
    word = {"pid": pid, "started": seen.started if seen else 0, "state": state}
    (folder / "heart").write_text(json.dumps(word), "utf-8")


def test_the_playbook_runs_in_a_folder_of_its_own_with_an_ansible_cfg(folder):
    cycle = begin(folder, variables={"launcher_until": "settled", "launcher_duration": 5})
    os.waitpid(cycle.pid, 0)
    assert "--playbook stackci.nodepool.launcher" in (folder / "runner.log").read_text("utf-8")
    assert "internal_poll_interval" in (folder / "project" / "ansible.cfg").read_text("utf-8")
    variables = json.loads((folder / "env" / "extravars").read_text("utf-8"))
    assert variables["launcher_until"] == "settled"
    # The time comes from the table of the loop; a variable cannot change it.
    assert variables["launcher_duration"] == 600.0 + 3600.0


def test_its_state_is_that_of_the_heartbeat_until_the_process_is_gone(folder):
    cycle = begin(folder)
    os.waitpid(cycle.pid, 0)
    assert (cycle.observe(101.0).state, cycle.module_pid) == (STARTING, None)
    beat(folder, SERVING, os.getpid())
    seen = cycle.observe(103.0)
    assert (seen.state, seen.beaten, cycle.module_pid) == (SERVING, True, os.getpid())
    assert cycle.observe(108.0).silence == 5.0
    beat(folder, SERVING, NEVER)
    assert cycle.observe(109.0).state == ENDED
    outcome = cycle.judge(109.0)
    assert outcome is not None
    assert (outcome.kind, outcome.worked, outcome.began_in) == ("died", 6.0, 3.0)


def test_without_a_module_the_end_of_ansible_runner_tells_how_it_went(folder):
    cycle = begin(folder)
    os.waitpid(cycle.pid, 0)
    assert cycle.judge(101.0) is None
    cycle.exited(4)
    assert cycle.observe(102.0).ended == 0.0
    outcome = cycle.judge(102.0)
    assert outcome is not None
    assert (outcome.well, outcome.kind, outcome.worked) == (False, "failed", None)


def test_a_playbook_that_was_killed_has_not_ended_well(folder):
    """ansible-runner exits with 0 then: it has no exit status to pass on."""
    cycle = begin(folder)
    os.waitpid(cycle.pid, 0)
    words = (folder / "runner.log").read_text("utf-8").split()
    artifacts = Path(words[words.index("--artifact-dir") + 1]) / words[words.index("--ident") + 1]
    artifacts.mkdir(parents=True)
    (artifacts / "rc").write_text("None", "utf-8")
    cycle.exited(0)
    outcome = cycle.judge(102.0)
    assert outcome is not None and (outcome.well, outcome.kind) == (False, "failed")
    assert outcome.text == "its ansible-playbook was killed: the host may lack memory"


def test_it_is_asked_to_end_by_its_control_file(folder):
    cycle = begin(folder)
    os.waitpid(cycle.pid, 0)
    cycle.stop(110.0, "cycle 8 takes over")
    assert (folder / "control").read_text("utf-8") == "stop\n"
    assert cycle.observe(112.0).stopping == 2.0


def test_only_whole_lines_of_progress_are_told_and_each_once(folder):
    cycle = begin(folder)
    os.waitpid(cycle.pid, 0)
    lines = folder / "lines"
    lines.write_text('{"line": "one", "priority": 4}\nno json\n{"line": "tw', "utf-8")
    assert [(entry.priority, entry.message) for entry in cycle.lines()] == [(4, "one")]
    with lines.open("a", encoding="utf-8") as file:
        file.write('o", "time": 12.5, "node": "17", "provider": null, "password": "x"}\n')
    (entry,) = cycle.lines()
    assert entry == Entry("two", INFO, 12.5, cycle.number, True, {"node": "17"})
    assert cycle.lines() == []


def test_it_is_asked_for_a_dump_by_its_control_file_unless_it_is_to_end(folder):
    cycle = begin(folder)
    os.waitpid(cycle.pid, 0)
    assert cycle.ask_for_dump()
    assert (folder / "control").read_text("utf-8") == "dump\n"
    cycle.stop(110.0, "cycle 8 takes over")
    assert not cycle.ask_for_dump()
    assert (folder / "control").read_text("utf-8") == "stop\n"
