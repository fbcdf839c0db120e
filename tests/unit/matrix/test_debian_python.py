# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Python from Debian's packages begins by its own loader, under the name that was called, or a cell says why not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.matrix import cells, debian_python
from tests.matrix.cells import CELLS, CannotRun


def packages(folder: Path) -> list[Path]:
    """A package with a program that shows how it was called, and a loader that runs it so."""
    files = {
        "usr/bin/python9.9": '#!/bin/sh\necho "$@"\n',
        "usr/lib64/ld-linux-x86-64.so.2": '#!/bin/sh\necho "$@"\n',
        "usr/lib/x86_64-linux-gnu/libc.so.6": "",
        "DEBIAN/control": "Package: python9.9\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n",
    }
    for name, text in files.items():
        path = folder / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        path.chmod(0o755)
    words = ["dpkg-deb", "--root-owner-group", "--build", str(folder / "tree"), str(folder / "one.deb")]
    subprocess.run(words, stdout=subprocess.DEVNULL, timeout=60, check=True)
    return [folder / "one.deb"]


def test_the_program_is_begun_by_the_loader_of_its_folder_with_the_name_that_was_called(tmp_path, monkeypatch):
    monkeypatch.setattr(debian_python, "KEYRING", tmp_path)
    monkeypatch.setattr(debian_python, "_downloaded", lambda _package, folder: packages(folder))
    program = debian_python.unpacked("9.9", tmp_path / "kept")
    called = tmp_path / "python"
    called.symlink_to(program)
    said = subprocess.run([str(called), "-V"], capture_output=True, text=True, timeout=60, check=True).stdout.split()
    root = tmp_path / "kept" / "debian-python9.9" / "usr"
    places = [str(root / "lib" / "x86_64-linux-gnu"), str(root / "bin" / "python9.9.elf")]
    assert said == ["--argv0", str(called), "--library-path", *places, "-V"]
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["debian-python9.9"]


def test_a_cell_without_its_python_says_why_debian_and_uv_have_none(monkeypatch, tmp_path):
    monkeypatch.setattr(debian_python, "KEYRING", tmp_path / "none.gpg")
    monkeypatch.setattr(cells, "ENVIRONMENTS", tmp_path)
    monkeypatch.setattr(cells, "interpreter", lambda _version: None)
    failed = subprocess.CompletedProcess((), 2, "", "error: failed to lookup address information\n")
    monkeypatch.setattr(cells, "uv", lambda *_words, **_how: failed)
    told = r"no Python 3.14 here, Debian's .* no none\.gpg .*, and uv .* failed to lookup"
    with pytest.raises(CannotRun, match=told):
        cells.make(next(cell for cell in CELLS if cell.python == "3.14"))
