# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Amounts and bounds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import (
    Limits,
    Resources,
    describe,
    total,
)

NAMES = st.sampled_from(["instances", "cores", "ram", "volumes", "gpus"])
AMOUNTS = st.dictionaries(NAMES, st.integers(0, 100)).map(Resources)
BOUNDS = st.dictionaries(NAMES, st.integers(-10, 200)).map(Limits)


@given(AMOUNTS, AMOUNTS, AMOUNTS)
def test_sums(one, two, three):
    assert one + two == two + one
    assert (one + two) + three == one + (two + three) == total([one, two, three])
    assert (one + two) - two == one
    assert one + Resources() == one and hash(one + Resources()) == hash(one)


@given(BOUNDS, AMOUNTS, AMOUNTS)
def test_what_fits_is_what_is_not_short(bounds, used, need):
    left = bounds.less(used)
    assert left.allows(need) == (left.short_of(need) == {})
    assert left.allows(need) == all(used[name] + need[name] <= bounds[name] for name in need)
    for name, (needed, room) in left.short_of(need).items():
        assert needed == need[name] > room == bounds[name] - used[name]


@given(BOUNDS, BOUNDS, AMOUNTS)
def test_both_bounds_hold(one, two, need):
    assert one.both(two).allows(need) == (one.allows(need) and two.allows(need))
    assert dict(one.both(two)) == dict(two.both(one))


def test_what_is_not_needed_is_never_short():
    assert Limits({"instances": -5}).allows(Resources({"cores": 1}))


def test_absent_is_nothing_for_amounts_and_everything_for_bounds():
    assert Resources()["cores"] == 0 and Limits()["cores"] == math.inf
    assert "cores" not in Limits({"cores": math.inf})
    assert "cores" not in Resources({"cores": 0}) and "cores" in Resources({"cores": 1})
    assert Resources({"cores": 0}) == Resources()


def test_the_document_has_whole_numbers_and_nodepools_names_only():
    amounts = Resources({"cores": 2.0, "instances": 1, "ram": 1024, "ports": 1, "floating-ips": 1, "volume-gb": 50})
    assert amounts.document() == {"cores": 2, "instances": 1, "ram": 1024, "volume-gb": 50}


@pytest.mark.parametrize(
    ("name", "amount", "text"),
    [
        ("ram", 4096, "4096 MiB ram"),
        ("ram", 1, "1 MiB ram"),
        ("instances", 3, "3 instances"),
        ("instances", 1, "1 instance"),
        ("x", 0.5, "0.5 x"),
        ("gpus", 1, "1 gpus"),
    ],
)
def test_describe(name, amount, text):
    assert describe(name, amount) == text
