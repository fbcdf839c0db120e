# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ansible-navigator itself, in the mode for scripts and without a container: playbooks, documentation, inventory."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.ansible_run import BIN, environment

CODES = re.compile(r"\x1b\[[0-9;]*[A-Za-z](?:eyJ[\w=]*|e30=)?")
"""What ansible-runner hides between the lines."""
CONFIG: dict[str, object] = {"zookeeper-servers": [{"host": "localhost"}], "labels": [], "providers": []}


def navigator(folder: Path, *words: str | Path) -> tuple[int, str]:
    """The exit code, and what was on the screen."""
    common = ("--mode", "stdout", "--execution-environment", "false", "--log-file", folder / "navigator.log")
    done = subprocess.run(
        [str(BIN / "ansible-navigator"), *map(str, (*words, *common))],
        cwd=folder,
        env={**environment(folder), "TERM": "dumb"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    return done.returncode, CODES.sub("", done.stdout) + done.stderr


def validate(folder: Path, config: dict[str, object]) -> tuple[int, str]:
    """The playbook that checks the files; the record of the run is record.json."""
    (folder / "nodepool.yaml").write_text(json.dumps(config), "utf-8")
    given = ("-i", "localhost,", "-e", "nodepool_config=nodepool.yaml", "-e", "offline=true")
    record = ("--playbook-artifact-save-as", folder / "record.json")
    return navigator(folder, "run", "stackci.nodepool.config_validate", *given, *record)


@pytest.mark.long
def test_a_playbook_of_the_collection_runs_and_its_record_can_be_read(tmp_path):
    code, said = validate(tmp_path, CONFIG)
    assert code == 0, said
    assert "the configuration files are valid" in said
    record = json.loads((tmp_path / "record.json").read_text("utf-8"))
    assert record["status"] == "successful"
    assert any("the configuration files are valid" in line for line in record["stdout"])


def test_a_failure_is_the_exit_code_and_has_its_reason(tmp_path):
    code, said = validate(tmp_path, {**CONFIG, "labels": 7})
    assert code == 2, said
    assert "labels" in said and "FAILED!" in said


def test_the_documentation_of_a_module_is_shown(tmp_path):
    code, said = navigator(tmp_path, "doc", "stackci.nodepool.node_launch", "--type", "module")
    assert code == 0, said
    assert "MODULE stackci.nodepool.node_launch" in said and "- duration" in said


def test_the_inventory_says_what_is_missing(tmp_path):
    (tmp_path / "site.nodepool.yml").write_text("plugin: stackci.nodepool.nodepool\nconfig: elsewhere.yaml\n", "utf-8")
    _code, said = navigator(tmp_path, "inventory", "-i", "site.nodepool.yml", "--list")
    assert "elsewhere.yaml: does not exist" in " ".join(said.split())
