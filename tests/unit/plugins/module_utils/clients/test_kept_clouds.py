# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The copy of clouds.yaml for the time in which an entry cannot be used."""

from __future__ import annotations

import os
import stat

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.kept_clouds import FORGET, find, keep

TEXT = "clouds: {east: {auth: {password: s3cret}}}\n"


@pytest.fixture
def clouds(tmp_path):
    path = tmp_path / "clouds.yaml"
    path.write_text(TEXT, encoding="utf-8")
    return str(path)


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "state")


def kept(folder, clouds, cloud="east"):
    found = find(folder, clouds, cloud, None)
    assert found is not None
    return found[0]


def test_what_was_kept_is_found_again_and_nobody_else_can_read_it(folder, clouds):
    keep(folder, clouds, clouds, "east", None)
    path = kept(folder, clouds)
    with open(path, encoding="utf-8") as file:
        assert file.read() == TEXT
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


def test_each_entry_region_and_path_has_its_own(folder, clouds):
    keep(folder, clouds, clouds, "east", None)
    assert find(folder, clouds, "west", None) is None
    assert find(folder, clouds, "east", "r1") is None
    assert find(folder, None, "east", None) is None
    assert find(folder, f"{clouds}.other", "east", None) is None


def test_a_new_text_replaces_the_old_one_and_the_same_one_is_not_written_again(folder, clouds, tmp_path):
    keep(folder, clouds, clouds, "east", None)
    before = os.stat(kept(folder, clouds)).st_ino
    keep(folder, clouds, clouds, "east", None)
    assert os.stat(kept(folder, clouds)).st_ino == before
    (tmp_path / "clouds.yaml").write_text(TEXT.replace("s3cret", "other"), encoding="utf-8")
    keep(folder, clouds, clouds, "east", None)
    with open(kept(folder, clouds), encoding="utf-8") as file:
        assert "other" in file.read()


def test_a_copy_that_others_can_read_or_that_is_a_link_is_not_used(folder, clouds):
    keep(folder, clouds, clouds, "east", None)
    path = kept(folder, clouds)
    os.chmod(path, 0o644)
    assert find(folder, clouds, "east", None) is None
    os.unlink(path)
    os.symlink(clouds, path)
    assert find(folder, clouds, "east", None) is None


def test_a_folder_that_others_may_write_to_takes_nothing(folder, clouds):
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    keep(folder, clouds, clouds, "east", None)
    assert os.listdir(folder) == []
    assert find(folder, clouds, "east", None) is None


def test_a_file_that_is_gone_meanwhile_is_not_kept(folder, clouds):
    keep(folder, clouds, f"{clouds}.gone", "east", None)
    keep(folder, None, None, "east", None)
    assert find(folder, clouds, "east", None) is None


def used_before(path, seconds):
    """Let a copy have been used for the last time so long ago; returns the time at which it was written."""
    found = os.stat(path)
    os.utime(path, (found.st_mtime - seconds, found.st_mtime))
    return found.st_mtime


def test_the_copy_of_an_entry_that_nobody_uses_any_more_is_deleted(folder, clouds):
    for cloud in ("east", "gone", "broken"):
        keep(folder, clouds, clouds, cloud, None)
    paths = {cloud: kept(folder, clouds, cloud) for cloud in ("east", "gone", "broken")}
    used_before(paths["gone"], FORGET + 60)
    written = used_before(paths["broken"], FORGET + 60)
    found = find(folder, clouds, "broken", None)
    assert found is not None and found[1] == pytest.approx(written, abs=1e-3), "a use, and no write"
    keep(folder, clouds, clouds, "east", None)
    assert os.path.exists(paths["gone"]), "the folder is looked through once a day"
    used_before(paths["east"], 90000)
    keep(folder, clouds, clouds, "east", None)
    assert not os.path.exists(paths["gone"])
    assert os.path.exists(paths["east"]) and os.path.exists(paths["broken"])


def test_a_use_of_an_unchanged_copy_counts(folder, clouds):
    keep(folder, clouds, clouds, "east", None)
    path = kept(folder, clouds)
    used_before(path, FORGET + 60)
    keep(folder, clouds, clouds, "east", None)
    keep(folder, clouds, clouds, "west", None)
    assert os.path.exists(path)
