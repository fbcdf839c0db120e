# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A life is lived once up to each point, and each branch finds it and its files as if nothing had been tried before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.support.branches import Branches, Here, share


def live(folder: Path, here: Here) -> None:
    """Each point writes its number; what happens there is known to the life only afterwards."""
    folder.mkdir()
    kept = folder / "kept"
    kept.write_text("", "utf-8")
    file = kept.stat().st_ino
    happened = []
    for number in range(1, 5):
        what = here()
        if what is not None:
            happened.append((number, what))
            (folder / "new").write_text(what, "utf-8")
        kept.write_text(f"{kept.read_text('utf-8')}{number}", "utf-8")
    assert kept.read_text("utf-8") == "1234" and kept.stat().st_ino == file
    assert len(happened) == len([name for name in os.listdir(folder) if name == "new"]) == 1
    ((number, what),) = happened
    assert what == f"what happens at {number}"


@pytest.fixture
def branches(tmp_path: Path) -> Iterator[Branches]:
    made = Branches(partial(live, tmp_path / "life"), tmp_path / "life")
    yield made
    made.close()


@pytest.mark.parametrize("points", [(1, 3, 4), (2, 2), (4, 1)])
def test_each_branch_is_a_whole_life(branches: Branches, points: tuple[int, ...]) -> None:
    for at in points:
        branches.go_on(at, f"what happens at {at}")


def test_what_is_wrong_with_one_branch_is_told_and_no_other_has_it(branches: Branches) -> None:
    branches.go_on(1, "what happens at 1")
    with pytest.raises(AssertionError, match=r"(?s)with odd at point 2: .*assert what ==.*"):
        branches.go_on(2, "odd")
    branches.go_on(3, "what happens at 3")


def test_a_point_that_a_life_does_not_have_is_told() -> None:
    branches = Branches(lambda here: here())
    with pytest.raises(AssertionError, match="with it at point 2: there is no such point"):
        branches.go_on(2, "it")
    branches.close()


def test_a_branch_that_ends_without_a_word_is_told() -> None:
    def life(here: Here) -> None:
        if here():
            os._exit(3)

    branches = Branches(life)
    with pytest.raises(AssertionError, match="its process has ended with status"):
        branches.go_on(1, "the end")
    branches.close()


def test_the_shares_of_cases_together_are_all_of_them() -> None:
    assert [list(share(range(7), part, 3)) for part in range(3)] == [[0, 1], [2, 3], [4, 5, 6]]
