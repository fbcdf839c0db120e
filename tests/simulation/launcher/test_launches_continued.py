# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cycles that are killed at any step, and those that go on after them."""

from __future__ import annotations

import random
from typing import Any

import pytest
from kazoo.exceptions import ConnectionLoss

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.store_answers import Unanswered
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from tests.support.effort import EFFORT, first
from tests.support.virtual_cloud import Timing
from tests.support.virtual_time import Killed
from tests.support.world import Habit, World, one_provider

QUICK = Timing(boot=(5.0, 1.0), delete=(1.0, 0.2))
BRIEF = Habit(work=lambda chance: 10.0)
CREATE = "POST /servers"
FIRST, LAST = 8, 90
"""Before the first write of these a cycle that meets trouble ends at once; a life has about as many as the last."""
STEP = 1 if EFFORT > 1 else 7
"""Every so many writes there is a test that kills there."""


def small_world(seed: int = 1, **more: Any) -> World:
    clouds = {"east": {"timing": QUICK, **more}}
    return World(one_provider(), quota={"east": {"instances": 4}}, clouds=clouds, seed=seed, lag=0.02)


def finish(world: World, requests: list[str]) -> None:
    """Everything is served once, and nothing is left behind but idle nodes that may serve others."""
    assert world.run(400, until=lambda: all(request in world.fulfilled for request in requests)), {
        request: world.state(request) for request in requests
    }
    assert world.run(400, until=lambda: all(is_idle(world, node) for node in world.nodes())), world.nodes()
    world.run(30)
    assert all(is_idle(world, node) for node in world.nodes()), world.nodes()
    servers = {node.external_id for node in world.nodes()}
    assert {machine.id for machine in world.clouds["east"].ours()} == servers
    assert world.clouds["east"].refused == {}
    assert world.clouds["east"].peak["instances"] <= 4


def is_idle(world: World, node: Node) -> bool:
    return node.state == NodeState.READY and node.allocated_to is None and not world.store.nodes.is_locked(node.id)


def writes_of_a_life() -> int:
    with small_world() as world:
        cycle = world.start()
        requests = [world.request("small", "small", habit=BRIEF), world.request("small", habit=BRIEF)]
        finish(world, requests)
        return len(cycle.store.session.log)


@pytest.fixture(scope="module")
def writes() -> int:
    return writes_of_a_life()


def test_a_life_has_steps_at_which_it_can_be_killed(writes):
    assert LAST <= writes < 2 * LAST


@pytest.mark.parametrize("kill_at", range(1, LAST, STEP))
@pytest.mark.parametrize("before", [True, False])
def test_a_cycle_killed_at_any_write_is_continued(kill_at, before):
    """Before the write: it never happens. After it: it happened, and whoever did it never knew."""
    with small_world(seed=kill_at) as world:
        cycle = world.start()
        requests = [world.request("small", "small", habit=BRIEF), world.request("small", habit=BRIEF)]
        session = cycle.store.session

        def kill(request: Any) -> None:
            if len(session.log) >= kill_at:
                session.kill()
                raise Killed

        if before:
            session.before = kill
        else:
            session.after = kill
        world.run(60, until=lambda: cycle.ended)
        world.start()
        finish(world, requests)


@pytest.mark.parametrize("seed", first(3, range(12)))
def test_cycles_that_are_killed_again_and_again(seed):
    chance = random.Random(seed)
    with small_world(seed=seed) as world:
        requests = [world.request(*["small"] * chance.randint(1, 3), habit=BRIEF) for _unused in range(6)]
        for _unused in range(8):
            cycle = world.start()
            world.run(chance.uniform(0.0, 25.0))
            cycle.kill()
        world.start()
        finish(world, requests)


@pytest.mark.parametrize("seed", first(3, range(6)))
def test_a_create_under_way_at_the_kill_is_found_again(seed):
    with small_world(seed=seed) as world:
        requests = [world.request("small", habit=BRIEF)]
        cycle = world.start()
        assert world.run(
            10, until=lambda: any(kind == CREATE for client in cycle.clients for _unused, kind in client.calls)
        )
        cycle.kill()
        world.start()
        finish(world, requests)
        made = [machine.metadata["nodepool_node_id"] for machine in world.clouds["east"].past]
        assert len(made) == 1, "the server that was being made is used, not a second one"


def test_the_successor_takes_over_at_once_when_a_cycle_ends_in_good_order():
    with small_world() as world:
        first = world.start(duration=4.0)
        second = world.start()
        requests = [world.request("small", habit=BRIEF)]
        assert world.run(10, until=lambda: first.ended)
        assert world.run(1.0, until=lambda: bool(second.account.adopted))
        finish(world, requests)
        assert first.result["acted_for"] == ["east"]
        assert second.account.fulfilled == requests


def test_of_two_cycles_one_acts_and_the_other_stands_by_until_the_first_is_gone():
    with small_world() as world:
        first, second = world.start(), world.start()
        requests = [world.request("small", habit=BRIEF)]
        finish(world, requests)
        acted = [cycle for cycle in (first, second) if cycle.account.fulfilled]
        (other,) = [cycle for cycle in (first, second) if cycle is not acted[0]]
        assert len(acted) == 1
        # Whoever stands by reads what it would need at once, and changes nothing.
        assert {call.split(" ")[0] for _when, call in other.clients[0].calls} <= {"GET"}
        acted[0].kill()
        requests = [world.request("small", habit=BRIEF)]
        began = world.agenda.now
        assert world.run(60, until=lambda: bool(other.account.launched))
        assert world.agenda.now - began <= 15.0, "the session time-out and a moment"
        finish(world, requests)


@pytest.mark.parametrize("seed", first(3, range(6)))
def test_a_lost_session_drops_every_belief_and_goes_on(seed):
    chance = random.Random(seed)
    with small_world(seed=seed) as world:
        cycle = world.start()
        requests = [world.request("small", "small", habit=BRIEF) for _unused in range(3)]
        for _unused in range(4):
            world.run(chance.uniform(0.5, 12.0))
            cycle.store.session.expire(chance.uniform(0.1, 3.0))
        finish(world, requests)
        assert not cycle.ended


@pytest.mark.parametrize("seed", first(3, range(6)))
def test_a_connection_that_comes_and_goes_costs_nothing_but_time(seed):
    chance = random.Random(seed)
    with small_world(seed=seed) as world:
        cycle = world.start()
        requests = [world.request("small", "small", habit=BRIEF) for _unused in range(3)]
        for _unused in range(5):
            world.run(chance.uniform(0.5, 10.0))
            cycle.store.session.suspend(chance.uniform(0.1, 4.0))
        finish(world, requests)
        assert not cycle.ended


@pytest.mark.parametrize("fail_at", range(FIRST, LAST, STEP))
@pytest.mark.parametrize("done", [True, False])
def test_a_write_that_is_not_answered_does_no_harm(fail_at, done):
    """The connection breaks at this very write, which may or may not have been carried out."""
    with small_world(seed=fail_at) as world:
        cycle = world.start()
        requests = [world.request("small", "small", habit=BRIEF), world.request("small", habit=BRIEF)]
        session = cycle.store.session
        left = [1]

        def fail(request: Any) -> None:
            if len(session.log) >= fail_at and left[0]:
                left[0] = 0
                session.suspend(0.5)
                raise Unanswered if done else ConnectionLoss

        if done:
            session.after = fail
        else:
            session.before = fail
        finish(world, requests)
        assert left == [0] and not cycle.ended
