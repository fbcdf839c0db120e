# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When the breaker of an image and flavor opens, and for how long."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.breaking import (
    FAILURES,
    FIRST,
    FREE,
    MOST,
    MOST_IN,
    MOST_WITNESSES,
    SPACE,
    TRIAL,
    WINDOW,
    Breaker,
    Sign,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.owner import UNKNOWN
from ansible_collections.stackci.nodepool.plugins.module_utils.model.stored import BadDocument

NOW = 1000.0
SIGN = Sign("no route", "100-1", "main/small", "abc")


def failed(times: int, breaker: Breaker | None = None, now: float = NOW) -> Breaker:
    breaker = breaker or Breaker()
    for _failure in range(times):
        breaker = breaker.failed(SIGN, now)
    return breaker


def test_it_opens_with_the_last_of_so_many_failures():
    assert not failed(FAILURES - 1).is_open(NOW)
    opened = failed(FAILURES)
    assert opened.is_open(NOW + FIRST - 1)
    assert not opened.is_open(NOW + FIRST)


def test_launches_that_were_under_way_do_not_keep_it_open_longer():
    opened = failed(FAILURES)
    later = failed(50, opened, NOW + 1)
    assert (later.until, later.failures) == (opened.until, opened.failures)


def test_what_nobody_understands_opens_it_only_when_two_have_met_it():
    alone = Breaker()
    for _failure in range(3 * FAILURES):
        alone = alone.failed(replace(SIGN, owner=UNKNOWN), NOW)
    assert not alone.is_open(NOW) and alone.failures == 3 * FAILURES
    assert alone.failed(replace(SIGN, owner=UNKNOWN, witness="100-2"), NOW).is_open(NOW)


def test_one_launch_tries_a_breaker_that_was_open_while_others_wait():
    opened = failed(FAILURES)
    assert not opened.is_half_open(NOW + FIRST - 1) and opened.is_half_open(NOW + FIRST)
    tried = opened.tried(NOW + FIRST)
    assert tried.is_open(NOW + FIRST + TRIAL - 1) and tried.is_half_open(NOW + FIRST + TRIAL)
    again = tried.failed(SIGN, NOW + FIRST + 2)
    assert again.until == NOW + FIRST + 2 + 2 * FIRST and not again.trial
    assert not failed(FAILURES - 1).is_half_open(NOW)


def test_after_six_failures_it_is_tried_when_the_first_of_them_is_two_minutes_old():
    known = failed(1, failed(FAILURES), NOW + 10)
    assert known.until == NOW + FIRST and known.opens_at(NOW + FIRST) == NOW + WINDOW
    assert known.is_half_open(NOW + WINDOW)


@given(st.lists(st.floats(0.0, 30.0), max_size=4), st.integers(1, 30))
def test_retries_one_after_the_other_never_exceed_the_bound(first: list[float], tries: int):
    breaker, sent = Breaker(), []
    for moment in sorted(first):
        breaker = breaker.failed(SIGN, NOW + moment)
        sent.append(NOW + moment)
    now = NOW + max(first, default=0.0)
    for _unused in range(tries):
        at = breaker.retry_at(now)
        assert at >= now and (at == now or len(sent) >= FREE)
        assert not breaker.is_spaced(now) or at >= sent[-1] + SPACE
        now = at
        sent.append(now)
        breaker = breaker.failed(SIGN, now)
        # One more is left for the trial of the breaker. Sums of floats are rounded.
        assert sum(0 <= now - other < WINDOW - 1e-6 for other in sent) <= MOST_IN - 1


SENT = replace(SIGN, owner=UNKNOWN, sent=True, tenant="a")
"""A create of tenant a that was refused in unknown words."""
ALSO = replace(SENT, witness="100-2")


def refused(*signs: Sign) -> Breaker:
    breaker = Breaker()
    for sign in signs:
        breaker = breaker.failed(sign, NOW)
    return breaker


@pytest.mark.parametrize(
    ("second", "others", "same_label", "same_tenant"),
    [
        (ALSO, False, False, False),
        (replace(ALSO, tenant="b"), False, True, False),
        (replace(ALSO, tenant=""), False, True, False),
        (replace(ALSO, place="main/large"), False, False, True),
        (replace(ALSO, place="main/large", tenant="b"), True, True, True),
        (replace(ALSO, sent=False), True, True, True),
    ],
)
def test_refused_creates_hold_up_only_what_they_have_in_common(second, others, same_label, same_tenant):
    opened = refused(SENT, second, SENT, second, SENT)
    assert opened.is_open(NOW) and opened.concerns("main/small", "a")
    assert opened.concerns("main/other", "c") == others
    assert opened.concerns("main/small", "c") == same_label
    assert opened.concerns("main/other", "a") == same_tenant
    assert refused(second, SENT, second, SENT, second).concerns("main/other", "c") == others


def test_another_refusal_while_it_is_open_widens_it():
    opened = refused(SENT, ALSO, SENT, ALSO, SENT)
    assert opened.failed(replace(SENT, place="main/large", tenant="b"), NOW).concerns("main/other", "c")


def test_a_success_closes_it_only_if_it_shares_what_was_refused():
    opened = refused(SENT, ALSO, SENT, ALSO, SENT)
    assert opened.succeeded("main/small", "a") is None
    assert failed(FAILURES).succeeded("main/other", "") is None
    spared = opened.succeeded("main/small", "b")
    assert spared is not None and spared.spared and spared.is_open(NOW)
    assert spared.failed(ALSO, NOW + FIRST).until == NOW + FIRST + 120.0
    again = spared.failed(replace(SENT, tenant="b"), NOW)
    assert again.failures == 1 and not again.is_open(NOW) and not again.spared


def test_what_is_known_for_certain_may_open_it_at_once():
    assert Breaker().failed(SIGN, NOW, needed=1).is_open(NOW + FIRST - 1)


def test_a_correction_ends_it_for_the_pool_and_label_that_were_corrected():
    opened = failed(FAILURES, failed(1).failed(replace(SIGN, place="main/large", print="xyz"), NOW))
    assert not opened.is_corrected("main/small", "abc") and opened.is_corrected("main/small", "abd")
    assert not opened.is_corrected("main/large", "xyz") and opened.is_corrected("main/large", "abc")
    assert not opened.is_corrected("main/medium", "abc"), "it has not failed there: it may not know better"


def test_signs_do_not_pile_up():
    breaker = Breaker()
    for number in range(100):
        breaker = breaker.failed(replace(SIGN, witness=f"100-{number}", place=f"main/{number}"), NOW)
    assert len(breaker.witnesses) == len(breaker.prints) == MOST_WITNESSES


def test_an_old_failure_is_no_sign_any_more():
    assert failed(1).is_fresh(NOW + MOST - 1) and not failed(1).is_fresh(NOW + MOST) and not Breaker().is_fresh(NOW)


def test_each_failure_after_it_closed_opens_it_for_twice_as_long():
    breaker, pauses = failed(FAILURES), []
    for _failure in range(8):
        now = breaker.until
        breaker = breaker.failed(SIGN, now)
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
