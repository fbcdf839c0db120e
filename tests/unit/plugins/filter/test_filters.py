# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters as Ansible calls them."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest
from ansible.errors import AnsibleFilterError
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.filter.controller_token_options import FilterModule as Options
from ansible_collections.stackci.nodepool.plugins.filter.daily_schedules import FilterModule as Daily
from ansible_collections.stackci.nodepool.plugins.filter.every_minutes import FilterModule as Every
from ansible_collections.stackci.nodepool.plugins.filter.missing_collections import FilterModule as Missing
from ansible_collections.stackci.nodepool.plugins.filter.rrule_problems import FilterModule as Problems
from ansible_collections.stackci.nodepool.plugins.module_utils.clients import recurrence
from tests.support.effort import examples

every_minutes = Every().filters()["every_minutes"]
daily_schedules = Daily().filters()["daily_schedules"]
rrule_problems = Problems().filters()["rrule_problems"]


def test_problems_are_told():
    assert rrule_problems("DTSTART:20260101T020000Z RRULE:FREQ=DAILY") == [
        "RRULE:FREQ=DAILY: INTERVAL is missing: write INTERVAL=1"
    ]


@pytest.mark.parametrize("zone", ["Europe/Berln", "../etc"])  # the second is refused by newer libraries themselves
def test_the_time_zone_must_exist(zone):
    (problem,) = rrule_problems(f"DTSTART;TZID={zone}:20260101T020000 RRULE:FREQ=DAILY;INTERVAL=1")
    assert zone in problem


def test_what_the_library_says_comes_after_what_the_text_says():
    start = "DTSTART:20260101T020000Z RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"
    assert [words in problem for problem in rrule_problems(start) for words in ("INTERVAL", "never")] == [True, False]
    assert "never fires" in " ".join(rrule_problems(f"{start};INTERVAL=1"))


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(recurrence, "IMPORT_ERROR", "no module named dateutil")
    with pytest.raises(AnsibleFilterError, match="install it with pip, python-dateutil"):
        rrule_problems("DTSTART:20260101T020000Z RRULE:FREQ=DAILY;INTERVAL=1")


@pytest.mark.parametrize("minutes", [10, "10"])
def test_minutes_may_be_a_text(minutes):
    assert every_minutes(minutes) == "DTSTART:20260101T000000Z RRULE:FREQ=MINUTELY;INTERVAL=10"


@pytest.mark.parametrize("minutes", ["ten", None, "1.5"])
def test_no_minutes_are_told(minutes):
    with pytest.raises(AnsibleFilterError, match="not a whole number of minutes"):
        every_minutes(minutes)


@pytest.mark.parametrize(
    ("minutes", "rule"),
    [(10, "FREQ=MINUTELY;INTERVAL=10"), (1440, "FREQ=DAILY;INTERVAL=1"), (2880, "FREQ=DAILY;INTERVAL=2")],
)
def test_whole_days_are_counted_as_days(minutes, rule):
    assert every_minutes(minutes, "20260101T000700Z") == f"DTSTART:20260101T000700Z RRULE:{rule}"


@pytest.mark.parametrize("minutes", [0, -5, 2000])
def test_minutes_that_cannot_be_are_written_as_they_are_and_refused(minutes):
    assert len(rrule_problems(every_minutes(minutes))) == 1


def test_only_texts_are_rules():
    with pytest.raises(AnsibleFilterError, match="not a text"):
        rrule_problems(None)


def test_a_schedule_for_each_name():
    common = {"name": "rebuild", "unified_job_template": "t"}
    made = daily_schedules(["a", "b"], common, variable="image_names", first="23:50", timezone="Europe/Berlin")
    assert made == [
        {
            "name": "rebuild a",
            "unified_job_template": "t",
            "rrule": "DTSTART;TZID=Europe/Berlin:20260101T235000 RRULE:FREQ=DAILY;INTERVAL=1",
            "extra_data": {"image_names": ["a"]},
        },
        {
            "name": "rebuild b",
            "unified_job_template": "t",
            "rrule": "DTSTART;TZID=Europe/Berlin:20260101T001000 RRULE:FREQ=DAILY;INTERVAL=1",
            "extra_data": {"image_names": ["b"]},
        },
    ]


def test_one_more_name_leaves_the_others_as_they_are():
    common = {"name": "rebuild"}
    names = [f"image{number}" for number in range(100)]
    made = daily_schedules(names, common, variable="v")
    assert made[:99] == daily_schedules(names[:99], common, variable="v")
    assert [rule for one in made for rule in rrule_problems(one["rrule"])] == []


@settings(max_examples=examples(100), deadline=None)
@given(hour=st.integers(0, 23), minute=st.integers(0, 59), later=st.integers(0, 10_000))
def test_daily_rules_are_fine_and_keep_to_the_day(hour, minute, later):
    made = daily_schedules(["a", "b"], {"name": "x"}, variable="v", first=f"{hour:02}:{minute:02}", minutes_apart=later)
    rule = made[1]["rrule"]
    assert rrule_problems(rule) == []
    at = (hour * 60 + minute + later) % 1440
    assert rule.startswith(f"DTSTART:20260101T{at // 60:02}{at % 60:02}00Z ")


@pytest.mark.parametrize("clock", ["25:00", "24:00", "2", "02:60", "noon", ""])
def test_a_wrong_time_is_told(clock):
    with pytest.raises(AnsibleFilterError, match="not a time of day"):
        daily_schedules(["a"], {"name": "x"}, variable="v", first=clock)


def test_collections_that_are_not_there_are_named():
    missing = Missing().filters()["missing_collections"]
    assert missing(["stackci.nodepool", "nobody.nothing"]) == ["nobody.nothing"]


def collection(monkeypatch, options, short):
    """A collection for AWX that takes these options."""
    found = ModuleType("ansible_collections.ansible.controller.plugins.module_utils.controller_api")
    vars(found)["ControllerModule"] = SimpleNamespace(AUTH_ARGSPEC=dict.fromkeys(options), short_params=short)
    monkeypatch.setitem(sys.modules, found.__name__, found)


@pytest.mark.parametrize(("options", "short", "expected"), [
    # awx.awx 24, ansible.controller until 4.6.17
    (["controller_host", "controller_oauthtoken"], {"host": "controller_host", "oauth_token": "controller_oauthtoken"},
     {"module": "controller_oauthtoken", "lookup": "oauth_token"}),
    # its later releases
    (["controller_host", "aap_token"], {"host": "controller_host", "aap_token": "aap_token"},
     {"module": "aap_token", "lookup": "aap_token"}),
    (["controller_host", "aap_token"], {"host": "controller_host"}, {"module": "aap_token", "lookup": "aap_token"}),
])  # fmt: skip
def test_the_options_for_a_token_are_those_of_the_release(monkeypatch, options, short, expected):
    collection(monkeypatch, options, short)
    assert Options().filters()["controller_token_options"]("ansible.controller") == expected


def test_a_collection_that_is_none_for_awx_is_named(monkeypatch):
    find = Options().filters()["controller_token_options"]
    with pytest.raises(AnsibleFilterError, match=r"nobody\.nothing is not a collection for AWX, or not installed"):
        find("nobody.nothing")
    collection(monkeypatch, ["controller_host"], {})
    with pytest.raises(AnsibleFilterError, match=r"ansible\.controller is not a collection for AWX"):
        find("ansible.controller")
