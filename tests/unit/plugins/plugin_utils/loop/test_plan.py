# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a loop does next: successors, ends, hangs, failures."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.plan import (
    ORPHANED,
    SPIN,
    TAIL,
    Cycle,
    Kill,
    Outcome,
    RestartBackoff,
    Start,
    Stop,
    Wishes,
    decide,
    pause_after,
)
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.settings import Settings

SETTINGS = Settings("launcher", "stackci.nodepool.launcher", "launcher", "/state", duration=600.0)
SINGLE = replace(SETTINGS, overlap=False, pause=7.0)
NONE = Wishes()


def kinds(actions):
    return [(type(action), getattr(action, "number", None)) for action in actions]


def test_the_first_is_begun():
    assert kinds(decide(SETTINGS, [], NONE, 0.0)) == [(Start, None)]


def test_after_a_failure_the_next_waits():
    assert decide(SETTINGS, [], NONE, 0.1) == []


def test_one_that_works_is_left_alone():
    assert decide(SETTINGS, [Cycle(1, 599.0)], NONE, 0.0) == []


def test_one_that_had_its_time_gets_a_successor_and_works_on():
    assert kinds(decide(SETTINGS, [Cycle(1, 600.0)], NONE, 0.0)) == [(Start, None)]
    young = Cycle(2, 1.0, state="starting", beaten=False)
    assert decide(SETTINGS, [Cycle(1, 601.0), young], NONE, 0.0) == []


@pytest.mark.parametrize("state", ["standing by", "serving"])
def test_a_successor_that_is_ready_relieves_the_older_ones(state):
    cycles = [Cycle(1, 601.0), Cycle(2, 3.0, state=state)]
    assert kinds(decide(SETTINGS, cycles, NONE, 0.0)) == [(Stop, 1)]
    asked = replace(cycles[0], stopping=1.0)
    assert decide(SETTINGS, [asked, cycles[1]], NONE, 0.0) == []


def test_a_successor_that_failed_is_tried_again_after_a_pause_while_the_older_one_works_on():
    failed = Cycle(2, 2.0, state="ended", ended=0.1, orphaned=0.1, judged=True)
    assert decide(SETTINGS, [Cycle(1, 601.0), failed], NONE, 3.0) == []
    assert kinds(decide(SETTINGS, [Cycle(1, 601.0), failed], NONE, 0.0)) == [(Start, None)]


def test_one_that_ended_is_followed_only_when_it_is_known_how_it_ended():
    ended = Cycle(1, 30.0, state="ended", ended=0.1)
    assert decide(SETTINGS, [ended], NONE, 0.0) == []
    assert kinds(decide(SETTINGS, [replace(ended, judged=True)], NONE, 0.0)) == [(Start, None)]


def test_one_whose_heart_stopped_is_killed_and_then_followed():
    hung = Cycle(1, 100.0, silence=25.1)
    assert kinds(decide(SETTINGS, [hung], NONE, 0.0)) == [(Kill, 1)]
    assert decide(SETTINGS, [replace(hung, killed=True)], NONE, 0.0) == []
    assert kinds(decide(SETTINGS, [replace(hung, killed=True, judged=True)], NONE, 0.0)) == [(Start, None)]
    assert decide(SETTINGS, [replace(hung, silence=24.9)], NONE, 0.0) == []


def test_one_that_never_comes_up_is_killed():
    silent = Cycle(1, 60.1, state="starting", silence=60.1, beaten=False)
    assert kinds(decide(SETTINGS, [silent], NONE, 0.0)) == [(Kill, 1)]
    assert decide(SETTINGS, [replace(silent, age=59.0, silence=59.0)], NONE, 0.0) == []


def test_one_that_does_not_end_when_asked_is_killed_after_its_grace():
    asked = Cycle(1, 700.0, stopping=19.0)
    assert decide(SETTINGS, [asked, Cycle(2, 9.0)], NONE, 0.0) == []
    assert kinds(decide(SETTINGS, [replace(asked, stopping=20.1), Cycle(2, 9.0)], NONE, 0.0)) == [(Kill, 1)]


def test_what_is_left_of_one_that_ended_is_killed():
    ended = Cycle(1, 90.0, state="ended", ended=TAIL, judged=True)
    others = [Cycle(2, 9.0)]
    assert decide(SETTINGS, [ended, *others], NONE, 0.0) == []
    assert kinds(decide(SETTINGS, [replace(ended, ended=TAIL + 0.1), *others], NONE, 0.0)) == [(Kill, 1)]


def test_what_ansible_left_behind_is_killed_some_time_after_it_went():
    """Not some time after the end of the module: on a busy machine Ansible goes long after it, with nothing left."""
    ended = Cycle(1, 90.0, state="ended", ended=TAIL - 1.0, orphaned=ORPHANED, judged=True)
    others = [Cycle(2, 9.0)]
    assert decide(SETTINGS, [ended, *others], NONE, 0.0) == []
    assert kinds(decide(SETTINGS, [replace(ended, orphaned=ORPHANED + 0.1), *others], NONE, 0.0)) == [(Kill, 1)]


def test_all_are_asked_to_end_when_the_service_ends_and_none_is_begun():
    cycles = [Cycle(1, 700.0, stopping=1.0), Cycle(2, 9.0)]
    assert kinds(decide(SETTINGS, cycles, Wishes(leave=True), 0.0)) == [(Stop, 2)]
    assert decide(SETTINGS, [], Wishes(leave=True), 0.0) == []


def test_in_a_hurry_all_are_killed():
    cycles = [Cycle(1, 700.0, stopping=1.0), Cycle(2, 9.0)]
    assert kinds(decide(SETTINGS, cycles, Wishes(leave=True, hurry=True), 0.0)) == [(Kill, 1), (Kill, 2)]


def test_a_fresh_one_on_wish():
    assert kinds(decide(SETTINGS, [Cycle(4, 9.0)], Wishes(renew=4), 0.0)) == [(Start, None)]
    assert decide(SETTINGS, [Cycle(5, 9.0)], Wishes(renew=4), 0.0) == []


def test_one_by_one_the_next_waits_until_nothing_is_left():
    for cycle in (Cycle(1, 9999.0 - 6000), Cycle(1, 9.0, state="ended", ended=1.0, judged=True)):
        assert decide(SINGLE, [cycle], NONE, 0.0) == []
    assert kinds(decide(SINGLE, [], NONE, 0.0)) == [(Start, None)]
    assert decide(SINGLE, [], NONE, 1.0) == []


def test_one_by_one_a_fresh_one_on_wish_waits_for_the_end_of_the_old_one():
    assert decide(SINGLE, [Cycle(4, 9.0)], Wishes(renew=4), 0.0) == []


def test_one_by_one_a_cycle_that_overstays_is_asked_to_end():
    assert kinds(decide(SINGLE, [Cycle(4, 4200.0)], NONE, 0.0)) == [(Stop, 4)]


STATES = st.sampled_from(["starting", "standing by", "serving", "ended"])
CYCLES = st.lists(
    st.builds(
        Cycle,
        number=st.just(0),
        age=st.floats(0, 10_000),
        state=STATES,
        silence=st.floats(0, 100),
        beaten=st.booleans(),
        ended=st.none() | st.floats(0, 20),
        orphaned=st.none() | st.floats(0, 100),
        stopping=st.none() | st.floats(0, 60),
        killed=st.booleans(),
        judged=st.booleans(),
    ),
    max_size=4,
).map(lambda cycles: [replace(cycle, number=number) for number, cycle in enumerate(cycles, 1)])


@given(CYCLES, st.builds(Wishes, leave=st.booleans(), hurry=st.booleans(), renew=st.integers(0, 4)), st.booleans())
def test_whatever_happens_the_rules_hold(cycles, wishes, overlap):
    actions = decide(SETTINGS if overlap else SINGLE, cycles, wishes, 0.0)
    stopped = [action.number for action in actions if isinstance(action, Stop)]
    killed = [action.number for action in actions if isinstance(action, Kill)]
    begun = [action for action in actions if isinstance(action, Start)]
    assert len(begun) <= 1
    assert len({*stopped, *killed}) == len(stopped) + len(killed)
    if wishes.leave:
        assert not begun
    if begun and not overlap:
        assert not cycles
    working = [cycle.number for cycle in cycles if cycle.goes_on]
    if overlap and not wishes.leave and working:
        # Somebody who works stays, unless it hangs.
        assert set(working) - set(killed) == set() or set(working) - {*stopped, *killed}


def outcome(**changes):
    return Outcome(**{"number": 1, "seconds": 300.0, "worked": 290.0, "well": True, "text": "", **changes})


def test_pauses_grow_after_failures_and_are_forgotten_after_a_cycle_that_was_well():
    backoff = RestartBackoff()
    waits = []
    for _number in range(9):
        backoff.record(SETTINGS, outcome(well=False, worked=None), 1000.0, 1.0)
        waits.append(backoff.wait(1000.0))
    assert waits == [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    backoff.record(SETTINGS, outcome(), 1000.0, 1.0)
    assert (backoff.failures, backoff.wait(1000.0)) == (0, 0.0)


def test_one_that_had_worked_for_a_while_begins_the_count_anew():
    backoff = RestartBackoff(failures=5)
    backoff.record(SETTINGS, outcome(well=False, worked=10.0), 1000.0, 1.0)
    assert (backoff.failures, backoff.wait(1000.0)) == (1, 0.0)
    backoff.record(SETTINGS, outcome(well=False, worked=9.0), 1000.0, 1.0)
    assert backoff.failures == 2


def test_pauses_are_not_all_the_same():
    assert pause_after(SETTINGS, 4, 0.0) == 3.0
    assert pause_after(SETTINGS, 4, 1.0) == 4.0
    assert pause_after(SETTINGS, 10_000, 1.0) == SETTINGS.longest_pause


def test_cycles_that_end_at_once_by_themselves_do_not_follow_each_other_without_end():
    backoff = RestartBackoff()
    backoff.record(SETTINGS, outcome(seconds=2.0), 1000.0, 1.0)
    assert backoff.wait(1000.0) == SPIN - 2.0
    backoff.record(SINGLE, outcome(seconds=60.0), 1000.0, 1.0)
    assert backoff.wait(1000.0) == SINGLE.pause


def test_pauses_are_forgotten_when_somebody_has_done_something():
    backoff = RestartBackoff(failures=5, not_before=2000.0)
    backoff.forget()
    assert (backoff.failures, backoff.wait(1000.0)) == (0, 0.0)
