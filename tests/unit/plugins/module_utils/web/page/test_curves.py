# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Curves of the last hours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model.history import SPAN, Change, History
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.curves import (
    BIN,
    HEIGHT,
    MOST_CURVES,
    PLACES,
    lines,
    past,
    quantile,
)

NOW = 1_795_198_000.0


def filled(*groups, first=NOW - 600, every=60.0):
    history = History()
    for number, group in enumerate(groups):
        history.add(first + number * every, group)
    return history


@given(st.lists(st.none() | st.floats(0, 1e9), max_size=PLACES))
def test_each_value_has_its_place_and_a_gap_stays_a_gap(values):
    most = max((value for value in values if value is not None), default=0.0)
    drawn = [[point.split(",") for point in line.split()] for line in lines(values, most)]
    assert all(len(run) > 1 for run in drawn)
    assert all(0 <= int(x) < 2 * PLACES and 0 <= float(y) <= HEIGHT for run in drawn for x, y in run)
    known = {2 * place for place, value in enumerate(values) if value is not None}
    assert {int(x) for run in drawn for x, _y in run if int(x) % 2 == 0} == known


def test_nothing_known_is_no_curve():
    found = past(History(), NOW)
    assert (found.nodes, found.waits, found.marks, found.since) == ([], [], [], None)


def test_nodes_by_state_have_their_figures():
    found = past(filled({"nodes": {"ready": 2, "in-use": 8}}, {"nodes": {"in-use": 2}}, every=2 * BIN), NOW)
    assert [(curve.name, curve.now, curve.most) for curve in found.nodes] == [("in-use", "2", "8"), ("ready", "0", "2")]
    assert len(found.nodes[0].lines) == 2


def test_a_provider_whose_calls_fail_comes_first():
    point = {"calls": {"well": 90.0, "ill": 10.0}, "errors": {"ill": 4.0}}
    found = past(filled(point), NOW).providers
    assert [(curve.name, curve.now, bool(curve.more)) for curve in found] == [
        ("ill", "40 % failed", True),
        ("well", "0 % failed", False),
    ]


def test_failures_are_counted_by_owner():
    found = past(filled({"failures": {"image": 3}}, {"failures": {"image": 1, "cloud": 9}}, every=BIN), NOW).failures
    assert [(curve.name, curve.now, curve.most) for curve in found] == [
        ("cloud", "9 in all", "9/min"),
        ("image", "4 in all", "3/min"),
    ]


def test_waits_are_estimated_from_their_buckets():
    found = past(filled({"waits": {"45": 10.0}}, {"waits": {}}, every=BIN), NOW).waits
    assert [(curve.name, curve.now) for curve in found] == [("P50", "38 s"), ("P95", "44 s")]


@given(st.dictionaries(st.sampled_from(["1", "30", "1800", "inf"]), st.integers(1, 50), min_size=1))
def test_quantiles_grow_with_their_share(counts):
    found = [quantile(counts, share / 10) for share in range(1, 11)]
    assert found == sorted(found) and found[0] >= 0 and found[-1] <= 1800


def test_no_waits_have_no_quantile():
    assert quantile({}, 0.5) is None


@pytest.mark.parametrize(("age", "known"), [(0.0, True), (SPAN - 2 * BIN, True), (SPAN + BIN, False)])
def test_a_change_is_marked_at_its_time(age, known):
    history = History()
    history.note(Change(NOW - age, "build_live", "build 7 is live"))
    marks = past(history, NOW).marks
    assert [mark.text for mark in marks] == (["build 7 is live"] if known else [])
    assert all(mark.place == 2 * (PLACES - 1 - round(age // BIN)) or 0 <= mark.place < 2 * PLACES for mark in marks)


def test_many_curves_are_cut():
    found = past(filled({"images": {f"image-{number:03d}": 60.0 * number for number in range(1, 50)}}), NOW).images
    assert len(found) == MOST_CURVES and found[0].name == "image-049"
