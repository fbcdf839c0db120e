# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lease in a launcher cycle: the release deletes, other leases that are over go with it, a refused login ends it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.leases.customer import LINGER, Customer
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lease import LeaseError, LeaseSpec, hold_job
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import NodeState
from tests.support.lease_world import World

SPEC = LeaseSpec("web", ("small", "large"), count=2, expires=600, patience=900)
CONFIG = parse_config(
    """
zookeeper-servers: [{host: z}]
labels: [{name: small}, {name: large}]
providers:
  - {name: p, cloud: p, cloud-images: [{name: i}], pools: [{name: main, labels: [
      {name: small, cloud-image: i, min-ram: 1}, {name: large, cloud-image: i, min-ram: 1}]}]}
  - {name: q, cloud: q, cloud-images: [{name: i}], pools: [{name: main, labels: [
      {name: small, cloud-image: i, min-ram: 1}, {name: large, cloud-image: i, min-ram: 1}]}]}
  - {name: r, cloud: r, cloud-images: [{name: i}], pools: [{name: main, labels: [
      {name: small, cloud-image: i, min-ram: 1}]}]}
"""
)


def customer(world: World, *, present: bool = True) -> Customer:
    return Customer(world.spec, CONFIG, lambda status: None, present=present, clock=lambda: world.now)


@pytest.mark.parametrize("kill_at", range(1, 30))
@pytest.mark.parametrize("booted", [False, True])
def test_a_release_that_deletes_the_servers_loses_none_when_it_is_killed(booted: bool, kill_at: int) -> None:
    """Only the request names a node that is being launched: the lease notes the node before the request is deleted."""
    world = World(SPEC)
    world.leasing().advance()
    world.begin()
    if booted:
        world.boot()
    world.clear(kill_at)
    world.boot()
    status = world.clear()
    assert status is not None and status.done
    assert world.store.nodes.items == {} and world.store.all_requests() == []
    assert world.store.own.documents == {}


def test_a_release_that_deletes_waits_for_servers_that_were_given_back_before() -> None:
    world = World(SPEC)
    world.run()
    world.run(present=False)
    assert world.leasing(present=False, clears=True).preview().changed
    leasing = world.leasing(present=False, clears=True)
    status = leasing.advance()
    assert not status.done and len(status.leaving) == 4
    world.sweep()
    status = leasing.advance()
    assert status.done and status.changed
    assert not world.leasing(present=False, clears=True).advance().changed


def test_a_release_that_deletes_leaves_what_another_requestor_has_taken() -> None:
    world = World(LeaseSpec("web", ("small", "small", "small")))
    world.leasing().advance()
    world.begin()
    leasing = world.leasing(present=False, clears=True)
    leasing.advance()
    world.boot()
    first, second, third = world.store.nodes.items.values()
    first.allocated_to = "100-0000000099"
    second.set_state(NodeState.HOLD, world.now)
    second.hold_job = "debugging"
    status = leasing.advance()
    assert status.leaving == [third.id] and world.store.nodes.items[third.id].state == NodeState.USED
    world.store.nodes.items.pop(third.id)
    assert leasing.advance().done
    assert sorted(world.store.nodes.items) == [first.id, second.id]


def attended(world: World, *providers: str) -> Any:
    """The tree, with launchers that act for these providers."""
    world.store.components.pools = lambda: [SimpleNamespace(provider_name=name) for name in providers]
    return world.store


def other_lease(world: World) -> Any:
    """A node of another lease, which has expired."""
    return world.store.add_node(
        state=NodeState.HOLD,
        state_time=world.now - 60.0,
        hold_expiration=15,
        hold_job=hold_job("other"),
        type=["small"],
        provider="p",
    )


def test_it_ends_when_servers_of_other_leases_are_deleted_or_after_a_while() -> None:
    world = World(SPEC)
    world.run()
    node, lease = other_lease(world), customer(world)
    assert not lease.done(attended(world, "p")) and lease.after.done
    assert world.store.nodes.items[node.id].state == NodeState.USED
    world.now += LINGER
    assert lease.done(attended(world, "p"))
    again = customer(world)
    assert not again.done(attended(world, "p"))
    world.sweep()
    assert again.done(attended(world, "p"))


def test_it_does_not_wait_for_servers_that_nobody_can_delete() -> None:
    world = World(SPEC)
    world.run()
    other_lease(world)
    assert customer(world).done(attended(world, "q"))
    refused = customer(world)
    refused.refused({"p": "provider p: no login"})
    assert refused.done(attended(world, "p"))


def test_a_login_that_all_providers_with_the_labels_refuse_ends_it() -> None:
    world = World(SPEC)
    lease = customer(world)
    lease.refused({"p": "provider p: HTTP 401: password"})
    assert not lease.done(attended(world)) and lease.error is None, "q may serve it"
    lease.refused({"p": "provider p: HTTP 401: password", "q": "provider q: skipped"})
    assert lease.done(attended(world))
    assert isinstance(lease.error, LeaseError)
    with pytest.raises(LeaseError, match="provider p: HTTP 401: password; provider q: skipped; its requests stay"):
        raise lease.error


def test_a_release_ends_when_the_provider_of_its_last_nodes_refuses_the_login() -> None:
    world = World(SPEC)
    world.run()
    lease = customer(world, present=False)
    lease.refused({"q": "provider q: HTTP 401: password"})
    assert not lease.done(attended(world)) and lease.error is None
    lease.refused({"p": "provider p: HTTP 401: password"})
    assert lease.done(attended(world)) and "its servers are not deleted" in str(lease.error)
