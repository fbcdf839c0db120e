# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Percentiles, targets and the table."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench import report
from tests.bench.figures import Figure, Findings, Spread, ratio


def test_percentiles_are_values_of_the_sample_by_nearest_rank():
    spread = Spread.of(range(1, 101))
    assert (spread.count, spread.p50, spread.p90, spread.p99, spread.most) == (100, 50, 90, 99, 100)


def test_the_percentiles_of_one_value_are_that_value():
    assert Spread.of([3.5]) == Spread(1, 3.5, 3.5, 3.5, 3.5)


@given(st.lists(st.floats(min_value=-1e6, max_value=1e6), min_size=1))
def test_percentiles_rise_and_belong_to_the_sample(values):
    spread = Spread.of(reversed(values))
    assert min(values) <= spread.p50 <= spread.p90 <= spread.p99 <= spread.most == max(values)
    assert {spread.p50, spread.p90, spread.p99} <= set(values)


def test_nothing_measured_is_no_number_and_null_in_json():
    spread = Spread.of([])
    assert math.isnan(spread.p50)
    assert spread.document() == {"count": 0, "p50": None, "p90": None, "p99": None, "max": None}


@pytest.mark.parametrize(("value", "met"), [(0.9, True), (1.0, True), (1.01, False), (math.nan, False)])
def test_a_target_is_met_up_to_its_bound_and_never_by_what_was_not_measured(value, met):
    assert Figure("x", value, at_most=1.0).met is met


@pytest.mark.parametrize(
    ("value", "target", "far"),
    [
        (1.0, 1.0, False),
        (1.5, 1.0, False),
        (1.51, 1.0, True),
        (0.0, 0.0, False),
        (1.0, 0.0, True),
        (math.nan, 5.0, True),
    ],
)
def test_a_target_is_far_off_beyond_half_as_much_again(value, target, far):
    assert Figure("x", value, at_most=target).far_off is far


def test_a_least_value_is_a_target_too():
    assert Figure("x", 100.0, at_least=100.0).met is True
    assert Figure("x", 60.0, at_least=100.0).met is False and Figure("x", 60.0, at_least=100.0).far_off is False
    assert Figure("x", 49.0, at_least=100.0).far_off is True
    assert Figure("x", math.nan, at_least=100.0).far_off is True
    assert "≥ 100" in report.row(Figure("x", 100.0, at_least=100.0))


def test_without_a_target_nothing_is_judged():
    assert Figure("x", 5.0).met is None and Figure("x", 5.0).far_off is False


def test_nothing_divided_by_nothing_is_no_number():
    assert math.isnan(ratio(5, 0))
    assert ratio(5, 2) == 2.5


def test_a_row_shows_value_unit_target_verdict_and_what_was_published():
    row = report.row(Figure("calls", 2.71, "calls", 2.5, "8.5"))
    assert row.split() == ["calls", "2.71", "calls", "≤", "2.5", "NOT", "MET", "8.5"]
    assert "met" in report.row(Figure("calls", 2.0, "calls", 2.5)).split()


def test_a_figure_that_could_not_be_measured_says_so():
    assert "not measured" in report.row(Figure("x", math.nan))


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (3.0, "3"), (0.0412, "0.041"), (2.714, "2.71"), (143.2, "143"), (1000.0, "1000")]
)
def test_numbers_are_short(value, text):
    assert report.number(value) == text


def test_the_summary_counts_judged_figures_only():
    findings = Findings()
    findings.add("a", 1.0, at_most=2.0)
    findings.add("b", 3.0, at_most=2.0)
    findings.add("c", 3.0)
    assert report.summary([findings], 0).strip() == "1 of 2 targets met"
    findings.add("d", 3.1, at_most=2.0)
    assert report.summary([findings], 0).strip() == "1 of 3 targets met, 1 missed by more than half"
    assert "1 scenarios could not be measured" in report.summary([findings], 1)


def test_the_file_is_json_that_every_reader_knows(tmp_path):
    findings = Findings(notes=["late"])
    findings.add("a", math.nan, at_most=2.0, published="6.0")
    path = tmp_path / "deep" / "figures.json"
    report.write(path, {"rooms": {"r": report.room_document("R", 1.0, [[0.1], [0.2]], findings)}})
    figure = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)["rooms"]["r"]["figures"][0]
    assert figure == {
        "name": "a",
        "value": None,
        "unit": "s",
        "at_most": 2.0,
        "at_least": None,
        "met": False,
        "published_nodepool_11": "6.0",
    }
