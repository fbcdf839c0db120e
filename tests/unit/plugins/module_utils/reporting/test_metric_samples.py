# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The values of metrics, from a tree with something of every kind in it and from odd ones."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.model.counters import (
    LAUNCHES,
    LEAKS_REMOVED,
    MOST_SERIES,
    OTHER,
    REQUEST_READY,
    Counters,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting import metric_catalog as catalog
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.metric_catalog import (
    LONGEST_LABEL,
    Gauges,
    Metric,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.metric_samples import counters_in, gauges_of
from tests.support import populated_tree
from tests.support.config_texts import parse
from tests.support.tree_reading import NOW, populated, reading_of
from tests.support.world import label, provider_document, site

CONFIG = parse(
    site(
        provider_document("west", {"name": "main", "max-servers": 4, "labels": [label("small")]}),
        provider_document("east", {"name": "main", "labels": [label("small")]}),
        min_ready={"small": 3},
    )
)
OWN = paths.OWN


def values(metric: Metric, documents: dict[str, Any] | None = None) -> dict[tuple[str, ...], float]:
    reading = populated() if documents is None else reading_of(documents)
    return gauges_of(reading, CONFIG, NOW).values[metric]


def test_nodes_are_counted_where_they_are():
    found = values(catalog.NODES)
    assert found["west", "main", "small", "ready"] == 1
    assert found["west", "main", "small,big", "in-use"] == 1
    assert found["east", "main", "small", "hold"] == 1
    assert found["", "", "", "unknown"] == 3
    assert sum(found.values()) == 7


def test_requests_are_counted_by_what_they_wait_for():
    found = values(catalog.REQUESTS)
    assert found["requested", "no-room"] == 1
    assert found["pending", ""] == 1 and found["fulfilled", ""] == 1
    assert values(catalog.REQUESTS, {}) == {(state, ""): 0 for state in ("failed", "fulfilled", "pending", "requested")}


def test_the_code_of_a_reason_is_one_of_those_that_there_are():
    request = {"state": "requested", "node_types": ["small"], "created_time": NOW - 5}
    told = {"code": "<script>", "text": "x"}
    documents = {"/nodepool/requests/100-0000000001": request, f"{OWN}/waits/100-0000000001": told}
    assert values(catalog.REQUESTS, documents)["requested", OTHER] == 1


def test_the_oldest_request_of_each_state():
    found = values(catalog.OLDEST_REQUEST)
    assert found["requested",] == pytest.approx(NOW - 400, abs=1)
    assert found["pending",] == pytest.approx(NOW - 35, abs=1)
    assert values(catalog.OLDEST_REQUEST, {}) == {}


def test_quota_is_in_base_units():
    assert values(catalog.QUOTA_LIMIT)["west", "", "instances"] == 10
    assert values(catalog.QUOTA_LIMIT)["west", "", "ram_bytes"] == 40960 * 2**20
    assert values(catalog.QUOTA_LIMIT)["west", "main", "instances"] == 4
    assert values(catalog.QUOTA_USED)["west", "", "ram_bytes"] == 3 * 4096 * 2**20
    assert values(catalog.QUOTA_OTHERS) == {("west", "instances"): 3, ("west", "cores"): 6}
    assert values(catalog.QUOTA_READ) == {("west",): NOW - 12}


def test_freezes_breakers_and_health():
    found = values(catalog.FROZEN)
    assert found["west", "main", "instances"] == 1
    assert found["west", "main", "cores"] == found["east", "main", "instances"] == 0
    assert values(catalog.BREAKER) == {("west", "debian", "small"): 1}
    assert values(catalog.HEALTHY) == {("west",): 0}
    assert values(catalog.PAUSED)["west", "main"] == 1
    assert values(catalog.STUCK)["west",] == 1


def test_a_tree_where_nobody_has_ever_written_needs_attention_as_on_the_screen():
    """The chroot may be wrong."""
    assert values(catalog.ATTENTION, {})["configuration", "bad"] == 1
    assert values(catalog.ATTENTION)["configuration", "bad"] == 0


def test_who_acts():
    assert values(catalog.ACTING) == {("west",): 1, ("east",): 0}
    assert values(catalog.STANDBYS) == {("west",): 0}, "nobody can stand by where nobody acts"
    assert values(catalog.ACTING_INFO)["west", "launcher1"] == 1
    assert list(values(catalog.COMPONENT_INFO)) == [("launcher", "launcher1", "running", "stackci.nodepool")]


def test_who_could_take_over_is_counted():
    standby = {"hostname": "launcher2", "host": "launcher2:/run", "wants": ["west", "east"]}
    documents = populated_tree.documents(NOW) | {f"{OWN}/live-launchers/b0": standby}
    reading = reading_of(documents, populated_tree.locks())
    assert gauges_of(reading, CONFIG, NOW).values[catalog.STANDBYS] == {("west",): 1}


def test_leaks_of_each_kind_that_was_looked_for():
    documents = {
        f"{OWN}/sightings/west": {
            "seen": {"port/a": {"first": NOW}, "port/b": {"first": NOW}, "<odd>/c": {}},
            "looked": {"port": NOW, "server": NOW, "<odd>": 1},
        },
        f"{OWN}/tree-sightings": {"seen": {"request-lock/x": {"first": NOW}}, "looked": {"tree": NOW}},
        f"{OWN}/sightings/gone": {"seen": {"port/a": {"first": NOW}}},
    }
    assert values(catalog.LEAKS, documents) == {
        ("west", "port"): 2,
        ("west", "server"): 0,
        ("west", OTHER): 1,
        ("", "request-lock"): 1,
    }


def test_min_ready_that_is_missing():
    assert values(catalog.LABEL_MISSING) == {("small",): 2}


def counted(count: int) -> dict[str, Any]:
    counters = Counters()
    counters.add(LAUNCHES, "west", "main", "ready", "", amount=count)
    counters.observe(REQUEST_READY, "west", "main", seconds=count)
    return {"host": f"nl{count}", "cycle": "launcher", "ended": NOW - count, "counters": counters.document()}


def test_the_counters_of_all_hosts_are_added_up_and_odd_ones_left_out():
    documents = {
        f"{OWN}/counters/nl1-launcher": counted(1),
        f"{OWN}/counters/nl2-launcher": counted(2),
        f"{OWN}/counters/nl3-launcher": {"counters": {"launches": [[["west", "main", "ready", ""], [-9]]]}},
        f"{OWN}/counters/nl4-launcher": b"nonsense",
    }
    reading = reading_of(documents)
    total = counters_in(reading, CONFIG)
    assert total.series[LAUNCHES.name]["west", "main", "ready", ""] == [3]
    assert sum(total.series[REQUEST_READY.name]["west", "main"][:-1]) == 2
    ends = gauges_of(reading, CONFIG, NOW).values[catalog.CYCLE_END]
    assert ends == {("nl1", "launcher"): NOW - 1, ("nl2", "launcher"): NOW - 2}


def test_counters_of_the_configuration_begin_with_0():
    total = counters_in(reading_of({}), CONFIG)
    assert total.series[LAUNCHES.name]["east", "main", "failed", "no-capacity"] == [0]
    assert total.series[LEAKS_REMOVED.name]["east", "port", "deleted"] == [0]


def test_what_others_write_is_bounded():
    documents = {
        f"/nodepool/nodes/{number:010d}": {"state": "ready", "provider": f"p{number}", "type": "x" * 9999}
        for number in range(MOST_SERIES + 7)
    }
    found = values(catalog.NODES, documents)
    assert len(found) == MOST_SERIES + 1 and found[(OTHER,) * 4] == 7
    assert max(len(text) for labels in found for text in labels) == LONGEST_LABEL


def test_what_cannot_be_encoded_is_replaced():
    gauges = Gauges()
    gauges.set(catalog.STUCK, "a\ud800b", value=1)
    assert list(gauges.values[catalog.STUCK]) == [("a\N{REPLACEMENT CHARACTER}b",)]


def test_the_problems_of_the_files_of_each_cycle():
    beat = {"hostname": "nl01", "cycle": "launcher", "at": NOW}
    documents = {
        f"{OWN}/heartbeats/nl010000000001": {**beat, "config_problems": ["line 14: no such key", "secure.conf: empty"]},
        f"{OWN}/heartbeats/nl010000000002": {**beat, "cycle": "builds", "config_problems": []},
        f"{OWN}/heartbeats/nl020000000003": {**beat, "hostname": "nl02", "config_problems": 7},
        f"{OWN}/heartbeats/nl020000000004": b"nonsense",
    }
    found = values(catalog.CONFIG_PROBLEMS, documents)
    assert found == {("nl01", "launcher"): 2, ("nl01", "builds"): 0, ("nl02", "launcher"): 0}


def test_the_last_sign_of_work_of_each_kind_of_cycle_on_a_host():
    beat = {"hostname": "nl01", "cycle": "launcher", "at": NOW - 99}
    documents = {
        f"{OWN}/heartbeats/nl010000000001": beat,
        f"{OWN}/heartbeats/nl010000000002": {**beat, "cycle": "builds"},
        f"{OWN}/heartbeats/nl010000000003": {"cycle": 7},
        f"{OWN}/heartbeats/nl010000000004": b"nonsense",
    }
    assert values(catalog.CYCLE_HEARTBEAT, documents) == {("nl01", "launcher"): NOW, ("nl01", "builds"): NOW}
