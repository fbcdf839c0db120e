# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of a log is read, and nothing else of the host."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.kept_log import read_log_end


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "logs" / "gates").mkdir(parents=True)
    (tmp_path / "logs" / "gates" / "a.log").write_bytes(b"first\n\xff last\n")
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    return tmp_path / "logs"


def test_the_end_of_a_log(base: Path) -> None:
    assert read_log_end(str(base), "gates", "a.log") == "first\n\ufffd last\n"
    assert read_log_end(str(base), "gates", "a.log", most=5) == "last\n"


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("gates", "b.log"),
        ("gates", "../../secret"),
        ("..", "secret"),
        ("", "secret"),
        ("gates", ".."),
        ("gates", "a\0.log"),
        ("gates", "x" * 5000),
    ],
)
def test_what_is_no_log_is_not_read(base: Path, folder: str, name: str) -> None:
    assert read_log_end(str(base), folder, name) is None


def test_links_pipes_and_folders_are_not_read(base: Path) -> None:
    (base / "gates" / "link.log").symlink_to(base.parent / "secret")
    (base / "away").symlink_to(base.parent)
    os.mkfifo(base / "gates" / "pipe.log")
    (base / "gates" / "folder.log").mkdir()
    for folder, name in (("gates", "link.log"), ("away", "secret"), ("gates", "pipe.log"), ("gates", "folder.log")):
        assert read_log_end(str(base), folder, name) is None
