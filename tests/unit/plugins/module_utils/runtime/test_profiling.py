# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The profile of the thread that decides."""

from __future__ import annotations

import pstats
import threading
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.lines import Trouble
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime import profiling
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.profiling import profiled


def decides() -> None:
    """Called by the thread that is profiled."""


def answers() -> None:
    """Called by another thread meanwhile."""


def functions(path: Path) -> set[str]:
    return {name for _file, _line, name in pstats.Stats(str(path)).stats}  # type: ignore[attr-defined]


@pytest.mark.parametrize("mixes", [False, True], ids=["cProfile", "profile"])
def test_it_has_the_calls_of_its_own_thread_only(tmp_path, monkeypatch, mixes):
    if profiling.MIXES_THREADS and not mixes:
        pytest.skip("this Python's cProfile mixes the threads")
    monkeypatch.setattr(profiling, "MIXES_THREADS", mixes)
    said: list[str] = []
    path = tmp_path / "cycle.prof"

    def work() -> str:
        decides()
        other = threading.Thread(target=answers)
        other.start()
        other.join(30)
        return "done"

    assert profiled(str(path), said.append, work) == "done"
    assert {"decides", "answers"} & functions(path) == {"decides"}
    assert said == [f"the profile of the deciding thread is in {path}"]


def test_it_is_written_after_a_failure_too(tmp_path):
    path = tmp_path / "cycle.prof"

    def work() -> None:
        decides()
        raise ValueError("spoiled")

    with pytest.raises(ValueError, match="spoiled"):
        profiled(str(path), lambda line: None, work)
    assert "decides" in functions(path)


def test_a_file_that_cannot_be_written_is_told_and_spoils_nothing(tmp_path):
    said: list[str] = []
    profiled(str(tmp_path / "missing" / "cycle.prof"), said.append, decides)
    (line,) = said
    assert isinstance(line, Trouble) and "could not be written" in line


def test_without_a_path_nothing_happens():
    said: list[str] = []
    profiled(None, said.append, decides)
    assert said == []
