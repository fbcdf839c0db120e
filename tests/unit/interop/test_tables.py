# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodepool's tables are read as they are drawn, and compared cell by cell."""

from __future__ import annotations

from tests.interop.tables import differences, seconds, tables

SCREEN = """Image data:
+------+-------------+
| ID   | Age         |
+------+-------------+
| a    | 00:00:00:09 |
| b    |             |
+------+-------------+

Nodes:
+----+
| ID |
+----+
+----+
"""
THEIRS = [{"ID": "a", "State": "ready", "Age": "00:00:00:09"}]


def rows(age: str, state: str = "ready", ident: str = "a") -> list[dict[str, str]]:
    return [{"ID": ident, "State": state, "Age": age}]


def compared(before: str, after: str, **more: str) -> list[str]:
    return differences(THEIRS, rows(before, **more), rows(after, **more), ("ID",), ("Age",))


def test_each_table_of_a_screen_is_read_also_an_empty_one():
    assert tables(SCREEN) == [[{"ID": "a", "Age": "00:00:00:09"}, {"ID": "b", "Age": ""}], []]


def test_an_age_in_days_hours_minutes_and_seconds():
    assert seconds("01:02:03:04") == 86400 + 7200 + 180 + 4


def test_an_age_lies_between_two_looks_of_ours():
    assert compared("00:00:00:08", "00:00:00:12") == []
    assert compared("00:00:00:20", "00:00:00:30") == ["a: Age: theirs 00:00:00:09, ours 00:00:00:20 to 00:00:00:30"]


def test_a_cell_or_a_row_that_differs_is_named():
    assert compared("00:00:00:09", "00:00:00:09", state="hold") == ["a: State: theirs 'ready', ours 'hold'"]
    assert compared("00:00:00:09", "00:00:00:09", ident="b") == ["a: only theirs", "b: only ours"]
