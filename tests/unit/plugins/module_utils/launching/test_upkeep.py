# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is deleted or freed without anybody asking for it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.actions import (
    DeleteNode,
    DropRequest,
    FreeNode,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.upkeep import (
    ORPHAN_SECONDS,
    SURPLUS_SECONDS,
    Idle,
    surplus,
    upkeep,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model import reasons
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Label
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lease import REQUESTOR
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest

NOW = 10_000.0
LABELS = {"young": Label("young", max_ready_age=100), "old": Label("old", max_ready_age=1000), "any": Label("any")}


def node(state: str, age: float = 50.0, label: str = "any", **more) -> Node:
    return Node(id="0000000001", state=state, state_time=NOW - age, type=[label], provider="east", **more)


def due(*nodes: Node, requests: tuple[NodeRequest, ...] = (), launches=(), max_hold_age: float = 0.0) -> list[Any]:
    idle = Idle(nodes, requests, {request.id for request in requests}, set(launches))
    return list(upkeep(idle, LABELS, max_hold_age, NOW))


@pytest.mark.parametrize("state", ["used", "in-use", "failed", "deleting", "deleted", "aborted"])
def test_garbage_is_deleted_at_once(state):
    (action,) = due(node(state, age=0.0, allocated_to="100-1"))
    assert isinstance(action, DeleteNode)
    assert (action.node_id, action.reason.code, action.reason.figures) == ("0000000001", reasons.USED, {"state": state})


@pytest.mark.parametrize("state", ["ready", "hold", "init", "testing"])
def test_what_may_lie_unlocked_is_left_alone(state):
    assert due(node(state, age=20.0)) == []


@pytest.mark.parametrize("state", ["init", "building"])
@pytest.mark.parametrize(
    ("age", "launches", "deleted"),
    [(ORPHAN_SECONDS + 1, (), True), (ORPHAN_SECONDS - 1, (), False), (ORPHAN_SECONDS + 1, ("0000000001",), False)],
)
def test_a_launch_without_a_record_belongs_to_nobody(state, age, launches, deleted):
    actions = due(node(state, age), launches=launches)
    assert [action.reason.code for action in actions] == ([reasons.OWNER_GONE] if deleted else [])


@pytest.mark.parametrize(
    ("label", "age", "deleted"), [("young", 99, False), ("young", 101, True), ("old", 101, False), ("any", 1e9, False)]
)
def test_ready_nodes_age(label, age, deleted):
    actions = due(node("ready", age, label))
    assert [action.reason.code for action in actions] == ([reasons.AGED] if deleted else [])


def test_a_label_that_is_gone_from_the_configuration_has_no_age():
    assert due(node("ready", 1e9, "unknown")) == []


def test_a_ready_node_of_somebody_does_not_age():
    request = NodeRequest(id="100-1")
    assert due(node("ready", 1e9, "young", allocated_to="100-1"), requests=(request,)) == []


def test_a_ready_node_of_a_request_that_is_gone_is_freed():
    (action,) = due(node("ready", 1e9, "young", allocated_to="100-1"))
    assert isinstance(action, FreeNode)
    assert action.reason.code == reasons.REQUEST_GONE


@pytest.mark.parametrize(
    ("own", "general", "age", "limit"),
    [
        (None, 0, 1e9, None),
        (0, 0, 1e9, None),
        (60, 0, 61, 60),
        (60, 0, 59, None),
        (60, 30, 31, 30),
        (30, 60, 31, 30),
        (None, 60, 61, 60),
        (0, 60, 61, 60),
    ],
)
def test_held_nodes_are_kept_for_the_shorter_of_two_limits(own, general, age, limit):
    actions = due(node("hold", age, hold_expiration=own), max_hold_age=general)
    assert [action.reason.figures["limit"] for action in actions] == ([] if limit is None else [limit])


def test_a_request_whose_lease_has_expired_is_dropped():
    past, future = ({"lease": "mine", "expires_at": NOW + seconds} for seconds in (-1, 1))
    request = NodeRequest(id="100-1", requestor=REQUESTOR, requestor_data=past)
    kept = NodeRequest(id="100-2", requestor=REQUESTOR, requestor_data=future)
    (action,) = due(requests=(kept, request))
    assert isinstance(action, DropRequest)
    assert action.request_id == "100-1" and action.reason.figures == {"lease": "mine"}


@pytest.mark.parametrize(("since", "dropped"), [(99.0, False), (101.0, True)])
def test_a_request_from_a_clock_that_is_ahead_expires_as_its_requestor_meant(since, dropped):
    ahead = NOW + 1e6
    data = {"lease": "mine", "expires_at": ahead + 100}
    request = NodeRequest(id="100-1", requestor=REQUESTOR, requestor_data=data, created_time=ahead)
    idle = Idle((), (request,), set(), set(), created_at={"100-1": NOW - since}.get)
    assert bool(list(upkeep(idle, LABELS, 0.0, NOW))) is dropped


def test_actions_come_in_the_order_of_ids():
    nodes = [node("used"), node("used"), node("used")]
    for item, key in zip(nodes, ("3", "1", "2"), strict=True):
        item.id = key
    assert [action.node_id for action in due(*nodes)] == ["1", "2", "3"]


@given(
    st.sampled_from(sorted(NodeState.ALL)),
    st.none() | st.floats(0, 2 * NOW),
    st.sampled_from(["young", "any", "?"]),
    st.sampled_from([None, "100-1"]),
    st.none() | st.integers(-5, 100),
)
def test_there_is_at_most_one_action_and_it_has_a_sentence(state, state_time, label, allocated, hold):
    item = node(state, label=label, allocated_to=allocated, hold_expiration=hold)
    item.state_time = state_time
    actions = due(item)
    assert len(actions) <= 1
    for action in actions:
        assert "?" not in action.reason.text()


@pytest.mark.parametrize(
    ("count", "spare", "min_ready", "wanted", "unwanted"),
    [
        (4, 4, 0, set(), 4),
        (4, 4, 1, set(), 3),
        (4, 6, 5, set(), 1),
        (4, 4, 4, set(), 0),
        (4, 4, 0, {"any"}, 0),
        (4, 4, 0, {"old"}, 4),
    ],
)
def test_what_is_ready_beyond_min_ready_and_wanted_by_nobody_is_surplus(count, spare, min_ready, wanted, unwanted):
    labels = {"any": Label("any", min_ready=min_ready)}
    nodes = [Node(id=f"{n}", state="ready", state_time=NOW - n, type=["any"], provider="east") for n in range(count)]
    nodes += [
        Node(id="used", state="in-use", type=["any"]),
        Node(id="taken", state="ready", type=["any"], allocated_to="1"),
    ]
    found = surplus(nodes, {"any": spare}, labels, wanted)
    assert found == {f"{n}" for n in range(count - unwanted, count)}, "the oldest"


@pytest.mark.parametrize(("age", "is_surplus", "gone"), [(601, True, True), (599, True, False), (9999, False, False)])
def test_a_surplus_node_goes_after_an_idle_time(age, is_surplus, gone):
    idle = Idle([node("ready", age)], (), set(), set(), surplus={"0000000001"} if is_surplus else set())
    found = list(upkeep(idle, LABELS, 0.0, NOW))
    assert [action.reason.code for action in found] == ([reasons.SURPLUS] if gone else [])
    assert SURPLUS_SECONDS == 600
