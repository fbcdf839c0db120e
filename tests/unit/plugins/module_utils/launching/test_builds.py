# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many builds side by side are best: learned only where the time to ACTIVE grows with their number."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.builds import (
    CAUTIOUS,
    FEW,
    FEWEST,
    MOST,
    Build,
    Builds,
)

INFINITE = float("inf")
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
HAPPENED = st.lists(
    st.tuples(
        st.floats(0.0, 1e6),
        st.integers(0, 5000),
        st.sampled_from(["small", "large"]),
        st.booleans(),
        st.booleans(),
    ),
    max_size=60,
)


LATER = itertools.count(1e7, 1000.0)
"""When servers are asked for, one after the other."""


def take(builds: Builds, seconds: float, beside: int, kind: str = "small", waiting: int = 0) -> None:
    """A server became ACTIVE after so long; *waiting* are in flight still, just asked for."""
    asked_at = next(LATER)
    under_way = [Build(asked_at + seconds, beside, kind)] * waiting
    builds.active(Build(asked_at, beside, kind), asked_at + seconds, under_way)


def busy() -> Builds:
    """Of a cloud that builds as many in a minute however many are in flight."""
    builds = Builds()
    for beside in range(1, 31):
        take(builds, 2.0 + 1.15 * beside, beside)
    return builds


@given(HAPPENED, st.floats(1.0, 5000.0))
def test_the_limit_keeps_within_its_bounds_whatever_happens(happened, most):
    builds, now = Builds(), 1e9
    for seconds, beside, kind, works, slow in happened:
        build = Build(now, beside, kind)
        now += seconds
        if works:
            builds.active(build, now, [Build(now - seconds / 2, beside + 1, kind)] * (beside % 7))
        else:
            builds.failed(build, now)
        if slow:
            builds.strain(next(LATER))
        assert builds.limit is None or FEWEST <= builds.limit <= MOST
        assert 1.0 <= builds.allowed(most) <= most


@given(HAPPENED)
def test_what_was_learned_is_known_to_the_next_cycle(happened):
    builds = Builds()
    for seconds, beside, kind, _works, _slow in happened:
        builds.active(Build(1e9, beside, kind), 1e9 + seconds)
    stored = json.loads(json.dumps(builds.document()))
    other = Builds()
    other.learn(stored)
    assert other.document() == stored


@given(ODD | st.fixed_dictionaries({"limit": ODD, "usual": ODD}))
def test_of_odd_documents_nothing_is_learned(document: Any):
    builds = Builds()
    builds.learn(document)
    assert builds.limit is None or FEWEST <= builds.limit <= MOST
    take(builds, 5.0, 1)


@given(st.lists(st.tuples(st.floats(19.0, 25.0), st.integers(1, 500)), max_size=200))
def test_a_cloud_whose_time_does_not_grow_is_never_held_back(builds_of):
    builds = Builds()
    for seconds, beside in builds_of:
        take(builds, seconds, beside, waiting=beside)
    assert builds.limit is None
    assert builds.allowed(INFINITE) == INFINITE


def test_a_cloud_whose_time_grows_in_step_is_held_back_near_what_it_can_work_on():
    builds = busy()
    assert builds.limit is not None
    assert builds.allowed(INFINITE) <= 15
    assert builds.allowed(4) == 4


def test_a_time_that_grows_more_slowly_than_the_number_holds_nobody_back():
    builds = Builds()
    for beside in range(1, 61):
        take(builds, 10.0 * beside**0.5, beside)
    assert builds.limit is None


def test_cold_caches_hold_nobody_back():
    builds = Builds()
    for beside in range(1, 61):
        take(builds, 120.0 if beside <= 10 else 20.0, beside)
    assert builds.limit is None


def test_flavors_that_take_longer_hold_nobody_back():
    builds = Builds()
    for beside in range(1, 61):
        take(builds, 20.0, beside % 6 + 1, "small")
        take(builds, 200.0, beside + 10, "large")
    assert builds.limit is None


def test_it_explores_upwards_when_the_time_does_not_grow():
    builds = busy()
    assert builds.limit is not None
    for _unused in range(2000):
        take(builds, 3.0, int(builds.allowed(MOST)))
    assert builds.limit is None


@given(st.floats(0.5, 20.0), st.floats(0.0, 10.0))
def test_the_slower_the_lower(ratio, more):
    def after(times: float) -> float:
        builds = Builds()
        builds.learn({"limit": 20.0, "usual": {"small": 10.0}})
        for _unused in range(FEW):
            take(builds, 10.0 * times, 20)
        return builds.allowed(INFINITE)

    assert after(ratio + more) <= after(ratio)


@pytest.mark.parametrize(("most_beside", "limit"), [(0, CAUTIOUS), (20, 20)])
def test_slow_answers_to_creates_begin_a_limit_with_what_was_built(most_beside, limit):
    builds = Builds()
    for beside in range(1, most_beside + 1):
        take(builds, 20.0, beside)
    builds.strain(next(LATER))
    assert builds.allowed(INFINITE) == limit
    take(builds, 20.0, limit)
    builds.strain(next(LATER))
    assert builds.limit is not None and builds.limit >= limit


def test_what_was_asked_for_before_the_limit_began_does_not_change_it():
    """A burst of 36 was answered slowly; its builds share the cloud with more than the limit allows."""
    builds = Builds()
    burst = [Build(1000.0 + place, place + 1, "small") for place in range(36)]
    builds.strain(1036.0)
    for build in burst:
        builds.active(build, 1100.0)
    assert builds.allowed(INFINITE) == CAUTIOUS
    for place in range(FEW):
        builds.active(Build(1040.0 + place, CAUTIOUS, "small"), 1060.0 + place)
    assert builds.allowed(INFINITE) > CAUTIOUS


def test_what_takes_as_long_with_half_as_many_has_become_usual():
    builds = Builds()
    builds.learn({"limit": 20.0, "usual": {"small": 10.0}})
    lowest = 20.0
    for _unused in range(100):
        take(builds, 40.0, int(builds.allowed(MOST)))
        lowest = min(lowest, builds.allowed(MOST))
    assert lowest <= 10, "at first the launcher may be the cause"
    assert builds.allowed(MOST) >= 20, "it was not"


def test_what_nobody_waited_for_does_not_change_the_limit():
    builds = Builds()
    builds.learn({"limit": 20.0, "usual": {"small": 10.0}})
    for _unused in range(20):
        take(builds, 10.0, 2)
        take(builds, 500.0, 60)
    assert builds.limit == 20.0


@pytest.mark.parametrize("load", [True, False])
def test_a_server_in_error_is_a_sign_of_too_much_only_while_builds_are_slow(load):
    builds = Builds()
    builds.learn({"limit": 20.0, "usual": {"small": 10.0}})
    for _unused in range(5):
        take(builds, 30.0 if load else 12.0, 20)
    before = builds.limit
    assert before is not None and builds.limit is not None
    for _unused in range(3):
        builds.failed(Build(1000.0, 20), 1050.0)
    assert builds.limit == (0.8 * before if load else before)
