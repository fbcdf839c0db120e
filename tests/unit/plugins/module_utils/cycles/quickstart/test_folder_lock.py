# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder of a quick start is locked while one works in it."""

from __future__ import annotations

import shutil

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.folder_lock import locked
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError


def test_a_folder_that_stays_empty_is_removed_and_one_with_files_stays(tmp_path):
    folder = tmp_path / "a" / "quickstart"
    with locked(str(folder)):
        assert folder.is_dir()
    assert not folder.exists()
    with locked(str(folder)):
        (folder / "nodepool.yaml").touch()
    assert folder.exists()


def test_another_one_is_waited_for_and_then_refused(tmp_path):
    now = iter(range(0, 1000, 30))
    said: list[str] = []
    second = locked(str(tmp_path / "q"), said.append, clock=lambda: float(next(now)), sleep=lambda seconds: None)
    refused = pytest.raises(ConfigError, match="another quick start is at work in it")
    with locked(str(tmp_path / "q")), refused, second:
        pass
    assert said == [f"waiting for another quick start that is at work in {tmp_path}/q"]


def test_a_folder_that_the_other_one_has_removed_is_made_anew(tmp_path):
    folder = tmp_path / "q"
    first = locked(str(folder))
    first.__enter__()

    def ends(_seconds):
        shutil.rmtree(folder)
        first.__exit__(None, None, None)

    with locked(str(folder), sleep=ends):
        assert folder.is_dir()


def test_what_cannot_be_a_folder_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="-e quickstart_folder=FOLDER"), locked(str(tmp_path / "file")):
        pass
