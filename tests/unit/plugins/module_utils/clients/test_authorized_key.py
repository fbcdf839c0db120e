# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that put a key on a node, in a real shell."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.authorized_key import script

KEY = "ssh-ed25519 AAAA it's $(me) *"


def run(home: Path) -> str:
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    command = ["sh", "-c", script(KEY)]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=30
    ).stdout.strip()


@pytest.mark.parametrize("before", [None, "", "ssh-rsa BBBB other\n", "ssh-rsa BBBB without an end"])
def test_the_key_is_added_once_and_nothing_is_lost(tmp_path, before):
    file = tmp_path / ".ssh" / "authorized_keys"
    if before is not None:
        file.parent.mkdir()
        file.write_text(before)
    assert run(tmp_path) == "added"
    assert file.read_text().splitlines() == [*(before or "").splitlines(), KEY]
    text = file.read_text()
    assert run(tmp_path) == "there" and file.read_text() == text
    if before is None:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
