# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""/metrics follows the tree, and goes on without ZooKeeper."""

from __future__ import annotations

import json

from ansible_collections.stackci.nodepool.plugins.module_utils.model.counters import LAUNCHES, Counters
from ansible_collections.stackci.nodepool.plugins.module_utils.web.exposition import CONTENT_TYPE
from tests.support.web_case import WebCase

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
