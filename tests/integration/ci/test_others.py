# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook, tmt, and what all examples have in common."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.integration.ci.conftest import EXAMPLES, Pool
from tests.support.ansible_run import BIN

SHELL = sorted(
    path for path in EXAMPLES.rglob("*") if path.is_file() and path.read_bytes().startswith(b"#!/usr/bin/env bash")
)
SHELLCHECK = shutil.which("shellcheck")
TMT = shutil.which("tmt")


def play(ci: Pool, **variables: object) -> list[str | Path]:
    given = {"build": 7, "nodepool_config": str(ci.site.config), "lease_labels": ["debian-12"], "ssh_key": str(ci.key)}
    copy = ci.folder / "playbook.yml"
    shutil.copy(EXAMPLES / "playbook.yml", copy)
    return [BIN / "ansible-playbook", copy, "-e", json.dumps({**given, **variables})]


@pytest.mark.parametrize(("command", "works"), [("uname -a", True), ("/bin/false", False)])
def test_a_playbook_gives_its_nodes_back_whatever_happens(command, works, ci: Pool) -> None:
    code, out = ci.run(*play(ci, test_command=command))
    assert (code == 0) == works, out
    assert "Run the tests on each node" in out and "np0000" in out
    assert ci.leases() == [] and not list(ci.folder.glob("known_hosts*"))


def test_a_playbook_that_does_not_reach_a_node_gives_it_back(ci: Pool) -> None:
    code, out = ci.run(*play(ci, ssh_key=str(ci.folder / "no_key")))
    assert code != 0 and "ssh did not reach every node" in out
    assert ci.leases() == [] and not list(ci.folder.glob("known_hosts*"))


def test_a_killed_playbook_loses_its_nodes_when_the_lease_expires(ci: Pool) -> None:
    text = (EXAMPLES / "playbook.yml").read_text().replace("expires: 3600", "expires: 8")
    words = play(ci, test_command="sleep 600")
    Path(words[1]).write_text(text)
    with ci.popen(*words) as process:
        ci.until_leased()
        ci.kill(process)
    assert ci.empty()


@pytest.mark.skipif(TMT is None, reason="needs tmt (pip install tmt) and rsync")
@pytest.mark.parametrize(("test", "works"), [('test -n "$SSH_CONNECTION"', True), ("false", False)])
def test_tmt_runs_its_plans_on_a_fresh_node(test, works, ci: Pool) -> None:
    tree = ci.folder / "tree"
    (tree / ".fmf").mkdir(parents=True)
    (tree / ".fmf" / "version").write_text("1\n")
    (tree / "plan.fmf").write_text(
        f"discover: {{how: shell, tests: [{{name: one, test: {json.dumps(test)}}}]}}\nexecute: {{how: tmt}}\n"
    )
    code, out = ci.run(EXAMPLES / "tmt" / "nodepool-tmt", "debian-12", cwd=tree)
    assert (code == 0) == works, out
    assert ci.leases() == []


def test_there_are_scripts():
    assert len(SHELL) >= 8


@pytest.mark.skipif(SHELLCHECK is None, reason="needs shellcheck")
def test_the_scripts_are_clean():
    done = subprocess.run([str(SHELLCHECK), *map(str, SHELL)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", SHELL, ids=lambda path: str(path.relative_to(EXAMPLES)))
def test_a_script_can_be_started(path):
    assert os.access(path, os.X_OK)
