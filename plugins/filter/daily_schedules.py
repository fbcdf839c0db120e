# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: daily_schedules
short_description: Make a daily AWX schedule for each of several names, spread over the day
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Makes entries for C(controller_schedules), one for each name, O(minutes_apart) apart.
  - A name that is added at the end does not change the times of the others.
positional: _input, common
options:
  _input:
    description:
      - The names, for instance of disk images.
    type: list
    elements: str
    required: true
  common:
    description:
      - Keys that all entries have. Its C(name) becomes the first part of the name of each entry.
    type: dict
    required: true
  variable:
    description:
      - The variable of C(extra_data) that becomes a list with the name.
    type: str
    required: true
  first:
    description:
      - Time of day of the first entry, C(HH:MM).
    type: str
    default: "02:00"
  minutes_apart:
    description:
      - Minutes between one entry and the next.
    type: int
    default: 20
  timezone:
    description:
      - Time zone of O(first).
    type: str
    default: UTC
seealso:
  - plugin: stackci.nodepool.rrule_problems
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Schedule two images at 2:00 and at 2:30
  ansible.builtin.set_fact:
    schedules: >-
      {{ ['debian-12', 'ubuntu'] | stackci.nodepool.daily_schedules(
         {'name': 'rebuild', 'unified_job_template': 'rebuild'},
         variable='image_names', minutes_apart=30, timezone='Europe/Berlin') }}
"""

RETURN = r"""
_value:
  description: The entries.
  type: list
  elements: dict
  sample:
    - name: rebuild debian-12
      unified_job_template: rebuild
      rrule: DTSTART;TZID=Europe/Berlin:20260101T020000 RRULE:FREQ=DAILY;INTERVAL=1
      extra_data: {image_names: [debian-12]}
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from ansible.errors import AnsibleFilterError

FIRST_DAY = datetime(2026, 1, 1)
"""The day of every DTSTART. It must never change: another day would change every schedule."""
CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)


def daily_schedules(
    names: list[str],
    common: Mapping[str, Any],
    *,
    variable: str,
    first: str = "02:00",
    minutes_apart: int = 20,
    timezone: str = "UTC",
) -> list[dict[str, Any]]:
    """Return an entry of ``controller_schedules`` for each name."""
    try:
        return [
            {
                **common,
                "name": f"{common['name']} {name}",
                "rrule": daily(first, index * int(minutes_apart), timezone),
                "extra_data": {variable: [name]},
            }
            for index, name in enumerate(names)
        ]
    except ValueError as error:
        raise AnsibleFilterError(f"stackci.nodepool.daily_schedules: {error}") from error


def daily(clock: str, minutes_later: int, timezone: str) -> str:
    """Return the rule for a start each day, *minutes_later* minutes after *clock* (``HH:MM``), modulo 24 hours.

    :raises ValueError: when *clock* is no time of the day.
    """
    match = CLOCK.fullmatch(clock)
    if match is None:
        raise ValueError(f"{clock!r} is not a time of day: write it like 02:00")
    minutes = (int(match[1]) * 60 + int(match[2]) + minutes_later) % (24 * 60)
    start = (FIRST_DAY + timedelta(minutes=minutes)).strftime("%Y%m%dT%H%M%S")
    where = f":{start}Z" if timezone == "UTC" else f";TZID={timezone}:{start}"
    return f"DTSTART{where} RRULE:FREQ=DAILY;INTERVAL=1"


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the functions by the names of the filters."""
        return {"daily_schedules": daily_schedules}
