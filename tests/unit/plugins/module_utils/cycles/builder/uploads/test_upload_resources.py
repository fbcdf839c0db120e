# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checksums: those beside a file, or computed once for all."""

from __future__ import annotations

import hashlib
import os
import threading

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.images_dir import ImagesDir
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.disk_file import DiskFile
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads import upload_resources
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.upload_resources import Checksums
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ImageFileError

MD5, SHA256 = hashlib.md5(b"abc").hexdigest(), hashlib.sha256(b"abc").hexdigest()


@pytest.fixture
def reads(monkeypatch) -> list[str]:
    """The algorithms for which a file was read."""
    done: list[str] = []

    class Counted(DiskFile):
        def digest(self, algorithm: str) -> str | None:
            done.append(algorithm)
            return super().digest(algorithm)

    monkeypatch.setattr(upload_resources, "DiskFile", Counted)
    return done


def test_those_beside_the_file_are_taken(tmp_path, reads) -> None:
    (tmp_path / "x.raw").write_bytes(b"abc")
    (tmp_path / "x.raw.md5").write_text(f"{'0' * 32}  x.raw\n")
    (tmp_path / "x.raw.sha256").write_text(f"{'1' * 64}  x.raw\n")
    assert Checksums(ImagesDir(str(tmp_path))).of("x.raw") == {"md5": "0" * 32, "sha256": "1" * 64}
    assert reads == []


def test_what_is_missing_is_computed_once_for_all(tmp_path, reads) -> None:
    (tmp_path / "x.raw").write_bytes(b"abc")
    (tmp_path / "x.raw.md5").write_text(f"{MD5}  x.raw\n")
    checksums = Checksums(ImagesDir(str(tmp_path)))
    found: list[dict[str, str]] = []
    threads = [threading.Thread(target=lambda: found.append(checksums.of("x.raw"))) for _number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert found == [{"md5": MD5, "sha256": SHA256}] * 4
    assert reads == ["sha256"]
    (tmp_path / "x.raw").write_bytes(b"abcd")
    os.utime(tmp_path / "x.raw", ns=(1, 1))
    assert checksums.of("x.raw")["sha256"] == hashlib.sha256(b"abcd").hexdigest()


def test_it_can_be_ended_and_needs_a_file(tmp_path) -> None:
    checksums = Checksums(ImagesDir(str(tmp_path)))
    with pytest.raises(ImageFileError, match=r"x\.raw cannot be read"):
        checksums.of("x.raw")
    (tmp_path / "x.raw").write_bytes(b"abc")

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        checksums.of("x.raw", stop)
    assert checksums.of("x.raw")["md5"] == MD5
