# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host whose clock is hours from ZooKeeper's: its launcher and its sweep judge ages by ZooKeeper's."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.ansible_run import ROOT, command
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, provider

HOUR = 3600.0
OTHER_TIME = """
import time
_right = time.time
time.time = lambda: _right() + {ahead}
"""
HELD = {"provider": "one", "pool": "main", "type": ["small"], "state": "hold", "comment": "alice looks at it"}


def by_another_time(site: Site, ahead: float, playbook: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a playbook in processes whose time of day is *ahead* of the machine's."""
    folder = site.folder / "time"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(OTHER_TIME.format(ahead=ahead), encoding="utf-8")
    path: Path = ROOT / "playbooks" / playbook
    ran = command("ansible-playbook", path, "-e", site.variables(), *words, folder=site.folder, PYTHONPATH=str(folder))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran


@pytest.mark.parametrize("ahead", [5 * HOUR, -5 * HOUR])
@pytest.mark.parametrize("program", ["launcher.yml", "leak_cleanup.yml"])
def test_what_is_held_for_an_hour_stays_an_hour(site: Site, ahead: float, program: str):
    site.configure(provider("one"))
    now = time.time()
    fresh = {**HELD, "state_time": now - 600, "created_time": now - 600, "hold_expiration": 3600}
    over = {**fresh, "state_time": now - 4000, "created_time": now - 4000}
    site.requestor.put("/nodepool/nodes/0000000001", fresh)
    site.requestor.put("/nodepool/nodes/0000000002", over)
    ran = by_another_time(site, ahead, program)
    assert eventually(lambda: site.requestor.read("/nodepool/nodes/0000000002") is None)
    node = site.requestor.node("0000000001")
    assert node["state"] == "hold", json.dumps(node)
    side = "ahead of" if ahead > 0 else "behind"
    assert f"the clock of this host is 5 h {side} that of ZooKeeper" in " ".join((ran.stdout + ran.stderr).split())
