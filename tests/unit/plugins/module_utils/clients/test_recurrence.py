# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What AWX refuses, what python-dateutil does not understand, what never fires, what starts anew each day."""

from __future__ import annotations

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients import recurrence
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import MissingLibraryError
from tests.support.effort import examples

START = "DTSTART;TZID=Europe/Berlin:20260101T020000"
RULE = "RRULE:FREQ=DAILY;INTERVAL=1"


@pytest.mark.parametrize(
    "rrule",
    [
        f"{START} {RULE}",
        f"DTSTART:20260101T020000Z {RULE}",
        f"{START} RRULE:FREQ=MONTHLY;INTERVAL=1;BYDAY=-1FR",
        f"{START} RRULE:FREQ=MONTHLY;INTERVAL=1;BYDAY=+1MO,2TU",
        f"{START} RRULE:FREQ=YEARLY;INTERVAL=1;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO",
        f"{START} RRULE:FREQ=MINUTELY;INTERVAL=10;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO",
        f"{START} RRULE:FREQ=DAILY;INTERVAL=7;BYDAY=TH",
        f"{START} RRULE:FREQ=MINUTELY;INTERVAL=2;BYMINUTE=2",
        f"{START} RRULE:FREQ=HOURLY;INTERVAL=1;BYMINUTE=1,2;BYSETPOS=-2",
        f"{START} RRULE:FREQ=YEARLY;INTERVAL=5;BYEASTER=0",
        f"{START} rrule:freq=daily;interval=1;UNTIL=20271231T235959",
        f"{START} {RULE} EXRULE:FREQ=WEEKLY;INTERVAL=1;BYDAY=SA,SU",
        f"{START} {RULE} EXRULE:FREQ=MINUTELY;INTERVAL=3;BYMONTH=2",
        "DTSTART:19990101T020000Z RRULE:FREQ=YEARLY;INTERVAL=1;BYMONTH=2;BYMONTHDAY=29",
        f"{START} RRULE:FREQ=MINUTELY;INTERVAL=10",
        f"{START} RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR;WKST=SU",
        f"{START} RRULE:FREQ=MONTHLY;INTERVAL=1;BYDAY=MO;BYSETPOS=-1;COUNT=999",
        f"{START} RRULE:FREQ=YEARLY;INTERVAL=1;BYMONTH=1,12;BYMONTHDAY=-1;UNTIL=20271231T235959Z",
        f"{START} {RULE}\n",
        f"{START} RRULE:FREQ=MINUTELY;INTERVAL=1440",
        f"{START} RRULE:FREQ=MINUTELY;INTERVAL=2880;COUNT=5",
        f"{START} RRULE:FREQ=MINUTELY;INTERVAL=10 EXRULE:FREQ=WEEKLY;INTERVAL=1;BYDAY=SA,SU",
        f"{START} RRULE:FREQ=HOURLY;INTERVAL=1 {RULE}",
        f"{START} RRULE:FREQ=HOURLY;INTERVAL=1;COUNT=5 RRULE:FREQ=DAILY;INTERVAL=3",
        f"{START} RRULE:FREQ=DAILY;INTERVAL=3 EXRULE:FREQ=HOURLY;INTERVAL=5",
    ],
)
def test_fine(rrule):
    assert recurrence.problems(rrule) == []


@pytest.mark.parametrize("frequency", ["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY"])
def test_the_thirtieth_of_february_never_comes(frequency):
    (problem,) = recurrence.problems(f"{START} RRULE:FREQ={frequency};INTERVAL=1;BYMONTH=2;BYMONTHDAY=30")
    assert "it never fires" in problem


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("RRULE:FREQ=MINUTELY;INTERVAL=2;BYMINUTE=1", "generates an empty set"),
        ("RRULE:FREQ=MINUTELY;INTERVAL=120;BYHOUR=1", "empty rule"),
        ("RRULE:FREQ=DAILY;INTERVAL=7;BYDAY=MO", "it never fires"),
        ("RRULE:FREQ=DAILY;INTERVAL=1;BYMONTH=13", "it never fires"),
        ("RRULE:FREQ=MINUTELY;INTERVAL=1;BYSETPOS=2", "it never fires"),
        ("RRULE:FREQ=DAILY;INTERVAL=1;BYMOON=1", "BYMOON"),
        ("RRULE:FREQ=DAILY;INTERVAL=1;BYDAY=XX", "BYDAY"),
        ("RRULE:FREQ=MONTHLY;INTERVAL=1;BYDAY=+53FR", "AWX cannot read it"),
        ("RRULE:FREQ=DAILY;INTERVAL=1;UNTIL=20251231T235959Z", "UNTIL is before its first time"),
        (f"{RULE} EXRULE:FREQ=DAILY;INTERVAL=1", "EXRULE removes all of its times"),
        (f"{RULE} EXRULE:FREQ=MONTHLY;INTERVAL=1;BYMONTH=2;BYMONTHDAY=30", "EXRULE:FREQ=MONTHLY"),
        ("RRULE:FREQ=MINUTELY;INTERVAL=5 EXRULE:FREQ=MINUTELY;INTERVAL=1", "EXRULE removes all of its times"),
    ],
)
def test_one_problem(rules, words):
    (problem,) = recurrence.problems(f"{START} {rules}")
    assert words in problem


@pytest.mark.parametrize(
    ("rrule", "words"),
    [
        (RULE, "one DTSTART"),
        (f"{START} {START} {RULE}", "one DTSTART"),
        (f"DTSTART:20260101T020000 {RULE}", "with a time zone"),
        (f"{START}Z {RULE}", "with a time zone"),
        (f"DTSTART;TZID=Europe/Berlin:2026-01-01 {RULE}", "one DTSTART"),
        (f"DTSTART:20260231T020000Z {RULE}", "day is out of range"),
        (START, "it has no RRULE"),
        (f"{START} EXRULE:FREQ=DAILY;INTERVAL=1", "it has no RRULE"),
        (f"{START} {RULE} EXDATE:20260105T020000Z", "EXDATE:20260105T020000Z: AWX accepts only"),
        (f"{START} {RULE} RDATE:20260105T020000Z", "AWX accepts only"),
        (f"{START} {RULE} soon", "soon: AWX accepts only"),
        (f"{START} RRULE:FREQ=DAILY", "INTERVAL is missing"),
        (f"{START} RRULE:FREQ=DAILY;INTERVAL=0", "INTERVAL must be"),
        (f"{START} RRULE:FREQ=DAILY;INTERVAL=-1", "INTERVAL must be"),
        (f"{START} RRULE:FREQ=DAILY;INTERVAL=x", "INTERVAL must be"),
        (f"{START} RRULE:FREQ=SECONDLY;INTERVAL=30", "MINUTELY is the smallest"),
        (f"{START} RRULE:FREQ=OFTEN;INTERVAL=1", "FREQ"),
        (f"{START} RRULE:INTERVAL=1", "freq"),
        (f"{START} {RULE};COUNT=3;UNTIL=20271231T235959Z", "both COUNT and UNTIL"),
        (f"{START} {RULE};UNTIL=20271231T235959Z;count=3", "both COUNT and UNTIL"),
        (f"{START} {RULE};COUNT=1000", "COUNT is more than 999"),
        (f"{START} {RULE};COUNT=0", "never fires"),
        (f"{START} {RULE};UNTIL=tomorrow", "with a time"),
        (f"{START} {RULE};UNTIL=20271331T000000Z", "UNTIL"),
        (f"{START} {RULE};UNTIL=20271231", "with a time"),
        (f"{START} {RULE};until=20271231T235959", "UNTIL in capital letters"),
        (f"{START} RRULE:FREQ=MONTHLY;INTERVAL=1;BYDAY=2MO", "like BYDAY=+1MO"),
        (f"{START} {RULE};BYHOUR=24", "hour must be in"),
        (f"{START} {RULE};", "AWX cannot read it"),
        (f"{START} RRULE:FREQ=MINUTELY;INTERVAL=2880", "2 days are more than one"),
        (f"{START} RRULE:FREQ=HOURLY;INTERVAL=72", "3 days are more than one"),
        (f"{START} RRULE:FREQ=MINUTELY;INTERVAL=1441", "write whole days"),
        (f"{START} RRULE:FREQ=HOURLY;INTERVAL=1 RRULE:FREQ=DAILY;INTERVAL=3", "create two schedules"),
        (f"{START} RRULE:FREQ=MINUTELY;INTERVAL=10 {RULE};COUNT=3", "create two schedules"),
        (f"{START} RRULE:FREQ=HOURLY;INTERVAL=1 EXRULE:FREQ=WEEKLY;INTERVAL=1", "create two schedules"),
    ],
)
def test_one_problem_of_a_schedule(rrule, words):
    (problem,) = recurrence.problems(rrule)
    assert words in problem


def test_all_problems_of_the_text_at_once():
    assert len(recurrence.problems("RRULE:FREQ=SECONDLY;COUNT=5000 EXDATE:20260105T020000Z")) == 5


@settings(max_examples=examples(100), deadline=None)
@given(
    frequency=st.sampled_from(["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY"]),
    interval=st.integers(1, 5000),
    count=st.none() | st.integers(1, 999),
)
def test_every_frequency_and_interval_is_fine_but_many_minutes(frequency, interval, count):
    end = "" if count is None else f";COUNT={count}"
    too_long = count is None and interval * {"MINUTELY": 1, "HOURLY": 60}.get(frequency, 0) > 1440
    start = "DTSTART:20260101T020000Z"
    assert bool(recurrence.problems(f"{start} RRULE:FREQ={frequency};INTERVAL={interval}{end}")) == too_long


def test_a_time_zone_that_the_library_does_not_know():
    (problem,) = recurrence.problems(f"DTSTART;TZID=Europe/Berln:20260101T020000 {RULE}")
    assert "Europe/Berln is not a time zone" in problem


@settings(max_examples=examples(100), deadline=None)
@given(
    frequency=st.sampled_from(["YEARLY", "MONTHLY", "WEEKLY", "DAILY"]),
    interval=st.integers(1, 20),
    months=st.sets(st.integers(1, 12), min_size=1),
    days=st.sets(st.integers(-28, 28).filter(bool), min_size=1),
)
def test_with_months_and_short_days_the_first_time_is_found_where_the_library_finds_it(
    frequency, interval, months, days
):
    listed = ",".join(map(str, sorted(months))), ",".join(map(str, sorted(days)))
    rule = f"FREQ={frequency};INTERVAL={interval};BYMONTH={listed[0]};BYMONTHDAY={listed[1]}"
    fires = next(iter(rrulestr(f"DTSTART:20260101T020000 RRULE:{rule}")), None) is not None
    assert (recurrence.problems(f"DTSTART:20260101T020000Z RRULE:{rule}") == []) == fires


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setattr(recurrence, "IMPORT_ERROR", "no module named dateutil")
    with pytest.raises(MissingLibraryError, match="python-dateutil"):
        recurrence.problems(f"{START} {RULE}")
