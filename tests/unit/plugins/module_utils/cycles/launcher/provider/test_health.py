# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an API's answers, and their lack, say about it."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.call_counters import CallCounters
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.health import CREATE, Health
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.lacks import Lack
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.moving import is_dead
from ansible_collections.stackci.nodepool.plugins.module_utils.model.api_timeouts import LONGEST_ABSENCE, ApiTimeouts
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudQuotaRefused,
    CloudTokenRefused,
    CloudUnavailable,
)

AWAY = CloudUnavailable("503", status=503)


def health(timeouts: ApiTimeouts | None = None) -> Health:
    return Health("east", CallCounters(), timeouts)


def test_any_answer_shows_that_an_api_is_there():
    one = health()
    one.heard(AWAY, 0.0, "GET /limits")
    assert one.blocked(0.1) is not None
    one.heard(None, 0.2, "GET /servers/detail")
    assert one.blocked(0.3) is None


def test_only_a_create_shows_that_creates_work():
    one, now, pauses = health(), 0.0, []
    for _unused in range(7):
        one.heard(AWAY, now, CREATE)
        one.heard(None, now, "GET /limits")
        pause = 0.0
        while one.blocked(now + pause) is not None:
            pause += 1.0
        pauses.append(pause)
        now += pause
        assert one.document(now)["state"] == "trouble"
    assert pauses == [2, 4, 8, 16, 30, 30, 30]
    one.heard(None, now, CREATE)
    assert one.blocked(now) is None and one.document(now) == {"state": "ok"}


def test_that_creates_failed_is_told_for_ten_minutes_and_not_once_the_server_is_there():
    one = health()
    one.heard(AWAY, 0.0, CREATE)
    one.heard(None, 1.0, "GET /limits")
    assert one.document(599.0)["state"] == "trouble" and one.document(601.0) == {"state": "ok"}
    one.heard(AWAY, 700.0, CREATE)
    one.heard(None, 701.0, "GET /limits")
    one.made_without_answer(701.0)
    assert one.blocked(701.0) is not None, "the pause goes on"
    assert one.document(706.0) == {"state": "ok"}


def test_what_a_service_does_not_implement_leaves_the_rest_of_it_alone():
    one = health()
    one.heard(CloudUnavailable("501", status=501, call="GET /volume/limits"), 0.0)
    assert one.away("cinder") is None and one.document(0.0) == {"state": "ok"}
    one.heard(CloudUnavailable("501", status=501, call=CREATE), 0.0, CREATE)
    assert one.blocked(0.1) is not None


def test_since_when_nova_or_keystone_is_away():
    one = health()
    assert one.core_away_since is None
    one.heard(CloudUnavailable("away", call="GET /networks"), 5.0)
    assert one.core_away_since is None, "neutron alone is away"
    one.heard(CloudUnavailable("503", status=503, call="GET /flavors/detail"), 10.0)
    assert one.core_away_since == 10.0
    one.heard(None, 11.0, "GET /limits")
    assert one.core_away_since is None
    one.heard(CloudUnavailable("503", status=503, call="GET /flavors/detail"), 15.0)
    assert one.core_away_since == 10.0, "the same trouble"


def test_a_service_that_launches_need_is_named_as_its_calls_do_not_name_it():
    one = health()
    one.heard(CloudUnavailable("GET /images: 503", status=503, call="GET /images"), 5.0)
    named = "provider east: glance is in trouble: GET /images: 503"
    reason = one.away("glance")
    assert reason is not None and reason.text() == named
    assert one.document(6.0)["text"] == named
    assert one.document(6.0)["owner"] == "cloud"


def test_tokens_that_nova_does_not_accept_are_not_the_accounts_fault():
    one = health()
    one.heard(CloudTokenRefused("nova refuses its token", status=401, call="GET /limits"), 5.0)
    assert one.document(6.0)["owner"] == "cloud"


def test_a_kind_of_call_fails_until_it_works_although_others_of_its_service_do():
    one = health()
    quota = "GET /quotas/{id}/details"
    one.heard(CloudUnavailable("drip", call=quota), 0.0)
    one.heard(None, 0.5, "POST /floatingips")
    assert one.away("neutron") is None and one.is_failing(quota) and not one.is_failing("GET /networks")
    one.heard(None, 1.0, quota)
    assert not one.is_failing(quota) and one.document(1.0) == {"state": "ok"}


def test_creates_that_fail_together_count_once():
    one = health()
    for _unused in range(5):
        one.heard(AWAY, 0.0, CREATE)
    one.heard(None, 0.0)
    assert one.blocked(1.9) is not None and one.blocked(2.1) is None


def test_a_refused_create_is_an_answer():
    one = health()
    one.heard(AWAY, 0.0, CREATE)
    one.heard(CloudQuotaRefused("no", status=403), 3.0, CREATE)
    assert one.document(3.0) == {"state": "ok"}


def test_an_api_that_asks_for_a_day_is_left_alone_for_a_minute():
    one = health()
    one.heard(CloudUnavailable("429", status=429, retry_after=86400.0), 0.0, "GET /limits")
    one.heard(None, 0.0)
    assert one.wait_until == LONGEST_ABSENCE == 60.0
    assert one.blocked(59.0) is not None and one.blocked(61.0) is None


def test_what_an_api_asks_for_is_a_reason_and_told_in_health():
    one = health()
    one.heard(CloudUnavailable("503 Service Unavailable", status=503, retry_after=3600.0), 0.0, "GET /limits")
    reason = one.blocked(20.0)
    told = "503 Service Unavailable; it asked for a pause of 3600 s, which ends in 40 s"
    assert reason is not None and reason.figures["text"] == told
    document = one.document(20.0)
    assert (document["state"], document["text"], document["seconds"]) == ("trouble", told, 20.0)
    assert document["services"]["nova"]["text"] == told


def test_an_api_that_asked_to_be_left_alone_is_probed_now_and_then_by_one_call():
    one = health()
    one.heard(CloudUnavailable("503", status=503, retry_after=3600.0), 0.0)
    assert [moment for moment in range(61) if one.probe_due(moment)] == [15, 30, 45]
    one.probed(CloudUnavailable("503", status=503, retry_after=3600.0), 50.0)
    assert one.wait_until == 110.0
    one.heard(None, 51.0)
    assert one.blocked(52.0) is not None, "the answer to a call that was under way does not end it"
    one.probed(None, 65.0)
    assert one.blocked(65.0) is None
    assert not one.probe_due(80.0)


def test_an_api_that_asked_for_a_moment_is_not_probed():
    one = health()
    one.heard(CloudUnavailable("429", status=429, retry_after=10.0), 0.0)
    assert not any(one.probe_due(moment) for moment in range(30))


def test_a_call_without_an_answer_makes_suspect_after_a_third_of_the_patience():
    now = [0.0]
    counters = CallCounters(clock=lambda: now[0])
    one = Health("east", counters, ApiTimeouts(9.0))
    counters.started("GET /limits")
    for moment, silent in ((2.9, False), (3.1, True)):
        now[0] = moment
        one.follow(moment)
        assert (one.blocked(moment) is not None) == silent
    assert "GET /limits" in one.document(3.1)["text"]


def test_a_create_is_only_slow_while_other_calls_are_answered():
    now = [0.0]
    counters = CallCounters(clock=lambda: now[0])
    one = Health("east", counters, ApiTimeouts(9.0))
    counters.started(CREATE)
    for moment in (2.0, 4.0, 6.0):
        now[0] = moment
        one.heard(None, moment, "GET /servers/detail")
        one.follow(moment)
        assert one.blocked(moment) is None
    for moment, silent in ((8.9, False), (9.1, True)):
        now[0] = moment
        one.follow(moment)
        assert (one.blocked(moment) is not None) == silent


def test_answers_to_creates_do_not_hide_that_nothing_else_is_answered():
    now = [0.0]
    counters = CallCounters(clock=lambda: now[0])
    one = Health("east", counters, ApiTimeouts(9.0))
    counters.started("GET /servers/detail")
    now[0] = 3.1
    one.heard(None, 3.0, CREATE)
    one.follow(3.1)
    assert one.blocked(3.1) is not None


def test_what_has_answered_nothing_yet_is_no_place_to_move_to():
    counters = CallCounters()
    one = Health("east", counters)
    assert not one.is_long_well(0.0)
    counters.started("GET /limits")
    counters.ended("GET /limits", "200", 0.1)
    assert one.is_long_well(0.0)


def test_the_end_of_the_last_trouble_outlives_the_cycle():
    one, later = health(), health()
    assert one.trouble_ended(0.0) is None
    one.heard(AWAY, 10.0)
    one.follow(10.0)
    assert one.trouble_ended(15.0) == 15.0, "it is in trouble still"
    one.heard(None, 20.0)
    one.follow(20.0)
    later.learn(one.trouble_ended(50.0), 55.0)
    assert later.trouble_ended(55.0) == one.trouble_ended(50.0) == 20.0


@pytest.mark.parametrize("stored", [None, "x", True, 1e9, float("nan"), []])
def test_an_end_that_is_no_past_time_is_ignored(stored: object):
    one = health()
    one.learn(stored, 55.0)
    assert one.trouble_ended(55.0) is None


def test_time_in_which_a_slow_provider_was_asked_nothing_is_no_silence():
    now = [0.0]
    counters = CallCounters(clock=lambda: now[0])
    one = Health("east", counters)
    counters.started("GET /servers/detail")
    now[0] = 13.0
    counters.ended("GET /servers/detail", "200", 13.0)
    one.heard(None, 13.0, "GET /servers/detail")
    now[0] = 100.0
    counters.started(CREATE)
    for moment, silent, dead in (
        (115.0, False, False),
        (138.5, False, False),
        (139.5, True, False),
        (144.5, True, True),
    ):
        now[0] = moment
        one.follow(moment)
        assert (one.blocked(moment) is not None) == silent, moment
        assert one.listens(moment) == (moment == 139.5)
        assert is_dead(one.standing(moment), 15.0) == dead


class Silent:
    """A quick provider whose list has no answer since 100.0."""

    def __init__(self) -> None:
        self.now = 99.7
        self.counters = CallCounters(clock=lambda: self.now)
        self.health = Health("east", self.counters)
        self.counters.started("GET /servers/detail")
        self.now = 100.0
        self.counters.ended("GET /servers/detail", "200", 0.3)
        self.health.heard(None, 100.0, "GET /servers/detail")
        self.counters.started("GET /servers/detail")

    def at(self, moment: float) -> bool:
        """Whether it is dead then."""
        self.now = moment
        self.health.follow(moment)
        return is_dead(self.health.standing(moment), 15.0)


def test_a_cheap_call_without_an_answer_shows_that_a_silent_provider_is_dead_as_soon_as_before():
    one = Silent()
    assert not one.at(109.9) and not one.health.listens(109.9)
    assert not one.at(110.0) and one.health.listens(110.0) and not one.health.listens(110.0)
    assert one.health.listen_due(111.0) == 4.0
    assert not one.at(114.9) and one.at(115.0)


def test_a_provider_that_answers_cheap_calls_is_slow_for_a_while():
    one = Silent()
    for moment in range(110, 190, 5):
        assert not one.at(moment), moment
        assert one.health.listens(moment) and one.health.blocked(moment) is not None
        one.health.told(None, moment)
        assert one.health.blocked(moment) is not None, "a cheap call does not end the trouble"
    assert one.at(190.0) and not one.health.listens(190.0)


def test_one_list_in_each_trouble_is_waited_for_as_long_as_a_slow_cloud_may_need():
    one = Silent()
    assert not one.at(110.0) and one.health.listens(110.0)
    assert one.health.measures(110.0) == 0, "nothing shows yet that it is not dead"
    one.health.told(None, 110.5)
    assert one.health.measures(111.0) == 79.0, "until the provider counts as dead"
    assert one.health.measures(111.0) == one.health.measures(120.0) == 0
    one.health.heard(None, 150.0, "GET /servers/detail")
    one.counters.ended("GET /servers/detail", "200", 50.0)
    one.at(150.0)
    one.counters.started("GET /servers/detail")
    one.at(240.0)
    assert one.health.since is not None and one.health.listens(240.0), "a slow cloud is heard as long, from then on"
    one.health.told(None, 240.5)
    assert one.health.measures(240.5) == 79.5, "the next trouble"


def test_a_cheap_call_that_fails_counts_like_any_other():
    one = Silent()
    assert not one.at(110.0) and one.health.listens(110.0)
    one.health.told(AWAY, 110.5)
    assert one.health.away("nova") is not None
    assert one.health.listen_due(110.5) > 0


def test_a_fact_without_an_answer_is_silence_not_an_answer():
    lacks = [Lack("GET /servers/detail", CloudUnavailable("no answer within 30 s"), 0.0, stops=True)]
    counters = CallCounters(clock=lambda: 50.0)
    one = Health("east", counters, lacks=lambda: lacks)
    one.follow(20.0)
    assert one.blocked(50.0) is not None and not one.standing(50.0).answered
    lacks[0] = Lack("GET /servers/detail", CloudUnavailable("forbidden", status=403), 0.0, stops=True)
    assert one.standing(50.0).answered


@pytest.mark.parametrize(("seconds", "dead_at"), [(0.3, 135.0), (13.0, 224.0)])
def test_creates_alone_without_an_answer_are_dead_when_they_are_overdue_by_what_other_calls_take(seconds, dead_at):
    now = [100.0 - seconds]
    counters = CallCounters(clock=lambda: now[0])
    one = Health("east", counters)

    def answered(at: float) -> None:
        counters.started("GET /servers/detail")
        now[0] = at
        counters.ended("GET /servers/detail", "200", seconds)
        one.heard(None, at, "GET /servers/detail")

    answered(100.0)
    died = None
    for moment in range(120, 240):
        one.heard(CloudUnavailable("no answer within 30 s"), moment, CREATE)
        answered(float(moment))
        one.follow(moment)
        if died is None and is_dead(one.standing(moment), 15.0):
            died = moment
    assert died is not None and abs(died - dead_at) <= 2
