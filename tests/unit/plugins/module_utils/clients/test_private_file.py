# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import stat

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.private_file import is_private, write_private
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError


def test_the_file_is_private_and_whole(tmp_path):
    path = tmp_path / "data.json"
    path.write_text("a longer text than the new one")
    path.chmod(0o644)
    assert not is_private(str(path))
    write_private(str(path), "é")
    assert path.read_text("utf-8") == "é"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600 and is_private(str(path))
    assert not is_private(str(tmp_path)) and not is_private(str(tmp_path / "none"))
    assert os.listdir(tmp_path) == ["data.json"]


def test_what_is_no_file_is_not_replaced(tmp_path):
    """As root, renaming a file onto /dev/null would take it from everybody."""
    pipe, null = tmp_path / "pipe", tmp_path / "null"
    os.mkfifo(pipe)
    null.symlink_to("/dev/null")
    for path in (pipe, null, tmp_path):
        with pytest.raises(ConfigError, match="is not a regular file: name another one"):
            write_private(str(path), "new")
    assert stat.S_ISFIFO(os.stat(pipe).st_mode) and null.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["null", "pipe"]


def test_a_failure_leaves_the_old_file_and_says_why(tmp_path, monkeypatch):
    path = tmp_path / "data.json"
    path.write_text("old")

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigError, match="cannot be written: No space left on device"):
        write_private(str(path), "new")
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["data.json"]
    with pytest.raises(ConfigError, match="No such file or directory"):
        write_private(str(tmp_path / "none" / "x"), "new")
