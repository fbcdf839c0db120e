# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of the page about usage."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.model.day_usage import Usage, day_of
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.usage_rows import DAYS, HOUR
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.usage_tables import MOST, usage_tables
from tests.support.tree_reading import NOW, reading_of

MAIN = "zookeeper-servers: [{host: zk}]\nlabels: [{name: small, min-ready: 2}]\nproviders: []\n"
BUDGETS = "usage-budgets: [{name: t0, hours-per-day: 1}]"


def used(count: int) -> dict[str, object]:
    today, before = Usage(), Usage()
    for number in range(count):
        today.add((f"t{number}", "", "", "small", "east", "main"), used=2 * HOUR, nodes=1, cold=1, cold_wait=30_000)
    today.add(("", "", "", "small", "east", "main"), idle=HOUR)
    before.add(("t0", "", "", "small", "east", "main"), held=5 * HOUR, nodes=1, warm=1, warm_wait=1000)
    return {f"{DAYS}/{day_of(NOW)}": today.document(), f"{DAYS}/{day_of(NOW - 5 * 86400)}": before.document()}


def test_today_and_a_week_by_tenant_with_budgets_and_warmth() -> None:
    found = usage_tables(parse_config(MAIN, settings_text=BUDGETS), reading_of(used(2)), NOW)
    today, week = found["periods"]
    assert [(row["tenant"], row["hours"]) for row in today["rows"]] == [("t0", 2.0), ("t1", 2.0), ("", 1.0)]
    assert (week["rows"][0]["tenant"], week["rows"][0]["hours"], week["total"]) == ("t0", 7.0, 10.0)
    assert found["budgets"][0]["exceeded"] is True
    (label,) = found["warmth"]
    assert (label["min_ready"], label["idle_hours"], label["saved_seconds"]) == (2, 1.0, 29.0)


def test_many_tenants_are_cut_and_counted() -> None:
    today = usage_tables(parse_config(MAIN), reading_of(used(100)), NOW)["periods"][0]
    assert len(today["rows"]) == MOST and today["count"] == 101 and today["total"] == 201.0


def test_a_tree_without_usage_says_so() -> None:
    found = usage_tables(parse_config(MAIN), reading_of({}), NOW)
    assert [one["rows"] for one in found["periods"]] == [[], []] and found["budgets"] == [] == found["warmth"]
