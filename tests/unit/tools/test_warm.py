# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tools/warm.py: Ansible's commands say and answer what they do when they are started by themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ansible_run import ROOT

WARM = (sys.executable, "-m", "tools.warm")
SCRIPT = """
ansible-playbook --syntax-check good.yml; echo "ended with $?"
ansible-playbook --syntax-check bad.yml; echo "ended with $?"
ANSIBLE_DUPLICATE_YAML_DICT_KEY=error ansible-playbook --syntax-check twice.yml; echo "ended with $?"
ansible-doc --type module --json ansible.builtin.ping; echo "ended with $?"
ANSIBLE_LIBRARY=$PWD/own ansible-doc --type module --json mine; echo "ended with $?"
exit 7
"""
OWN = 'DOCUMENTATION = "{module: mine, short_description: Mine, description: [Mine], options: {}}"\n'


@pytest.fixture
def folder(tmp_path):
    """Playbooks, one of them broken, settings, and a module that only another environment finds."""
    (tmp_path / "ansible.cfg").write_text("[defaults]\nlocalhost_warning = false\n")
    (tmp_path / "good.yml").write_text("- hosts: localhost\n  tasks: [{ansible.builtin.ping: {}}]\n")
    (tmp_path / "bad.yml").write_text("- hosts: localhost\n  tasks: [{no_such_module: {}}]\n")
    (tmp_path / "twice.yml").write_text("- hosts: localhost\n  hosts: localhost\n")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.py").write_text(OWN)
    return tmp_path


def answer(words, **more):
    """Status, output and errors of a command that runs Ansible's."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")}
    variables["PATH"] = f"{Path(sys.executable).parent}:{variables['PATH']}"
    done = subprocess.run(words, env=variables, capture_output=True, text=True, timeout=120, check=False, **more)
    return done.returncode, done.stdout, done.stderr


def test_commands_say_and_answer_the_same(folder):
    real = answer(["sh", "-c", SCRIPT], cwd=folder)
    assert [line for line in real[1].splitlines() if line.startswith("ended")] == [
        *("ended with 0", "ended with 4", "ended with 4", "ended with 0", "ended with 0"),
    ]
    assert answer([*WARM, str(folder), "sh", "-c", SCRIPT], cwd=ROOT) == real


def test_the_server_ends_with_the_command(folder):
    _status, where, _errors = answer([*WARM, str(folder), "sh", "-c", "command -v ansible-doc"], cwd=ROOT)
    assert where.strip().endswith("/ansible-doc")
    assert not Path(where.strip()).parent.exists()
