# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The budgets on the page and in the metrics are computed together, and rarely."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.model.day_usage import Usage, day_of
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info import usage_budgets
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.usage_rows import DAYS, usage_by_day
from ansible_collections.stackci.nodepool.plugins.module_utils.web.spent_budgets import EVERY
from tests.support.tree_reading import NOW
from tests.support.web_case import WebCase

CONFIG = parse_config(
    "zookeeper-servers: [{host: zk}]\nlabels: []\nproviders: []\n",
    settings_text="usage-budgets: [{name: acme, hours-per-day: 1}]",
)
SPENT = 'stackci_nodepool_tenant_budget_used_seconds{period="day",tenant="acme"} '


@pytest.fixture(name="reads")
def counted_reads(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    found: list[float] = []

    def counting(reading: Any, now: float, *which: Any) -> Any:
        found.append(now)
        return usage_by_day(reading, now, *which)

    monkeypatch.setattr(usage_budgets, "usage_by_day", counting)
    return found


def used(hours: int) -> bytes:
    usage = Usage()
    usage.add(("acme", "", "", "l", "e", "m"), used=hours * 3_600_000)
    return json.dumps(usage.document()).encode()


def test_page_and_metrics_share_what_is_computed_once_in_a_minute(reads: list[float]) -> None:
    case = WebCase({}, config=CONFIG)
    day = f"{DAYS}/{day_of(NOW)}"
    case.now = NOW - NOW % EVERY + 1
    case.session.put(day, used(2))
    assert f"{SPENT}7200.0" in case.get("/metrics").text
    assert "2.0 node-hours of 1 used today" in case.get("/").text
    case.session.put(day, used(3))
    case.now += 20
    assert f"{SPENT}7200.0" in case.get("/metrics").text and len(reads) == 1
    case.now += EVERY
    assert f"{SPENT}10800.0" in case.get("/metrics").text
    assert "3.0 node-hours of 1 used today" in case.get("/").text and len(reads) == 2


def test_other_budgets_are_used_at_once(reads: list[float]) -> None:
    case = WebCase({}, config=CONFIG)
    case.get("/metrics")
    text = "usage-budgets: [{name: other, hours-per-day: 1}]"
    case.picture.configure(
        parse_config("zookeeper-servers: [{host: zk}]\nlabels: []\nproviders: []\n", settings_text=text)
    )
    case.now += 1
    assert 'tenant="other"' in case.get("/metrics").text and len(reads) == 2
