# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Budgets of tenants: what was used of them today and in this month."""

from __future__ import annotations

from typing import Any

from ...clients.zookeeper.tree_reading import TreeReading
from ...model.config.types import NodepoolConfig
from ...model.day_usage import PARTS, Usage, day_of
from .usage_rows import HOUR, Used, usage_by_day

DAY, MONTH = "day", "month"
WHEN = {DAY: "today", MONTH: "this month"}


def budget_rows(
    config: NodepoolConfig, reading: TreeReading, now: float, used: Used | None = None
) -> list[dict[str, Any]]:
    """Return a row for each budget of a day or a month, with the nodes that exist.

    :param used: the usage, if it was read already; without budgets it is not read.
    """
    if not config.usage_budgets:
        return []
    tenants = {budget.name for budget in config.usage_budgets.values()}
    today = day_of(now)
    first = {DAY: today, MONTH: f"{today[:8]}01"}
    used = used or usage_by_day(reading, now, tenants, first[MONTH])
    spent = {period: _hours_by_tenant(used.between(first[period], today)) for period in (DAY, MONTH)}
    return [
        {
            "tenant": budget.name,
            "period": period,
            "hours": round(spent[period].get(budget.name, 0.0), 4),
            "budget": limit,
            "exceeded": spent[period].get(budget.name, 0.0) > limit,
        }
        for budget in config.usage_budgets.values()
        for period, limit in ((DAY, budget.hours_per_day), (MONTH, budget.hours_per_month))
        if limit
    ]


def _hours_by_tenant(usage: Usage) -> dict[str, float]:
    return {key[0]: sum(amounts[: len(PARTS)]) / HOUR for key, amounts in usage.by("tenant").rows.items()}
