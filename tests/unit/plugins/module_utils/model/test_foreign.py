# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that others wrote become harmless; harmless ones stay as they are."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model.bounded_text import is_printable, marked
from ansible_collections.stackci.nodepool.plugins.module_utils.model.foreign import (
    LARGEST,
    LONGEST_TEXT,
    cleaned,
    has_clean_texts,
    moment,
    number,
)

HOSTILE = st.sampled_from(
    ["\x1b[2J", "a\n<3>b", "\x07", "\x9b1m", "\u202e", "\u2066", "\u200b", "\u3164", "\ud800", "x" * 5000]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | HOSTILE | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | HOSTILE, inner, max_size=3),
    max_leaves=8,
)


def parts(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, dict):
        for pair in value.items():
            yield from parts(list(pair))
    if isinstance(value, list):
        for item in value:
            yield from parts(item)


@given(JSON)
def test_nothing_hostile_is_left(value):
    for part in parts(cleaned(value)):
        if isinstance(part, str):
            assert is_printable(part)
            assert len(part.encode()) <= LONGEST_TEXT
        elif isinstance(part, int | float) and not math.isnan(part):
            assert abs(part) <= LARGEST


@given(JSON)
def test_what_is_clean_is_returned_itself(value):
    once = cleaned(value)
    assert cleaned(once) is once


@given(st.dictionaries(st.text() | HOSTILE, JSON, max_size=4), st.booleans())
def test_the_fast_check_never_takes_hostile_bytes_for_clean(document, escaped):
    data = json.dumps(document, ensure_ascii=escaped).encode("utf-8", "surrogatepass")
    if has_clean_texts(data):
        read = json.loads(data, parse_int=lambda _digits: 0, parse_float=lambda _digits: 0.0)
        assert cleaned(read) is read


@pytest.mark.parametrize(
    "document", [{"type": ["small"], "state_time": 1764000000.1234567}, {"user_data": '{"a": "b"}'}]
)
def test_usual_documents_are_found_clean_at_once(document):
    assert has_clean_texts(json.dumps(document).encode())


@given(st.text(min_size=1, max_size=50), st.text(min_size=1, max_size=50))
def test_a_name_never_becomes_another_printable_name(name, other):
    if is_printable(other.replace(" ", "")) and not any(letter.isspace() for letter in name):
        assert (marked(name) == other) is (name == other)


@given(st.floats(allow_nan=False))
def test_a_clock_can_show_every_moment(at):
    assert datetime.fromtimestamp(moment(at), UTC)


@pytest.mark.parametrize(("value", "read"), [("5", 5.0), (True, None), (10**400, None), ("nan", None), ([], None)])
def test_numbers(value, read):
    assert number(value) == read
