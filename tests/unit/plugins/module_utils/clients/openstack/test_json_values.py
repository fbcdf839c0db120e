# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of any type are read or told in our words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack import json_values
from ansible_collections.stackci.nodepool.plugins.module_utils.model.bounded_text import LONGEST

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "n is null where a number belongs"),
        ("many", "n is the text 'many' where a number belongs"),
        ([], "n is a list where a number belongs"),
        ({}, "n is an object where a number belongs"),
        (True, "n is true where a number belongs"),
        (float("inf"), "n is the number inf where a number belongs"),
    ],
)
def test_what_is_no_number_is_told(value: Any, words: str) -> None:
    with pytest.raises(json_values.Unreadable) as caught:
        json_values.number({"n": value}, "n")
    assert str(caught.value) == words


def test_a_missing_value_is_told():
    with pytest.raises(json_values.Unreadable, match="n is missing"):
        json_values.number({}, "n")


@pytest.mark.parametrize(("value", "number"), [(3, 3), (3.0, 3), ("3", 3), (-1, -1)])
def test_numbers(value: Any, number: int) -> None:
    assert json_values.number({"n": value}, "n") == number


@pytest.mark.parametrize(
    "reader",
    [
        json_values.number,
        json_values.text,
        json_values.optional_text,
        json_values.whole_text,
        json_values.ident,
        json_values.texts,
        json_values.mapping,
        json_values.optional_mapping,
        json_values.sequence,
        json_values.optional_sequence,
    ],
)
@given(ANY)
def test_any_value_is_read_or_unreadable(reader: Callable[..., Any], value: Any) -> None:
    said = "key can be read"
    try:
        reader({"key": value}, "key")
    except json_values.Unreadable as problem:
        said = str(problem)
    assert len(said) < 300 and said.startswith("key ")


@given(st.text())
def test_texts_are_bounded(value: str) -> None:
    assert len(json_values.text({"key": value * 3000}, "key").encode()) <= LONGEST
    texts = json_values.texts({"key": {value: value * 3000}}, "key")
    assert all(len(text.encode()) <= LONGEST for text in texts.values())


def test_an_id_is_a_short_text_or_a_number():
    assert (json_values.ident({"id": 7}), json_values.ident({"id": "a-b"})) == ("7", "a-b")
    odd: Any
    for odd in ("", None, True, "x" * 300, "a\nb", 1.5, []):
        with pytest.raises(json_values.Unreadable):
            json_values.ident({"id": odd})


def test_what_cannot_be_read_is_left_out():
    items = [{"n": 1}, {"n": None}, 7, {"n": 2}]
    assert list(json_values.readable(items, lambda item: json_values.number(item, "n"))) == [1, 2]
