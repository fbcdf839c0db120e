# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long creates are waited for, and how many are sent side by side."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.create_answers import (
    FEWER,
    FEWEST,
    MANY_TIMES,
    PATIENT,
    RECENT,
    SAMPLES,
    Answers,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.api_timeouts import MOST_CREATES, ApiTimeouts
from tests.simcloud.timing import lognormal

FLOOR, FIRST, MOST = 30.0, 300.0, 600.0


@pytest.fixture
def answers():
    return Answers(FLOOR, FIRST, MOST)


def told(answers: Answers, *seconds: float, unanswered: int = 16, in_flight: int = 30) -> None:
    for one in seconds:
        answers.add(one, unanswered, in_flight)


def test_a_cloud_of_which_nothing_is_known_is_waited_for_for_long(answers):
    assert answers.patience == FIRST
    assert answers.settle == 0.0


@pytest.mark.parametrize(("longest", "patience"), [(0.3, FLOOR), (45.0, 450.0), (150.0, MOST)])
def test_many_times_what_was_needed_lately_within_bounds(answers, longest, patience):
    told(answers, 0.2, longest, 0.1)
    assert answers.patience == patience


def test_what_is_long_past_does_not_count(answers):
    told(answers, 45.0, *[0.3] * SAMPLES)
    assert answers.patience == FLOOR


def test_after_creates_without_an_answer_the_next_ones_get_longer_until_one_is_answered(answers):
    told(answers, 0.3)
    for _unused in range(5):
        answers.give_up(sent_at=100.0, now=130.0)
    assert answers.patience == 2 * FLOOR
    answers.give_up(sent_at=140.0, now=200.0)
    assert answers.patience == 4 * FLOOR
    told(answers, 0.3)
    assert answers.patience == FLOOR


def test_what_clouds_yaml_gives_a_call_is_the_least():
    patience = ApiTimeouts(30.0)
    floor = 900.0
    answers = Answers(floor, patience.create_first(floor), patience.create_most(floor))
    assert answers.patience == 900.0
    told(answers, 0.3)
    assert answers.patience == 900.0


def test_slow_answers_close_it_down_step_by_step_and_quick_ones_open_it(answers):
    told(answers, *[0.4] * RECENT)
    assert answers.at_once == MOST_CREATES
    sizes = []
    for _unused in range(40):
        told(answers, 20.0)
        sizes.append(answers.at_once)
    closing = [16.0, *(size for size in sizes if size < MOST_CREATES)]
    assert all(FEWER * before <= after <= before + 1 for before, after in pairwise(closing))
    assert sizes[-1] == FEWEST
    told(answers, *[0.4] * 30)
    assert answers.at_once > 2 * FEWEST


def test_answers_that_are_a_little_slow_hold_it(answers):
    told(answers, *[4.0] * RECENT)
    answers.usual, answers.at_once = 1.0, 10.0
    told(answers, 4.0)
    assert answers.at_once == 10.0


def test_what_takes_no_more_than_seconds_is_not_slow(answers):
    told(answers, *[0.1] * RECENT, *[2.9] * RECENT)
    assert answers.at_once == MOST_CREATES


def test_slowness_of_its_own_making_does_not_become_usual(answers):
    told(answers, *[0.4] * RECENT, *[30.0] * 30)
    assert answers.usual < 2.0


def test_a_cloud_that_stays_slow_for_others_sake_is_usual_in_the_end(answers):
    told(answers, *[0.4] * RECENT, *[30.0] * 100, unanswered=4, in_flight=6)
    assert answers.usual == 30.0
    assert answers.at_once > 2 * FEWEST


def test_a_long_tail_alone_does_not_close_it(answers):
    chance = random.Random(1)
    closed = 0
    for _unused in range(1000):
        told(answers, lognormal(chance, 5.0, 60.0))
        closed += answers.at_once < 12
    assert closed < 50


def test_the_window_opens_while_a_cloud_is_waited_for_that_never_was_quick(answers):
    assert answers.opened(PATIENT) == 1.0
    assert answers.opened(PATIENT + 4.0) == 4.0
    assert answers.opened(1000.0) == MOST_CREATES
    told(answers, 45.0)
    assert answers.opened(1000.0) == MOST_CREATES
    told(answers, 0.3)
    assert answers.opened(1000.0) == 1.0


def test_the_next_cycle_goes_on_with_it(answers):
    told(answers, *[0.4] * RECENT, *[20.0] * RECENT)
    other = Answers(FLOOR, FIRST, MOST)
    other.learn(answers.document())
    assert other.document() == answers.document()
    assert other.patience == answers.patience == MANY_TIMES * 20.0


@pytest.mark.parametrize(
    "document",
    [{}, {"seconds": "x", "usual": "y", "at_once": None}, {"seconds": [None, -1, 1e99, float("nan")], "at_once": 1e9}],
)
def test_what_makes_no_sense_is_left_out(answers, document):
    answers.learn(document)
    assert answers.document() == Answers(FLOOR, FIRST, MOST).document()
