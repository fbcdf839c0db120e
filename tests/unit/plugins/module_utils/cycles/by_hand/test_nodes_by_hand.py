# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An operator holds, releases and deletes nodes beside a launcher and requestors, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.by_hand.nodes_by_hand import NodesByHand
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.node_changes import (
    ABSENT,
    HELD,
    RELEASED,
    NodeWish,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from tests.support.world import World, one_provider


def by_hand(world: World, state: str, **more: Any) -> NodesByHand:
    """What an operator's module does; time passes while it waits."""

    def pause(seconds: float) -> None:
        world.run(seconds)

    return NodesByHand(
        world.store,
        NodeWish(state=state, **more),
        clock=lambda: world.agenda.now,
        monotonic=lambda: world.agenda.now,
        pause=pause,
    )


def act(world: World, state: str, *node_ids: str, timeout: float = 0.0, **more: Any) -> list[str]:
    """Carry it out; the refusals."""
    return [outcome.refusal for outcome in by_hand(world, state, **more).carry_out(node_ids, timeout)]


@pytest.fixture
def world():
    with World(one_provider(min_ready={"small": 1})) as made:
        made.start()
        assert made.run(60, until=lambda: bool(made.nodes(NodeState.READY)))
        yield made


def state_of(world: World, node_id: str) -> str | None:
    node = world.store.nodes.read(node_id)
    return node.state if node else None


def in_use(world: World) -> str:
    request = world.request("medium")
    assert world.run(60, until=lambda: request in world.fulfilled)
    (node_id,) = world.take(request)
    return node_id


def ready(world: World) -> Node:
    (node,) = world.nodes(NodeState.READY)
    return node


def test_a_held_node_is_nobodys_until_its_time_is_over(world):
    node = ready(world)
    assert act(world, HELD, node.id, comment="look", hold_expiration=300) == [""]
    held = world.store.nodes.read(node.id)
    assert held is not None and (held.state, held.comment, held.hold_expiration) == ("hold", "look", 300)
    request = world.request("small")
    assert world.run(60, until=lambda: request in world.fulfilled)
    assert node.id not in world.take(request)
    world.run(200)
    assert state_of(world, node.id) == NodeState.HOLD
    assert world.run(120, until=lambda: state_of(world, node.id) is None), "the launcher honours the expiration"


@pytest.mark.parametrize("state", [RELEASED, ABSENT])
def test_the_launcher_begins_to_delete_within_a_second(world, state):
    node = ready(world)
    act(world, HELD, node.id)
    world.run(10)
    assert act(world, state, node.id) == [""]
    assert world.run(1, until=lambda: state_of(world, node.id) in (NodeState.DELETING, None))
    assert world.run(60, until=lambda: state_of(world, node.id) is None)
    machines = world.clouds["east"].machines
    assert world.run(60, until=lambda: node.external_id not in machines)
    assert act(world, state, node.id) == [""], "once more: it is gone"


def test_nothing_is_done_twice_and_a_preview_writes_nothing(world):
    node = ready(world)
    (seen,) = by_hand(world, HELD, comment="look").preview([node.id])
    assert seen.changed and seen.after is not None and seen.after.comment == "look"
    assert state_of(world, node.id) == NodeState.READY
    (first,) = by_hand(world, HELD, comment="look").carry_out([node.id])
    version = world.store.nodes.read(node.id).version
    (second,) = by_hand(world, HELD, comment="look").carry_out([node.id, node.id])
    assert (first.changed, second.changed) == (True, False)
    assert world.store.nodes.read(node.id).version == version
    assert not world.store.nodes.is_locked(node.id)


@pytest.mark.parametrize("state", [HELD, ABSENT])
def test_a_node_in_use_is_refused_and_others_are_not(world, state):
    used, free = in_use(world), ready(world)
    told = act(world, state, used, free.id)
    assert told == [f"node {used} is locked: it is used by world for request {world.handed_out[used]}", ""]
    (seen,) = by_hand(world, state).preview([used])
    assert seen.refusal == told[0]
    assert state_of(world, used) == NodeState.IN_USE


def test_a_node_that_its_launcher_works_on_is_refused(world):
    world.request("large")
    assert world.run(60, until=lambda: bool(world.nodes(NodeState.BUILDING)))
    (node,) = world.nodes(NodeState.BUILDING)
    (told,) = act(world, ABSENT, node.id)
    assert f"node {node.id} is locked: it is being launched by the launcher {node.launcher}" in told
    world.run(0.1)
    assert state_of(world, node.id) == NodeState.BUILDING


@pytest.mark.parametrize(("state", "then"), [(HELD, NodeState.HOLD), (ABSENT, NodeState.DELETING)])
def test_a_node_is_waited_for_until_its_user_is_done(world, state, then):
    used = in_use(world)
    world.agenda.after(500, lambda: world.give_back([used]))
    began = world.agenda.now
    assert act(world, state, used, timeout=600) == [""]
    assert 500 <= world.agenda.now - began < 502
    assert state_of(world, used) == then
    if state == HELD:
        world.run(100)
        assert state_of(world, used) == NodeState.HOLD, "the launcher found it locked, and then held"


@pytest.mark.parametrize(("state", "then"), [(HELD, NodeState.HOLD), (ABSENT, NodeState.DELETING)])
def test_a_preview_that_waits_tells_what_becomes_of_a_node_in_use(world, state, then):
    used = in_use(world)
    (seen,) = by_hand(world, state).preview([used], waits=True)
    assert (seen.refusal, seen.changed) == ("", True)
    assert seen.after is not None and seen.after.state == then
    assert state_of(world, used) == NodeState.IN_USE
    world.agenda.after(5, lambda: world.give_back([used]))
    (done,) = by_hand(world, state).carry_out([used], 60)
    assert done.after is not None and done.after.state == then, "the preview was right"


@pytest.mark.parametrize(("state", "then"), [(HELD, NodeState.HOLD), (ABSENT, NodeState.DELETING)])
def test_a_preview_that_waits_tells_what_becomes_of_a_node_that_is_launched(world, state, then):
    world.request("large")
    assert world.run(60, until=lambda: bool(world.nodes(NodeState.BUILDING)))
    (node,) = world.nodes(NodeState.BUILDING)
    (seen,) = by_hand(world, state).preview([node.id], waits=True)
    assert seen.refusal == "" and seen.after is not None and seen.after.state == then


def test_a_hold_of_a_node_that_is_deleted_is_refused_at_once(world):
    node = ready(world)
    assert act(world, ABSENT, node.id) == [""]
    assert world.run(5, until=lambda: world.store.nodes.is_locked(node.id))
    began = world.agenda.now
    refusals = [
        *act(world, HELD, node.id, timeout=60),
        by_hand(world, HELD).preview([node.id], waits=True)[0].refusal,
    ]
    assert refusals == [f"node {node.id} is deleting: its server is being deleted, so it can no longer be held"] * 2
    assert world.agenda.now == began


def test_a_node_that_vanishes_while_its_hold_is_waited_for_is_refused(world):
    used = in_use(world)
    world.agenda.after(5, lambda: world.store.nodes.delete(used))
    assert act(world, HELD, used, timeout=60) == [f"node {used} has been deleted and can no longer be held"]


def test_waiting_ends_in_time_and_leaves_nothing_behind(world):
    used = in_use(world)
    (told,) = act(world, HELD, used, timeout=30)
    assert "used by world" in told
    world.give_back([used])
    assert world.run(60, until=lambda: state_of(world, used) is None), "no place in the queue is left"


def test_a_node_that_vanishes_while_it_is_waited_for_is_gone(world):
    used = in_use(world)
    world.agenda.after(5, lambda: world.store.nodes.delete(used))
    (outcome,) = by_hand(world, ABSENT).carry_out([used], 60)
    assert (outcome.refusal, outcome.after) == ("", None)


def test_a_leased_node_is_refused_as_long_as_there_is_the_lease(world):
    node = ready(world)
    act(world, HELD, node.id, hold_job="lease try")
    world.store.own.put("leases/try", {"name": "try"})
    (told,) = act(world, RELEASED, node.id)
    assert told.startswith(f"node {node.id} is leased under the name try: release the lease")
    world.store.own.delete("leases/try")
    assert act(world, RELEASED, node.id) == [""]


def test_what_cannot_be_read_can_only_be_deleted(world):
    world.keeper.store_raw("/nodepool/nodes/0000000099", b"{ no")
    (told,) = act(world, HELD, "0000000099")
    assert told == "the record of node 0000000099 is not a JSON object: it can only be deleted (state=absent)"
    (planned,) = by_hand(world, ABSENT).preview(["0000000099"])
    assert planned.changed and planned.erased and world.store.nodes.exists("0000000099")
    (done,) = by_hand(world, ABSENT).carry_out(["0000000099"])
    assert (done.refusal, done.erased, world.store.nodes.exists("0000000099")) == ("", True, False)
    assert act(world, ABSENT, "0000000099") == [""]


def test_a_record_without_what_every_program_needs_can_be_deleted_unless_a_client_has_its_lock(world):
    path = "/nodepool/nodes/0000000099"
    world.keeper.store_raw(path, b'{"state": "ready"}')
    other = world.keeper.store()
    held = other.nodes.lock("0000000099")
    (refused,) = by_hand(world, ABSENT).carry_out(["0000000099"])
    assert (refused.refusal, refused.busy) == ("node 0000000099 is locked by another client", True)
    assert act(world, HELD, "0000000099")[0].startswith("the record of node 0000000099 cannot be used")
    world.agenda.after(5, held.release)
    (done,) = by_hand(world, ABSENT).carry_out(["0000000099"], 60)
    assert (done.refusal, done.erased, world.store.nodes.exists("0000000099")) == ("", True, False)


def test_the_record_is_written_only_in_the_version_that_was_read(world):
    node, session = ready(world), world.store._session
    written: list[Any] = []

    def meddle(request: Any) -> None:
        if getattr(request, "data", None) and not written and b'"hold"' in request.data:
            written.append(request)
            world.keeper.store_raw(f"/nodepool/nodes/{node.id}", node.to_bytes())

    session.before = meddle
    (told,) = act(world, HELD, node.id)
    assert "was just changed by another client: try again" in told
    assert act(world, HELD, node.id) == [""]


def test_a_held_node_that_vanishes_as_its_time_is_over_keeps_no_other():
    with World(one_provider(min_ready={"small": 2})) as world:
        cycle = world.start()
        assert world.run(60, until=lambda: len(world.nodes(NodeState.READY)) == 2)
        gone, left = (node.id for node in world.nodes(NodeState.READY))
        assert act(world, HELD, gone, left, hold_expiration=100) == ["", ""]
        world.run(99)
        world.keeper.lag = 30.0  # the cycle learns too late that one of them is gone
        world.store.nodes.delete(gone)
        assert world.run(60, until=lambda: state_of(world, left) is None)
        assert state_of(world, gone) is None
        assert not [line for _when, line in cycle.lines if "unexpected" in line or "new session" in line]
