# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How AWX judges the recurrence rule of a schedule; written apart from what the collection checks.

The order of things is that of ``validate_rrule`` in ``awx/api/serializers.py`` and of ``Schedule.rrulestr`` in
``awx/main/models/schedules.py``: some looks at the text, then python-dateutil.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dateutil.rrule import rrulestr

START = re.compile(r"DTSTART(?:;[^:]+)?:[0-9]+T[0-9]+Z?")
UNTIL = re.compile(r"UNTIL=[0-9]+T[0-9]+(Z?)")
BUSY = "gateway time-out"
"""What comes from the proxy before AWX, when AWX itself does not answer."""


def rrule_problem(rrule: str) -> str | None:
    """The first thing that AWX says about *rrule*; None when it takes it."""
    for problem in (*_text_problems(rrule), *_library_problems(rrule)):
        return problem
    return None


def _text_problems(rrule: str) -> Iterator[str]:
    starts = START.findall(rrule)
    if not starts:
        yield "Valid DTSTART required in rrule. Value should start with: DTSTART:YYYYMMDDTHHMMSSZ"
    if re.search(r"DTSTART:[0-9]+T[0-9]+ ", rrule):
        yield "DTSTART cannot be a naive datetime. Specify ;TZINFO= or YYYYMMDDTHHMMSSZZ."
    if len(starts) > 1:
        yield "Multiple DTSTART is not supported."
    if "rrule:" not in rrule.lower():
        yield "One or more rule required in rrule."
    for name in ("EXDATE", "RDATE"):
        if f"{name}:" in rrule.upper():
            yield f"{name} not allowed in rrule."
    for rule in re.findall(r"RULE:\S*", rrule):
        yield from _rule_problems(rule)


def _rule_problems(rule: str) -> Iterator[str]:
    if "interval" not in rule.lower():
        yield f"INTERVAL required in rrule: {rule}"
    elif "secondly" in rule.lower():
        yield f"SECONDLY is not supported: {rule}"
    if re.search(r"BYDAY[:=][0-9]+[a-zA-Z]{2}", rule):
        yield f"BYDAY with numeric prefix not supported: {rule}"
    if "COUNT" in rule and "UNTIL" in rule:
        yield f"RRULE may not contain both COUNT and UNTIL: {rule}"
    count = re.search(r"COUNT=([0-9]+)", rule)
    if count and int(count[1]) > 999:
        yield f"COUNT > 999 is unsupported: {rule}"


def _library_problems(rrule: str) -> Iterator[str]:
    try:
        words = rrule.split()
        for index, word in enumerate(words):
            if "until=" in word.lower():
                match = UNTIL.search(word)
                # A date alone is no match, and AWX does not look whether there is one.
                words[index] = word if match[1] else UNTIL.sub(lambda found: f"{found[0]}Z", word)  # type: ignore[index]
        rule = rrulestr(" ".join(words), forceset=True)
        if re.search(r"INTERVAL=0+\b", rrule) or next(_some_times(" ".join(words)), None) is None:
            yield BUSY
            return
        first = next(iter(rule), None)
        if first is not None and first.tzinfo is None:
            yield "rrule parsing failed validation: A valid TZID must be provided (e.g., America/New_York)"
    except Exception as error:  # as AWX does it
        yield f"rrule parsing failed validation: {error}"


def _some_times(rrule: str) -> Iterator[object]:
    """Times of the same rule without its end, late in the calendar, where a search that finds nothing ends soon."""
    late = re.sub(r"DTSTART[^:]*:\d{4}(\d{4}T\d{6})Z?", r"DTSTART:9600\1", rrule)
    late = re.sub(r";(UNTIL|COUNT)=[^;\s]*", "", late)
    return iter(rrulestr(late, forceset=True))
