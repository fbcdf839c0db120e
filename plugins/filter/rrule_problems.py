# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: rrule_problems
short_description: What is wrong with the recurrence rule of an AWX schedule
version_added: 1.0.0
author:
  - The stackci.nodepool contributors (@stackci)
description:
  - Says all that would make AWX refuse a recurrence rule, hang with it, or start things more often than it says, before
    the rule is sent.
  - The rule is read by python-dateutil, as AWX does it. Besides, AWX wants exactly one C(DTSTART) with a time zone, one
    or more C(RRULE) or C(EXRULE) with C(FREQ) of at least a minute and C(INTERVAL) of at least 1, C(COUNT) up to 999
    and not together with C(UNTIL), a time of the day in C(UNTIL), a sign before the number of the first weekday, as in
    C(+1MO), and neither C(EXDATE) nor C(RDATE).
  - Rules that never fire are refused, because AWX would search for their first time for ever.
  - AWX begins rules with C(FREQ=MINUTELY) and C(FREQ=HOURLY) anew each day, seven days back. Those with an interval of
    more than a day are refused; those whose interval does not divide a day are not, and have one shorter gap a day.
    So it does with every other rule of the same schedule, which is refused unless it names its days.
requirements:
  - python-dateutil >= 2.8.2
positional: _input
options:
  _input:
    description:
      - The rule.
    type: str
    required: true
seealso:
  - plugin: stackci.nodepool.daily_schedules
    plugin_type: filter
  - plugin: stackci.nodepool.every_minutes
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Refuse rules that AWX would refuse
  ansible.builtin.assert:
    that: item.rrule | stackci.nodepool.rrule_problems == []
    fail_msg: "{{ item.name }}: {{ item.rrule | stackci.nodepool.rrule_problems | join('; ') }}"
  loop: "{{ controller_schedules }}"
"""

RETURN = r"""
_value:
  description: The problems, each with what to write instead; empty when there are none.
  type: list
  elements: str
  sample:
    - "RRULE:FREQ=DAILY: INTERVAL is missing: write INTERVAL=1"
"""

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.stackci.nodepool.plugins.module_utils.clients import recurrence
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import MissingLibraryError


def rrule_problems(text: Any) -> list[str]:
    """Return the problems of a rule."""
    if not isinstance(text, str):
        raise AnsibleFilterError(f"stackci.nodepool.rrule_problems: {text!r} is not a text")
    try:
        return recurrence.problems(text)
    except MissingLibraryError as error:
        raise AnsibleFilterError(
            f"stackci.nodepool.rrule_problems: {error}: install it with pip, python-dateutil>=2.8.2"
        ) from error


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the functions by the names of the filters."""
        return {"rrule_problems": rrule_problems}
