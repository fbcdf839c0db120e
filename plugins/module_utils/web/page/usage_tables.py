# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of the page about usage: by tenant for today and the last seven days, budgets, ready nodes by label."""

from __future__ import annotations

from typing import Any

from ...clients.zookeeper.tree_reading import TreeReading
from ...model.config.types import NodepoolConfig
from ...model.day_usage import PARTS
from ...reporting.info.usage_budgets import budget_rows
from ...reporting.info.usage_rows import HOUR, period, rows_of, usage_by_day, warmth_rows

PERIODS = {"Today": 1, "Last 7 days": 7}
"""Title → number of days, of which today is the last."""
MOST = 30
"""Rows of a table."""


def usage_tables(config: NodepoolConfig, reading: TreeReading, now: float) -> dict[str, Any]:
    """Return what the template shows."""
    used, periods = usage_by_day(reading, now), []
    for title, days in PERIODS.items():
        usage = used.between(*period(now, days, None, None))
        rows = [row for row in rows_of(usage, ("tenant",)) if row["hours"] or row["nodes"]]
        total = round(usage.total(*PARTS) / HOUR, 1)
        periods.append({"title": title, "rows": rows[:MOST], "count": len(rows), "total": total})
    min_ready = {name: label.min_ready for name, label in config.labels.items()}
    week = used.between(*period(now, PERIODS["Last 7 days"], None, None))
    return {
        "periods": periods,
        "budgets": budget_rows(config, reading, now, used)[:MOST],
        "warmth": warmth_rows(week, min_ready)[:MOST],
    }
