# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes a sweep by hand deletes, and the object that it describes each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.by_hand.due_nodes import (
    delete_nodes,
    due_nodes,
    look_at_nodes,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.leaks.sweep_options import SweepOptions
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudAuthError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import NodeState
from tests.support.lease_store import MemoryStore

NOW = 5000.0
CONFIG = parse_config(
    """
zookeeper-servers: [{host: z}]
max-hold-age: 300
labels: [{name: small}]
providers:
  - {name: p, cloud: p, cloud-images: [{name: i}], pools: [{name: main, labels: [
      {name: small, cloud-image: i, min-ram: 1}]}]}
"""
)
OPTIONS = SweepOptions(config="nodepool.yaml")


def tree(*nodes: Mapping[str, Any], acting: tuple[str, ...] = ()) -> Any:
    store: Any = MemoryStore()
    store.nodes.is_locked = lambda node_id: f"node/{node_id}" in store.locks
    store.components.pools = lambda: [SimpleNamespace(provider_name=name) for name in acting]
    for node in nodes:
        store.add_node(**{"type": ["small"], "provider": "p", "state_time": NOW - 60.0, **node})
    return store


@pytest.mark.parametrize("state", [NodeState.USED, NodeState.IN_USE, NodeState.FAILED, NodeState.DELETING])
def test_what_every_launcher_deletes_is_due(state: str) -> None:
    store = tree({"state": state})
    assert [node.state for node in due_nodes(store, CONFIG, ["p"], NOW)] == [state]
    store.locks.add("node/0000000000")
    assert due_nodes(store, CONFIG, ["p"], NOW) == [], "somebody works on it"


def test_held_nodes_are_due_when_their_time_is_over() -> None:
    held = {"state": NodeState.HOLD}
    store = tree(held, {**held, "hold_expiration": 15}, {**held, "state_time": NOW - 301.0}, {"state": NodeState.READY})
    assert [node.id for node in due_nodes(store, CONFIG, ["p"], NOW)] == ["0000000001", "0000000002"]


def test_nodes_of_other_providers_and_of_launchers_are_left_alone() -> None:
    used = {"state": NodeState.USED}
    assert due_nodes(tree(used), CONFIG, ["q"], NOW) == []
    assert due_nodes(tree(used, acting=("p",)), CONFIG, ["p"], NOW) == []


def test_check_mode_tells_why_and_writes_nothing() -> None:
    store = tree({"state": NodeState.HOLD, "hold_expiration": 15, "hold_job": "lease web", "created_time": NOW - 90.0})
    (row,) = list(look_at_nodes(OPTIONS, store, CONFIG, lambda: NOW).values())
    assert (row["verdict"], row["kind"], row["age"]) == ("due", "node", 90.0)
    assert row["reason"] == "it was held for lease web, which has ended, and no launcher serves its provider"
    assert store.changes == 0


def working(store: Any, result: Mapping[str, Any], *, gone: bool = True) -> Callable[..., Mapping[str, Any]]:
    def work(cycle: Any, *, done: Any, refused: Any, clock: Any) -> Mapping[str, Any]:
        assert (cycle.serves, cycle.providers) == (False, ("p",))
        assert not done(store)
        if gone:
            store.nodes.items.clear()
        refused(result.get("refused", {}))
        assert done(store) is (gone or bool(result.get("refused")))
        return result

    return work


def test_what_is_gone_is_told_as_deleted_and_the_rest_with_its_reason() -> None:
    used = {"state": NodeState.USED}
    store = tree(used)
    (row,) = list(delete_nodes(OPTIONS, store, CONFIG, lambda: NOW, working(store, {})).values())
    assert row["verdict"] == "deleted" and "answer" not in row
    for result, answer in (
        ({"refused": {"p": "HTTP 401"}}, "HTTP 401"),
        ({"left_out": {"p": "no entry"}}, "no entry"),
        ({"health": {"p": {"text": "nova is away"}}}, "nova is away"),
        ({}, "not gone after 120 s; the next sweep or launcher continues"),
    ):
        store = tree(used)
        (row,) = list(delete_nodes(OPTIONS, store, CONFIG, lambda: NOW, working(store, result, gone=False)).values())
        assert (row["verdict"], row["answer"]) == ("failed", answer)


def test_without_due_nodes_nothing_runs_and_a_missing_login_is_told() -> None:
    def refuse(*_args: Any, **_options: Any) -> Any:
        raise CloudAuthError("no entry p", provider="p")

    assert delete_nodes(OPTIONS, tree({"state": NodeState.READY}), CONFIG, lambda: NOW, refuse) == {}
    (row,) = list(delete_nodes(OPTIONS, tree({"state": NodeState.USED}), CONFIG, lambda: NOW, refuse).values())
    assert (row["verdict"], row["answer"]) == ("failed", "no entry p")
