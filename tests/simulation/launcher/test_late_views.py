# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cycle knows may be late in every way: of data, of locks, of what there is. It harms nobody by it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import RequestState
from tests.support.effort import examples
from tests.support.late_views import LateWorld
from tests.support.memory_zookeeper import CHILDREN, DATA, LOCKS
from tests.support.world import one_provider

LAGS = st.sampled_from([0.0, 0.01, 0.5, 3.0])
ENDS = ("used", "hold", "hold for a while", "dies", "dies before it took them", "cancels", "holds again")


class Story:
    """Requests one after the other, each of which ends in another way; cycles that are ended and follow each other."""

    def __init__(self, world: LateWorld, ends: list[str], gap: float) -> None:
        self.world = world
        self.gap = gap
        self.ends = dict(zip((world.request("small") for _unused in ends), ends, strict=True))
        self.begun: set[str] = set()
        self.held: list[str] = []

    def go_on(self) -> None:
        """Everybody does what is due."""
        world = self.world
        for request_id, end in self.ends.items():
            if end == "cancels" and request_id not in self.begun and world.chance.random() < 0.1:
                self.begun.add(request_id)
                world.store.requests.delete(request_id)
            elif request_id not in self.begun and world.state(request_id) == RequestState.FULFILLED:
                self.begun.add(request_id)
                self._take(request_id, end)
        world.agenda.after(world.chance.uniform(0.01, 0.5), self.go_on)

    def _take(self, request_id: str, end: str) -> None:
        world = self.world
        if end == "cancels":
            world.store.requests.delete(request_id)
            return
        if end == "dies before it took them":
            request = world.store.requests.read(request_id)
            assert request is not None and all(world.lock(node_id) for node_id in request.nodes)
            world.store.requests.delete(request_id)
            world.agenda.after(self.gap, lambda: world.unlock(request.nodes))
            return
        nodes = world.take(request_id)
        world.agenda.after(world.chance.uniform(0.0, 5.0), lambda: self._end(nodes, end))

    def _end(self, nodes: list[str], end: str) -> None:
        world = self.world
        if end == "used":
            world.give_back(nodes)
        elif end == "dies":
            world.unlock(nodes)
        else:
            self.held += nodes if end == "hold" else []
            world.hold(nodes, self.gap, None if end == "hold" else 4)
            if end == "holds again":
                world.agenda.after(self.gap + 3.9, lambda: self._hold_again(nodes))

    def _hold_again(self, nodes: list[str]) -> None:
        """At the very end of its time somebody wants it for longer."""
        for node_id in nodes:
            if self.world.lock(node_id):
                node = self.world.store.nodes.read(node_id)
                if node is not None and node.state == NodeState.HOLD:
                    self.held.append(node_id)
                    self.world.write(node_id, NodeState.HOLD, hold_expiration=None)
                self.world.unlock([node_id])

    def follow(self) -> None:
        """The acting cycle is killed, or its time is over; the next one has been standing by."""
        world = self.world
        first = next((cycle for cycle in world.cycles if not cycle.ended), None)
        world.start(duration=world.chance.uniform(5, 20))
        if first is not None and world.chance.random() < 0.5:
            world.agenda.after(world.chance.uniform(0, 3), lambda: None if first.ended else first.kill())
        world.agenda.after(world.chance.uniform(4, 12), self.follow)

    @property
    def over(self) -> bool:
        """True when every request had its end."""
        return len(self.begun) == len(self.ends)


@settings(max_examples=examples(5), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    ends=st.lists(st.sampled_from(ENDS), min_size=2, max_size=6),
    most=st.fixed_dictionaries({DATA: LAGS, LOCKS: LAGS, CHILDREN: LAGS}),
    gap=st.sampled_from([0.0, 0.01, 0.2]),
    seed=st.integers(0, 2**32),
)
def test_a_view_that_is_late_in_any_way_harms_nobody(ends, most, gap, seed):
    with LateWorld(one_provider(max_servers=6), most=most, seed=seed) as world:
        story = Story(world, ends, gap)
        story.follow()
        story.go_on()
        assert world.run(600, until=lambda: story.over or bool(world.wrong))
        world.run(10)
        assert world.wrong == []
        assert {node.id for node in world.nodes(NodeState.HOLD)} >= set(story.held)


def held_at_once(count: int, most: dict[str, float], gap: float) -> tuple[LateWorld, list[str]]:
    """So many nodes are held, one after the other, and each lock is given back."""
    world = LateWorld(one_provider(), most=most, seed=1)
    nodes: list[str] = []
    with world:
        world.start()
        requests = [world.request("small") for _unused in range(count)]
        assert world.run(300, until=lambda: all(world.state(key) == "fulfilled" for key in requests))
        for place, request_id in enumerate(requests):
            nodes += world.take(request_id)
            world.agenda.after(5 + place * 0.05, lambda node=nodes[-1]: world.hold([node], gap))  # type: ignore[misc]
        world.run(10)
    return world, nodes


@pytest.mark.parametrize("gap", [0.0, 0.005])
def test_a_node_that_is_held_and_given_back_at_once_is_kept(gap):
    """Zuul's autohold: the state is written, then the lock is given back; the lock is known at once, the state not."""
    world, nodes = held_at_once(20, {DATA: 0.01, LOCKS: 0.0, CHILDREN: 0.0}, gap)
    assert world.wrong == []
    assert sorted(node.id for node in world.nodes(NodeState.HOLD)) == sorted(nodes)


def test_the_witness_sees_what_is_wrong():
    """The tests above could not fail if nobody saw anything."""
    with LateWorld(one_provider(), most={DATA: 0.0, LOCKS: 0.0, CHILDREN: 0.0}, seed=1) as world:
        cycle = world.start()
        request_id = world.request("small")
        assert world.run(60, until=lambda: world.state(request_id) == "fulfilled")
        document: Any = world.store.requests.read(request_id)
        document.set_state(RequestState.REQUESTED, world.agenda.now)
        cycle.store.requests.write(document)
        (node_id,) = document.nodes
        node: Any = world.store.nodes.read(node_id)
        node.set_state(NodeState.HOLD, world.agenda.now)
        world.store.nodes.write(node)
        node.set_state(NodeState.DELETING, world.agenda.now)
        cycle.store.nodes.write(node)
        assert len(world.wrong) == 2
