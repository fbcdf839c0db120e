# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/support/reserves.py: the last half of many workers takes tests while the machine has time for them."""

from __future__ import annotations

import pytest

from tests.support.reserves import cores_time, is_reserve, wait_for_room


@pytest.mark.parametrize(
    ("count", "reserves"),
    [(1, []), (2, []), (5, []), (6, [3, 4, 5]), (7, [4, 5, 6]), (16, list(range(8, 16)))],
)
def test_the_last_half_of_six_workers_or_more_are_reserves(count, reserves):
    assert [number for number in range(count) if is_reserve(f"gw{number}", count)] == reserves


def test_a_worker_that_takes_the_place_of_one_that_died_is_what_the_first_worker_is():
    assert not is_reserve("gw16", 16)
    assert is_reserve("gw24", 16)


@pytest.mark.parametrize(
    ("readings", "looks"),
    [
        pytest.param([(0, 0), (20, 100)], 1, id="idle at once"),
        pytest.param([(0, 0), (19, 100), (38, 200), (60, 300)], 3, id="idle later"),
        pytest.param([(7, 100)] * 61, 60, id="no time has passed"),
        pytest.param([(0, number * 100) for number in range(61)], 60, id="never idle"),
    ],
)
def test_it_waits_until_a_fifth_of_the_cores_time_is_idle_and_not_for_ever(readings, looks):
    slept: list[float] = []
    left = iter(readings)
    wait_for_room(lambda: next(left), slept.append)
    assert len(slept) == looks
    assert next(left, None) is None


def test_the_time_that_all_cores_have_spent_is_read():
    idle, spent = cores_time()
    assert 0 < idle < spent
