# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What playbooks must not do."""

from __future__ import annotations

from pathlib import Path

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
