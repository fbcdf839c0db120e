# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The roles say at once that a system is not theirs, before anything is touched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.ansible_run import command

FACTS = {
    "os_family": "RedHat",
    "distribution": "Rocky",
    "distribution_version": "9.4",
    "service_mgr": "systemd",
}


@pytest.mark.parametrize("role", ["launcher", "builder", "webapp", "zookeeper"])
def test_another_family_is_refused_with_a_remedy(role: str, tmp_path: Path) -> None:
    tasks = [
        {"name": "Be of another family", "ansible.builtin.set_fact": {**FACTS, "cacheable": True}},
        {"name": "Install", "ansible.builtin.include_role": {"name": f"stackci.nodepool.{role}"}},
    ]
    play = {"name": "A machine", "hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    done = command("ansible-playbook", "play.yml", folder=tmp_path)
    assert done.returncode == 2
    # Ansible breaks long lines on the screen of an error, and repeats the text on one line below it.
    assert (
        "Rocky 9.4 (family RedHat) with systemd: use Debian 12 or newer, or a distribution based on it."
    ) in done.stdout
    assert "changed=0" in done.stdout
