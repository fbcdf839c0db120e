# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ansible.cfg of a cycle, as Ansible itself reads it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.ansible_config import write_config

PROGRAM = "from ansible import constants as C; print(C.DEFAULT_INTERNAL_POLL_INTERVAL, C.DEFAULT_FORKS)"


@pytest.fixture
def folders(tmp_path):
    """The current directory of ansible-playbook, and the operator's home."""
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir(mode=0o700)
    home.mkdir()
    return project, home


def read_by_ansible(folders: tuple[Path, Path], **more: str) -> list[float]:
    """The poll interval and the number of forks that ansible-playbook takes when it starts there."""
    project, home = folders
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    environment = {**kept, "HOME": str(home), **more}
    write_config(project, environment, system=home / "system.cfg")
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=project, env=environment, capture_output=True, text=True, check=True
    )
    return [float(word) for word in found.stdout.split()]


def test_ansible_asks_its_worker_twenty_times_a_second(folders):
    assert read_by_ansible(folders)[0] == 0.05


def test_a_file_of_comments_only_sets_nothing(folders):
    (folders[1] / ".ansible.cfg").write_text("# see ansible-config init\n[defaults]\n;forks = 3\n", "utf-8")
    assert read_by_ansible(folders)[0] == 0.05


def test_the_operator_s_own_file_stays_in_force(folders):
    (folders[1] / ".ansible.cfg").write_text("[defaults]\nforks = 3\n", "utf-8")
    assert read_by_ansible(folders) == [0.001, 3]


def test_the_file_of_the_system_stays_in_force(folders):
    (folders[1] / "system.cfg").write_text("[defaults]\nforks = 3\n", "utf-8")
    read_by_ansible(folders)
    assert not (folders[0] / "ansible.cfg").exists()


def test_a_file_that_the_environment_names_comes_first(folders, tmp_path):
    named = tmp_path / "named.cfg"
    named.write_text("[defaults]\nforks = 4\ninternal_poll_interval = 0.2\n", "utf-8")
    assert read_by_ansible(folders, ANSIBLE_CONFIG=str(named)) == [0.2, 4]
