# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What playbooks must not do, and what their variables are called."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

PLAYBOOKS = Path(__file__).resolve().parents[2] / "playbooks"
BUILD = "stackci.nodepool.dib_build"


def test_a_look_at_what_would_be_built_never_builds():
    """An image may become due while the playbook runs: only the loop builds, which uploads what it has built."""
    (play,) = yaml.safe_load((PLAYBOOKS / "builder.yml").read_text("utf-8"))
    tasks = {task["name"]: task for task in play["tasks"] if BUILD in task}
    assert len(tasks) == 2
    for name, task in tasks.items():
        assert task[BUILD].get("state") == "cleared" or task["when"] == "ansible_check_mode", name


def tasks_of(content: Any) -> Iterator[dict[str, Any]]:
    """All tasks, also those in blocks."""
    for item in content or []:
        yield item
        for part in ("block", "rescue", "always", "tasks", "pre_tasks", "post_tasks", "handlers"):
            yield from tasks_of(item.get(part))


PATHS = ("config", "secure_config", "settings", "clouds_config")


@pytest.mark.parametrize("playbook", sorted(path.name for path in PLAYBOOKS.glob("*.yml")))
def test_the_variable_of_a_path_has_the_name_of_the_option(playbook):
    text = (PLAYBOOKS / playbook).read_text("utf-8")
    head = text.partition("\n- name")[0]
    for other in re.findall(r"those of (\w+\.yml)", head):
        head += (PLAYBOOKS / other).read_text("utf-8").partition("\n- name")[0]
    for task in tasks_of(yaml.safe_load(text)):
        for module, options in task.items():
            if not module.startswith("stackci.nodepool.") or not isinstance(options, dict):
                continue
            for name in (name for name in PATHS if name in options):
                used = set(re.findall(r"\bnodepool_\w+", json.dumps(options[name])))
                assert used <= {f"nodepool_{name}"}, f"{playbook}, {task.get('name')}: {name}"
                assert all(f"#   {variable} " in head for variable in used), f"{playbook} does not describe {used}"


ROOT = PLAYBOOKS.parent
WITH_NODES = [
    *(path for path in sorted(PLAYBOOKS.rglob("*.yml")) if "add_host" in path.read_text("utf-8")),
    ROOT / "examples" / "ci" / "playbook.yml",
]
"""Files that add nodes to the inventory."""


def plays_of(path: Path) -> list[dict[str, Any]]:
    """The plays of a playbook, or of the one that includes a file of tasks."""
    content = yaml.safe_load(path.read_text("utf-8"))
    if any("hosts" in item for item in content):
        return list(content)
    (including,) = (book for book in PLAYBOOKS.glob("*.yml") if f"tasks/{path.name}" in book.read_text("utf-8"))
    (play,) = yaml.safe_load(including.read_text("utf-8"))
    return [{**play, "tasks": [*play["tasks"], *content]}]


@pytest.mark.parametrize("path", WITH_NODES, ids=lambda path: path.name)
def test_nodes_are_added_and_used_whatever_ansible_cfg_says(path):
    """add_host cannot work with the strategy free; root's file of host keys could not be read by ssh; the variables of
    a play win over those of a node to which a task is delegated."""
    for play in plays_of(path):
        tasks = list(tasks_of([play]))
        if any("ansible.builtin.add_host" in task for task in tasks):
            assert play.get("strategy") == "linear", play["name"]
        # raw needs no Python.
        on_nodes = [task for task in tasks if "delegate_to" in task and "ansible.builtin.raw" not in task]
        assert not on_nodes or "ansible_python_interpreter" not in play.get("vars", {}), play["name"]
        for task in tasks:
            if any(module.startswith("stackci.nodepool.") for module in task):
                assert task.get("become", play.get("become")) is False, task["name"]
