# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Alert rules, dashboard and docs/monitoring.md agree with the metrics that there are; promtool judges them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.causes import CAUSES
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.metric_catalog import (
    ATTENTION,
    BUDGET,
    BUDGET_USED,
    FAILED_CALLS,
    HISTOGRAM,
    LABEL_USAGE,
    METRICS,
    PREFIX,
    STANDBYS,
    TENANT_USAGE,
    Metric,
)

ROOT = Path(__file__).resolve().parents[2]
ALERTS = ROOT / "docs/monitoring/alerts.yml"
ALERT_TESTS = ROOT / "tests/unit/monitoring/alerts_test.yml"
DASHBOARD = ROOT / "docs/monitoring/dashboard.json"
PAGE = ROOT / "docs/monitoring.md"

NAME = re.compile(rf"\b{PREFIX}[a-z_]+\b")
GROUPED = re.compile(r"\b(?:by|on|group_left)\s*\(([^)]*)\)")
MATCHED = re.compile(r"([a-z_]+)\s*(?:=~|!~|!=|=)\s*\"")
promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is missing: Debian's package prometheus has it, see bindep.txt"
)


def by_name() -> dict[str, Metric]:
    """Metrics by each name under which a query may ask for them."""
    names = {}
    for metric in METRICS:
        for part in ("_bucket", "_sum", "_count") if metric.kind == HISTOGRAM else ("",):
            names[metric.full_name + part] = metric
    return names


def rules() -> list[dict[str, Any]]:
    """All alert rules."""
    return [rule for group in yaml.safe_load(ALERTS.read_text("utf-8"))["groups"] for rule in group["rules"]]


def queries_of(dashboard: dict[str, Any]) -> Iterator[str]:
    """All queries of its panels and variables."""
    for panel in dashboard["panels"]:
        yield from (target["expr"] for target in panel.get("targets", ()))
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]["query"]


@pytest.fixture(scope="module")
def queries() -> list[str]:
    """Everything that Prometheus is asked."""
    return [*queries_of(json.loads(DASHBOARD.read_text("utf-8"))), *(rule["expr"] for rule in rules())]


ALERT_OF_CAUSE = {
    "configuration": "NodepoolConfigurationUnused",
    "no-launcher": "NodepoolNoLauncher",
    "provider": "NodepoolProviderTrouble",
    "label-unserved": "NodepoolNeedsAttention",
    "requests-failed": "NodepoolNeedsAttention",
    "build": "NodepoolBuildsFailing",
    "upload": "NodepoolUploadsFailing",
    "build-unused": "NodepoolBuildNotUsed",
    "gate-rejected": "NodepoolGateRejected",
    "gate-inconclusive": "NodepoolGateInconclusive",
    "gate-flaky": "NodepoolGateFlaky",
    "gate-held": "NodepoolNeedsAttention",
    "clock": "NodepoolNeedsAttention",
    "metrics": "NodepoolNeedsAttention",
    "no-standby": "NodepoolNoStandby",
    "wasted": "NodepoolServersInVain",
    "flapping": "NodepoolProviderFlaps",
    "requests-wait": "NodepoolRequestsWaiting",
    "freeze": "NodepoolPoolFrozen",
    "breaker": "NodepoolNeedsAttention",
    "min-ready": "NodepoolNeedsAttention",
    "stuck": "NodepoolNeedsAttention",
    "stale": "NodepoolImageTooOld",
    "no-upload": "NodepoolNeedsAttention",
    "budget": "NodepoolBudgetExceeded",
    "record": "NodepoolNeedsAttention",
}
"""Cause of a row of the first screen → the alert that tells it. Each cause has a paragraph and a metric, too."""


def run(*arguments: str | Path) -> None:
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_query_names_metrics_that_there_are(queries):
    known = by_name()
    assert len(queries) > 30
    assert {name for query in queries for name in NAME.findall(query)} - set(known) == set()
    assert [query for query in queries if not NAME.findall(query)] == []


def test_every_query_names_labels_that_its_metrics_have(queries):
    known, odd = by_name(), []
    for query in queries:
        there = {label for name in NAME.findall(query) for label in known[name].labels} | {"le"}
        asked = {label.strip() for group in GROUPED.findall(query) for label in group.split(",")} - {""}
        asked |= set(MATCHED.findall(query))
        odd += [(query, label) for label in asked - there]
    assert odd == []


def test_every_metric_is_of_use_in_a_query_or_explained(queries):
    asked = {name for query in queries for name in NAME.findall(query)}
    page = PAGE.read_text("utf-8")
    known = by_name()
    assert [name for name in known if name not in asked and known[name].full_name not in page] == []


@promtool
def test_the_alert_rules_are_rules():
    run("check", "rules", ALERTS)


@promtool
def test_each_alert_fires_when_it_should():
    run("test", "rules", ALERT_TESTS)


def test_each_alert_has_a_test_in_which_it_fires_and_one_in_which_it_does_not():
    fires: set[str] = set()
    silent: set[str] = set()
    for case in yaml.safe_load(ALERT_TESTS.read_text("utf-8"))["tests"]:
        for check in case["alert_rule_test"]:
            (fires if check.get("exp_alerts") else silent).add(check["alertname"])
    assert fires == silent == {rule["alert"] for rule in rules()}


@promtool
def test_the_queries_of_the_dashboard_are_queries(tmp_path):
    found = [query for query in queries_of(json.loads(DASHBOARD.read_text("utf-8"))) if "label_values" not in query]
    replaced = [query.replace("$__rate_interval", "5m").replace("$provider", ".*") for query in found]
    assert not [query for query in replaced if "$" in query]
    group = {"name": "dashboard", "rules": [{"record": f"q:{at}", "expr": text} for at, text in enumerate(replaced)]}
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [group]}), "utf-8")
    run("check", "rules", "--lint=none", tmp_path / "rules.yml")


def test_the_dashboard_is_one():
    dashboard = json.loads(DASHBOARD.read_text("utf-8"))
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    taken = [
        (x, y)
        for panel in dashboard["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(set(taken)) == len(taken) and max(x for x, _y in taken) < 24
    assert all(panel["datasource"]["uid"] == "${datasource}" and panel["title"] for panel in panels)


def table_line(metric: Metric) -> str:
    """A metric as docs/monitoring.md has it."""
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{metric.full_name}` | {metric.kind} | {labels} | {metric.text} |"


def test_the_page_has_a_line_for_each_metric():
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith(f"| `{PREFIX}")]
    assert lines == [table_line(metric) for metric in METRICS]


def test_each_cause_of_the_first_screen_has_an_alert_that_there_is():
    assert list(ALERT_OF_CAUSE) == list(CAUSES)
    assert set(ALERT_OF_CAUSE.values()) <= {rule["alert"] for rule in rules()}
    (needs,) = (rule["expr"] for rule in rules() if rule["alert"] == "NodepoolNeedsAttention")
    (asked,) = re.findall(r'cause=~"([^"]+)"', needs)
    assert asked.split("|") == [cause for cause, alert in ALERT_OF_CAUSE.items() if alert == "NodepoolNeedsAttention"]


def test_the_dashboard_shows_attention_failed_calls_usage_and_budgets():
    asked = " ".join(queries_of(json.loads(DASHBOARD.read_text("utf-8"))))
    wanted = (ATTENTION, FAILED_CALLS, STANDBYS, TENANT_USAGE, LABEL_USAGE, BUDGET, BUDGET_USED)
    assert [metric.full_name for metric in wanted if metric.full_name not in asked] == []


def test_the_page_has_a_remedy_for_each_alert():
    rows = re.findall(r"^\| `(Nodepool\w+)` \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert rows == [rule["alert"] for rule in rules()]
