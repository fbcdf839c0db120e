# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node records that contradict the lists of clouds."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.hosts import LIVE_STATES, Selection, hosts
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.node_access_rows import node_row
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.unlisted import (
    MOST_NAMED,
    by_source,
    contradictions,
    row_of,
    text_of,
)


def record(number: int = 7, state: str = "hold", **changes: Any) -> dict[str, Any]:
    node = Node(id=f"{number:010d}", state=state, type=["small"], provider="east", external_id=f"uuid-{number}")
    node.interface_ip, node.connection_port, node.username = "192.0.2.7", 2222, "zuul"
    node.private_ipv4, node.public_ipv4 = "10.0.0.7", "192.0.2.7"
    return {**node_row(node), "lease": "mine", **changes}


def listed(task_state: str = "") -> dict[str, Any]:
    return {**row_of(record()), "status": "ACTIVE", "task_state": task_state, "state": None}


@pytest.mark.parametrize("state", sorted(NodeState.ALL))
def test_a_live_record_contradicts_a_list_without_its_server(state: str) -> None:
    found = contradictions([], [record(state=state)], Selection())
    assert bool(found) is (state in LIVE_STATES)
    assert not contradictions([listed()], [record(state=state)], Selection())


def test_a_server_that_is_being_deleted_contradicts_a_live_record() -> None:
    assert contradictions([listed("deleting")], [record()], Selection())


def test_only_chosen_nodes_with_a_server_contradict() -> None:
    assert not contradictions([], [record(external_id=None)], Selection())
    assert not contradictions([], [record()], Selection(leases=["other"]))
    assert not contradictions([], [record()], Selection(statuses=["ERROR"]))
    assert contradictions([], [record()], Selection(leases=["mine"], statuses=["ACTIVE"]))


def test_each_source_is_compared_with_the_records_of_its_own_providers() -> None:
    records = [record(), record(8, provider="west"), record(9, provider="north")]
    found = by_source({"a": [listed()], "b": []}, {"a": ["east"], "b": ["west"]}, records, Selection())
    assert {name: [item["id"] for item in rows] for name, rows in found.items()} == {"b": ["0000000008"]}


def test_the_record_alone_gives_a_host_with_its_connection() -> None:
    (host,) = hosts([row_of(record())], Selection(statuses=["ACTIVE"]))
    assert host.name == "np0000000007"
    assert host.variables["ansible_host"] == "192.0.2.7"
    assert (host.variables["ansible_port"], host.variables["ansible_user"]) == (2222, "zuul")
    (host,) = hosts([row_of(record())], Selection(), connect_with=["fixed"])
    assert host.variables["ansible_host"] == "10.0.0.7"


def test_the_sentence_names_few() -> None:
    said = text_of([record(number) for number in range(MOST_NAMED + 2)])
    assert "0000000000 (east, server uuid-0)" in said
    assert "and 2 more" in said
    assert "more" not in text_of([record()])
