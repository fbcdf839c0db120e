# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""In which folders root works, and in which it does not."""

from __future__ import annotations

import os

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.folders import (
    open_without_links,
    refuse_shared,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ImageFileError


@pytest.mark.parametrize(
    ("mode", "sticky", "refused"),
    [(0o755, False, False), (0o775, False, False), (0o777, False, True), (0o777, True, True), (0o1777, True, False)],
)
def test_who_may_write_to_a_folder(tmp_path, mode, sticky, refused):
    folder = tmp_path / "images"
    folder.mkdir()
    folder.chmod(mode)
    if refused:
        with pytest.raises(ImageFileError, match=rf"images-dir {folder}: every user .*chmod o-w {folder}"):
            refuse_shared(str(folder), "images-dir", sticky=sticky)
    else:
        refuse_shared(str(folder), "images-dir", sticky=sticky)


def test_a_sticky_folder_is_fine_above_but_not_for_files_of_known_names(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    refuse_shared(str(tmp_path / "shared" / "images"), "images-dir")
    with pytest.raises(ImageFileError, match="mode 1777"):
        refuse_shared(str(tmp_path / "shared"), "images-dir")


def test_a_folder_above_and_one_behind_a_link_count_too(tmp_path):
    (tmp_path / "shared" / "images").mkdir(parents=True)
    (tmp_path / "shared").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "shared" / "images")
    for path in ("shared/images", "shared/images/not/there", "link"):
        with pytest.raises(ImageFileError, match=rf"{path}: every user of this machine may write to {tmp_path}/shared"):
            refuse_shared(str(tmp_path / path), "images-dir")


def test_no_part_of_a_path_may_be_a_link(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    os.close(open_without_links(str(tmp_path / "a" / "b")))
    with pytest.raises(OSError, match="link/b"):
        open_without_links(str(tmp_path / "link" / "b"))
