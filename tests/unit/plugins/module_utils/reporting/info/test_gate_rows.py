# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the gate of an image says, on the page and in the metrics."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.explain import explanation
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.gate_rows import gate_row
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.request_rows import request_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.metric_samples import gauges_of
from tests.support.config_texts import parse
from tests.support.tree_reading import reading_of

NOW = 1_700_000_000.0
BUILD = "7f" * 16
CONFIG = parse(
    {
        "zookeeper-servers": [{"host": "zk"}],
        "labels": [{"name": "small"}],
        "diskimages": [{"name": "tiny"}],
        "providers": [{"name": "west", "cloud": "west", "diskimages": [{"name": "tiny"}]}],
    }
)
FAILED = {"kind": "canary", "passed": False, "reason": "no DNS", "at": NOW - 30, "log": "/var/log/gates/a-1.log"}
PASSED = {**FAILED, "passed": True, "reason": "", "at": NOW - 10, "log": "/var/log/gates/a-2.log"}


def tree(gate: dict[str, Any] | None, *, built: bool = True, **more: Any) -> Any:
    found: dict[str, Any] = {}
    if built:
        found[f"/nodepool/images/tiny/builds/{BUILD}"] = {"state": "ready", "state_time": NOW - 100}
    if gate is not None:
        record = {"build": BUILD, "upload": "0000000001", "since": NOW - 60, **gate}
        found["/nodepool/stackci/image-gates/west/tiny"] = record
    return reading_of({**found, **more})


@pytest.mark.parametrize(
    ("gate", "state", "log", "seconds"),
    [
        ({"note": "waits for a node"}, "waiting", 0, 60),
        ({"round": 1, "results": [FAILED]}, "inconclusive", 1, 30),
        ({"outcome": "passed", "results": [PASSED]}, "passed", 2, 10),
        ({"outcome": "passed", "results": [FAILED, PASSED]}, "flaky", 1, 10),
        ({"outcome": "rejected", "results": [FAILED, {**PASSED, "kind": "control"}, FAILED]}, "rejected", 1, 30),
        ({"outcome": "rejected", "results": [{**FAILED, "log": ""}]}, "rejected", 0, 30),
    ],
)
def test_a_row_says_what_the_gate_has_shown(gate: dict[str, Any], state: str, log: int, seconds: float) -> None:
    reading = tree(gate)
    row = gate_row(reading, "west", "tiny", NOW)
    assert row is not None
    assert (row["build_id"], row["state"], row["log"], row["age"]) == (BUILD, state, log, seconds)
    values = gauges_of(reading, CONFIG, NOW).values
    (found,) = [known for metric, known in values.items() if metric.name == "image_gate"]
    assert {key[2] for key, value in found.items() if value} == {state} and len(found) == 6


def test_there_is_none_without_a_gate_for_a_build_that_is_gone_and_for_nonsense() -> None:
    for reading in (tree(None), tree({}, built=False), tree({"results": 5})):
        assert gate_row(reading, "west", "tiny", NOW) is None
        values = gauges_of(reading, CONFIG, NOW).values
        assert not any(known for metric, known in values.items() if metric.name == "image_gate")


def test_the_explanation_of_a_request_tells_the_test_of_the_newest_build_and_its_log() -> None:
    request = {"state": "pending", "node_types": ["small"], "requestor": "zuul", "nodes": []}
    upload = f"/nodepool/images/tiny/builds/{'6e' * 16}/providers/west/images/0000000001"
    node = {"state": "building", "provider": "west", "allocated_to": "100-0000000001", "image_id": upload}
    more: dict[str, Any] = {"/nodepool/requests/100-0000000001": request, "/nodepool/nodes/0000000001": node}

    def told(**gate: Any) -> list[str]:
        reading = tree(gate, **more)
        return list(explanation(reading, request_rows(reading, NOW), "100-0000000001", NOW)["builds"])

    assert told(outcome="rejected", note="2 canaries failed: no DNS", results=[FAILED]) == [
        (
            "the test of tiny build 7f7f7f7f at west is rejected: 2 canaries failed: no DNS; its log on the builder:"
            f" gates/tiny-{BUILD}-west-0000000001-1.log in build-log-dir"
        )
    ]
    assert told(round=1) == ["the test of tiny build 7f7f7f7f at west is inconclusive"]
    assert told(outcome="passed", results=[PASSED]) == told(note="waits for a node") == []
