# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.call_counters import (
    CallCount,
    CallCounters,
)


def test_calls_are_counted_by_kind_and_status_with_their_times() -> None:
    counters = CallCounters()
    for status, seconds in (("202", 0.5), ("202", 1.5), ("timeout", 30.0)):
        counters.started()
        counters.ended("POST /servers", status, seconds)
    counters.started()
    assert counters.snapshot() == {
        ("POST /servers", "202"): CallCount(2, 2.0, 1.5),
        ("POST /servers", "timeout"): CallCount(1, 30.0, 30.0),
    }
    assert counters.result() == {"POST /servers": {"202": 2, "timeout": 1}}
    assert (counters.total, counters.running) == (3, 1)


LIST, LIMITS, CREATE = "GET /servers/detail", "GET /limits", "POST /servers"
SILENCE = 30.0


class Timed:
    """Counters on a clock of their own."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.counters = CallCounters(lambda: self.now)

    def answered(self, kind: str, *seconds: float, status: str = "200") -> None:
        for each in seconds:
            self.counters.started(kind)
            self.now += each
            self.counters.ended(kind, status, each)


def test_a_call_is_overdue_by_what_its_kind_usually_takes() -> None:
    timed = Timed()
    timed.answered(LIST, 13.0, 6.5, 26.0)
    timed.counters.started(LIST)
    timed.now += 38.0
    assert timed.counters.all_overdue(10.0, 3.0) == {}
    timed.now += 2.0
    assert timed.counters.all_overdue(10.0, 3.0) == {LIST: 40.0}


def test_an_unknown_kind_is_overdue_after_the_least_time() -> None:
    timed = Timed()
    timed.answered(LIST, 13.0)
    timed.counters.started(LIMITS)
    timed.now += 10.0
    assert timed.counters.all_overdue(10.0, 3.0) == {LIMITS: 10.0}


def test_the_usual_time_is_that_of_the_slowest_kind() -> None:
    timed = Timed()
    assert timed.counters.usual() == 0.0
    timed.answered(LIST, 1.0, 13.0, 14.0)
    timed.answered(CREATE, 45.0)
    assert (timed.counters.usual(), timed.counters.usual(but=CREATE)) == (45.0, 13.0)


def test_quiet_is_the_time_since_any_answer_also_a_refusal() -> None:
    timed = Timed()
    assert timed.counters.quiet_for() == float("inf")
    timed.answered(LIST, 1.0, status="503")
    timed.answered(CREATE, 30.0, status="timeout")
    assert timed.counters.quiet_for() == 30.0


def test_a_kind_of_call_can_be_left_out_of_the_quiet() -> None:
    timed = Timed()
    timed.answered(CREATE, 5.0)
    timed.answered(LIST, 1.0)
    assert (timed.counters.quiet_for(), timed.counters.quiet_for(but=LIST)) == (0.0, 1.0)


def test_one_slow_answer_of_the_last_two_minutes_shows_how_slow_a_cloud_may_be_now() -> None:
    timed = Timed()
    assert timed.counters.lately() == 0.0
    timed.answered(LIST, 0.3, 0.3, 0.3, 13.0, 0.3)
    timed.answered(CREATE, 45.0)
    assert (timed.counters.lately(), timed.counters.lately(but=CREATE)) == (45.0, 13.0)
    assert timed.counters.usual(but=CREATE) == 0.3
    timed.answered(LIST, 100.0, status="timeout")
    assert timed.counters.lately(but=CREATE) == 0.0


def test_a_quick_cloud_gets_no_more_patience_after_calls_without_an_answer() -> None:
    timed = Timed()
    timed.answered(LIST, 0.3, 0.3)
    timed.answered(LIST, 30.0, 30.0, status="timeout")
    assert timed.counters.patience(LIST, SILENCE) == SILENCE


def test_a_slow_cloud_gets_more_and_not_without_bound() -> None:
    timed = Timed()
    timed.answered(LIST, 26.0)
    assert timed.counters.patience(LIST, SILENCE) == 65.0
    assert timed.counters.patience(LIMITS, SILENCE) == SILENCE
    timed.answered(LIMITS, 30.0, status="timeout")
    assert timed.counters.patience(LIMITS, SILENCE) == 60.0
    timed.answered(LIMITS, 60.0, 60.0, 60.0, status="timeout")
    assert timed.counters.patience(LIMITS, SILENCE) == 120.0
    timed.answered(LIMITS, 5.0)
    assert timed.counters.patience(LIMITS, SILENCE) == SILENCE


def test_the_next_cycle_knows_the_usual_times_and_ignores_what_is_odd() -> None:
    timed, later = Timed(), Timed()
    timed.answered(LIST, 13.0)
    later.counters.learn_usual({**timed.counters.usual_document(), "x": -1, "y": "z", "w": 1e9, "v": None})
    assert later.counters.usual_document() == {LIST: 13.0}
    later.counters.learn_usual(["no mapping"])
    later.answered(LIST, 1.0, 1.0, 1.0)
    assert later.counters.usual() == 1.0


def test_an_auxiliary_call_is_counted_and_its_wait_is_ignored() -> None:
    now = [0.0]
    counters = CallCounters(lambda: now[0])
    counters.started("POST /servers/{id}/action", auxiliary=True)
    now[0] = 30.0
    assert counters.longest_wait() == ("", 0.0)
    assert counters.all_overdue(10.0, 3.0) == {}
    counters.ended("POST /servers/{id}/action", "200", 30.0)
    assert (counters.usual(), counters.quiet_for()) == (0.0, float("inf"))
    counters.started("POST /servers/{id}/action")
    now[0] = 31.0
    assert counters.longest_wait() == ("POST /servers/{id}/action", 1.0)
    assert counters.total == 1
