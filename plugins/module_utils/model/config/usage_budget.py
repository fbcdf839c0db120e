# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The budget of a tenant: node-hours that are told when they are exceeded. nodepool-settings.yaml has it."""

from __future__ import annotations

from dataclasses import dataclass

from .option_kinds import count, needed_text
from .options import SETTINGS, section

OURS_ONLY = (SETTINGS,)


@section("budget", "Node-hours that a tenant should not exceed; it is told, and nothing is enforced.")
@dataclass(frozen=True)
class UsageBudget:
    """The budget of one tenant; 0 for none."""

    name: str = needed_text("Name of the tenant.", files=OURS_ONLY)
    hours_per_day: int = count("Node-hours of a day (UTC); 0 for no limit.", 0, unit="node-hours", files=OURS_ONLY)
    hours_per_month: int = count(
        "Node-hours of a calendar month; 0 for no limit.", 0, unit="node-hours", files=OURS_ONLY
    )
