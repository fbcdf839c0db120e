# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lease survives kills at any point: one request per set, and at the end all nodes are held or nothing is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.leases.lease_cycle import ATTEMPTS, LeaseStatus
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.leases.wait import wait_for
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lease import (
    LeaseError,
    LeaseSpec,
    lock_path,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import RequestState
from tests.support.effort import examples
from tests.support.lease_store import Killed
from tests.support.lease_world import World

SPEC = LeaseSpec("web", ("small", "large"), count=2, expires=600, patience=900)


def test_a_lease_that_somebody_has_just_given_back_is_not_brought_back() -> None:
    """Its document was deleted under the lock; that the lock is free is known sooner."""
    world = World(SPEC)
    world.run()
    own = world.store.own
    late = dict(own.documents)
    world.run(present=False)
    assert own.documents == {}
    own.get = late.get  # type: ignore[method-assign, assignment]
    changes = world.store.changes
    assert world.leasing(present=False).advance().changed is False
    assert (own.documents, world.store.changes) == ({}, changes)


@pytest.mark.parametrize("begun_before", [True, False])
@pytest.mark.parametrize("passes", [1, 2, 3])
def test_a_lease_that_is_released_while_it_is_waited_for_is_not_requested_again(
    begun_before: bool, passes: int
) -> None:
    world = World(SPEC)
    if begun_before:
        world.leasing().advance()
    leasing = world.leasing()
    for _pass in range(passes):
        assert not leasing.advance().done
    world.run(present=False)
    status = leasing.advance()
    assert status.done and status.released
    assert status.failures == ["it was released while this run waited for it: repeat to start again"]
    assert (world.store.all_requests(), world.store.own.documents) == ([], {})


@pytest.mark.parametrize(
    ("ends_at_time", "waited", "held"), [(True, 200.0, 400), (True, 700.0, 1), (False, 200.0, 600)]
)
def test_a_lease_until_a_time_ends_then_however_long_the_nodes_are_waited_for(
    ends_at_time: bool, waited: float, held: int
) -> None:
    world = World(replace(SPEC, ends_at_time=ends_at_time))
    leasing = world.leasing()
    leasing.advance()
    world.now += waited
    world.launch()
    for _pass in range(6):
        status = leasing.advance()
    assert status.done and {node.hold_expiration for node in status.nodes} == {held}


def test_lease_is_had_repeated_and_given_back() -> None:
    world = World(SPEC)
    first = world.run()
    assert first is not None
    assert first.changed
    assert not first.failures
    assert [node.type for node in first.nodes] == [["small"], ["large"], ["small"], ["large"]]
    assert world.store.all_requests() == []
    node = first.nodes[0]
    assert (node.hold_expiration, node.hold_job, node.state_time) == (600, "lease web", 1000.0)

    changes = world.store.changes
    again = world.run()
    assert again is not None
    assert not again.changed
    assert [item.id for item in again.nodes] == [item.id for item in first.nodes]
    assert world.store.changes == changes, "a repeated lease writes nothing"

    gone = world.run(present=False)
    assert gone is not None
    assert gone.changed
    assert gone.done
    assert world.held() == []
    assert world.store.own.documents == {}
    nothing = world.run(present=False)
    assert nothing is not None
    assert nothing.done
    assert not nothing.changed


def test_request_is_what_zuul_would_write() -> None:
    world = World(LeaseSpec("web", ("a", "b"), priority=7, provider="cloud1", tenant="t", patience=60))
    world.leasing().advance()
    (request,) = world.store.all_requests()
    assert request.id.startswith("007-")
    document = request.to_document()
    assert document["node_types"] == ["a", "b"]
    assert document["provider"] == "cloud1"
    assert document["tenant_name"] == "t"
    assert document["state"] == "requested"
    assert document["state_time"] == document["created_time"] == 1000.0
    assert document["requestor"] == "stackci.nodepool"
    assert document["event_id"]
    assert document["requestor_data"]["lease"] == "web"
    assert document["requestor_data"]["expires_at"] == 1060.0


@settings(max_examples=examples(100), deadline=None)
@given(
    labels=st.lists(st.sampled_from(["small", "large"]), min_size=1, max_size=3),
    count=st.integers(1, 3),
    kills=st.lists(st.tuples(st.booleans(), st.integers(1, 40), st.booleans()), max_size=6),
    present=st.booleans(),
)
def test_any_kills_then_one_whole_run(
    labels: list[str], count: int, kills: list[tuple[bool, int, bool]], present: bool
) -> None:
    world = World(LeaseSpec("web", tuple(labels), count=count))
    for was_present, kill_at, launched in kills:
        world.run(was_present, kill_at)
        if launched:
            world.launch()
        world.sweep()
    status = world.run(present)
    assert status is not None
    assert not status.failures
    world.sweep()
    assert world.store.locks == set()
    assert world.store.all_requests() == []
    if present:
        assert world.held() == sorted(node.id for node in status.nodes)
        assert [node.type[0] for node in status.nodes] == labels * count
    else:
        assert world.held() == []
        assert world.store.own.documents == {}


@pytest.mark.parametrize("kill_at", range(1, 60))
def test_every_single_kill_point(kill_at: int) -> None:
    world = World(SPEC)
    killed = world.run(kill_at=kill_at) is None
    requests = [request.id for request in world.store.all_requests()]
    status = world.run()
    assert status is not None
    assert len(status.nodes) == 4
    assert len(world.held()) == 4
    if killed and requests:
        assert all(int(request[4:]) < 2 for request in requests), "no set was asked for twice"
    assert world.store.requests._next == 2


def test_failed_request_is_explained_and_asked_again_next_time() -> None:
    world = World(LeaseSpec("web", ("small",), count=2))
    leasing = world.leasing()
    leasing.advance()
    bad = world.store.all_requests()[0]
    bad.set_state(RequestState.FAILED, world.now)
    world.store.own.documents[f"waits/{bad.id}"] = {"code": "label-unknown", "text": "cloud1/main does not offer small"}
    status = leasing.advance()
    assert status.done
    assert status.failures == [f"request {bad.id} for small failed: cloud1/main does not offer small"]
    assert bad.id not in world.store.requests.items
    again = world.run()
    assert again is not None
    assert len(again.nodes) == 2


def test_request_deleted_by_somebody_is_not_fought_over() -> None:
    world = World(LeaseSpec("web", ("small",)))
    leasing = world.leasing()
    leasing.advance()
    (request,) = world.store.all_requests()
    world.store.requests.items.clear()
    status = leasing.advance()
    assert status.done
    assert status.failures == [f"request {request.id} was deleted by another client"]
    assert world.store.all_requests() == []
    assert leasing.advance().done and world.store.all_requests() == [], "the same run does not ask again"
    again = world.run()
    assert again is not None
    assert not again.failures


def test_other_labels_under_the_same_name_are_an_error() -> None:
    world = World(SPEC)
    world.run()
    world.spec = LeaseSpec("web", ("small",), count=2)
    with pytest.raises(LeaseError, match=r"exists with 2 x \(.*\), but 2 x \(small\) was .*state: absent"):
        world.leasing().advance()


@pytest.mark.parametrize("how", ["deleted", "expired", "taken"])
def test_lost_node_renews_the_whole_lease(how: str) -> None:
    world = World(SPEC)
    first = world.run()
    assert first is not None
    lost = world.store.nodes.items[first.nodes[1].id]
    if how == "deleted":
        world.store.nodes.items.pop(lost.id)
    elif how == "taken":
        lost.hold_job = "somebody else's"
    else:
        world.now += 601
    status = world.run()
    assert status is not None
    assert status.changed
    assert not {node.id for node in first.nodes} & {node.id for node in status.nodes}
    assert lost.id in status.notices[0]
    assert "renewed as a whole" in status.notices[0]
    assert len(world.held()) == 4
    if how == "taken":
        assert lost.state == NodeState.HOLD, "somebody else's node is left alone"


def test_node_of_somebody_else_is_never_taken() -> None:
    world = World(LeaseSpec("web", ("small", "small")))
    leasing = world.leasing()
    leasing.advance()
    world.launch()
    victim = world.store.nodes.items[world.store.all_requests()[0].nodes[1]]
    victim.allocated_to = "100-0000000099"
    status = leasing.advance()
    assert not status.done
    assert victim.state == NodeState.READY
    world.launch()
    status = leasing.advance()
    assert status.done
    assert victim.id not in [node.id for node in status.nodes]
    assert len(status.nodes) == 2
    assert len(world.held()) == 2


def test_node_that_goes_while_it_is_being_locked_is_not_taken() -> None:
    world = World(LeaseSpec("web", ("small",)))
    leasing = world.leasing()
    leasing.advance()
    world.launch()
    (victim,) = world.store.nodes.items.values()
    lock = world.store.nodes.lock

    def lock_too_late(key: str) -> Any:
        if key == victim.id:
            victim.allocated_to = "100-0000000099"
        return lock(key)

    world.store.nodes.lock = lock_too_late  # type: ignore[method-assign]
    assert not leasing.advance().done
    assert victim.state == NodeState.READY
    world.launch()
    status = leasing.advance()
    assert status.done
    assert victim.id not in [node.id for node in status.nodes]


def test_held_node_of_a_request_that_expired_is_no_orphan() -> None:
    world = World(LeaseSpec("web", ("small", "small")))
    world.leasing().advance()
    world.launch()
    (request,) = world.store.all_requests()
    first = world.store.nodes.items[request.nodes[0]]
    world.store.kill_at = world.store.changes + 2
    with pytest.raises(Killed):
        world.leasing().advance()
    first = world.store.nodes.items[first.id]
    assert first.state == NodeState.HOLD
    world.store.requests.items.clear()
    status = world.run()
    assert status is not None
    assert first.id not in [node.id for node in status.nodes]
    assert world.store.nodes.items[first.id].state == NodeState.USED
    assert len(world.held()) == 2


def test_sets_that_always_go_to_others_end_in_a_failure() -> None:
    world = World(LeaseSpec("web", ("small",)))
    leasing = world.leasing()
    for _pass in range(3 * ATTEMPTS):
        status = leasing.advance()
        if status.done:
            break
        world.launch()
        for node in world.store.nodes.items.values():
            node.allocated_to = None
    assert status.done
    assert "was requested 3 times" in status.failures[0]


def test_locked_node_is_waited_for() -> None:
    world = World(LeaseSpec("web", ("small",)))
    leasing = world.leasing()
    leasing.advance()
    world.launch()
    (node_id,) = world.store.nodes.items
    lock = world.store.nodes.lock(node_id)
    assert lock is not None
    status = leasing.advance()
    assert not status.done
    assert status.busy == f"node {node_id} is locked by another program"
    lock.release()
    assert leasing.advance().done


def test_two_requestors_of_one_name_take_turns() -> None:
    world = World(SPEC)
    lock = world.store.own.lock(lock_path("web"))
    assert lock is not None
    status = world.leasing().advance()
    assert not status.done
    assert status.busy
    assert world.store.changes == 0
    lock.release()
    one, other = world.leasing(), world.leasing()
    one.advance()
    other.advance()
    world.launch()
    first, second = one.advance(), other.advance()
    assert first.done
    assert second.done
    assert [node.id for node in first.nodes] == [node.id for node in second.nodes]


def test_preview_changes_nothing_and_says_what_would_be_done() -> None:
    world = World(SPEC)
    status = world.leasing().preview()
    assert status.changed
    assert world.store.changes == 0
    world.run()
    changes = world.store.changes
    assert not world.leasing().preview().changed
    gone = world.leasing(present=False).preview()
    assert gone.changed
    assert len(gone.planned) == 5
    assert world.store.changes == changes


def test_reasons_of_waiting() -> None:
    world = World(LeaseSpec("web", ("small",)))
    leasing = world.leasing()
    status = leasing.advance()
    assert status.sets[0].reason is not None
    assert status.sets[0].reason["code"] == "no-launcher"
    (request,) = world.store.all_requests()
    world.store.own.documents[f"waits/{request.id}"] = {"code": "no-room", "text": "2 instances needed, 0 left in a/b"}
    status = leasing.advance()
    assert status.sets[0].reason is not None
    assert status.sets[0].reason["text"] == "2 instances needed, 0 left in a/b"


def test_waiting_ends_at_its_time() -> None:
    world = World(LeaseSpec("web", ("small",)))
    store = world.store
    told: list[Callable[[str], None]] = []
    store.on_change = told.append  # type: ignore[attr-defined]
    times = iter([0.0, 0.1, 10.0, 20.0])
    looks: list[LeaseStatus] = []

    def look(status: LeaseStatus) -> None:
        looks.append(status)
        # Something changes at once, or it would really wait.
        told[0]("")

    status = wait_for(
        world.leasing(),
        store,  # type: ignore[arg-type]
        timeout=5.0,
        progress=look,
        clock=lambda: next(times),
        sleep=lambda seconds: None,
    )
    assert not status.done
    assert len(looks) == 2


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (LeaseSpec("a/b", ("x",)), "cannot be used"),
        (LeaseSpec("", ("x",)), "cannot be used"),
        (LeaseSpec("..", ("x",)), "cannot be used"),
        (LeaseSpec("a", ("x",), count=0), "count is 0"),
        (LeaseSpec("a", ("x", "y"), count=5_001), "count and labels make 10002 nodes: a lease has at most 10000"),
        (LeaseSpec("a", ("x",), priority=1000), "priority is 1000"),
        (LeaseSpec("a", ("x",), expires=0), "expires is 0"),
        (LeaseSpec("a", ("x", " ")), "empty entry"),
    ],
)
def test_values_that_cannot_be(spec: LeaseSpec, message: str) -> None:
    with pytest.raises(LeaseError, match=message):
        spec.check()
