# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The contents of builds: what nodes have reported, and what diskimage-builder has listed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.context.kept_contents import (
    MOST_BYTES,
    KeptContents,
)

OLD, NEW = "0" * 32, "1" * 32


def package(name: str, version: str, status: str = "ii ") -> dict[str, str]:
    return {"package": name, "arch": "amd64", "version": version, "status": status}


def manifest(folder: Path, build: str) -> Path:
    """The path of what diskimage-builder's element dpkg writes."""
    made = folder / f"tiny-{build}.d" / "dib-manifests" / f"dib-manifest-dpkg-tiny-{build}"
    made.parent.mkdir(parents=True, exist_ok=True)
    return made


def listed(folder: Path, build: str, *packages: Any) -> None:
    manifest(folder, build).write_text(json.dumps({"packages": packages}))


def changes(folder: Path) -> str:
    return KeptContents(str(folder)).changes("tiny", OLD, NEW)


def test_two_manifests_are_compared(tmp_path: Path) -> None:
    listed(tmp_path, OLD, package("bash", "5.2-1"), package("libc6:amd64", "2.36"))
    listed(tmp_path, NEW, package("bash", "5.2-2"), package("libc6:amd64", "2.36"), package("gone", "1", "rc "))
    assert changes(tmp_path) == f"compared with build {OLD}: 1 newer: bash 5.2-2"
    listed(tmp_path, NEW, package("bash", "5.2-1"), package("libc6:amd64", "2.36"))
    assert changes(tmp_path) == f"compared with build {OLD}: the same packages"


def test_the_newest_kernel_counts(tmp_path: Path) -> None:
    listed(tmp_path, OLD, package("linux-image-6.1.0-9-amd64", "1"), package("linux-image-amd64", "1"))
    listed(tmp_path, NEW, package("linux-image-6.1.0-9-amd64", "1"), package("linux-image-6.1.0-10-amd64", "1"))
    assert "kernel 6.1.0-9-amd64 became 6.1.0-10-amd64;" in changes(tmp_path)


def test_what_nodes_have_reported_is_compared_if_both_have(tmp_path: Path) -> None:
    for build, version in ((OLD, "1"), (NEW, "2")):
        listed(tmp_path, build, package("bash", version))
    kept = KeptContents(str(tmp_path))
    kept.keep("tiny", NEW, "kernel 6.2\nbash 7\n")
    assert changes(tmp_path) == f"compared with build {OLD}: 1 newer: bash 2"
    kept.keep("tiny", OLD, "kernel 6.1\nbash 6\n")
    assert changes(tmp_path) == f"compared with build {OLD}: kernel 6.1 became 6.2; 1 newer: bash 7"


@pytest.mark.parametrize(
    "content",
    [
        "", "{", "[]", '{"packages": {}}', '{"packages": [1, null, []]}', "[" * 100_000,
        '{"packages": [{"package": 1}]}', "9" * 10_000, "\ud800",
    ],
)  # fmt: skip
def test_a_manifest_that_is_nonsense_tells_nothing(tmp_path: Path, content: str) -> None:
    listed(tmp_path, OLD, package("bash", "1"))
    manifest(tmp_path, NEW).write_bytes(content.encode("utf-8", "surrogatepass"))
    assert changes(tmp_path) == ""


def test_names_that_no_package_has_are_left_out(tmp_path: Path) -> None:
    listed(tmp_path, OLD, package("bash", "1"))
    listed(
        tmp_path, NEW, package("bash", "1"), package("\x1b[31mred", "1"), package("x", "1\n2"), package("y", "z" * 300)
    )
    assert changes(tmp_path) == f"compared with build {OLD}: the same packages"


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "large", "none"])
def test_only_a_file_of_usual_size_is_read(tmp_path: Path, kind: str) -> None:
    listed(tmp_path, OLD, package("bash", "1"))
    path = manifest(tmp_path, NEW)
    if kind == "link":
        other = tmp_path / "other"
        other.write_text(json.dumps({"packages": [package("bash", "2")]}))
        path.symlink_to(other)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "large":
        path.write_text(json.dumps({"packages": [package("bash", "2")]}) + " " * MOST_BYTES)
    assert changes(tmp_path) == ""


def test_a_build_is_not_compared_with_itself_nor_with_none(tmp_path: Path) -> None:
    listed(tmp_path, OLD, package("bash", "1"))
    kept = KeptContents(str(tmp_path))
    assert kept.changes("tiny", OLD, OLD) == kept.changes("tiny", "", OLD) == ""
