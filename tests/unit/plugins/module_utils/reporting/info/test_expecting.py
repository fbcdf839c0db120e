# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.polling import SAMPLES
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.expecting import (
    FEWEST,
    MIN_KNOWN,
    deleted_lately,
    expected_wait,
    is_worthless,
    score_of_boots,
    score_of_deletions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.request_rows import request_rows
from tests.support.populated_tree import NO_ROOM, WAITING, documents
from tests.support.tree_reading import NOW, reading_of

WEST = "/nodepool/stackci/providers/west"


def expected(gone, request_id=WAITING, later=0.0, **figures):
    """The estimate for the first of the queue, which wants two nodes and finds room for one.

    :param later: seconds since all documents were written.
    """
    whole = documents(NOW)
    wait = {**NO_ROOM, "text": "x", "since": NOW, "at": NOW, **figures}
    whole[f"/nodepool/stackci/waits/{WAITING}"] = wait
    whole[f"/nodepool/stackci/waits/{request_id}"] = wait
    whole[WEST] = {**whole[WEST], "gone": gone}
    reading = reading_of(whole)
    rows = request_rows(reading, NOW)
    row = next(item for item in rows if item["id"] == request_id)
    return expected_wait(row, rows, row["reason"], [], reading, NOW + later)


def every(seconds, count, pool="main", until=NOW):
    """Deletions at equal distances, the last just now."""
    return [{"pool": pool, "at": until - seconds * place} for place in reversed(range(count))]


def test_one_node_more_is_deleted_and_one_boots():
    seconds, basis = expected(every(60, 6))
    assert seconds == 60 + 25
    assert basis.startswith("about 1 must be deleted first, 6 nodes of west/main were deleted within 5 min")


def test_what_is_promised_is_scored_against_what_came():
    seconds, basis = expected(every(60, 12))
    assert seconds == 60 + 25
    assert basis.endswith("; 7 of 7 earlier estimates would have been right within a factor of 2")


def test_where_estimates_were_worthless_nothing_is_promised():
    """A gate that ends gives many nodes back at once, and then none for minutes."""
    times = [NOW - 1500 + 300 * burst + place for burst in range(5) for place in range(2)]
    seconds, basis = expected([{"pool": "main", "at": at} for at in [*times, NOW - 1]])
    assert seconds is None
    assert basis.startswith("unknown: nodes of west/main are deleted too irregularly: ")
    assert basis.endswith("earlier estimates would have been right within a factor of 2")


@given(st.lists(st.floats(0.1, 3600), min_size=0, max_size=30))
def test_a_score_counts_each_boot_that_had_enough_before_it(boots):
    right, count = score_of_boots(boots)
    assert 0 <= right <= count == max(0, len(boots) - MIN_KNOWN)


@given(st.floats(1, 600), st.integers(5, 20), st.integers(1, 6))
def test_what_is_regular_was_always_right(distance, count, ahead):
    right, scored = score_of_deletions([distance * place for place in range(count)], ahead)
    assert right == scored == max(0, count - ahead - FEWEST + 1)
    assert not is_worthless((right, scored))


@pytest.mark.parametrize(
    ("score", "expected_worth"), [((0, 3), False), ((1, 4), True), ((2, 4), False), ((0, 4), True)]
)
def test_few_estimates_judge_nothing(score, expected_worth):
    assert is_worthless(score) is expected_worth


def test_requests_before_it_come_first():
    seconds, basis = expected(every(60, 6), "100-0000000012", behind=True, left=0)
    assert (seconds, basis.split(",")[0]) == (3 * 60 + 25, "about 3 must be deleted first")


def test_what_has_passed_since_the_last_deletion_counts():
    assert expected(every(60, 6, until=NOW - 50))[0] == 10 + 25


def test_what_was_deleted_since_the_launcher_stored_it_is_not_missed():
    """It stores once a minute: seven distances have passed, and it has deleted most likely."""
    assert expected(every(10, 6, until=NOW), later=70)[0] == 0 + 25
    assert "no node of west/main was deleted for 5 min" in expected(every(10, 6, until=NOW), later=300)[1]


def test_nothing_is_estimated_where_too_little_was_seen():
    useless: tuple[Any, ...] = (
        [],
        every(60, 4),
        every(0, 9),
        every(60, 9, pool="other"),
        every(60, 9, until=NOW - 7200),
        "x",
    )
    for gone in useless:
        seconds, basis = expected(gone)
        assert seconds is None and "fewer than 5 nodes of west/main were deleted" in basis
    assert "was deleted for 10 min" in expected(every(60, 9, until=NOW - 600))[1]
    assert expected(every(60, 9), resource="cores") == (
        None,
        "unknown: it waits for cores, which differs between nodes",
    )


@pytest.mark.parametrize(
    ("gone", "told"),
    [
        ([], "no node of it was deleted in the last ten minutes"),
        (every(700, 2), "1 node of it was deleted in the last ten minutes"),
        ([*every(60, 20), *every(5, 7, "other")], "11 nodes of it were deleted in the last ten minutes"),
        (every(700, 1, until=NOW + 5), "no node of it was deleted in the last ten minutes"),
        (every(5, SAMPLES), "at least 50 nodes of it were deleted in the last ten minutes"),
        (every(30, SAMPLES), "21 nodes of it were deleted in the last ten minutes"),
        ([*every(5, 1), *every(5, SAMPLES - 1, "other")], "at least 1 node of it was deleted in the last ten minutes"),
        ([7, {"at": "x"}, {"pool": "main", "at": NOW}], "1 node of it was deleted in the last ten minutes"),
        (None, ""),
        ("many", ""),
    ],
)
def test_the_deletions_of_ten_minutes_are_counted(gone, told):
    reading = reading_of({WEST: {"gone": gone}})
    assert deleted_lately(reading, "west/main", NOW) == told
    assert deleted_lately(reading, "east/main", NOW) == deleted_lately(reading, "west", NOW) == ""


def test_nothing_is_counted_when_no_launcher_writes():
    reading = reading_of({WEST: {"gone": every(60, 9)}})
    assert deleted_lately(reading, "west/main", NOW + 100) != ""
    assert deleted_lately(reading, "west/main", NOW + 200) == ""
