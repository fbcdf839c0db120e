# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples of the documentation as ansible-playbook sees them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.ansible_run import command
from tests.support.examples import PREFIX, Example, of_pages, of_plugins


def playbook(example: Example, folder: Path, number: int) -> Path:
    """The example as a file that ansible-playbook takes."""
    plays = example.plays or [{"name": "Example", "hosts": "localhost", "gather_facts": False, "tasks": example.tasks}]
    path = folder / f"{number}-{Path(example.where).stem}.yml"
    path.write_text(json.dumps(plays), "utf-8")
    return path


def test_every_playbook_of_the_documentation_passes_the_syntax_check(tmp_path):
    examples = [example for example in (*of_plugins(), *of_pages()) if example.plays or example.tasks]
    # Collections of others are not here.
    examples = [
        one for one in examples if "infra.aap" not in str(one.content) and PREFIX + "awx" not in str(one.content)
    ]
    paths = [playbook(example, tmp_path, number) for number, example in enumerate(examples)]
    assert len(paths) > 25
    done = command("ansible-playbook", "--syntax-check", *paths, folder=tmp_path, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
