# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: every_minutes
short_description: Make the recurrence rule of an AWX schedule from an interval in minutes
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Whole days become C(FREQ=DAILY), other intervals C(FREQ=MINUTELY). AWX counts rules of minutes anew from each day,
    seven days back, so a rule of minutes for every second day would start jobs each day.
  - When the minutes do not divide a day, AWX makes one shorter interval a day. The filter
    P(stackci.nodepool.rrule_problems#filter) refuses other rules of more than a day.
positional: _input
options:
  _input:
    description:
      - Minutes between two starts.
    type: int
    required: true
  start:
    description:
      - The first time, in UTC.
    type: str
    default: 20260101T000000Z
seealso:
  - plugin: stackci.nodepool.rrule_problems
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Show the rule for every ten minutes
  ansible.builtin.debug:
    msg: "{{ 10 | stackci.nodepool.every_minutes }}"
"""

RETURN = r"""
_value:
  description: The rule.
  type: str
  sample: DTSTART:20260101T000000Z RRULE:FREQ=MINUTELY;INTERVAL=10
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

MINUTES_OF_A_DAY = 24 * 60


def every_minutes(minutes: Any, start: str = "20260101T000000Z") -> str:
    """Return the rule; *minutes* may be a string, as ``-e name=value`` gives it."""
    try:
        days, rest = divmod(int(minutes), MINUTES_OF_A_DAY)
    except (TypeError, ValueError) as error:
        raise AnsibleFilterError(
            f"stackci.nodepool.every_minutes: {minutes!r} is not a whole number of minutes"
        ) from error
    how_often = f"FREQ=DAILY;INTERVAL={days}" if days and not rest else f"FREQ=MINUTELY;INTERVAL={int(minutes)}"
    return f"DTSTART:{start} RRULE:{how_often}"


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the functions by the names of the filters."""
        return {"every_minutes": every_minutes}
