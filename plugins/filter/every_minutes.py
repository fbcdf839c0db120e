# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: every_minutes
short_description: The recurrence rule of an AWX schedule that starts something each so many minutes
version_added: 0.1.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Whole days become C(FREQ=DAILY), anything else C(FREQ=MINUTELY). AWX begins rules of minutes anew each day, seven
    days back, so it would start each day what such a rule asks for every second one.
  - Where the minutes do not divide a day, AWX makes one shorter gap a day. Other rules of more than a day are refused
    by P(stackci.nodepool.rrule_problems#filter).
positional: _input
options:
  _input:
    description:
      - Minutes from one start to the next.
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
- name: The rule of what is started each ten minutes
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
    """The rule; *minutes* may be a text, as ``-e name=value`` gives it."""
    try:
        days, rest = divmod(int(minutes), MINUTES_OF_A_DAY)
    except (TypeError, ValueError) as error:
        raise AnsibleFilterError(
            f"stackci.nodepool.every_minutes: {minutes!r} is no whole number of minutes"
        ) from error
    how_often = f"FREQ=DAILY;INTERVAL={days}" if days and not rest else f"FREQ=MINUTELY;INTERVAL={int(minutes)}"
    return f"DTSTART:{start} RRULE:{how_often}"


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {"every_minutes": every_minutes}
