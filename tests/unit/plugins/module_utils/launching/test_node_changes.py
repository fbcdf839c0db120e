# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of a node that an operator wants held, released or deleted."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.node_changes import (
    ABSENT,
    HELD,
    RELEASED,
    NodeWish,
    at_work,
    decide,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest, RequestState

NOW = 1_000_000.0


def node(state: str, **more: Any) -> Node:
    made = Node(state=state, state_time=NOW - 100, type=["small"], provider="west", extra={"theirs": 1}, **more)
    made.id = "0000000007"
    return made


def request(state: str) -> NodeRequest:
    made = NodeRequest(state=state, requestor="zuul", node_types=["small"])
    made.id = "100-0000000001"
    return made


STATES = {
    HELD: {
        **dict.fromkeys((NodeState.READY, NodeState.IN_USE, NodeState.USED, NodeState.HOLD), NodeState.HOLD),
        **dict.fromkeys((NodeState.DELETING, NodeState.DELETED, NodeState.FAILED, NodeState.ABORTED), "refused"),
        **dict.fromkeys((NodeState.INIT, NodeState.BUILDING, NodeState.TESTING), "busy"),
    },
    RELEASED: {state: state for state in NodeState.ALL} | {NodeState.HOLD: NodeState.USED},
    ABSENT: dict.fromkeys(NodeState.ALL, NodeState.DELETING) | {NodeState.DELETED: NodeState.DELETED},
}


@pytest.mark.parametrize("wanted", STATES)
@pytest.mark.parametrize("state", sorted(NodeState.ALL))
def test_every_state_under_every_wish(wanted, state):
    before = node(state)
    verdict = decide(before, NodeWish(state=wanted, comment="mine" if wanted == HELD else None), NOW)
    if verdict.refusal:
        assert STATES[wanted][state] == ("busy" if verdict.busy else "refused")
        assert verdict.node is None
        return
    after = verdict.node or before
    assert after.state == STATES[wanted][state]
    assert after.extra == {"theirs": 1}
    assert before.state == state, "the record that was read stays as it is"
    assert decide(after, NodeWish(state=wanted, comment="mine" if wanted == HELD else None), NOW).node is None


def test_a_hold_bears_what_was_asked_and_its_time_counts_from_the_first():
    wish = NodeWish(state=HELD, comment="why", hold_job="t p j r", hold_expiration=60)
    held = decide(node(NodeState.READY, comment="old"), wish, NOW).node
    assert held is not None
    assert (held.comment, held.hold_job, held.hold_expiration, held.state_time) == ("why", "t p j r", 60, NOW)
    assert decide(held, NodeWish(state=HELD), NOW + 5).node is None, "what is not asked for stays"
    longer = decide(held, NodeWish(state=HELD, hold_expiration=120), NOW + 5).node
    assert longer is not None
    assert (longer.comment, longer.hold_expiration, longer.state_time) == ("why", 120, NOW)
    for_ever = decide(longer, NodeWish(state=HELD, hold_expiration=0), NOW + 5).node
    assert for_ever is not None and for_ever.hold_expiration is None
    fresh = decide(node(NodeState.USED, comment="old", hold_expiration=5), NodeWish(state=HELD), NOW).node
    assert fresh is not None and (fresh.comment, fresh.hold_expiration) == (None, None)


@pytest.mark.parametrize("wanted", [HELD, ABSENT])
@pytest.mark.parametrize(
    ("state", "busy"),
    [(RequestState.PENDING, True), (RequestState.FULFILLED, True), (RequestState.REQUESTED, False), (None, False)],
)
def test_a_ready_node_that_a_requestor_is_about_to_take_is_refused(wanted, state, busy):
    ready = node(NodeState.READY, allocated_to="100-0000000001")
    verdict = decide(ready, NodeWish(state=wanted), NOW, request=request(state) if state else None)
    assert verdict.busy == busy
    assert ("zuul for request 100-0000000001" in verdict.refusal) == (state == RequestState.FULFILLED)


@pytest.mark.parametrize("wanted", [HELD, RELEASED, ABSENT])
def test_a_leased_node_is_given_back_by_its_lease_only(wanted):
    leased = node(NodeState.HOLD, hold_job="lease acceptance")
    verdict = decide(leased, NodeWish(state=wanted, comment="x"), NOW, lease="acceptance")
    assert verdict.node is None and not verdict.busy
    assert "leased under the name acceptance: release the lease" in verdict.refusal


def test_a_record_that_makes_no_sense_is_left_alone():
    broken = Node.from_document("0000000007", {"state": 7, "provider": None})
    assert "cannot be used: it needs state and type and provider" in decide(broken, NodeWish(state=ABSENT), NOW).refusal


@pytest.mark.parametrize(
    ("there", "asked", "told"),
    [
        (node("building", launcher="l1", allocated_to="r"), None, "being launched by the launcher l1 for request r"),
        (node("init"), None, "being launched by a launcher"),
        (
            node("ready", launcher="l1", allocated_to="r"),
            RequestState.PENDING,
            "kept by the launcher l1 for request r of zuul, which is pending",
        ),
        (node("ready", allocated_to="r"), RequestState.FULFILLED, "being taken by zuul for request r"),
        (node("ready", allocated_to="r", requestor="ci"), None, "being taken by ci for request r"),
        (
            node("in-use", requestor="zuul", allocated_to="r", user_data={"project_name": "example.org/p"}),
            None,
            "used by zuul (example.org/p) for request r",
        ),
        (node("in-use", user_data=["odd"]), None, "used by its requestor"),
        (node("used", launcher="l1"), None, "being deleted by the launcher l1"),
        (node("hold"), None, "locked by another client"),
    ],
)
def test_who_is_at_work_on_a_locked_node(there, asked, told):
    assert at_work(there, request(asked) if asked else None) == told
