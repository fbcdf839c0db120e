# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What python-dateutil does not understand, and what never fires."""

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
        ("RRULE:FREQ=MONTHLY;INTERVAL=1;BYDAY=53FR", "AWX cannot read it"),
        ("RRULE:FREQ=DAILY;INTERVAL=1;UNTIL=20251231T235959Z", "UNTIL is before its first time"),
        (f"{RULE} EXRULE:FREQ=DAILY;INTERVAL=1", "EXRULE takes all of its times away"),
        (f"{RULE} EXRULE:FREQ=MONTHLY;INTERVAL=1;BYMONTH=2;BYMONTHDAY=30", "EXRULE:FREQ=MONTHLY"),
        ("RRULE:FREQ=MINUTELY;INTERVAL=5 EXRULE:FREQ=MINUTELY;INTERVAL=1", "EXRULE takes all of its times away"),
    ],
)
def test_one_problem(rules, words):
    (problem,) = recurrence.problems(f"{START} {rules}")
    assert words in problem


def test_a_time_zone_that_the_library_does_not_know():
    (problem,) = recurrence.problems(f"DTSTART;TZID=Europe/Berln:20260101T020000 {RULE}")
    assert "does not know its time zone" in problem


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
