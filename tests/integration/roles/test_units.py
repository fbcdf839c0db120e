# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The units that the roles write, without systemd: Ansible renders them."""

from __future__ import annotations

import json
import shlex

import pytest

from tests.support.ansible_run import ROOT, command

TEMPLATE = ROOT / "roles" / "_runner_loop" / "templates" / "loop.service.j2"
PLUGINS = "ansible_collections.stackci.nodepool.plugins.plugin_utils"


def starts(folder, role: str, **variables: str) -> dict[str, list[str]]:
    """Name of a service → the words of its ExecStart."""
    folders = [ROOT / "roles" / name / part for name in ("_runner_loop", role) for part in ("defaults", "vars")]
    target = {"dest": str(folder / "{{ item.name }}.service"), "mode": "0600"}
    task = {
        "name": "Write the units",
        "ansible.builtin.template": {"src": str(TEMPLATE), **target},
        "loop": f"{{{{ {role}_services }}}}",
        "vars": {"_runner_loop_root": f"{{{{ {role}_root }}}}"},
    }
    play = {
        "name": "Units",
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars_files": [str(each / "main.yml") for each in folders],
        "tasks": [task],
    }
    (folder / "play.yml").write_text(json.dumps([play]), encoding="utf-8")
    done = command("ansible-playbook", "play.yml", "-e", json.dumps(variables), folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {}
    for unit in folder.glob("*.service"):
        (line,) = [line for line in unit.read_text("utf-8").splitlines() if line.startswith("ExecStart=")]
        found[unit.stem] = shlex.split(line.partition("=")[2])
    return found


def test_the_web_service_is_started_by_itself_with_what_was_chosen(tmp_path):
    chosen = {"webapp_port": "8006", "webapp_listen_address": "::1", "webapp_secure_conf": "{}"}
    words = starts(tmp_path, "webapp", **chosen)["webapp"]
    assert words[:3] == ["/opt/stackci-nodepool-webapp/venv/bin/python", "-m", f"{PLUGINS}.webapp"]
    assert words[3:] == [
        *("--config", "/etc/nodepool/nodepool.yaml"),
        *("--secure-config", "/etc/nodepool/secure.conf"),
        *("--listen-address", "::1"),
        *("--port", "8006"),
    ]


def test_without_choices_nodepool_yaml_says_where_it_listens(tmp_path):
    assert starts(tmp_path, "webapp")["webapp"][3:] == ["--config", "/etc/nodepool/nodepool.yaml"]


@pytest.mark.parametrize(("role", "services"), [("launcher", {"launcher"}), ("builder", {"builds", "uploads"})])
def test_cycles_are_run_by_the_loop(tmp_path, role, services):
    found = starts(tmp_path, role)
    assert set(found) == services
    assert all(words[2:] == [f"{PLUGINS}.loop", f"/etc/nodepool/loop-{name}.toml"] for name, words in found.items())
