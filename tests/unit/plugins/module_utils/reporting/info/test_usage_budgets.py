# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was used of the budgets of tenants, today and in this month."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.tree import Entry
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.tree_reading import TreeReading
from ansible_collections.stackci.nodepool.plugins.module_utils.model.day_usage import Usage, day_of, start_of
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.usage_budgets import budget_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.usage_rows import DAYS, HOUR, usage_by_day
from tests.support.tree_reading import NOW, reading_of

MAIN = "zookeeper-servers: [{host: zk}]\nlabels: []\nproviders: []\n"
BUDGETS = """
usage-budgets:
  - {name: t1, hours-per-day: 5, hours-per-month: 20}
  - {name: t2, hours-per-month: 10}
  - {name: t3, hours-per-day: 1}
"""


def day(at: float, **hours: float) -> dict[str, object]:
    usage = Usage()
    for tenant, amount in hours.items():
        usage.add((tenant, "", "", "small", "east", "main"), used=int(amount * HOUR) - 1000, held=1000, nodes=3)
    return {f"{DAYS}/{day_of(at)}": usage.document()}


def test_each_budget_has_its_hours_of_the_day_and_the_month() -> None:
    node = {"state": "in-use", "state_time": NOW - 3600, "created_time": NOW - 3600, "type": ["small"]}
    documents = {
        **day(NOW, t1=5, t2=4),
        **day(NOW - 86400, t1=10, t2=6),
        **day(NOW - 40 * 86400, t1=900),
        f"{paths.NODES}/0000000001": {**node, "provider": "east", "pool": "main", "tenant_name": "t1"},
    }
    rows = budget_rows(parse_config(MAIN, settings_text=BUDGETS), reading_of(documents), NOW)
    assert [(row["tenant"], row["period"], row["hours"], row["budget"], row["exceeded"]) for row in rows] == [
        ("t1", "day", 6.0, 5, True),
        ("t1", "month", 16.0, 20, False),
        ("t2", "month", 10.0, 10, False),
        ("t3", "day", 0.0, 1, False),
    ]


def test_nodes_of_tenants_without_a_budget_change_nothing_and_are_left_out() -> None:
    node = {"state": "in-use", "state_time": NOW - 3600, "created_time": NOW - 3600, "type": ["small"]}
    place = {"provider": "east", "pool": "main"}
    tenants = ("t1", "t9", None, 7, "t2")
    nodes = {
        f"{paths.NODES}/{number:010d}": {**node, **place, "tenant_name": tenant}
        for number, tenant in enumerate(tenants)
    }
    config, reading = parse_config(MAIN, settings_text=BUDGETS), reading_of(nodes)
    rows = budget_rows(config, reading, NOW)
    assert rows == budget_rows(config, reading, NOW, usage_by_day(reading, NOW))
    assert [row["hours"] for row in rows] == [1.0, 1.0, 1.0, 0.0]
    assert usage_by_day(reading, NOW, ["t1", "t2"]).days[day_of(NOW)].total("nodes") == 2


def test_days_before_this_month_are_not_read() -> None:
    begun = start_of(f"{day_of(NOW)[:8]}01")
    documents = {**day(NOW, t1=5), **day(begun, t1=2), **day(begun - 1, t1=900)}
    reading, config = reading_of(documents), parse_config(MAIN, settings_text=BUDGETS)
    assert next(row["hours"] for row in budget_rows(config, reading, NOW) if row["period"] == "month") == 7.0
    assert [entry.record is not None for entry in reading_entries(reading)] == [False, True, True]


def reading_entries(reading: TreeReading) -> list[Entry]:
    """What was read of each day, the earliest first."""
    return [entry for _name, entry in reading._tree.documents(DAYS)]


def test_without_budgets_nothing_is_read() -> None:
    class Unread:
        def below(self, root: str) -> object:
            raise AssertionError(root)

    assert budget_rows(parse_config(MAIN), Unread(), NOW) == []  # type: ignore[arg-type]
