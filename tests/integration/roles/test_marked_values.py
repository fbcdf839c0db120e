# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that the roles write have the plain values of what is encrypted, templated or unsafe in the inventory."""

from __future__ import annotations

import grp
import json
import os
import pwd
import tomllib
from typing import Any

import pytest
import yaml

from tests.support.ansible_run import ROOT, command
from tests.support.vaulted_values import Unsafe, Vault, password_file, write

ROLE = ROOT / "roles" / "_runner_loop"
TASKS = yaml.safe_load((ROLE / "tasks" / "configure.yml").read_text("utf-8"))
AUTH = {
    "auth_url": "{{ where.url }}",
    "username": Unsafe("zuul{{ none }}"),
    "password": Vault("secret"),
    "project_name": "{{ where.project }}",
}
VARIABLES = {
    "where": {"url": "https://{{ host }}:5000/v3", "project": Vault("ci")},
    "host": "cloud.example.org",
    "launcher_clouds_yaml": {"clouds": {"one": {"auth": AUTH, "verify": False}}},
    "launcher_secure_conf": "[one]\npassword={{ where.project }}\n",
    "launcher_variables": {
        "own_token": Vault("secret"),
        "own": {"list": ["{{ host }}", Unsafe("a{{ none }}"), 1, True]},
    },
}


@pytest.mark.skipif(os.getuid() != 0, reason="the files of the roles are root's")
def test_files_of_a_role_have_plain_values(tmp_path):
    write(tmp_path / "marked.yml", VARIABLES)
    copy, template = TASKS[0]["block"][0], TASKS[1]
    template["ansible.builtin.template"]["src"] = str(ROLE / "templates" / "loop.toml.j2")
    for task in (copy, template):
        # The check of the files is not what is tried here.
        task[next(key for key in task if key.startswith("ansible.builtin."))].pop("validate")
        task.pop("notify", None)
    names = {"user": pwd.getpwuid(os.getuid()).pw_name, "group": grp.getgrgid(os.getgid()).gr_name}
    assert names["user"] == names["group"]
    own: dict[str, Any] = {
        "_runner_loop_files": "{{ launcher_files }}",
        "_runner_loop_services": "{{ launcher_services }}",
        "_runner_loop_config_dir": str(tmp_path),
        "_runner_loop_user": names["user"],
    }
    folders = [ROOT / "roles" / name / part for name in ("_runner_loop", "launcher") for part in ("defaults", "vars")]
    play = {
        "name": "Files",
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars_files": [*(str(each / "main.yml") for each in folders), str(tmp_path / "marked.yml")],
        "vars": {"launcher_nodepool_yaml": ""},
        "tasks": [copy, template],
    }
    (tmp_path / "play.yml").write_text(json.dumps([play]), "utf-8")
    words = ("ansible-playbook", "play.yml", "-e", json.dumps(own))
    done = command(*words, folder=tmp_path, timeout=90, ANSIBLE_DEPRECATION_WARNINGS="1", **password_file(tmp_path))
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "DEPRECAT" not in said, said
    auth = yaml.safe_load((tmp_path / "clouds.yaml").read_text("utf-8"))["clouds"]["one"]["auth"]
    assert auth == {
        "auth_url": "https://cloud.example.org:5000/v3",
        "username": "zuul{{ none }}",
        "password": "secret",
        "project_name": "ci",
    }
    assert (tmp_path / "secure.conf").read_text("utf-8") == "[one]\npassword=ci\n"
    variables = tomllib.loads((tmp_path / "loop-launcher.toml").read_text("utf-8"))["variables"]
    assert variables["own_token"] == "secret"
    assert variables["own"] == {"list": ["cloud.example.org", "a{{ none }}", 1, True]}
