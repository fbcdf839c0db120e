# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Launchers of Nodepool beside ours in one tree, on virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.components import Registration
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.ownership.stock_launchers import (
    REMEMBERED,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.component import ComponentKind, PoolComponent
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.own_tree import DRAIN, PROVIDERS, STOCK_POOLS
from tests.support.world import Cycle, World, label, provider_document, site

SOON = 10.0
POOLS = f"{paths.COMPONENTS}/{ComponentKind.POOL}"
THEIRS = "vm-PoolWorker.static-main-1"


def provider(name: str, *labels: str) -> dict[str, Any]:
    return provider_document(name, {"name": "main", "labels": [label(one) for one in labels or ("small",)]})


EAST = provider("east")
WEST = provider("west")


@pytest.fixture
def world():
    with World(site(EAST, WEST)) as made:
        yield made


def stock(world: World, *labels: str, name: str = "static", ident: str = THEIRS, **more: Any) -> Registration:
    """Register a pool as Nodepool's launcher does."""
    fields = {"id": ident, "name": "main", "provider_name": name, "supported_labels": list(labels), "priority": 100}
    fields |= {"paused": False, "state": "running", "version": "11.0.0", **more}
    return world.store.components.register(ComponentKind.POOL, "vm", fields)


def lines(cycle: Cycle, text: str) -> list[str]:
    return [line for _moment, line in cycle.lines if text in line]


def seen_by_nodepool(world: World) -> dict[str, str]:
    """Provider → the ids of our pools, as Nodepool sees them."""
    entries = [entry for _name, entry in world.store.session.tree.documents(POOLS)]
    pools = [PoolComponent.from_bytes("", entry.data) for entry in entries]
    return {str(pool.provider_name): pool.id for pool in pools if pool.is_ours}


def settled(world: World, cycle: Cycle, *providers: str) -> bool:
    return world.run(60, lambda: sorted(cycle.context.actors) == sorted(providers))


# -- providers -------------------------------------------------------------------------------------------------------


def test_a_provider_of_nodepools_launcher_is_left_to_it_and_taken_when_that_has_ended(world):
    theirs = stock(world, "small", name="east")
    cycle = world.start()
    assert settled(world, cycle, "west")
    world.run(60)
    assert sorted(cycle.context.actors) == ["west"]
    assert lines(cycle, "standing by, it is left to the launcher of Nodepool on vm")
    theirs.unregister()
    assert settled(world, cycle, "east", "west")


def test_a_provider_that_nodepools_launcher_begins_with_is_left_at_once_and_its_nodes_stay(world):
    cycle = world.start()
    assert settled(world, cycle, "east", "west")
    request = world.request("small", provider="east")
    assert world.run(60, lambda: world.state(request) == "fulfilled")
    theirs = stock(world, "small", name="east")
    assert settled(world, cycle, "west")
    assert lines(cycle, "provider east: left to the launcher of Nodepool on vm")
    assert not world.store.own.is_locked(f"{PROVIDERS}/east")
    world.configure(site(WEST))
    world.run(60)
    assert world.store.own.children(DRAIN) == [], "its nodes are not drained"
    world.store.requests.delete(request)
    world.run(60)
    (node,) = [one for one in world.store.nodes.list() if one.provider == "east"]
    assert (node.state, node.allocated_to) == (NodeState.READY, request), "its new launcher frees it"
    theirs.unregister()


def test_a_provider_that_was_removed_while_no_cycle_ran_is_not_drained_beside_nodepools_launcher(world):
    first = world.start()
    assert settled(world, first, "east", "west")
    request = world.request("small", provider="east")
    assert world.run(60, lambda: world.state(request) == "fulfilled")
    first.kill()
    stock(world, "small", name="east")
    world.configure(site(WEST))
    second = world.start()
    assert settled(world, second, "west")
    world.run(60)
    assert world.store.own.children(DRAIN) == []
    assert "east" not in second.context.actors


def test_a_provider_of_another_driver_is_a_warning_until_nodepools_launcher_works_on_it(world):
    machines = {"name": "machines", "driver": "static", "pools": [{"name": "main", "nodes": []}]}
    pods = {"name": "pods", "driver": "kubernetes", "pools": [{"name": "main", "labels": []}]}
    document = site(EAST, WEST)
    document["providers"] += [machines, pods]
    world.configure(document)
    stock(world, "machine", name="machines")
    cycle = world.start(duration=10)
    assert world.run(60, lambda: cycle.ended)
    (warning,) = cycle.result["warnings"]
    assert "providers[pods]: has the driver kubernetes" in warning


# -- requests --------------------------------------------------------------------------------------------------------


def test_a_request_that_only_nodepools_launcher_serves_waits_while_that_restarts(world):
    theirs = stock(world, "static-label")
    cycle = world.start()
    assert settled(world, cycle, "east", "west")
    request = world.request("static-label")
    world.run(SOON)
    theirs.unregister()
    world.run(REMEMBERED / 2)
    assert world.state(request) == "requested"
    assert world.store.requests.read(request).declined_by == []
    stock(world, "static-label", ident="vm-PoolWorker.static-main-2")
    world.run(SOON)
    assert world.store.own.children(STOCK_POOLS) and world.state(request) == "requested"


def test_it_fails_when_nodepools_launcher_does_not_come_back(world):
    theirs = stock(world, "static-label")
    cycle = world.start()
    assert settled(world, cycle, "east", "west")
    request = world.request("static-label")
    world.run(SOON)
    theirs.unregister()
    assert world.run(REMEMBERED + 120, lambda: world.state(request) == "failed")
    assert world.run(120, lambda: not world.store.own.children(STOCK_POOLS))


def test_the_next_cycle_knows_what_nodepools_launcher_offered(world):
    theirs = stock(world, "static-label")
    first = world.start()
    assert settled(world, first, "east", "west")
    theirs.unregister()
    first.kill()
    world.start()
    request = world.request("static-label")
    world.run(120)
    assert world.state(request) == "requested"


def test_a_provider_that_moved_over_to_us_leaves_no_pool_to_wait_for(world):
    theirs = stock(world, "small", "former", name="east")
    cycle = world.start()
    assert settled(world, cycle, "west")
    request = world.request("former")
    world.run(SOON)
    assert world.state(request) == "requested"
    theirs.unregister()
    assert world.run(60, lambda: world.state(request) == "failed")


def test_a_provider_that_moved_over_to_nodepool_does_not_keep_requests_from_failing(world):
    cycle = world.start()
    assert settled(world, cycle, "east", "west")
    stock(world, "other", name="east", ident="vm-PoolWorker.east-main-1")
    assert settled(world, cycle, "west")
    request = world.request("small", "nowhere")
    world.run(SOON)
    assert world.state(request) == "requested", "Nodepool's launcher has not declined it yet"
    declined = world.store.requests.read(request)
    assert len(declined.declined_by) == 1
    held = world.store.requests.lock(request)
    declined.declined_by.append("vm-PoolWorker.east-main-1")
    world.store.requests.write(declined, held=held)
    held.release()
    assert world.run(SOON, lambda: world.state(request) == "failed")


# -- registrations ---------------------------------------------------------------------------------------------------


def test_our_pools_stay_registered_beside_nodepools_launcher_whatever_ends(world):
    theirs = stock(world, "static-label")
    first = world.start(host="a")
    assert settled(world, first, "east", "west")
    ids = seen_by_nodepool(world)
    assert sorted(ids) == ["east", "west"]
    first.kill()
    world.run(3600)
    assert seen_by_nodepool(world) == ids
    assert [pool for pool in world.store.components.pools() if pool.is_ours] == [], "nobody takes it for a launcher"
    second = world.start(host="a")
    assert settled(world, second, "east", "west")
    assert seen_by_nodepool(world) == ids
    theirs.unregister()
    assert world.run(2 * REMEMBERED, lambda: not world.store.components.lasting_pools())


def test_without_nodepools_launchers_nothing_outlives_its_cycle(world):
    cycle = world.start()
    assert settled(world, cycle, "east", "west")
    assert world.store.components.lasting_pools() == set()
    cycle.kill()
    world.run(60)
    assert seen_by_nodepool(world) == {}


def test_a_provider_that_moves_over_to_nodepool_loses_its_lasting_registration(world):
    stock(world, "static-label")
    cycle = world.start()
    assert settled(world, cycle, "east", "west")
    assert sorted(seen_by_nodepool(world)) == ["east", "west"]
    stock(world, "small", name="east", ident="vm-PoolWorker.east-main-1")
    assert world.run(60, lambda: sorted(seen_by_nodepool(world)) == ["west"])


def test_a_pool_that_leaves_the_configuration_loses_its_lasting_registration(world):
    stock(world, "static-label")
    cycle = world.start()
    assert settled(world, cycle, "east", "west")
    world.configure(site(WEST))
    assert world.run(60, lambda: sorted(seen_by_nodepool(world)) == ["west"])


def test_a_lasting_registration_is_paused_and_has_the_present_labels(world):
    stock(world, "static-label")
    cycle = world.start()
    assert settled(world, cycle, "east", "west")
    world.configure(site(provider("east", "small", "large"), WEST))
    names = world.store.components.lasting_pools()
    assert len(names) == 2

    def found() -> list[tuple[str, str, bool, tuple[str, ...]]]:
        entries = {name: entry for name, entry in world.store.session.tree.documents(POOLS) if name in names}
        pools = [PoolComponent.from_bytes(name, entry.data) for name, entry in entries.items()]
        return sorted((str(pool.provider_name), pool.state, pool.paused, (*pool.supported_labels,)) for pool in pools)

    expected = [("east", "absent", True, ("large", "small")), ("west", "absent", True, ("small",))]
    assert world.run(60, lambda: found() == expected), found()
