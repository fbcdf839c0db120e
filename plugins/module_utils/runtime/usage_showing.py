# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that shows who used what."""

from __future__ import annotations

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..model.day_usage import AMOUNTS, FIELDS, start_of
from ..model.errors import ConfigError
from ..reporting.info.names import LAUNCHERS
from ..reporting.info.usage_budgets import budget_rows
from ..reporting.info.usage_rows import MOVES, ROOTS, csv_of, figures, only, period, rows_of, usage_by_day, warmth_rows
from .arguments import NAMES, load
from .looking import VIEW_ARGUMENTS, read_tree, tree_result

PLURALS = {name: f"{name}s" for name in FIELDS}
"""Field of the usage → option that chooses some of its values."""
MOST_DAYS = 36_500
USAGE_INFO_ARGUMENTS: dict[str, Any] = {
    **VIEW_ARGUMENTS,
    "days": {"type": "int", "default": 7},
    "first": {"type": "str"},
    "last": {"type": "str"},
    "group_by": {"type": "list", "elements": "str", "default": ["tenant"], "choices": ["day", *FIELDS]},
    **dict.fromkeys(PLURALS.values(), NAMES),
}


def usage_info(module: AnsibleModule) -> dict[str, Any]:
    """Return the usage of a period, grouped as the options say."""
    config, params, now = load(module), module.params, time.time()
    if not 1 <= params["days"] <= MOST_DAYS:
        raise ConfigError([f"days is {params['days']}: give a number from 1 to {MOST_DAYS}"])
    first, last = _period(now, params)
    reading = read_tree(module, config, (*ROOTS, *LAUNCHERS), locks=(), moves=MOVES)
    used = usage_by_day(reading, now)
    wanted = {name: params[option] for name, option in PLURALS.items()}
    chosen = {day: only(usage, wanted) for day, usage in used.days.items() if first <= day <= last}
    total = only(used.between(first, last), wanted)
    names = [name for name in FIELDS if name in params["group_by"]]
    by_day = "day" in params["group_by"]
    each = sorted(chosen.items()) if by_day else [(None, total)]
    rows = [{"day": day, **row} for day, usage in each for row in rows_of(usage, names)]
    columns = ["day", *names] if by_day else names
    min_ready = {name: label.min_ready for name, label in config.labels.items()}
    result = {
        "first": first,
        "last": last,
        "since": start_of(first),
        "rows": rows,
        "total": figures({name: total.total(name) for name in AMOUNTS}),
        "warmth": warmth_rows(total, min_ready),
        "budgets": budget_rows(config, reading, now, used),
        "csv": csv_of(rows, columns),
        "problems": used.problems,
    }
    return tree_result(module, reading, result)


def _period(now: float, params: dict[str, Any]) -> tuple[str, str]:
    """Return the first and the last day.

    :raises ConfigError: an option is no day.
    """
    try:
        return period(now, params["days"], params["first"], params["last"])
    except (ValueError, OverflowError) as problem:
        raise ConfigError([f"first, last: {problem}; days are given as 2026-11-25"]) from problem
