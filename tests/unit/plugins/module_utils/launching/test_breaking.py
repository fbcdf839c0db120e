# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When the breaker of an image and flavor opens, and for how long."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.breaking import FAILURES, FIRST, MOST, Breaker
from ansible_collections.stackci.nodepool.plugins.module_utils.model.stored import BadDocument

NOW = 1000.0


def failed(times: int, breaker: Breaker | None = None, now: float = NOW) -> Breaker:
    breaker = breaker or Breaker()
    for _failure in range(times):
        breaker = breaker.failed("no route", now)
    return breaker


def test_it_opens_with_the_last_of_so_many_failures():
    assert not failed(FAILURES - 1).is_open(NOW)
    opened = failed(FAILURES)
    assert opened.is_open(NOW + FIRST - 1)
    assert not opened.is_open(NOW + FIRST)


def test_launches_that_were_under_way_do_not_keep_it_open_longer():
    opened = failed(FAILURES)
    assert failed(50, opened, NOW + 1) == opened


def test_each_failure_after_it_closed_opens_it_for_twice_as_long():
    breaker, pauses = failed(FAILURES), []
    for _failure in range(8):
        now = breaker.until
        breaker = breaker.failed("no route", now)
        pauses.append(breaker.until - now)
    assert pauses == [120.0, 240.0, 480.0, MOST, MOST, MOST, MOST, MOST]


def test_it_comes_back_as_it_was_stored():
    opened = failed(FAILURES)
    assert Breaker.from_document({**opened.document(), "of_a_newer_version": 1}) == opened
    with pytest.raises(BadDocument):
        Breaker.from_document({"failures": "x"})


def test_one_that_a_wrong_clock_has_stored_is_closed():
    assert not Breaker(9, NOW + 10 * MOST).as_of(NOW).is_open(NOW)
    assert Breaker(9, NOW + MOST).as_of(NOW).is_open(NOW)
