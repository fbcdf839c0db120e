# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines for a pipe: together, and not for nobody."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.plugin_utils.shown_lines import BLOCK, blocks, has_reader


def test_a_pipe_without_a_reader_is_seen(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    path = f"/proc/self/fd/{writing}"
    assert has_reader(path)
    os.write(writing, b"unread")
    os.close(reading)
    assert not has_reader(path)
    os.close(writing)
    named = tmp_path / "named"
    os.mkfifo(named)
    assert not has_reader(str(named))
    (tmp_path / "file").touch()
    for path in (str(tmp_path / "file"), "/dev/null", "/dev/full", str(tmp_path / "none")):
        assert has_reader(path), "whatever else it is, ansible-core finds out"


@given(st.lists(st.integers(0, BLOCK - 1), max_size=20))
def test_blocks_have_all_lines_in_order_and_are_no_longer_than_allowed(sizes: list[int]) -> None:
    lines = [f"{number % 10}" * size for number, size in enumerate(sizes)]
    found = list(blocks(lines))
    assert all(len(block) <= BLOCK for block in found)
    assert "\n".join(found) == "\n".join(lines)
