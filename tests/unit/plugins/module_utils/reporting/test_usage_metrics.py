# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gauges of who used what: few series, whatever the names."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.model.day_usage import PARTS, Usage, day_of
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting import metric_catalog as catalog
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.usage_rows import DAYS
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.metric_catalog import Gauges
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.metric_samples import gauges_of
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.usage_metrics import MOST_NAMES
from tests.support.tree_reading import NOW, reading_of

MAIN = "zookeeper-servers: [{host: zk}]\nlabels: []\nproviders: []\n"
BUDGET = "usage-budgets: [{name: t001, hours-per-day: 1}]"


def gauges(usage: Usage) -> Gauges:
    documents = {
        f"{DAYS}/{day_of(NOW)}": usage.document(),
        f"{DAYS}/{day_of(NOW - 86400)}": Usage({("old", "", "", "old", "e", "m"): [9] * 12}).document(),
    }
    return gauges_of(reading_of(documents), parse_config(MAIN, settings_text=BUDGET), NOW)


def test_the_largest_tenants_have_series_of_their_own() -> None:
    usage = Usage()
    for number in range(100):
        key = (f"t{number:03d}", f"p{number}", "j", f"l{number % 3}", "east", "main")
        usage.add(key, used=(1000 - number) * 1000, idle=5000)
    found = gauges(usage)
    by_tenant = found.values[catalog.TENANT_USAGE]
    assert by_tenant["t000", "used"] == 1000 and by_tenant["t019", "idle"] == 5
    assert ("t020", "used") not in by_tenant and by_tenant["other", "idle"] == 5 * 80
    assert len(by_tenant) == 2 * (MOST_NAMES + 1)
    assert sum(by_tenant.values()) == usage.total(*PARTS) / 1000
    assert set(found.values[catalog.LABEL_USAGE]) == {(f"l{n}", part) for n in range(3) for part in ("used", "idle")}


def test_budgets_have_what_was_used_and_the_limit() -> None:
    usage = Usage()
    usage.add(("t001", "", "", "l", "e", "m"), used=7_200_000)
    found = gauges(usage)
    assert found.values[catalog.BUDGET] == {("t001", "day"): 3600}
    assert found.values[catalog.BUDGET_USED] == {("t001", "day"): 7200}
    assert found.values[catalog.ATTENTION]["budget", "warn"] == 1


def test_without_any_usage_there_are_no_series() -> None:
    assert gauges(Usage()).values[catalog.TENANT_USAGE] == {}
