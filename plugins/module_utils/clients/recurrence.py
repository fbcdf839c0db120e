# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recurrence rules as python-dateutil reads them, which is what AWX reads them with.

AWX looks for the first time of a rule whenever it looks at a schedule, as far as the year 9999: a rule that never fires
keeps it busy. The search here begins some centuries before that year, where the days of the week and the leap years are
as they are at DTSTART, and so ends soon.
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
"""Years after which the calendar is the same again."""
FIRST_YEAR = 9500
"""The search begins in this year or in one of the next 399."""
MOST_TIMES, MOST_EXCLUDED = 1_000, 100_000
"""So many times of the rules are compared with so many of those that an EXRULE takes away."""
WITHIN_A_DAY = ("MINUTELY", "HOURLY")
TIMES = ("BYHOUR", "BYMINUTE", "BYSECOND", "BYSETPOS")
ENDS = ("UNTIL", "COUNT")

_YEAR = re.compile(r":(\d{4})")
_LOCAL_UNTIL = re.compile(r"(UNTIL=\d{8}T\d{6})(?!Z)")
_WHAT_IT_RAISES = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError)


def problems(rrule: str) -> list[str]:
    """What AWX would stumble over when it reads *rrule*, each with what to do about it.

    :param rrule: a rule in whose text nothing is wrong (``model/rrule.py``).
    :raises MissingLibraryError: python-dateutil is not installed.
    """
    if IMPORT_ERROR is not None:
        raise MissingLibraryError("python-dateutil", IMPORT_ERROR)
    words = rrule.split()
    start = next(word for word in words if word.startswith("DTSTART"))
    rules = [word for word in words if word.upper().startswith(("RRULE:", "EXRULE:"))]
    found = [f"{rule}: {problem}" for rule in rules if (problem := _rule_problem(start, _body(rule)))]
    return found or _problems_together(start, rules)


def _body(rule: str) -> str:
    return rule.partition(":")[2].upper()


def _read(start: str, body: str) -> Iterable[datetime]:
    # AWX takes a local UNTIL for one in the time zone of DTSTART; for finding a first time the hours do not matter.
    rule = _LOCAL_UNTIL.sub(r"\1Z", body)
    times: Iterable[datetime] = library.rrulestr(f"{start} RRULE:{rule}")
    return times


def _rule_problem(start: str, body: str) -> str | None:
    try:
        times = _read(start, body)
        if not _fires(start, body):
            return "it never fires, and AWX would search for its first time for ever: change or remove one of its parts"
        next(iter(times), None)
    except _WHAT_IT_RAISES as error:
        return f"AWX cannot read it, because python-dateutil says: {error}"
    return None


def _fires(start: str, body: str) -> bool:
    """Whether a rule without its end has any time."""
    parts = dict(part.split("=", 1) for part in body.split(";"))
    if parts["FREQ"] in WITHIN_A_DAY:
        if not _has_position(parts):
            return False
        # Each day has one of its times, or the library says that none has: what is left are the days.
        parts = {"FREQ": "DAILY", "INTERVAL": "1"} | {
            name: value for name, value in parts.items() if name not in (*TIMES, "FREQ", "INTERVAL")
        }
    year = int(_YEAR.search(start)[1])  # type: ignore[index]
    later = year + CYCLE * -((year - FIRST_YEAR) // CYCLE)
    naive = "DTSTART" + _YEAR.sub(f":{later}", start[start.index(":") :], count=1).rstrip("Z")
    endless = ";".join(f"{name}={value}" for name, value in parts.items() if name not in ENDS)
    return next(iter(_read(naive, endless)), None) is not None


def _has_position(parts: dict[str, str]) -> bool:
    """Whether an hour or a minute has as many times as BYSETPOS counts."""
    if "BYSETPOS" not in parts:
        return True
    lists = ("BYSECOND",) if parts["FREQ"] == "MINUTELY" else ("BYMINUTE", "BYSECOND")
    times = 1
    for name in lists:
        times *= len(parts[name].split(",")) if name in parts else 1
    return any(abs(int(position)) <= times for position in parts["BYSETPOS"].split(","))


def _problems_together(start: str, rules: list[str]) -> list[str]:
    """What is wrong with the set of *rules*, each of which is fine."""
    wanted, unwanted = library.rruleset(), library.rruleset()
    for rule in rules:
        (wanted if rule.upper().startswith("RRULE:") else unwanted).rrule(_read(start, _body(rule)))
    first = next(_left(wanted, iter(unwanted)), None)
    if first is None:
        return ["it never fires: UNTIL is before its first time, or EXRULE takes all of its times away"]
    return [] if first.tzinfo else [f"{start}: python-dateutil does not know its time zone"]


def _left(wanted: Iterable[datetime], unwanted: Iterator[datetime]) -> Iterator[datetime]:
    """The times that no EXRULE takes away, as far as is looked."""
    barred, looked = next(unwanted, None), 0
    for time in islice(wanted, MOST_TIMES):
        while barred is not None and barred < time and looked < MOST_EXCLUDED:
            barred, looked = next(unwanted, None), looked + 1
        if barred != time:
            yield time
