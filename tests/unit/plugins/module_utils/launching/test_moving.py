# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a request leaves a provider: a dead one, not a slow one, and not often."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.moving import (
    MOST_A_MINUTE,
    MOST_MOVES,
    PATIENT,
    WITHIN,
    Departures,
    Standing,
    is_dead,
    may_move,
)

BOUND = 15.0


@pytest.mark.parametrize(
    ("standing", "dead"),
    [
        (Standing(trouble=0.0, answered=False, quiet=0.0, usual=0.3), False),
        (Standing(trouble=16.0, answered=False, quiet=16.0, usual=0.3), True),
        (Standing(trouble=16.0, answered=False, quiet=2.0, usual=0.3), False),
        (Standing(trouble=16.0, answered=False, quiet=16.0, usual=13.0), False),
        (Standing(trouble=40.0, answered=False, quiet=40.0, usual=13.0), True),
        (Standing(trouble=16.0, answered=True, quiet=0.1, usual=13.0), True),
        (Standing(trouble=16.0, answered=False, quiet=16.0, usual=0.3, unheard=False), False),
        (Standing(trouble=16.0, answered=True, quiet=16.0, usual=0.3, unheard=False), True),
        (Standing(trouble=14.0, answered=True, quiet=0.1, usual=0.3), False),
    ],
)
def test_dead_is_what_does_not_answer_for_many_times_what_it_usually_needs(standing, dead):
    assert is_dead(standing, BOUND) is dead


@given(st.floats(0, 1e4), st.floats(0, 1e4), st.floats(0, 600))
def test_a_cloud_that_answered_within_its_usual_time_is_never_dead(trouble, quiet, usual):
    standing = Standing(trouble, answered=False, quiet=quiet, usual=usual)
    assert not is_dead(standing, BOUND) or (trouble >= BOUND and quiet >= max(BOUND, PATIENT * usual))


def test_a_request_moves_few_times():
    moves = [1000.0 + number for number in range(MOST_MOVES)]
    assert may_move(moves[:-1], 1100.0)
    assert not may_move(moves, 1100.0)
    assert may_move(moves, 1100.0 + WITHIN)
    assert may_move([at + 1e6 for at in moves], 1100.0)


def test_departures_of_earlier_cycles_count():
    departures = Departures([130.0, *(100.0 for _unused in range(MOST_A_MINUTE - 2))])
    assert departures.allow(140.0) and not departures.allow(141.0)
    assert departures.allow(160.0)


def test_few_requests_leave_a_provider_in_a_minute():
    departures = Departures()
    assert all(departures.allow(100.0) for _unused in range(MOST_A_MINUTE))
    assert not departures.allow(159.0)
    assert departures.allow(160.0)
