# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recurrence rules as AWX's schedules take them: what AWX itself asks of their text, and how to write some.

AWX's rules are those of ``validate_rrule`` in its ``awx/api/serializers.py`` and of ``awx/main/models/schedules.py``.
How a rule is read and when it fires is python-dateutil's business, in AWX as here: ``clients/recurrence.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta

FREQUENCIES = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY")
MOST_OCCURRENCES = 999
RANGES = {
    "BYMONTH": (1, 12, False),
    "BYMONTHDAY": (1, 31, True),
    "BYYEARDAY": (1, 366, True),
    "BYWEEKNO": (1, 53, True),
    "BYHOUR": (0, 23, False),
    "BYMINUTE": (0, 59, False),
    "BYSECOND": (0, 59, False),
    "BYSETPOS": (1, 366, True),
}
"""Smallest and largest number of each list, and whether it may count from the end (-1 for the last)."""
MINUTES_OF_A_DAY = 24 * 60
UNITS = {"MINUTELY": 1, "HOURLY": 60}
"""Minutes of the frequencies that AWX does not count from DTSTART: it begins them anew each day, seven days back."""
DAYS = ("BYDAY", "BYMONTHDAY", "BYYEARDAY")
FIRST_DAY = datetime(2026, 1, 1)
"""Where daily rules begin. It has to stay as it is: another one would change every schedule."""

_START = re.compile(r"DTSTART(?:;TZID=(?P<zone>[^:;\s]+))?:(?P<time>\d{8}T\d{6})(?P<utc>Z?)", re.ASCII)
_UNTIL = re.compile(r"(?P<time>\d{8}T\d{6})Z?", re.ASCII)
_DATE = re.compile(r"\d{8}", re.ASCII)
_NUMBERED_DAY = re.compile(r"\d+[A-Z]{2}", re.ASCII)
_NUMBER = re.compile(r"[+-]?\d+", re.ASCII)
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
_START_EXAMPLE = "DTSTART;TZID=Europe/Berlin:20260101T020000 or DTSTART:20260101T020000Z"


def problems(rrule: str, *, known_zone: Callable[[str], bool] = lambda zone: True) -> list[str]:
    """What AWX refuses in the text of *rrule*, or does otherwise than it says, each with what to write instead.

    :param rrule: one DTSTART and one or more RRULE or EXRULE with blanks between them, as AWX wants it.
    :param known_zone: whether a name such as ``Europe/Berlin`` is a time zone.
    """
    words = rrule.split()
    starts = [word for word in words if word.upper().startswith("DTSTART")]
    rules = [word for word in words if word.upper().startswith(("RRULE:", "EXRULE:"))]
    found: list[str] = []
    if len(starts) != 1:
        found.append(f"DTSTART stands {len(starts)} times in it: write it once, like {_START_EXAMPLE}")
    for start in starts[:1]:
        found += _start_problems(start, known_zone)
    if not any(rule.upper().startswith("RRULE:") for rule in rules):
        found.append("there is no RRULE in it: write one, like RRULE:FREQ=DAILY;INTERVAL=1")
    for rule in rules:
        found += [f"{rule}: {problem}" for problem in _rule_problems(rule.partition(":")[2])]
    found += _mixed_problems(rules)
    for word in words:
        if word in starts or word in rules:
            continue
        if word.upper().startswith(("EXDATE", "RDATE")):
            found.append(f"{word}: AWX knows no single dates: leave it out")
        else:
            found.append(f"{word}: is neither DTSTART nor RRULE nor EXRULE: leave it out")
    return found


def _start_problems(start: str, known_zone: Callable[[str], bool]) -> list[str]:
    match = _START.fullmatch(start)
    if match is None:
        return [f"{start}: is no start: write it like {_START_EXAMPLE}"]
    zone = match["zone"]
    if not zone and not match["utc"]:
        return [f"{start}: has no time zone: write it like {_START_EXAMPLE}"]
    if zone and match["utc"]:
        return [f"{start}: has two time zones: leave out the Z, or TZID"]
    found = [] if _is_time(match["time"]) else [f"{start}: there is no such day or time"]
    if zone and not known_zone(zone):
        found.append(f"{start}: {zone} is no time zone: write a name such as Europe/Berlin")
    return found


def _is_time(text: str) -> bool:
    try:
        datetime.strptime(text, "%Y%m%dT%H%M%S")
    except ValueError:
        return False
    return True


def _rule_problems(rule: str) -> list[str]:
    parts: dict[str, str] = {}
    found: list[str] = []
    if "UNTIL=" in rule.upper() and "UNTIL=" not in rule:
        found.append("write UNTIL in capital letters: AWX does not find it otherwise")
    for part in rule.upper().split(";"):
        name, is_there, value = part.partition("=")
        if not is_there or not value:
            found.append(f"{part or 'an empty part'} is not NAME=VALUE")
        elif name in parts:
            found.append(f"{name} stands twice in it")
        else:
            parts[name] = value
    found += _frequency_problems(parts)
    found += _end_problems(parts)
    for name, (low, high, backwards) in RANGES.items():
        if name in parts and not all(_is_between(item, low, high, backwards) for item in parts[name].split(",")):
            found.append(f"{name} is {parts[name]}: write whole numbers from {low} to {high}, with commas between them")
    days = parts.get("BYDAY", "")
    if _NUMBERED_DAY.match(days):
        found.append(f"BYDAY is {days}: AWX takes no number there without a sign: write BYDAY=+{days}")
    return found


def _frequency_problems(parts: dict[str, str]) -> list[str]:
    found = []
    frequency = parts.get("FREQ")
    if frequency is None:
        found.append("FREQ is missing")
    elif frequency == "SECONDLY":
        found.append("FREQ=SECONDLY is too often for AWX: MINUTELY is the smallest")
    elif frequency not in FREQUENCIES:
        found.append(f"FREQ is {frequency}: write one of {', '.join(FREQUENCIES)}")
    interval = parts.get("INTERVAL")
    if interval is None:
        found.append("INTERVAL is missing: write INTERVAL=1")
    elif not interval.isdecimal() or int(interval) < 1:
        found.append(f"INTERVAL is {interval}: write a whole number, 1 or more (AWX hangs with 0)")
    elif frequency in UNITS and "COUNT" not in parts:
        found += _too_long_problems(frequency, int(interval))
    return found


def _too_long_problems(frequency: str, interval: int) -> list[str]:
    """What AWX does otherwise: seven days back is another beginning each day."""
    minutes = interval * UNITS[frequency]
    if minutes <= MINUTES_OF_A_DAY:
        return []
    days, rest = divmod(minutes, MINUTES_OF_A_DAY)
    remedy = f"write FREQ=DAILY;INTERVAL={days}" if not rest else "write whole days, as FREQ=DAILY, or a day at most"
    rule = f"FREQ={frequency};INTERVAL={interval}"
    return [f"{rule} is more than a day, and AWX begins it anew each day, so that it is due more often: {remedy}"]


def _mixed_problems(rules: list[str]) -> list[str]:
    """Rules beside one that AWX begins anew each day: it begins all of them anew then, seven days back."""
    parts = {rule: dict(part.split("=", 1) for part in _body(rule).split(";") if "=" in part) for rule in rules}
    if not any(_begins_anew(of_rule) for rule, of_rule in parts.items() if rule.upper().startswith("RRULE:")):
        return []
    return [
        f"{rule}: AWX begins it anew each day, as it does with the MINUTELY or HOURLY rule beside it, so that it is due"
        " at other times: make two schedules of them, or write INTERVAL=1 without COUNT, and BYDAY or BYMONTHDAY"
        for rule, of_rule in parts.items()
        if not _begins_anew(of_rule) and not _is_same_each_day(of_rule)
    ]


def _begins_anew(parts: dict[str, str]) -> bool:
    return parts.get("FREQ") in UNITS and "COUNT" not in parts


def _is_same_each_day(parts: dict[str, str]) -> bool:
    """Whether a rule names its days, wherever it begins."""
    named = parts.get("FREQ") == "DAILY" or any(name in parts for name in DAYS)
    return named and parts.get("INTERVAL", "1") == "1" and "COUNT" not in parts


def _body(rule: str) -> str:
    return rule.partition(":")[2].upper()


def _end_problems(parts: dict[str, str]) -> list[str]:
    found = []
    count, until = parts.get("COUNT"), parts.get("UNTIL")
    if count is not None and until is not None:
        found.append("it has both COUNT and UNTIL: leave out one of them")
    if count is not None and not (count.isdecimal() and 1 <= int(count) <= MOST_OCCURRENCES):
        found.append(f"COUNT is {count}: write a whole number from 1 to {MOST_OCCURRENCES}")
    if until is None:
        return found
    match = _UNTIL.fullmatch(until)
    if _DATE.fullmatch(until):
        found.append(f"UNTIL is {until}, and AWX wants a time with the date: write UNTIL={until}T235959")
    elif match is None or not _is_time(match["time"]):
        found.append(f"UNTIL is {until}: write a time like 20271231T235959Z")
    return found


def _is_between(text: str, low: int, high: int, backwards: bool) -> bool:
    if not _NUMBER.fullmatch(text):
        return False
    number = int(text)
    return low <= (abs(number) if backwards else number) <= high


def every(minutes: int, start: str) -> str:
    """The rule of something that happens each so many *minutes*; whole days are counted as days.

    :param start: the first time, in UTC, like ``20260101T000000Z``.
    """
    days, rest = divmod(minutes, MINUTES_OF_A_DAY)
    how_often = f"FREQ=DAILY;INTERVAL={days}" if days and not rest else f"FREQ=MINUTELY;INTERVAL={minutes}"
    return f"DTSTART:{start} RRULE:{how_often}"


def daily(clock: str, minutes_later: int, timezone: str) -> str:
    """The rule of something that happens each day at *clock* (``HH:MM``) and *minutes_later*, the day being a circle.

    :raises ValueError: *clock* is no time of the day.
    """
    match = _CLOCK.fullmatch(clock)
    if match is None:
        raise ValueError(f"{clock!r} is no time of the day: write it like 02:00")
    minutes = (int(match[1]) * 60 + int(match[2]) + minutes_later) % (24 * 60)
    start = (FIRST_DAY + timedelta(minutes=minutes)).strftime("%Y%m%dT%H%M%S")
    where = f":{start}Z" if timezone == "UTC" else f";TZID={timezone}:{start}"
    return f"DTSTART{where} RRULE:FREQ=DAILY;INTERVAL=1"
