# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts from outside are bounded: one printable line of at most 2 kB."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model.bounded_text import (
    GAP,
    LONGEST,
    bounded,
    is_printable,
    printable_lines,
)

TEXTS = st.text() | st.builds(lambda text, times: text * times, st.text(min_size=1, max_size=9), st.integers(1, 9000))


@given(TEXTS)
def test_any_text_becomes_one_printable_line_of_two_kilobytes(text: str) -> None:
    line = bounded(text)
    assert len(line.encode()) <= LONGEST
    assert line.isprintable()


@given(TEXTS)
def test_a_bounded_text_stays_as_it_is(text: str) -> None:
    assert bounded(bounded(text)) == bounded(text)


@given(st.text(st.characters(exclude_categories=["C", "Zl", "Zp", "Zs"]), max_size=LONGEST // 4).filter(is_printable))
def test_a_short_printable_text_stays_as_it_is(text: str) -> None:
    assert bounded(text) == text


def test_two_blanks_in_a_name_stay():
    assert bounded("a  b") == "a  b"


def test_the_middle_is_cut_out_and_the_end_stays():
    line = bounded("Build of instance failed: " + "x " * 280_000 + "MessagingTimeout at the end")
    assert line.startswith("Build of instance failed: x x")
    assert GAP in line
    assert line.endswith("x x MessagingTimeout at the end")


def test_letters_of_several_bytes_are_not_cut_in_two():
    line = bounded("ü€" * 5000)
    assert set(line) <= set("ü€" + GAP)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("one\ntwo\r\n\tthree", "one two three"),
        ("\x1b[1;31mred\x1b[0m alert", "red alert"),
        ("\x1b]0;title\x07prompt", "prompt"),
        ("bell\x07", "bell\N{REPLACEMENT CHARACTER}"),
        ("half of a pair \ud800", "half of a pair \N{REPLACEMENT CHARACTER}"),
        ("\N{RIGHT-TO-LEFT OVERRIDE}txet", "\N{REPLACEMENT CHARACTER}txet"),
    ],
)
def test_what_cannot_be_printed_is_replaced(text: str, line: str) -> None:
    assert bounded(text) == line


@given(TEXTS)
def test_the_lines_of_a_console_are_bounded(text: str) -> None:
    assert all(line and line == bounded(line) for line in printable_lines(text))


def test_empty_lines_of_a_console_are_left_out():
    assert printable_lines("\x1b[0m\n login: \r\n\n") == ["login:"]
