# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a leaked thing may be deleted."""

from __future__ import annotations

import itertools

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.sweeping.candidate import Kind, LeakCandidate, Ownership
from ansible_collections.stackci.nodepool.plugins.module_utils.sweeping.judge import (
    FORGOTTEN_AFTER,
    Rules,
    Sighting,
    Verdict,
    judge,
)

NOW = 1_800_000_000.0


def candidate(ident: str = "a", **more) -> LeakCandidate:
    return LeakCandidate(Kind.PORT, ident, more.pop("ownership", Ownership.LEAKED), "unmarked", **more)


def verdict(sighting: Sighting | None, seen_at: float = NOW, rules: Rules | None = None, **more) -> str:
    before = {} if sighting is None else {"port/a": sighting}
    (row,) = judge([candidate(**more)], [Kind.PORT], before, rules or Rules(), seen_at).rows
    return row.verdict


@pytest.mark.parametrize(
    ("first", "created", "expected"),
    [
        (None, NOW - 9999, Verdict.WAITING),
        (NOW, NOW - 9999, Verdict.WAITING),
        (NOW + 5, NOW - 9999, Verdict.WAITING),
        (NOW - 59.9, NOW - 9999, Verdict.WAITING),
        (NOW - 60, NOW - 9999, Verdict.DUE),
        (NOW - 60, NOW - 600, Verdict.DUE),
        (NOW - 60, NOW - 599, Verdict.YOUNG),
        (NOW - 60, NOW + 50, Verdict.YOUNG),
        (NOW - 599, None, Verdict.YOUNG),
        (NOW - 600, None, Verdict.DUE),
    ],
)
def test_twice_at_a_distance_and_old_enough(first, created, expected):
    assert verdict(None if first is None else Sighting(first), created=created) == expected


def test_two_looks_at_the_same_moment_are_one_whatever_the_distance():
    assert verdict(Sighting(NOW), rules=Rules(min_age=0, distance=0)) == Verdict.WAITING


def test_a_floor_of_its_own():
    assert verdict(Sighting(NOW - 100), created=NOW - 5000, min_age=6000) == Verdict.YOUNG
    assert verdict(Sighting(NOW - 100), created=NOW - 6000, min_age=6000) == Verdict.DUE


def test_failing_deletions_are_tried_at_growing_distances():
    sighting, tried, moments = Sighting(NOW - 9999), 0, []
    for minute in range(24 * 60):
        now = NOW + 60 * minute
        if verdict(sighting, now, created=0.0) == Verdict.DUE:
            sighting, tried = sighting.attempt(now, "409"), tried + 1
            moments.append(now)
    pauses = [later - earlier for earlier, later in itertools.pairwise(moments)]
    assert pauses[:4] == [60, 120, 240, 480]
    assert pauses == sorted(pauses) and pauses[-1] == 3600
    assert sighting.tries == tried and sighting.answer == "409"


def test_what_is_beyond_the_bound_is_due_next_time():
    before = {f"port/{letter}": Sighting(NOW - 100) for letter in "abc"}
    candidates = [candidate(letter, created=0.0) for letter in "cab"]
    rows = judge(candidates, [Kind.PORT], before, Rules(most=2), NOW).rows
    assert [(row.candidate.id, row.verdict) for row in rows] == [
        ("a", Verdict.DUE),
        ("b", Verdict.DUE),
        ("c", Verdict.BEYOND),
    ]


def test_sightings_of_kinds_that_nobody_looks_for_any_more_are_forgotten():
    before = {"image/x": Sighting(NOW - FORGOTTEN_AFTER), "image/y": Sighting(NOW - 10), "port/gone": Sighting(NOW)}
    assert set(judge([], [Kind.PORT], before, Rules(), NOW).sightings) == {"image/y"}


def test_a_sighting_survives_being_stored():
    sighting = Sighting(NOW, 2, NOW + 1, "no")
    assert Sighting.from_document(sighting.document()) == sighting


@pytest.mark.parametrize("document", [None, 5, [], {}, {"first": "soon"}, {"first": None}])
def test_a_sighting_that_cannot_be_read_is_none(document):
    assert Sighting.from_document(document) is None


def test_rows_tell_what_is_known():
    before = {"port/a": Sighting(NOW - 100, 1, NOW - 90, "409: in use")}
    (row,) = judge([candidate(created=NOW - 5000)], [Kind.PORT], before, Rules(), NOW).rows
    assert row.result() == {
        "kind": "port",
        "id": "a",
        "name": "",
        "verdict": "due",
        "reason": "has no marker of this collection",
        "age": 5000,
        "first_seen": NOW - 100,
        "tries": 1,
        "answer": "409: in use",
    }
