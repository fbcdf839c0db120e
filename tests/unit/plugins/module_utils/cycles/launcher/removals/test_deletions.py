# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deletions of nodes, on virtual time: what they write, and what they do when others have written meanwhile."""

from __future__ import annotations

from typing import Any

from kazoo.protocol.serialization import Create2, Delete, SetData

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.multi import Multi, changes
from tests.support.world import World, one_provider

TOMBSTONES = f"{paths.OWN}/tombstones/east"


def served(world: World, number: int = 1) -> tuple[Any, list[str]]:
    """A cycle, and the nodes that it has launched, which are in use."""
    cycle = world.start()
    requests = [world.request("small") for _unused in range(number)]
    assert world.run(120, until=lambda: set(requests) <= set(world.fulfilled))
    return cycle, [node for request in requests for node in world.take(request)]


def listen(cycle: Any) -> list[Any]:
    """The requests that the cycle sends from now on which change something."""
    heard: list[Any] = []

    def hear(request: Any) -> None:
        if isinstance(request, (Multi, Create2, SetData, Delete)):
            heard.append(request)

    cycle.store.session.before = hear
    return heard


def of_node(requests: list[Any], node: str) -> list[Any]:
    return [item for item in requests if any(f"/{node}/" in f"{change.path}/" for change, _none in changes(item))]


def test_a_node_costs_two_requests_from_its_use_to_its_end():
    with World(one_provider()) as world:
        cycle, nodes = served(world, 5)
        heard = listen(cycle)
        world.give_back(nodes)
        assert world.run(120, until=lambda: not world.nodes())
        for node in nodes:
            begin, end, *later = of_node(heard, node)
            assert [type(change).__name__ for change, _none in changes(begin)][-2:] == ["SetData", "Create2"]
            for one in later:  # its use is counted, with that of others
                assert any(f"{paths.OWN}/usage-days/" in change.path for change, _none in changes(one))
            paths_of_end = [change.path for change, _none in changes(end)]
            assert paths_of_end[0] == f"{TOMBSTONES}/{node}"
            assert paths_of_end[-1] == f"/nodepool/nodes/{node}"
        assert world.keeper.names[f"{paths.OWN}/launches"] == set()


def test_a_node_that_another_client_locks_first_is_left_alone_until_it_is_free():
    with World(one_provider()) as world:
        cycle, (node,) = served(world)
        contender = f"/nodepool/nodes/{node}/lock/0__lock__0000000000"

        def lock(request: Any) -> None:
            if isinstance(request, Multi) and of_node([request], "lock"):
                cycle.store.session.before = None
                world.keeper.store_raw(contender, b"")

        cycle.store.session.before = lock
        world.give_back([node])
        world.run(20)
        assert [item.state for item in world.nodes()] == ["used"]
        assert world.keeper.names[f"/nodepool/nodes/{node}/lock"] == {contender.rsplit("/", 1)[1]}


def test_a_node_below_which_another_client_has_created_something_goes_all_the_same():
    with World(one_provider()) as world:
        cycle, (node,) = served(world)
        extra = f"/nodepool/nodes/{node}/lock/of-another"

        def spoil(request: Any) -> None:
            if isinstance(request, Multi) and of_node([request], "tombstones"):
                cycle.store.session.before = None
                world.keeper.store_raw(extra, b"")

        cycle.store.session.before = spoil
        world.give_back([node])
        assert world.run(120, until=lambda: not world.nodes())
        assert extra not in world.keeper.znodes
        assert f"{TOMBSTONES}/{node}" in world.keeper.znodes
        assert f"{paths.OWN}/launches/{node}" not in world.keeper.znodes
        assert cycle.account.deleted == [node]
