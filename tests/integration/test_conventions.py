# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""By Ansible itself: what users of other collections are used to works here, too, and warns of nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.ansible_run import ROOT, command

GROUP = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text("utf-8"))["action_groups"]["all"]
CONFIG = {"zookeeper-servers": [{"host": "localhost"}], "labels": []}
MORE: dict[str, dict[str, Any]] = {
    "node": {"ids": ["1"], "state": "held"},
    "request": {"ids": ["1"], "state": "absent"},
    "dib_image": {"image": "debian", "build_id": "1", "state": "approved"},
    "image_data": {"path": "data.json", "state": "exported"},
    "image_validate": {"image": "debian", "playbook": "smoke.yml"},
    "nodepool_request": {"name": "mine", "labels": ["small"]},
    "provider": {"name": "east", "state": "absent"},
    "quickstart": {"folder": "none"},
    "throttle": {"provider": "east", "kind": "freeze"},
}
"""Module → options that it needs besides those of the group."""
STRICT = {
    "ANSIBLE_DEPRECATION_WARNINGS": "1",
    "_ANSIBLE_TEMPLAR_UNTRUSTED_TEMPLATE_BEHAVIOR": "error",
    "_ANSIBLE_TEMPLAR_UNKNOWN_TYPE_CONVERSION": "error",
}


def play(folder: Path, *tasks: dict[str, object], **more: object) -> tuple[int, str]:
    """The exit code of a play, and what was on the screen."""
    document = {"name": "One", "hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}
    (folder / "play.yml").write_text(json.dumps([{**document, **more}]), "utf-8")
    done = command("ansible-playbook", "play.yml", folder=folder, timeout=280, **STRICT)
    said = done.stdout + done.stderr
    assert "DEPRECATION" not in said, said
    return done.returncode, said


@pytest.mark.long
def test_each_module_takes_its_options_from_the_action_group(tmp_path):
    # Modules wait for a file that does not exist.
    spoilt = tmp_path / "from-the-group.yaml"
    spoilt.write_text("no mapping", "utf-8")
    modules = [name for name in GROUP if name != "quickstart"]
    tasks = [{"name": name, f"stackci.nodepool.{name}": MORE.get(name, {}), "ignore_errors": True} for name in modules]
    _code, said = play(tmp_path, *tasks, module_defaults={"group/stackci.nodepool.all": {"config": str(spoilt)}})
    told = {name: said.split(f"TASK [{name}]", 1)[1].split("TASK [", 1)[0] for name in modules}
    assert [name for name, text in told.items() if "from-the-group.yaml:1: holds a single value" not in text] == []


@pytest.mark.parametrize("name", ["config", "nodepool_config"])
def test_the_modules_know_both_names_of_the_configuration(tmp_path, name):
    (tmp_path / "nodepool.yaml").write_text(json.dumps(CONFIG), "utf-8")
    options = {name: str(tmp_path / "nodepool.yaml"), "offline": True}
    code, said = play(tmp_path, {"name": "Check", "stackci.nodepool.nodepool_config_check": options})
    assert code == 0, said


@pytest.mark.parametrize("name", ["config", "nodepool_config"])
def test_the_inventory_knows_both_names_of_the_configuration(tmp_path, name):
    source = {"plugin": "stackci.nodepool.nodepool", name: "elsewhere.yaml"}
    (tmp_path / "site.nodepool.yml").write_text(json.dumps(source), "utf-8")
    done = command("ansible-inventory", "-i", "site.nodepool.yml", "--list", folder=tmp_path, timeout=120, **STRICT)
    assert "elsewhere.yaml: does not exist" in " ".join((done.stdout + done.stderr).split()), done.stderr
