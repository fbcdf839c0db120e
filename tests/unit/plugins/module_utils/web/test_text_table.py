# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of text."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.web.text_table import text_table

TITLES = {"id": "ID", "age": "Age"}


def test_columns_are_as_wide_as_their_widest_cell():
    assert text_table(TITLES, [{"id": "0000000001", "age": 40}], 100.0).split("\n") == [
        "+------------+-------------+",
        "| ID         | Age         |",
        "+------------+-------------+",
        "| 0000000001 | 00:00:01:00 |",
        "+------------+-------------+",
    ]


def test_an_age_that_is_text_stays():
    assert "| 01:00:00:00 |" in text_table(TITLES, [{"id": 1, "age": "01:00:00:00"}], 100.0)


def test_lists_are_joined_and_nothing_is_empty():
    lines = text_table({"a": "A", "b": "B"}, [{"a": ["x", "y"], "b": None}], 0.0).split("\n")
    assert lines[3] == "| x,y |   |"


def test_wide_letters_count_twice_and_a_cell_has_one_line():
    lines = text_table({"a": "A", "b": "B"}, [{"a": "試験", "b": "one\ntwo\x1b"}], 0.0).split("\n")
    assert lines[3:] == ["| 試験 | one two\N{REPLACEMENT CHARACTER} |", lines[0]]
    assert lines[0] == "+------+----------+"


def test_without_columns_there_is_a_frame():
    assert text_table({}, [], 0.0) == "++\n++\n++"
