# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cycle that serves nobody deletes what has to be deleted, and touches nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import RequestState
from tests.support.world import Cycle, World, one_provider


def deleting(world: World, **options: Any) -> Cycle:
    """A cycle that serves nobody."""
    cycle = world.start(**options)
    object.__setattr__(cycle.options, "serves", False)
    return cycle


def test_it_deletes_used_and_expired_nodes_and_serves_nobody():
    with World(one_provider(max_servers=5, min_ready={"small": 1})) as world:
        first = world.start()
        asked = [world.request("small") for _turn in range(3)]
        assert world.run(120, until=lambda: all(world.state(one) == RequestState.FULFILLED for one in asked))
        assert world.run(60, until=lambda: len(world.nodes(NodeState.READY)) == 4)
        used, held, kept = (world.take(one)[0] for one in asked)
        (spare,) = (node.id for node in world.nodes(NodeState.READY))
        first.kill()
        world.run(20)
        for node_id, bound in ((held, 5), (kept, 9000)):
            node = world.store.nodes.read(node_id)
            assert node is not None
            node.hold_expiration = bound
            node.set_state(NodeState.HOLD, world.agenda.now)
            world.store.nodes.write(node)
            world._held.pop(node_id).release()
        world.give_back([used])
        waiting = world.request("small")
        world.run(10)
        deleting(world)
        assert world.run(120, until=lambda: {node.id for node in world.nodes()} == {kept, spare})
        world.run(60)
        assert {node.id for node in world.nodes()} == {kept, spare} and world.state(waiting) == RequestState.REQUESTED
        assert [pool for pool in world.store.components.pools() if pool.provider_name == "east"] == []
        assert len(world.clouds["east"].ours()) == 2


def test_it_leaves_launches_to_a_launcher_that_serves():
    with World(one_provider(max_servers=5)) as world:
        first = world.start()
        request = world.request("small")
        assert world.run(60, until=lambda: bool(world.nodes(NodeState.BUILDING)) and bool(world.clouds["east"].ours()))
        first.kill()
        world.run(20)
        helper = deleting(world)
        world.run(30)
        helper.kill()
        world.run(20)
        (node,) = world.nodes()
        assert node.state == NodeState.BUILDING and world.state(request) == RequestState.PENDING
        world.start()
        assert world.run(120, until=lambda: world.state(request) == RequestState.FULFILLED)
        assert [one.id for one in world.nodes()] == [node.id] and len(world.clouds["east"].ours()) == 1


@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_it_is_settled_when_nothing_is_left_to_delete(nodes: int):
    with World(one_provider(max_servers=5)) as world:
        first = world.start()
        asked = [world.request("small") for _turn in range(nodes)]
        assert world.run(120, until=lambda: all(world.state(one) == RequestState.FULFILLED for one in asked))
        used = [node for one in asked for node in world.take(one)]
        first.kill()
        world.run(20)
        world.give_back(used)
        waiting = world.request("small")
        helper = deleting(world, until="settled", duration=600)
        assert world.run(120, until=lambda: helper.ended)
        assert helper.result["ended"] == "settled"
        assert world.nodes() == [] == world.clouds["east"].ours() and world.state(waiting) == RequestState.REQUESTED
