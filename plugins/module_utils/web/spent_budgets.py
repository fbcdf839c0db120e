# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was used of the budgets, for the page and the metrics: computed rarely, as every node is needed for it."""

from __future__ import annotations

from typing import Any

from ..reporting.info.usage_budgets import budget_rows
from .picture import Snapshot

EVERY = 60.0
"""Seconds between two computations. For 10,000 nodes one takes almost half a second of CPU; budgets are in hours."""


def spent_budgets(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return the rows of the budgets. The tree must have been read."""
    return snapshot.picture.remembered.value(
        "budgets",
        (snapshot.config, snapshot.now // EVERY),
        EVERY,
        lambda: budget_rows(snapshot.config, snapshot.reading, snapshot.now),
    )
