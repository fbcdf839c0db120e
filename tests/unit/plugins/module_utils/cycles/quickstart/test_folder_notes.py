# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The notes of the quick start: what it wrote is known, and what somebody changed stays."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.folder_notes import Notes
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    made = Notes(str(tmp_path / "q"))
    made.cloud = "mycloud"
    made.write()
    return made


def test_what_is_written_is_read_again(notes: Notes) -> None:
    assert Notes.read(notes.folder) == notes and notes.exists
    assert stat.S_IMODE(Path(notes.path).stat().st_mode) == 0o600
    assert notes.name == f"stackci-quickstart-{notes.id}"
    assert Notes.read(str(Path(notes.folder).parent)).cloud == ""


def test_a_file_that_somebody_changed_is_kept(notes: Notes) -> None:
    assert notes.write_file("a", "one") and not notes.write_file("a", "one")
    assert notes.write_file("a", "two") and notes.is_as_written("a")
    Path(notes.at("a")).write_text("mine")
    assert not notes.is_as_written("a") and not notes.remove_file("a")
    assert notes.write_file("b", "x") and notes.remove_file("b") and not Path(notes.at("b")).exists()
    notes.forget()
    assert Path(notes.folder).exists() and not notes.exists
    Path(notes.at("a")).unlink()
    notes.forget()
    assert not Path(notes.folder).exists()


def test_damaged_notes_are_told(notes: Notes) -> None:
    Path(notes.path).write_text("{")
    with pytest.raises(ConfigError, match=r"quickstart\.json: cannot be read: it is damaged"):
        Notes.read(notes.folder)
    Path(notes.path).write_text('{"cloud": 3, "port": 7}')
    assert (Notes.read(notes.folder).cloud, Notes.read(notes.folder).port) == ("", 7)


def test_what_a_killed_run_left_of_its_files_goes_with_the_notes(tmp_path):
    folder = tmp_path / "q"
    notes = Notes(folder=str(folder), cloud="east")
    notes.write_file("nodepool.yaml", "labels: []\n")
    for name in (".quickstart.json.k1lled", ".nodepool.yaml.k1lled"):
        (folder / name).write_text("{")
    notes.remove_file("nodepool.yaml")
    notes.forget()
    assert not folder.exists()


def test_files_of_others_keep_the_folder(tmp_path):
    notes = Notes(folder=str(tmp_path / "q"), cloud="east")
    notes.write()
    (tmp_path / "q" / ".bashrc").touch()
    notes.forget()
    assert [path.name for path in (tmp_path / "q").iterdir()] == [".bashrc"]
