# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gauges of who used what today, and of budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..clients.zookeeper.tree_reading import TreeReading
from ..model.counters import OTHER
from ..model.day_usage import PARTS, Usage, day_of
from . import metric_catalog as catalog
from .info.usage_rows import DAYS, usage_of
from .metric_catalog import Gauges, Metric

MOST_NAMES = 20
"""Tenants, and labels, that have series of their own: those with the most node-hours today."""
HOUR_SECONDS = 3600


def add_usage(gauges: Gauges, reading: TreeReading, budgets: Sequence[Mapping[str, Any]], now: float) -> None:
    """Add the usage of today and the budgets."""
    today = reading.one(f"{DAYS}/{day_of(now)}")
    usage = today.fact(usage_of)[0] if today is not None else Usage()
    _add_by(gauges, catalog.TENANT_USAGE, usage.by("tenant"))
    _add_by(gauges, catalog.LABEL_USAGE, usage.by("label"))
    for row in budgets:
        gauges.set(catalog.BUDGET, row["tenant"], row["period"], value=row["budget"] * HOUR_SECONDS)
        gauges.set(catalog.BUDGET_USED, row["tenant"], row["period"], value=row["hours"] * HOUR_SECONDS)


def _add_by(gauges: Gauges, metric: Metric, usage: Usage) -> None:
    """Add the seconds by name and part; all names after the first MOST_NAMES are ``other``."""
    most = sorted(usage.rows.items(), key=lambda row: (-sum(row[1][: len(PARTS)]), row[0]))
    for place, (key, amounts) in enumerate(most):
        name = key[0] if place < MOST_NAMES else OTHER
        for part, amount in zip(PARTS, amounts, strict=False):
            if amount:
                gauges.add(metric, name, part, value=amount / 1000)
