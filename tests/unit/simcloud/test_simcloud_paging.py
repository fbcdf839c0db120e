# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paging: every item once, in order, whatever the size of the pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simcloud.paging import BadPage, cut, parse_limit


@given(st.lists(st.integers(), unique=True), st.integers(min_value=1, max_value=7))
def test_following_the_marker_shows_everything_once(numbers, limit):
    items = [str(number) for number in numbers]
    seen: list[str] = []
    marker = None
    for _page in range(len(items) + 1):
        page, more = cut(items, lambda item: item, limit, marker)
        seen += page
        assert len(page) <= limit
        if not more:
            break
        marker = page[-1]
    assert seen == items


def test_an_unknown_marker_is_refused():
    with pytest.raises(BadPage, match=r"marker \[x\] not found"):
        cut(["a"], lambda item: item, 5, "x")


@pytest.mark.parametrize(("text", "expected"), [(None, 1000), ("5", 5), ("5000", 1000), ("0", 0)])
def test_limit(text, expected):
    assert parse_limit(text, 1000) == expected


@pytest.mark.parametrize("text", ["x", "-1", "1.5", ""])
def test_a_bad_limit_is_refused(text):
    with pytest.raises(BadPage):
        parse_limit(text, 1000)


def test_the_default_may_be_smaller_than_the_maximum():
    assert parse_limit(None, 1000, 25) == 25
