# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The schedule of a run comes from its seed alone, and every trouble in it is over."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from tests.chaos.beside_schedule import ENDS, LONGEST, STOCK, STRIKES, WANTED, beside_schedule
from tests.chaos.schedule import HABITS, schedule


def test_the_same_seed_is_the_same_schedule():
    assert [str(action) for action in schedule(3, 120.0)] == [str(action) for action in schedule(3, 120.0)]
    assert schedule(3, 120.0) != schedule(4, 120.0)


def test_actions_are_in_their_order():
    moments = [action.at for action in schedule(5, 600.0)]
    assert moments == sorted(moments)


@pytest.mark.parametrize(
    ("begins", "ends"),
    [
        ("freeze", "thaw"),
        ("limits", "limits-over"),
        ("others", "others-over"),
        ("cells", "cells-over"),
        ("typo", "typo-over"),
    ],
)
def test_what_begins_ends(begins, ends):
    many = Counter(action.what for action in schedule(6, 3600.0))
    assert many[begins] == many[ends] > 0


def test_partitions_are_healed_and_faults_are_bounded():
    actions = schedule(7, 3600.0)
    many = Counter(action.what for action in actions)
    assert many["silence"] + many["refuse"] == many["heal"]
    assert all(action.options["lasts"] > 0 for action in actions if action.what == "fault")


def test_a_long_run_has_every_kind_of_trouble():
    actions = schedule(8, 3600.0)
    assert {
        *("ask", "fault", "limits", "others", "image", "cells", "latency", "tokens", "configure"),
        *("strangers", "typo", "typo-over", "build", "kill-builder"),
        *("kill", "stop", "freeze", "cut", "silence", "refuse", "zookeeper"),
    } <= {action.what for action in actions}
    assert {action.options["habit"] for action in actions if action.what == "ask"} == set(HABITS)


def test_the_clouds_are_well_while_the_configuration_cannot_be_used():
    actions = schedule(9, 3600.0)
    typos = [(action.at, action.at + action.options["lasts"]) for action in actions if action.what == "typo"]
    assert len(typos) > 5 and all(begin > end for (_at, end), (begin, _end) in itertools.pairwise(typos))
    troubled = [action for action in actions if action.what in ("fault", "limits", "image", "configure", "latency")]
    assert not [action for action in troubled for begin, end in typos if begin < action.at < end]


def test_nodepools_launcher_is_struck_by_one_thing_after_the_other_and_each_ends():
    actions = beside_schedule(10, 3600.0)
    assert actions == beside_schedule(10, 3600.0)
    strikes = [action for action in actions if action.what != "ask"]
    assert {action.options["host"] for action in strikes} == {STOCK}
    assert {action.what for action in strikes} == {*STRIKES, *ENDS.values()}
    for action, following in itertools.pairwise(strikes):
        if action.what in ENDS:
            assert following.what == ENDS[action.what] and 0 < following.at - action.at <= LONGEST
    assert {tuple(action.options["labels"]) for action in actions if action.what == "ask"} == set(WANTED)


def test_more_load_is_more_requests_with_shorter_jobs_and_no_fewer_strikes():
    for plan in (schedule, beside_schedule):
        once, thrice = plan(11, 3600.0), plan(11, 3600.0, 3.0)
        few, many = ([action for action in actions if action.what == "ask"] for actions in (once, thrice))
        assert 2.5 < len(many) / len(few) < 3.5
        works = [sum(action.options["work"] for action in asked) / len(asked) for asked in (few, many)]
        assert 2.5 < works[0] / works[1] < 3.5
        strikes = [len([action for action in actions if action.what in STRIKES]) for actions in (once, thrice)]
        assert 0.85 < strikes[1] / strikes[0] < 1.2
