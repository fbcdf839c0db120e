# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a sweep by hand."""

from __future__ import annotations

import math

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.leaks.sweep_options import (
    DISTANCE,
    SweepOptions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from ansible_collections.stackci.nodepool.plugins.module_utils.sweeping.candidate import Kind
from tests.support.config_texts import parse
from tests.support.world import one_provider


class Options(SweepOptions):
    """Of a configuration with one provider, east."""

    def reload(self):
        return parse(one_provider())


def options(**values):
    return Options(config="nodepool.yaml", **values)


def test_all_problems_are_told_at_once():
    wrong = {"min_age": -1.0, "wait": -2.0, "max_deletions": -3, "adopt_unmarked": -4.0, "adopt_sites": ("x",)}
    with pytest.raises(ConfigError) as caught:
        options(**wrong).load()
    text = str(caught.value)
    for told in ("min_age is -1", "wait is -2", "max_deletions is -3", "adopt_unmarked is -4", "'x' is not the id"):
        assert told in text


@pytest.mark.parametrize("name", ["min_age", "wait", "adopt_unmarked"])
def test_what_is_no_number_is_told(name):
    """Nothing is younger than nan: what has just been made would be deleted."""
    with pytest.raises(ConfigError, match=f"{name} is nan: give"):
        options(**{name: math.nan}).load()


def test_a_wait_without_an_end_is_told():
    with pytest.raises(ConfigError, match="wait is inf: give a number"):
        options(wait=math.inf).load()


def test_a_provider_that_is_not_configured_is_told():
    with pytest.raises(ConfigError, match="'west' is not a provider in"):
        options(providers=("west",)).load()
    options(providers=("east",), adopt_sites=("a" * 32,)).load()


@pytest.mark.parametrize(
    ("values", "chosen"),
    [({}, ["east"]), ({"providers": ("east",)}, ["east"]), ({"providers": ()}, []), ({"kinds": Kind.TREE}, [])],
)
def test_no_cloud_is_asked_for_the_kinds_of_the_tree_only(values, chosen):
    made = options(**values)
    assert made.chosen(made.load()) == chosen


@pytest.mark.parametrize(("wait", "distance"), [(0.0, DISTANCE), (5.0, 5.0), (600.0, DISTANCE)])
def test_a_run_that_waits_for_the_second_look_may_delete_after_it(wait, distance):
    rules = options(wait=wait, min_age=3.0, max_deletions=7).rules
    assert (rules.distance, rules.min_age, rules.most) == (distance, 3.0, 7)
