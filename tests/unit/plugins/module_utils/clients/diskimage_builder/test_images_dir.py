# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""images-dir."""

from __future__ import annotations

import hashlib
import os
import uuid

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.images_dir import (
    ImagesDir,
    lacking_room,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ImageFileError


def test_builder_id_is_made_once_without_a_newline(tmp_path):
    folder = ImagesDir(str(tmp_path / "images"))
    assert folder.builder_id(create=False) == ""
    assert not (tmp_path / "images").exists()
    made = folder.builder_id()
    assert str(uuid.UUID(made)) == made
    assert (tmp_path / "images" / "builder_id.txt").read_text() == made
    assert folder.builder_id() == made == folder.builder_id(create=False)
    assert os.listdir(folder.path) == ["builder_id.txt"]


def test_builder_id_of_nodepool_is_kept(tmp_path):
    (tmp_path / "builder_id.txt").write_text("4f0c9d1c-0000-4000-8000-000000000000\n")
    assert ImagesDir(str(tmp_path)).builder_id() == "4f0c9d1c-0000-4000-8000-000000000000"


@pytest.mark.parametrize("what", ["empty", "folder", "file above"])
def test_builder_id_that_cannot_be_used_is_named(tmp_path, what):
    path = tmp_path / "builder_id.txt"
    if what == "empty":
        path.write_text(" \n")
    elif what == "folder":
        path.mkdir()
    else:
        path.write_text("x")
    folder = ImagesDir(str(path if what == "file above" else tmp_path))
    with pytest.raises(ImageFileError, match=r"builder_id\.txt"):
        folder.builder_id()


def test_an_empty_file_is_told_from_one_with_data(tmp_path):
    (tmp_path / "a-1.raw").write_bytes(b"")
    (tmp_path / "a-1.qcow2").write_bytes(b"x")
    with (tmp_path / "a-1.vhd").open("wb") as file:
        file.truncate(4096)
    assert ImagesDir(str(tmp_path)).empty("a-1", ("raw", "qcow2", "vhd", "vmdk")) == ["raw"]


def test_files_of_a_build_are_those_of_exactly_its_base(tmp_path):
    for name in ("a-1.raw", "a-1.raw.md5", "a-1.qcow2-new", "a-11.raw", "b-1.raw", "a-1"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "a-1.d").mkdir()
    (tmp_path / "a-1.d" / "list").write_text("")
    folder = ImagesDir(str(tmp_path))
    names = folder.of_build("a-1")
    assert names == ["a-1.d", "a-1.qcow2-new", "a-1.raw", "a-1.raw.md5"]
    assert folder.remove([*names, "a-1.gone"]) == []
    assert sorted(os.listdir(tmp_path)) == ["a-1", "a-11.raw", "b-1.raw"]


@pytest.mark.parametrize("name", ["../x", "", ".", "..", "a/b"])
def test_nothing_outside_is_removed(tmp_path, name):
    with pytest.raises(ImageFileError, match="is not the name of a file"):
        ImagesDir(str(tmp_path)).remove([name])


def test_sizes_are_those_on_disk(tmp_path):
    with (tmp_path / "a-1.raw").open("wb") as file:
        file.truncate(1 << 30)
    (tmp_path / "a-1.qcow2").write_bytes(os.urandom(100_000))
    sizes = ImagesDir(str(tmp_path)).sizes("a-1", ["raw", "qcow2", "vhd"])
    assert set(sizes) == {"raw", "qcow2"}
    assert sizes["raw"] < 1 << 20 and sizes["qcow2"] >= 100_000


def test_checksums_are_read_as_nodepool_reads_them(tmp_path):
    (tmp_path / "x.raw.md5").write_text("0123456789ABCDEF0123456789abcdef  /some/where/x.raw\n")
    (tmp_path / "x.raw.sha256").write_text("not one")
    assert ImagesDir(str(tmp_path)).checksums("x.raw") == {"md5": "0123456789abcdef0123456789abcdef"}


def test_checksums_are_computed(tmp_path):
    data = os.urandom(3_000_000)
    (tmp_path / "x.vhd").write_bytes(data)
    folder = ImagesDir(str(tmp_path))
    made = folder.write_checksums("x.vhd")
    assert made == {"md5": hashlib.md5(data).hexdigest(), "sha256": hashlib.sha256(data).hexdigest()}
    assert folder.checksums("x.vhd") == made
    with pytest.raises(ImageFileError, match=r"gone\.vhd: its checksums"):
        folder.write_checksums("gone.vhd")


def test_a_folder_that_is_not_there_is_empty_and_one_that_is_a_file_is_an_error(tmp_path):
    assert ImagesDir(str(tmp_path / "no")).entries() == []
    (tmp_path / "file").write_text("")
    with pytest.raises(ImageFileError, match="images-dir"):
        ImagesDir(str(tmp_path / "file")).entries()


def test_needs_on_one_file_system_add_up(tmp_path):
    stat = os.statvfs(tmp_path)
    free = stat.f_bavail * stat.f_frsize
    half = free * 2 // 3
    assert lacking_room({str(tmp_path / "not" / "yet"): half}) == []
    (lacking,) = lacking_room({str(tmp_path / "not" / "yet"): half, str(tmp_path): half})
    assert f" {-(-2 * half // 2**20)} MiB are needed" in lacking
