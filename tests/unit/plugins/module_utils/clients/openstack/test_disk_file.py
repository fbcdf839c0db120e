# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files in pieces."""

from __future__ import annotations

import hashlib
import os

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.disk_file import PIECE, DiskFile
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ImageFileError


@pytest.mark.parametrize("size", [1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 17])
def test_the_pieces_are_the_file_each_time(tmp_path, size) -> None:
    content = os.urandom(size)
    (tmp_path / "i.raw").write_bytes(content)
    seen: list[int] = []
    file = DiskFile(str(tmp_path / "i.raw"), seen.append)
    assert len(file) == size
    for _round in range(2):
        seen.clear()
        assert b"".join(bytes(piece) for piece in file) == content
        assert seen[-1] == size and seen == sorted(set(seen))
        assert file.handed_out == size


def test_checksums(tmp_path) -> None:
    (tmp_path / "i.raw").write_bytes(b"x" * (PIECE + 5))
    file = DiskFile(str(tmp_path / "i.raw"))
    assert file.digest("sha512") == hashlib.sha512(b"x" * (PIECE + 5)).hexdigest()
    assert file.digest("nobody-knows") is None


def test_a_file_that_is_not_there_or_empty(tmp_path) -> None:
    with pytest.raises(ImageFileError, match=r"gone\.raw cannot be read: No such file"):
        DiskFile(str(tmp_path / "gone.raw"))
    (tmp_path / "empty.raw").touch()
    with pytest.raises(ImageFileError, match=r"empty\.raw is empty"):
        DiskFile(str(tmp_path / "empty.raw"))


@pytest.mark.parametrize("change", ["shorter", "longer", "gone"])
def test_a_file_that_changes_on_the_way(tmp_path, change) -> None:
    path = tmp_path / "i.raw"
    path.write_bytes(b"x" * (3 * PIECE))
    file = DiskFile(str(path))
    if change == "gone":
        path.unlink()
    else:
        os.truncate(path, 2 * PIECE if change == "shorter" else 4 * PIECE)
    with pytest.raises(ImageFileError, match="cannot be read" if change == "gone" else "changed while it was read"):
        list(file)


def test_what_progress_raises_ends_the_reading(tmp_path) -> None:
    (tmp_path / "i.raw").write_bytes(b"x" * (3 * PIECE))

    def stop(sent: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(DiskFile(str(tmp_path / "i.raw"), stop))
