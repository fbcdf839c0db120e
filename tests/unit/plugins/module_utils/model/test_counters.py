# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counters: they add up whatever the order, never fall, and an odd document is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model.counters import (
    API_CALLS,
    FAMILIES,
    LAUNCH_BUCKETS,
    LAUNCHES,
    MOST_SERIES,
    OTHER,
    REQUEST_READY,
    Counters,
    has_failed,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.stored import BadDocument
from tests.support.effort import examples

WORDS = st.sampled_from(["", "east", "west", "main"])


@st.composite
def events(draw: st.DrawFn) -> tuple[Any, tuple[str, ...], float]:
    """Something that is counted."""
    family = draw(st.sampled_from(FAMILIES))
    return family, tuple(draw(WORDS) for _label in family.labels), draw(st.integers(0, 20_000))


def counted(several: list[tuple[Any, tuple[str, ...], float]]) -> Counters:
    counters = Counters()
    for family, labels, amount in several:
        if family.buckets:
            counters.observe(family, *labels, seconds=amount)
        else:
            counters.add(family, *labels, amount=amount)
    return counters


def numbers(counters: Counters) -> dict[tuple[str, tuple[str, ...]], list[float]]:
    return {(name, labels): values for name, found in counters.series.items() for labels, values in found.items()}


@settings(max_examples=examples(400))
@given(st.lists(events()), st.lists(events()))
def test_parts_add_up_to_the_whole_and_nothing_falls(first, second):
    whole = counted([*first, *second])
    total, other = counted(first), counted(second)
    total.merge(counted(second))
    other.merge(counted(first))
    assert total.document() == other.document() == whole.document()
    after = numbers(total)
    for key, values in numbers(counted(first)).items():
        assert all(new >= old for new, old in zip(after[key], values, strict=True))


@settings(max_examples=examples(200))
@given(st.lists(events()))
def test_what_is_stored_is_read_again(several):
    counters = counted(several)
    stored = json.loads(json.dumps(counters.document()))
    assert Counters.from_document(stored).document() == counters.document()


def test_a_duration_is_in_the_bucket_whose_bound_it_does_not_exceed():
    counters = Counters()
    for seconds in (-3.0, 1.0, 1.1, 1800.0, 1800.5):
        counters.observe(REQUEST_READY, "east", "main", seconds=seconds)
    values = counters.series[REQUEST_READY.name]["east", "main"]
    assert values[:2] == [2, 1]
    assert values[len(LAUNCH_BUCKETS) - 1 :] == [1, 1, pytest.approx(3602.6)]


def test_nothing_and_less_are_not_counted():
    counters = Counters()
    counters.add(LAUNCHES, "east", "main", "ready", "", amount=0)
    counters.add(LAUNCHES, "east", "main", "ready", "", amount=-1)
    assert counters.empty and counters.document() == {}


def test_the_number_of_series_is_bounded_and_nothing_is_lost():
    counters = Counters()
    for number in range(MOST_SERIES + 50):
        counters.add(API_CALLS, "east", "GET", f"/odd/{number}", "200")
    found = counters.series[API_CALLS.name]
    assert len(found) == MOST_SERIES + 1
    assert found[(OTHER,) * 4] == [50]
    assert sum(values[0] for values in found.values()) == MOST_SERIES + 50


@pytest.mark.parametrize(
    "launches",
    [
        {},
        [1],
        [[["east", "main", "ready", ""]]],
        [[["east"], [1]]],
        [[["east", "main", "ready", 7], [1]]],
        [[["east", "main", "ready", ""], []]],
        [[["east", "main", "ready", ""], [-1]]],
        [[["east", "main", "ready", ""], ["1"]]],
        [[["east", "main", "ready", ""], [True]]],
        [[["east", "main", "ready", ""], [float("nan")]]],
        [[["east", "main", "ready", ""], [float("inf")]]],
    ],
)
def test_an_odd_document_is_refused(launches):
    with pytest.raises(BadDocument, match="launches"):
        Counters.from_document({"launches": launches})


def test_histograms_with_other_buckets_are_refused():
    with pytest.raises(BadDocument, match="request_ready_seconds"):
        Counters.from_document({"request_ready_seconds": [[["east", "main"], [1, 2, 3]]]})


def test_families_of_another_version_are_left_out():
    assert Counters.from_document({"of_tomorrow": 7}).empty


@pytest.mark.parametrize(("status", "failed"), [
    ("200", False), ("202", False), ("404", False), ("403", False), ("409", False), ("500", True), ("503", True),
    ("timeout", True), ("no-connection", True), ("tls", True), ("reset", True), ("damaged", True), ("error", True),
    ("queue-timeout", False), ("²00", True), ("", True),
])  # fmt: skip
def test_a_refusal_is_an_answer_and_silence_is_not(status, failed):
    assert has_failed(status) is failed
