# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts whose configuration cannot be used, as their running cycles tell."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.unused_files import (
    ROOT,
    problems_by_cycle,
    unsent_metrics,
    unused_files,
    wrong_clocks,
)
from tests.support.tree_reading import reading_of


def beat(host, cycle, *problems):
    return {"hostname": host, "cycle": cycle, "config_problems": list(problems)}


def test_one_row_for_each_host_and_what_is_wrong_there():
    wrong = "nodepool.yaml:14: is no YAML"
    reading = reading_of(
        {
            f"{ROOT}/nl01-0": beat("nl01", "launcher", wrong),
            f"{ROOT}/nl01-1": beat("nl01", "launcher"),
            f"{ROOT}/nl01-2": beat("nl01", "builds", wrong),
            f"{ROOT}/nl02-0": beat("nl02", "launcher"),
            f"{ROOT}/odd-0": {"hostname": 3, "cycle": None, "config_problems": "no list"},
        }
    )
    (row,) = unused_files(reading)
    assert row.text() == (
        f"the configuration on nl01 cannot be used: {wrong}; builds and launcher use the previous one"
    )
    assert problems_by_cycle(reading) == {("nl01", "builds"): 1, ("nl01", "launcher"): 1, ("nl02", "launcher"): 0}


def test_one_cycle_uses_the_previous_configuration():
    (row,) = unused_files(reading_of({f"{ROOT}/nl01-0": beat("nl01", "launcher", "nodepool.yaml: is missing")}))
    assert row.text().endswith("; launcher uses the previous one")


def test_nothing_to_tell():
    assert unused_files(reading_of({f"{ROOT}/a-0": {"hostname": "a", "cycle": "launcher"}})) == []


def test_why_metrics_of_a_host_are_lost_is_told_once_for_each_host():
    told: dict[str, list[object]] = {"a": ["", "no such host", "no such port"], "b": ["", None], "c": ["gone"]}
    beats = {
        f"{ROOT}/{host}-{number}": {"hostname": host, "cycle": "launcher", "unsent_metrics": why}
        for host, values in told.items()
        for number, why in enumerate(values)
    }
    assert unsent_metrics(reading_of(beats)) == {"a": "no such host", "c": "gone"}


def test_the_largest_error_of_the_clock_of_each_host_is_told():
    told: dict[str, list[object]] = {"a": [3, -40, 0], "b": [0], "c": [True, None, "late", [7], 1e400], "d": [61]}
    beats = {
        f"{ROOT}/{host}-{number}": {"hostname": host, "cycle": "launcher", "clock_ahead": ahead}
        for host, values in told.items()
        for number, ahead in enumerate(values)
    }
    assert wrong_clocks(reading_of(beats)) == {"a": -40.0, "d": 61.0}
