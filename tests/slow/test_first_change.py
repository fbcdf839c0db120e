# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page for the first change, walked from the clone to the commit, as it stands there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.examples import blocks

ROOT = Path(__file__).resolve().parents[2]
ORIGIN = "https://github.com/stackci/ansible-collection-nodepool"


@pytest.mark.timeout(1200)
def test_the_page_leads_from_a_clone_to_a_commit(tmp_path: Path) -> None:
    text = "\n".join(blocks(ROOT / "docs" / "first-change.md", "shell"))
    assert text.count(ORIGIN) == 1
    # The last commit stands for what a fork has.
    commands = text.replace(ORIGIN, f"--no-hardlinks {ROOT} ansible-collection-nodepool")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "GIT_", "KEEP"))}
    names = [f"GIT_{who}_{what}" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
    environment |= dict.fromkeys(names, "first@example.org")
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", commands],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=1100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 failed" in done.stdout, "the test comes first"
    clone = tmp_path / "ansible-collection-nodepool"
    shown = subprocess.run(
        ["git", "show", "--stat", "--format=%s"], cwd=clone, capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert shown.startswith("Two nodes have words of their own")
    assert "3 files changed" in shown
