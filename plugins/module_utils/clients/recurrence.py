# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of recurrence rules with python-dateutil, the library with which AWX reads the rules of its schedules.

In addition to the rules that the library refuses, three kinds of rules are refused:

- AWX refuses some by their text (``validate_rrule`` in its ``awx/api/serializers.py``).
- AWX hangs with a rule that never fires: each time that it handles a schedule it searches for the first time of the
  rule, up to the year 9999. The search here begins some centuries before that year, where the days of the week and the
  leap years are as they are at DTSTART, and so ends soon.
- AWX starts rules with FREQ=MINUTELY or FREQ=HOURLY anew each day, seven days back (``awx/main/models/schedules.py``,
  seen with AWX 24.6.1). A rule that such a start changes is refused here, because AWX accepts it without a warning.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice

from ..model.errors import MissingLibraryError

try:
    from dateutil import rrule as library
except ImportError:
    IMPORT_ERROR: str | None = traceback.format_exc()
else:
    IMPORT_ERROR = None

CYCLE = 400
"""Years after which the calendar repeats."""
FIRST_YEAR = 9500
"""The search begins in this year or in one of the next 399."""
MOST_TIMES, MOST_EXCLUDED = 1_000, 100_000
"""Maximum numbers of times of the rules, and of times that EXRULEs exclude, that are compared with each other."""
UNITS = {"MINUTELY": 1, "HOURLY": 60}
"""Minutes of the frequencies that AWX starts anew each day."""
MINUTES_OF_A_DAY = 24 * 60
DAYS = ("BYDAY", "BYMONTHDAY", "BYYEARDAY")
TIMES = ("BYHOUR", "BYMINUTE", "BYSECOND", "BYSETPOS")
ENDS = ("UNTIL", "COUNT")

_START = re.compile(r"DTSTART(?:;TZID=[^:\s]+:\d+T\d+|:\d+T\d+Z)", re.ASCII)
_START_EXAMPLE = "DTSTART;TZID=Europe/Berlin:20260101T020000 or DTSTART:20260101T020000Z"
_REFUSED_BY_TEXT = (
    (r"(?i).*FREQ=SECONDLY", "FREQ=SECONDLY is too often for AWX: MINUTELY is the smallest"),
    (r"(?i)(?!.*INTERVAL=)", "INTERVAL is missing: write INTERVAL=1"),
    (r"(?i).*INTERVAL=(?!0*[1-9]\d*(;|$))", "INTERVAL must be a whole number of at least 1; AWX hangs with 0"),
    (r"(?i).*BYDAY=\d+[A-Z]", "AWX requires a sign before a number in BYDAY: write it like BYDAY=+1MO"),
    (r"(?i)(?=.*COUNT=).*UNTIL=", "it has both COUNT and UNTIL: remove one of them"),
    (r"(?i).*COUNT=0*[1-9]\d{3}", "COUNT is more than 999, which AWX does not accept"),
    (
        r".*(?i:UNTIL=)(?<!UNTIL=)|.*UNTIL=(?!\d+T\d+)",
        "AWX requires UNTIL in capital letters and with a time: write it like UNTIL=20271231T235959Z",
    ),
)
"""Patterns of texts in a rule that AWX refuses (or hangs with), each with the text to write instead."""
_YEAR = re.compile(r":(\d{4})")
_LOCAL_UNTIL = re.compile(r"(UNTIL=\d{8}T\d{6})(?!Z)")


def problems(rrule: str) -> list[str]:
    """Return the parts of *rrule* that AWX refuses, hangs with, or runs at other times, each with a remedy.

    :param rrule: one DTSTART and one or more RRULE or EXRULE with blanks between them, as AWX expects it.
    :raises MissingLibraryError: python-dateutil is not installed.
    """
    if IMPORT_ERROR is not None:
        raise MissingLibraryError("python-dateutil", IMPORT_ERROR)
    words = rrule.split()
    starts = [word for word in words if word.startswith("DTSTART")]
    rules = [word for word in words if word.upper().startswith(("RRULE:", "EXRULE:"))]
    found = [f"{word}: AWX accepts only DTSTART, RRULE and EXRULE" for word in words if word not in (*starts, *rules)]
    if len(starts) != 1 or not _START.fullmatch(starts[0]):
        found.append(f"it must have exactly one DTSTART with a time zone: write it like {_START_EXAMPLE}")
    if not any(rule.upper().startswith("RRULE:") for rule in rules):
        found.append("it has no RRULE: write one, like RRULE:FREQ=DAILY;INTERVAL=1")
    for rule in rules:
        found += [f"{rule}: {problem}" for pattern, problem in _REFUSED_BY_TEXT if re.match(pattern, rule)]
    if found:
        return found
    found = [f"{rule}: {problem}" for rule in rules if (problem := _rule_problem(starts[0], _body(rule)))]
    return found or [*_problems_together(starts[0], rules), *_anew_each_day(rules)]


def _body(rule: str) -> str:
    return rule.partition(":")[2].upper()


def _parts(rule: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in _body(rule).split(";"))


def _read(start: str, body: str) -> Iterable[datetime]:
    # AWX reads a local UNTIL in the time zone of DTSTART; the search for a first time does not depend on the hours.
    rule = _LOCAL_UNTIL.sub(r"\1Z", body)
    times: Iterable[datetime] = library.rrulestr(f"{start} RRULE:{rule}")
    return times


def _rule_problem(start: str, body: str) -> str | None:
    try:
        times = _read(start, body)
        if not _fires(start, body):
            return "it never fires, and AWX would search forever for its first time: change or remove one of its parts"
        next(iter(times), None)
    except Exception as error:  # AWX, too, refuses a rule whatever the library raises
        return f"AWX cannot read it, because python-dateutil says: {error}"
    return None


def _fires(start: str, body: str) -> bool:
    """Return True when a rule, without its UNTIL and COUNT, has any time."""
    parts = dict(part.split("=", 1) for part in body.split(";"))
    if parts["FREQ"] in UNITS:
        if not _has_position(parts):
            return False
        # Every day has a time of the rule, or the library reports that no day has one: only the days are left to check.
        parts = {"FREQ": "DAILY", "INTERVAL": "1"} | {
            name: value for name, value in parts.items() if name not in (*TIMES, "FREQ", "INTERVAL")
        }
    year = int(_YEAR.search(start)[1])  # type: ignore[index]
    later = year + CYCLE * -((year - FIRST_YEAR) // CYCLE)
    naive = "DTSTART" + _YEAR.sub(f":{later}", start[start.index(":") :], count=1).rstrip("Z")
    endless = ";".join(f"{name}={value}" for name, value in parts.items() if name not in ENDS)
    return next(iter(_read(naive, endless)), None) is not None


def _has_position(parts: dict[str, str]) -> bool:
    """Return True when an hour or a minute has as many times as BYSETPOS counts."""
    if "BYSETPOS" not in parts:
        return True
    lists = ("BYSECOND",) if parts["FREQ"] == "MINUTELY" else ("BYMINUTE", "BYSECOND")
    times = 1
    for name in lists:
        times *= len(parts[name].split(",")) if name in parts else 1
    return any(abs(int(position)) <= times for position in parts["BYSETPOS"].split(","))


def _problems_together(start: str, rules: list[str]) -> list[str]:
    """Return the problems of the set of *rules*, each of which is valid by itself."""
    wanted, unwanted = library.rruleset(), library.rruleset()
    for rule in rules:
        (wanted if rule.upper().startswith("RRULE:") else unwanted).rrule(_read(start, _body(rule)))
    first = next(_left(wanted, iter(unwanted)), None)
    if first is None:
        return ["it never fires: UNTIL is before its first time, or EXRULE removes all of its times"]
    zone = start.partition("=")[2].partition(":")[0]
    return [] if first.tzinfo else [f"{start}: {zone} is not a time zone: write a name such as Europe/Berlin"]


def _left(wanted: Iterable[datetime], unwanted: Iterator[datetime]) -> Iterator[datetime]:
    """Yield the times that no EXRULE excludes, within MOST_TIMES and MOST_EXCLUDED."""
    barred, looked = next(unwanted, None), 0
    for time in islice(wanted, MOST_TIMES):
        while barred is not None and barred < time and looked < MOST_EXCLUDED:
            barred, looked = next(unwanted, None), looked + 1
        if barred != time:
            yield time


def _anew_each_day(rules: list[str]) -> list[str]:
    """Return the problems of rules that the daily start of MINUTELY and HOURLY rules changes.

    They are rules with an interval of more than a day, and other rules in the same schedule.
    """
    found = []
    anew = {rule for rule in rules if _parts(rule)["FREQ"] in UNITS and "COUNT" not in _parts(rule)}
    for rule in sorted(anew):
        days = int(_parts(rule)["INTERVAL"]) * UNITS[_parts(rule)["FREQ"]] / MINUTES_OF_A_DAY
        if days > 1:
            found.append(
                f"{rule}: AWX restarts it each day, and {days:g} days are more than one: write whole days, as"
                " FREQ=DAILY;INTERVAL=2"
            )
    if any(rule.upper().startswith("RRULE:") for rule in anew):
        found += [
            f"{rule}: AWX restarts it each day, like the MINUTELY or HOURLY rule beside it, so it fires at"
            f" other times: create two schedules, or write INTERVAL=1 without COUNT, and BYDAY or BYMONTHDAY"
            for rule in rules
            if rule not in anew and not _is_same_each_day(_parts(rule))
        ]
    return found


def _is_same_each_day(parts: dict[str, str]) -> bool:
    """Return True when the days of a rule do not depend on its start."""
    named = parts["FREQ"] == "DAILY" or any(name in parts for name in DAYS)
    return named and parts["INTERVAL"] == "1" and "COUNT" not in parts
