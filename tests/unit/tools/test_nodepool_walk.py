# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each title of Nodepool's ChangeLog that may be a fix has exactly one answer, and the page counts them as they are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools import nodepool_walk
from tools.lessons import FIXES, ROOT, lessons
from tools.nodepool_walk import WALK, Fix, candidates, left_out, own_rows, pointers

CHANGELOG = r"""CHANGES
=======

9.0.0
-----

* Fix `thing` in the\_launcher
  and its test
* Add a driver

0.1.0
-----

* Don't stop
* Refactor tests
"""


def walk() -> str:
    return (ROOT / WALK).read_text(encoding="utf-8")


def table() -> dict[Fix, object]:
    return dict(own_rows(lessons(FIXES, (ROOT / FIXES).read_text(encoding="utf-8"))))


def test_titles_with_a_word_of_a_fix_are_candidates_with_their_release():
    assert candidates(CHANGELOG) == {Fix("9.0.0", "Fix thing in the_launcher and its test"), Fix("0.1.0", "Don t stop")}


def test_no_title_has_two_answers():
    others, named = left_out(walk()), pointers(walk())
    assert len(others) == len(set(others))
    assert not set(others) & set(named)
    assert not table().keys() & {*others, *named}


def test_each_reference_leads_to_a_row_with_a_test_or_a_reason():
    rows = {row.cells[0]: row for row in lessons(FIXES, (ROOT / FIXES).read_text(encoding="utf-8"))}
    assert [row for row in pointers(walk()).values() if row not in rows] == []


def test_the_page_counts_what_it_holds():
    """Who takes a title away, or a row that is the answer to one, must say so in the sum."""
    numbers = {row.cells[0]: int(row.cells[1]) for row in lessons(WALK, walk()) if row.cells[1].isdigit()}
    own, same, other, sum_of_all = numbers.values()
    assert (same, other) == (len(pointers(walk())), len(left_out(walk())))
    speaking = [fix for fix in table() if candidates(f"{fix.version}\n* {fix.title}\n")]
    assert (own, sum_of_all) == (len(speaking), own + same + other)
    assert sum_of_all >= 900


def test_a_title_without_an_answer_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    changelog = tmp_path / "ChangeLog"
    known = left_out(walk())[0]
    monkeypatch.setattr(sys, "argv", ["nodepool_walk", str(changelog)])
    changelog.write_text(f"{known.version}\n-----\n\n* {known.title}\n")
    assert nodepool_walk.main() == 0
    changelog.write_text(f"{known.version}\n-----\n\n* {known.title}\n* Fix what nobody has walked\n")
    assert nodepool_walk.main() == 1
    told = capsys.readouterr().out
    assert f"{known.version} Fix what nobody has walked\n2 titles may be fixes, 1 of them have no answer" in told
