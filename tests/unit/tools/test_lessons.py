# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every row of the tables of lessons names tests that exist, and the lanes notice when one of these did not run."""

from __future__ import annotations

import re
from pathlib import Path

from tools.lessons import FIXES, REPORTS, ROOT, VERDICTS, Lesson, all_lessons, functions, lessons, missing, passed

PAGE = """
| Fix | Here |
| --- | --- |
| a lock | holds: `unit/test_a.py::test_one`, `integration/test_b.py::test_two` |
| a driver | does not apply: it is not ours |
"""
RESULTS = """<testsuites><testsuite>
<testcase classname="tests.unit.test_a" name="test_one[x]"/>
<testcase classname="tests.unit.test_a.TestOfClass" name="test_in_a_class"/>
<testcase classname="tests.unit.test_a" name="test_failed"><failure/></testcase>
<testcase classname="tests.unit.test_a" name="test_skipped"><skipped/></testcase>
</testsuite></testsuites>"""


def test_each_row_has_a_verdict_and_names_tests_that_exist_and_are_run():
    wrong, known = [], dict[str, dict[str, bool]]()
    for row in all_lessons():
        where = f"{row.page}:{row.line}"
        if len(row.cells) != 4 or not all(row.cells) or row.verdict not in VERDICTS:
            wrong.append(f"{where}: four cells are expected, the last one begins with one of {', '.join(VERDICTS)}")
        if row.verdict != "does not apply" and not row.tests:
            wrong.append(f"{where}: no test is named")
        for path, name in row.tests:
            if path not in known:
                file = ROOT / "tests" / path
                known[path] = functions(file) if file.is_file() else {}
            if known[path].get(name) is not False or not path.startswith(("unit/", "simulation/", "integration/")):
                wrong.append(f"{where}: {path}::{name} is not there or is never run")
    assert not wrong, "\n".join(wrong)


def test_the_tables_have_the_promised_size_and_name_each_row_once():
    rows = [row for row in all_lessons() if row.verdict != "does not apply"]
    assert sum(row.page == FIXES for row in rows) >= 250
    assert sum(row.page == REPORTS for row in rows) >= 60
    names = [row.cells[0] for row in rows]
    assert sorted(names) == sorted(set(names))


def test_what_was_left_out_is_counted_as_it_is_listed():
    """Each group has its number, its reason and so many titles; no title stands in a row as well."""
    text = (ROOT / FIXES).read_text(encoding="utf-8")
    rows, _head, left_out = text.partition("## What was left out, source by source")
    groups = re.findall(r"^- \*\*(.+)\*\* \((\d+)\): (.+?)\. (.+)\.$", left_out, re.MULTILINE)
    assert len(groups) == left_out.count("\n- ") > 20
    titles = {name: listed.split("; ") for name, _number, _why, listed in groups}
    assert {name: int(number) for name, number, _why, _listed in groups} == {
        name: len(listed) for name, listed in titles.items()
    }
    (told,) = re.findall(r"(\d+) titles need no row", left_out)
    assert int(told) == sum(len(listed) for listed in titles.values())
    assert [title for listed in titles.values() for title in listed if f'"{title}"' in rows] == []


def test_rows_are_read_without_their_heads():
    first, second = lessons("page.md", PAGE)
    assert first == Lesson(
        "page.md", 4, ("a lock", "holds: `unit/test_a.py::test_one`, `integration/test_b.py::test_two`")
    )
    assert first.verdict == "holds" and first.tests == (
        ("unit/test_a.py", "test_one"),
        ("integration/test_b.py", "test_two"),
    )
    assert second.verdict == "does not apply" and second.tests == ()


def test_a_test_that_did_not_pass_is_told_in_the_lane_of_its_folder(tmp_path: Path):
    results = tmp_path / "results.xml"
    results.write_text(RESULTS)
    assert passed([results]) == {("unit/test_a.py", "test_one"), ("unit/test_a.py", "test_in_a_class")}
    rows = lessons("page.md", PAGE)
    assert missing("tests/unit", rows, passed([results])) == []
    assert missing("tests/integration", rows, passed([results])) == [
        "page.md:4: integration/test_b.py::test_two did not run or did not pass"
    ]


def test_a_function_that_is_always_skipped_is_known(tmp_path: Path):
    file = tmp_path / "test_x.py"
    file.write_text("@pytest.mark.skip\ndef test_a(): ...\n@pytest.mark.parametrize('x', [1])\ndef test_b(x): ...\n")
    assert functions(file) == {"test_a": True, "test_b": False}
