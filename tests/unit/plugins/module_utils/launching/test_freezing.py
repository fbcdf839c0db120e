# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Freezes and windows: how long, how much, how many at once."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.freezing import (
    AFTER_REFUSAL,
    FIRST,
    GENTLY_TO,
    LONGEST,
    MEMORY,
    NEAR_LIMIT,
    SPREAD,
    Window,
    accepted,
    careful,
    careful_late,
    refused,
    room,
    settle,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.api_timeouts import MOST_CREATES
from ansible_collections.stackci.nodepool.plugins.module_utils.model.freeze import Evidence, Freeze

TICK = 1e-6
THEN = Evidence(bound=100, others=4, ours=6)


def refuse(before: Freeze | None, now: float, sent_at: float | None = None, known: Evidence = THEN) -> Freeze:
    return refused(before, "cores", known, "no", now, 0.5, now if sent_at is None else sent_at)


def probes(jitter: float, seconds: float, lost: int = 1) -> list[float]:
    """When creates are refused while a request waits all the time; the first *lost* of them together."""
    freeze, now, times = None, 1000.0, []
    while now < 1000.0 + seconds:
        for turn in range(lost if freeze is None else 1):
            freeze = refused(freeze, "cores", THEN, "no", now + 0.1 * turn, jitter, now - 0.2)
            times.append(now)
        now = freeze.until
    return times


@given(st.floats(0, 1))
def test_tries_follow_each_other_at_short_distances(jitter: float):
    times = probes(jitter, 2 * MEMORY)
    gaps = [(before - 1000.0, after - before) for before, after in pairwise(times)]
    assert all(gap <= FIRST * (1 + SPREAD) + TICK for began, gap in gaps if began < 110.0)
    assert all(gap <= 60.0 + TICK for began, gap in gaps if began < 600.0)
    assert all(gap <= LONGEST + TICK for _unused, gap in gaps)
    assert all(gap >= 150.0 for began, gap in gaps if began > 720.0)


@given(st.floats(0, 1), st.integers(1, 4))
def test_refusals_of_two_minutes_and_of_an_hour_are_few(jitter: float, lost: int):
    times = probes(jitter, 3 * MEMORY, lost)
    assert max(sum(1 for other in times if at <= other < at + 120.0) for at in times) <= 6
    apart = sorted(set(times))
    assert max(sum(1 for other in apart if at <= other < at + MEMORY) for at in apart) <= 30


def test_what_was_long_ago_is_forgiven():
    freeze = refuse(None, 1000.0)
    later = refuse(freeze, 1000.0 + MEMORY + 1)
    assert later.until - (1000.0 + MEMORY + 1) == pytest.approx(freeze.until - 1000.0)
    assert len(later.refusals) == 1


def test_creates_that_were_under_way_together_are_one_refusal():
    freeze = refuse(None, 1000.0)
    again = refuse(freeze, 1000.4, sent_at=999.9)
    assert (again.until, again.blind) == (freeze.until, False)
    assert again.refusals == [1000.0, 1000.0], "each of them counts as a refused create"
    once = refuse(again, freeze.until)
    assert len(set(once.refusals)) == 2, "but not as a freeze of its own"


@given(st.integers(2, 64), st.floats(0, 1))
def test_after_creates_that_were_refused_together_fewer_are_tried(lost: int, jitter: float):
    times = probes(jitter, 600.0, lost)
    apart = sorted(set(times))
    assert sum(1 for at in times if at < 1120.0) <= max(6, lost + 2)
    assert max(after - before for before, after in pairwise(apart)) <= 60.0 * (1 + SPREAD) + TICK


def test_one_that_should_have_fitted_makes_blind():
    """What is given back is tried all the same: one by one, and later after each such refusal."""
    freeze = refuse(None, 1000.0)
    less = Evidence(bound=100, others=4, ours=3)
    assert room(freeze, less, 1001.0) == 3
    unread = refuse(freeze, 1002.0, known=less)
    assert room(unread, less, 1003.0) == 0, "the limits may have changed, and are read first"
    blind = settle(unread, less)
    assert blind.blind and blind.until > freeze.until
    assert (room(blind, less, 1002.0), careful(blind, less, 1002.0)) == (3, 1.0)
    assert room(blind, THEN, 1002.0) == 0
    assert room(blind, Evidence(bound=101, others=4, ours=3), 1003.0) == float("inf")
    blind = settle(refuse(blind, 1003.0, known=less), less)
    assert room(blind, less, 1003.0) == 3, "at once, up to the third refusal"
    for turn in range(20):
        began = blind.until if turn else 1004.0
        blind = settle(refuse(blind, began, known=less), less)
        assert blind.blind and room(blind, less, blind.until - 1) == 0
        assert room(blind, less, blind.until) == float("inf") and careful(blind, less, blind.until) == 1.0


def test_a_try_that_is_accepted_lets_the_next_be_made_at_once():
    less = Evidence(bound=100, others=4, ours=3)
    blind = refuse(None, 1000.0)
    for late in range(5):
        blind = refuse(blind, 1002.0 + late / 10, known=less)
    assert room(blind, less, 1003.0) == 0
    assert accepted(blind, 1, 1001.0).trusted is False, "it was sent before"
    again = accepted(blind, 1, 1022.0)
    assert (room(again, less, 1023.0), careful(again, less, 1023.0)) == (3, 1.0)
    assert room(refuse(again, 1024.0, known=less), less, 1025.0) == 0


@pytest.mark.parametrize(("used", "free"), [(9, 0), (6, 0), (5, 1), (0, 6)])
def test_what_is_given_back_above_a_quota_that_has_fallen_is_no_room(used: float, free: float):
    freeze = refuse(None, 1000.0)
    assert room(freeze, Evidence(bound=6, ours=used), 1001.0) == free


@given(jitter=st.floats(0, 1), lost=st.integers(1, 4), pace=st.floats(0.1, 30))
def test_refusals_of_what_was_given_back_are_few_as_well(jitter: float, lost: int, pace: float):
    """Whenever something may be tried, it is, and is refused."""
    less = Evidence(bound=100, others=4, ours=3)
    freeze, now, times = None, 1000.0, []
    for _turn in range(60):
        known, together = (THEN, lost) if freeze is None else (less, 1)
        for place in range(together):
            freeze = refused(freeze, "cores", known, "no", now + 0.1 * place, jitter, now - 0.2)
        assert freeze is not None
        freeze = settle(freeze, less)
        times.append(now)
        now = min(now + pace, freeze.until) if room(freeze, less, now + pace) else freeze.until
    assert max(sum(1 for other in times if at <= other < at + 120.0) for at in times) <= 6
    assert max(after - before for before, after in pairwise(times) if before < 1500.0) <= 60.0 * (1 + SPREAD) + TICK


@given(ours=st.integers(0, 30), others=st.integers(0, 30), now_ours=st.integers(0, 30), now_others=st.integers(0, 30))
def test_within_a_freeze_no_more_is_used_than_was_in_use(ours: int, others: int, now_ours: int, now_others: int):
    freeze = refuse(None, 1000.0, known=Evidence(100, others, ours))
    left = room(freeze, Evidence(100, now_others, now_ours), 1001.0)
    assert left >= 0
    assert now_ours + now_others + left <= max(ours + others, now_ours + now_others)
    assert room(freeze, Evidence(100, now_others, now_ours), freeze.until) == float("inf")


@pytest.mark.parametrize(("sent_at", "counts"), [(999.0, True), (1000.5, False)])
def test_only_what_was_under_way_at_the_refusal_raises_what_was_in_use(sent_at: float, counts: bool):
    freeze = refuse(None, 1000.0)
    assert accepted(freeze, 2, sent_at).evidence.used - freeze.evidence.used == (2 if counts else 0)


def test_others_that_had_come_unseen_are_part_of_what_was_in_use():
    freeze = settle(refuse(None, 1000.0), Evidence(100, 7, 6))
    assert freeze.settled and freeze.evidence.others == 7
    assert settle(freeze, Evidence(100, 1, 6)).evidence.others == 7


@pytest.mark.parametrize(("used", "most"), [(5, 5), (9, 1), (10, 1), (11, 2), (14, 5)])
def test_near_a_past_refusal_few_are_under_way(used: float, most: float):
    assert careful(refuse(None, 1000.0), Evidence(100, 0, used), 2000.0) == most
    assert careful(refuse(None, 1000.0), Evidence(100, 0, used), 1000.0 + MEMORY) == float("inf")
    large = replace(refuse(None, 1000.0), size=2.0)
    most_large = (10 - used) / 2 if used < 10 else 1 + (used - 10) / 2
    assert careful(large, Evidence(100, 0, used), 2000.0) == max(1.0, most_large)


@pytest.mark.parametrize(
    ("used", "building", "more"), [(5, 0, 5), (5, 2, 5), (10, 1, 0), (11, 1, 0), (12, 2, 0), (12, 1, 1), (14, 2, 1)]
)
def test_servers_that_are_accepted_are_no_sign_of_room_where_one_failed_then(used: float, building: int, more: float):
    freeze = replace(refuse(None, 1000.0), late=True)
    assert careful_late(freeze, Evidence(100, 0, used), 2000.0, building) == more


def test_a_window_grows_gently_and_shrinks_at_once():
    window, sizes = Window(), []
    for _unused in range(100):
        sizes.append(window.allowed(near_limit=False))
        window.accepted()
    assert sizes[:4] == [2, 3, 4, 4] and sizes == sorted(sizes) and sizes[-1] == MOST_CREATES
    assert sizes[20] < GENTLY_TO, "a first burst may meet a hidden limit"
    assert window.allowed(near_limit=True) == NEAR_LIMIT
    assert window.allowed(near_limit=False, careful=1.0) == 1
    window.refused()
    assert window.allowed(near_limit=False) == AFTER_REFUSAL


@pytest.mark.parametrize(
    ("stored", "begins"), [(48, 48), (1, 1), (0, 2), (65, 2), ("48", 2), (None, 2), (True, 2), (float("nan"), 2)]
)
def test_a_window_begins_with_what_an_earlier_cycle_has_reached(stored: Any, begins: int):
    window = Window()
    window.learn(stored)
    assert window.allowed(near_limit=False) == begins
