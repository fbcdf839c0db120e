# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Usage is added up: in any order, with as many rows as a document may have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model import day_usage
from ansible_collections.stackci.nodepool.plugins.module_utils.model.day_usage import (
    AMOUNTS,
    FIELDS,
    OTHERS,
    Usage,
    day_of,
    merged,
    start_of,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.stored import BadDocument

NAMES = st.sampled_from(["", "a", "b", "c"])
KEYS = st.tuples(*[NAMES] * len(FIELDS))
ROWS = st.lists(st.integers(0, 2**40), min_size=len(AMOUNTS), max_size=len(AMOUNTS))
USAGES = st.dictionaries(KEYS, ROWS, max_size=8).map(Usage)


def totals(usage: Usage) -> list[int]:
    return [usage.total(name) for name in AMOUNTS]


@given(USAGES, USAGES, USAGES)
def test_the_order_of_sums_does_not_matter(one, two, three) -> None:
    first = merged([merged([one, two]), three])
    assert first == merged([one, merged([two, three])])
    assert first.rows == merged([three, one, two]).rows
    assert totals(first) == [sum(values) for values in zip(totals(one), totals(two), totals(three), strict=True)]


@given(USAGES, st.sets(st.sampled_from(FIELDS)))
def test_grouping_loses_nothing(usage, names) -> None:
    assert totals(usage.by(*sorted(names))) == totals(usage)


@given(USAGES)
def test_it_is_stored_and_read_again(usage) -> None:
    assert Usage.from_document(usage.document()) == usage


@given(st.lists(USAGES, max_size=6), st.integers(0, 4), st.integers(0, 3))
def test_what_goes_beyond_the_rows_of_a_day_is_counted_for_others(usages, most, others) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(day_usage, "MOST_ROWS", most)
        patch.setattr(day_usage, "MOST_OTHERS", others)
        kept, plain = Usage(), merged(usages)
        for usage in usages:
            kept.merge(usage)
            kept = kept.bounded()
            assert len(kept.rows) <= most + others + 1
        assert totals(kept) == totals(plain)
        assert all(key in plain.rows or OTHERS in key for key in kept.rows)


def test_others_keep_label_provider_and_pool() -> None:
    usage = Usage()
    for number in range(day_usage.MOST_ROWS + 10):
        usage.add((f"t{number}", "p", "j", "small", "east", "main"), used=1)
    kept = usage.bounded()
    assert kept.rows[OTHERS, OTHERS, OTHERS, "small", "east", "main"][0] == 10
    assert len(kept.rows) == day_usage.MOST_ROWS + 1
    assert kept.by("label").rows == {("small",): [day_usage.MOST_ROWS + 10, *[0] * (len(AMOUNTS) - 1)]}


def test_amounts_of_another_version_are_read_by_their_names() -> None:
    key = ["t", "p", "j", "small", "east", "main"]
    read = Usage.from_document({"amounts": ["held", "news"], "rows": [[key, [5, 9]]]})
    assert read.total("held") == 5 and sum(totals(read)) == 5


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"amounts": ["used"], "rows": {}},
        {"amounts": ["used"], "rows": [1]},
        {"amounts": ["used"], "rows": [[["t"], [1]]]},
        {"amounts": ["used"], "rows": [[["t", "p", "j", "l", "e", 1], [1]]]},
        {"amounts": ["used"], "rows": [[["t", "p", "j", "l", "e", "m"], [-1]]]},
        {"amounts": ["used"], "rows": [[["t", "p", "j", "l", "e", "m"], ["1"]]]},
        {"amounts": ["used"], "rows": [[["t", "p", "j", "l", "e", "m"], []]]},
    ],
)
def test_a_document_of_another_form_is_not_used(document) -> None:
    with pytest.raises(BadDocument):
        Usage.from_document(document)


def test_days_are_those_of_utc() -> None:
    assert day_of(1_795_651_199.9) == "2026-11-25" and day_of(1_795_651_200.0) == "2026-11-26"
    assert start_of("2026-11-26") == 1_795_651_200.0
