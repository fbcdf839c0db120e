# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prometheus' text format: judged by promtool, read again by the library, and hostile names stay names."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.tree import Tree
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.tree_reading import TreeReading
from ansible_collections.stackci.nodepool.plugins.module_utils.model.counters import (
    API_CALLS,
    IMAGE_BUILD,
    LAUNCHES,
    REQUEST_READY,
    Counters,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.metric_catalog import (
    HISTOGRAM,
    METRICS,
    PREFIX,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.web.exposition import CONTENT_TYPE, exposition
from tests.support import populated_tree
from tests.support.config_texts import parse
from tests.support.tree_reading import NOW, reading_of
from tests.support.web_case import WebCase
from tests.support.world import label, provider_document, site

CONFIG = parse(site(provider_document("west", {"name": "main", "max-servers": 4, "labels": [label("small")]})))
HOSTILE = 'a"b\\c\nd</script>{} 9'


def reading(more: dict[str, Any] | None = None) -> TreeReading:
    counters = Counters()
    counters.add(LAUNCHES, "west", "main", "ready", "", amount=7)
    counters.add(API_CALLS, "west", "POST", "/servers", "202", amount=9)
    counters.observe(REQUEST_READY, "west", "main", seconds=12.5)
    counters.observe(REQUEST_READY, "west", "main", seconds=5000)
    counters.observe(IMAGE_BUILD, HOSTILE, "ready", seconds=100)
    document = {"host": "nl1", "cycle": "launcher", "ended": NOW, "counters": counters.document()}
    documents = {**populated_tree.documents(NOW), f"{paths.OWN}/counters/nl1-launcher": document, **(more or {})}
    return reading_of(documents, populated_tree.locks())


def families(text: bytes) -> dict[str, Any]:
    return {family.name: family for family in text_string_to_metric_families(text.decode())}


def test_every_metric_is_there_with_its_kind_and_text():
    found = families(exposition(reading(), CONFIG, NOW))
    for metric in METRICS:
        family = found[metric.full_name.removesuffix("_total")]
        assert (family.type, family.documentation) == (metric.kind, metric.text)
    assert len(found) == len(METRICS)


def test_values_counters_and_buckets():
    samples = {
        (sample.name.removeprefix(PREFIX), *sorted(sample.labels.items())): sample.value
        for family in families(exposition(reading(), CONFIG, NOW)).values()
        for sample in family.samples
    }

    def value(name: str, **labels: str) -> float:
        return float(samples[name, *sorted(labels.items())])

    pool = {"provider": "west", "pool": "main"}
    assert value("launches_total", **pool, result="ready", reason="") == 7
    assert value("launches_total", **pool, result="failed", reason="fault") == 0
    assert value("api_calls_total", provider="west", method="POST", resource="/servers", status="202") == 9
    buckets = [value("request_ready_seconds_bucket", **pool, le=bound) for bound in ("10.0", "15.0", "1800.0", "+Inf")]
    assert buckets == [0, 1, 1, 2]
    assert value("request_ready_seconds_count", **pool) == 2
    assert value("request_ready_seconds_sum", **pool) == 5012.5
    assert value("zookeeper_connected") == 1
    assert value("image_build_seconds_count", image=HOSTILE.replace("\n", " "), result="ready") == 1


def test_buckets_never_fall():
    for family in families(exposition(reading(), CONFIG, NOW)).values():
        if family.type == HISTOGRAM:
            rows: dict[tuple[str, ...], list[float]] = {}
            for sample in family.samples:
                if sample.name.endswith("_bucket"):
                    rows.setdefault(tuple(sample.labels.values())[:-1], []).append(sample.value)
            assert all(row == sorted(row) for row in rows.values())


def test_without_zookeeper_the_last_state_is_shown_and_its_time():
    found = families(exposition(reading(), CONFIG, NOW, connected=False, age=90.0))
    assert found[f"{PREFIX}zookeeper_connected"].samples[0].value == 0
    assert found[f"{PREFIX}zookeeper_last_contact_timestamp_seconds"].samples[0].value == NOW - 90
    assert found[f"{PREFIX}nodes"].samples


def test_before_the_first_contact_nothing_is_said_of_the_tree():
    found = families(exposition(TreeReading(Tree()), CONFIG, NOW, connected=False, age=None))
    assert {name for name, family in found.items() if family.samples} == {f"{PREFIX}zookeeper_connected"}


def test_the_files_of_the_web_service_itself_are_told_without_a_tree_too():
    text = exposition(TreeReading(Tree()), CONFIG, NOW, connected=False, age=None, file_problems={"nw01": ["line 14"]})
    (sample,) = families(text)[f"{PREFIX}config_problems"].samples
    assert (sample.labels, sample.value) == ({"host": "nw01", "cycle": "web"}, 1)


def test_the_files_of_the_web_service_itself_need_attention_also_where_no_cycle_runs():
    for problems, value in (([], 0), (["line 14"], 1)):
        found = families(exposition(reading(), CONFIG, NOW, file_problems={"nw01": problems}))
        samples = found[f"{PREFIX}attention"].samples
        assert [sample.value for sample in samples if sample.labels["cause"] == "configuration"] == [value]


def test_the_same_tree_is_told_in_the_same_words():
    assert exposition(reading(), CONFIG, NOW) == exposition(reading(), CONFIG, NOW)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is missing: Debian's package prometheus has it")
def test_promtool_finds_nothing_wrong():
    hostile = {"state": "ready", "provider": HOSTILE, "pool": "\ud800", "type": [HOSTILE]}
    text = exposition(reading({"/nodepool/nodes/0000000077": hostile}), CONFIG, NOW)
    judged = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=60, check=False)
    assert (judged.returncode, judged.stdout + judged.stderr) == (0, b"")


# -- /metrics follows the tree, and goes on without ZooKeeper ---------------------------------------------------------

READY = 'stackci_nodepool_launches_total{pool="main",provider="west",reason="",result="ready"}'


def line(case: WebCase, name: str) -> float | None:
    """The value of a series; None when there is none."""
    answer = case.get("/metrics")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, CONTENT_TYPE)
    found = [text for text in answer.text.splitlines() if text.startswith(f"{name} ")]
    return float(found[0].rpartition(" ")[2]) if found else None


def store(case: WebCase, count: int) -> None:
    """What a cycle does."""
    counters = Counters()
    counters.add(LAUNCHES, "west", "main", "ready", "", amount=count)
    path = "/nodepool/stackci/counters/nl1-launcher"
    case.session.put(path, json.dumps({"counters": counters.document()}).encode())
    case.now += 2


def test_counters_and_gauges_follow_the_tree():
    case = WebCase()
    store(case, 3)
    assert line(case, READY) == 3
    store(case, 4)
    assert line(case, READY) == 4
    assert line(case, 'stackci_nodepool_requests{reason="no-room",state="requested"}') == 1


def test_it_goes_on_without_zookeeper_and_says_so():
    case = WebCase()
    store(case, 3)
    assert line(case, "stackci_nodepool_zookeeper_connected") == 1
    contact = case.now
    case.lose()
    case.now += 60
    assert line(case, "stackci_nodepool_zookeeper_connected") == 0
    assert line(case, "stackci_nodepool_zookeeper_last_contact_timestamp_seconds") == contact
    assert line(case, READY) == 3


def test_ages_of_requests_are_points_in_time_that_stay():
    case = WebCase()
    before = line(case, 'stackci_nodepool_request_oldest_timestamp_seconds{state="pending"}')
    case.now += 100
    assert before is not None
    assert line(case, 'stackci_nodepool_request_oldest_timestamp_seconds{state="pending"}') == before
