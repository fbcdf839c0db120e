# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each rule of AWX, broken alone; and rules that are fine."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model.rrule import (
    FREQUENCIES,
    UNITS,
    daily,
    every,
    problems,
)
from tests.support.effort import examples

START = "DTSTART;TZID=Europe/Berlin:20260101T020000"
RULE = "RRULE:FREQ=DAILY;INTERVAL=1"


@pytest.mark.parametrize(
    "rrule",
    [
        f"{START} {RULE}",
        f"DTSTART:20260101T020000Z {RULE}",
        f"{START} RRULE:FREQ=MINUTELY;INTERVAL=10",
        f"{START} RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR;WKST=SU",
        f"{START} RRULE:FREQ=MONTHLY;INTERVAL=1;BYDAY=MO;BYSETPOS=-1;COUNT=999",
        f"{START} RRULE:FREQ=YEARLY;INTERVAL=1;BYMONTH=1,12;BYMONTHDAY=-1;UNTIL=20271231T235959Z",
        f"{START} {RULE} EXRULE:FREQ=WEEKLY;INTERVAL=1;BYDAY=SA,SU",
        f"{START} {RULE}\n",
        f"{START} rrule:freq=daily;interval=1;UNTIL=20271231T235959",
        f"{START} RRULE:FREQ=MONTHLY;INTERVAL=1;BYDAY=-1FR",
        f"{START} RRULE:FREQ=MONTHLY;INTERVAL=1;BYDAY=+1MO,2TU",
        f"{START} RRULE:FREQ=MINUTELY;INTERVAL=1440",
        f"{START} RRULE:FREQ=MINUTELY;INTERVAL=2880;COUNT=5",
        f"{START} RRULE:FREQ=MINUTELY;INTERVAL=10 EXRULE:FREQ=WEEKLY;INTERVAL=1;BYDAY=SA,SU",
        f"{START} RRULE:FREQ=HOURLY;INTERVAL=1 {RULE}",
        f"{START} RRULE:FREQ=HOURLY;INTERVAL=1;COUNT=5 RRULE:FREQ=DAILY;INTERVAL=3",
        f"{START} RRULE:FREQ=DAILY;INTERVAL=3 EXRULE:FREQ=HOURLY;INTERVAL=5",
    ],
)
def test_fine(rrule):
    assert problems(rrule) == []


@pytest.mark.parametrize(
    ("rrule", "words"),
    [
        ("", "DTSTART stands 0 times"),
        (RULE, "DTSTART stands 0 times"),
        (f"{START} {START} {RULE}", "DTSTART stands 2 times"),
        (f"DTSTART:20260101T020000 {RULE}", "has no time zone"),
        (f"{START}Z {RULE}", "two time zones"),
        (f"DTSTART;TZID=Europe/Berlin:2026-01-01 {RULE}", "is no start"),
        (f"DTSTART:20260231T020000Z {RULE}", "no such day"),
        (START, "there is no RRULE"),
        (f"{START} EXRULE:FREQ=DAILY;INTERVAL=1", "there is no RRULE"),
        (f"{START} {RULE} EXDATE:20260105T020000Z", "no single dates"),
        (f"{START} {RULE} RDATE:20260105T020000Z", "no single dates"),
        (f"{START} {RULE} soon", "soon: is neither"),
        (f"{START} RRULE:FREQ=DAILY", "INTERVAL is missing"),
        (f"{START} RRULE:FREQ=DAILY;INTERVAL=0", "INTERVAL is 0"),
        (f"{START} RRULE:FREQ=DAILY;INTERVAL=-1", "INTERVAL is -1"),
        (f"{START} RRULE:FREQ=DAILY;INTERVAL=x", "INTERVAL is X"),
        (f"{START} RRULE:FREQ=SECONDLY;INTERVAL=30", "MINUTELY is the smallest"),
        (f"{START} RRULE:FREQ=OFTEN;INTERVAL=1", "FREQ is OFTEN"),
        (f"{START} RRULE:INTERVAL=1", "FREQ is missing"),
        (f"{START} {RULE};COUNT=3;UNTIL=20271231T235959Z", "both COUNT and UNTIL"),
        (f"{START} {RULE};COUNT=1000", "COUNT is 1000"),
        (f"{START} {RULE};COUNT=0", "COUNT is 0"),
        (f"{START} {RULE};UNTIL=tomorrow", "UNTIL is TOMORROW"),
        (f"{START} {RULE};UNTIL=20271341", "UNTIL is 20271341"),
        (f"{START} {RULE};UNTIL=20271231", "write UNTIL=20271231T235959"),
        (f"{START} {RULE};until=20271231T235959", "UNTIL in capital letters"),
        (f"{START} RRULE:FREQ=MONTHLY;INTERVAL=1;BYDAY=2MO", "write BYDAY=+2MO"),
        (f"{START} RRULE:FREQ=MINUTELY;INTERVAL=2880", "write FREQ=DAILY;INTERVAL=2"),
        (f"{START} RRULE:FREQ=HOURLY;INTERVAL=72", "write FREQ=DAILY;INTERVAL=3"),
        (f"{START} RRULE:FREQ=MINUTELY;INTERVAL=1441", "write whole days, as FREQ=DAILY, or a day at most"),
        (f"{START} RRULE:FREQ=HOURLY;INTERVAL=1 RRULE:FREQ=DAILY;INTERVAL=3", "make two schedules of them"),
        (f"{START} RRULE:FREQ=MINUTELY;INTERVAL=10 {RULE};COUNT=3", "make two schedules of them"),
        (f"{START} RRULE:FREQ=HOURLY;INTERVAL=1 EXRULE:FREQ=WEEKLY;INTERVAL=1", "make two schedules of them"),
        (f"{START} {RULE};BYHOUR=24", "BYHOUR is 24"),
        (f"{START} {RULE};BYHOUR=-1", "BYHOUR is -1"),
        (f"{START} {RULE};BYMONTHDAY=0", "BYMONTHDAY is 0"),
        (f"{START} {RULE};INTERVAL=2", "INTERVAL stands twice"),
        (f"{START} {RULE};", "an empty part"),
    ],
)
def test_one_problem(rrule, words):
    found = problems(rrule)
    assert len([problem for problem in found if words in problem]) == 1, found


def test_all_problems_at_once():
    assert len(problems("RRULE:FREQ=SECONDLY;COUNT=5000 EXDATE:20260105T020000Z")) == 5


def test_an_unknown_time_zone():
    assert problems(f"{START} {RULE}", known_zone=lambda zone: zone != "Europe/Berlin") == [
        f"{START}: Europe/Berlin is no time zone: write a name such as Europe/Berlin"
    ]


@settings(max_examples=examples(200), deadline=None)
@given(frequency=st.sampled_from(FREQUENCIES), interval=st.integers(1, 10**6), count=st.none() | st.integers(1, 999))
def test_every_frequency_and_interval_is_fine_but_many_minutes(frequency, interval, count):
    end = "" if count is None else f";COUNT={count}"
    too_long = count is None and interval * UNITS.get(frequency, 0) > 1440
    assert bool(problems(f"{START} RRULE:FREQ={frequency};INTERVAL={interval}{end}")) == too_long


@pytest.mark.parametrize(
    ("minutes", "rule"),
    [(10, "FREQ=MINUTELY;INTERVAL=10"), (1440, "FREQ=DAILY;INTERVAL=1"), (2880, "FREQ=DAILY;INTERVAL=2")],
)
def test_whole_days_are_counted_as_days(minutes, rule):
    assert every(minutes, "20260101T000700Z") == f"DTSTART:20260101T000700Z RRULE:{rule}"


@pytest.mark.parametrize("minutes", [0, -5, 2000])
def test_what_cannot_be_is_written_as_it_is_and_refused(minutes):
    assert len(problems(every(minutes, "20260101T000700Z"))) == 1


@settings(max_examples=examples(200), deadline=None)
@given(hour=st.integers(0, 23), minute=st.integers(0, 59), later=st.integers(0, 10_000))
def test_daily_rules_are_fine_and_keep_to_the_day(hour, minute, later):
    rule = daily(f"{hour:02}:{minute:02}", later, "UTC")
    assert problems(rule) == []
    at = (hour * 60 + minute + later) % 1440
    assert rule.startswith(f"DTSTART:20260101T{at // 60:02}{at % 60:02}00Z ")


def test_daily_in_a_time_zone():
    assert (
        daily("23:50", 20, "Europe/Berlin") == "DTSTART;TZID=Europe/Berlin:20260101T001000 RRULE:FREQ=DAILY;INTERVAL=1"
    )


@pytest.mark.parametrize("clock", ["24:00", "2", "02:60", "noon", ""])
def test_no_time_of_the_day(clock):
    with pytest.raises(ValueError, match="no time of the day"):
        daily(clock, 0, "UTC")
