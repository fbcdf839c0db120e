# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server with the address or the host keys of another node of its provider is not handed over."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from tests.support.virtual_cloud import Fate, Machine, VirtualCloud
from tests.support.world import World, label, one_provider, provider_document, site

SHIPPED = "ssh-ed25519 c2hpcHBlZA=="


def strike(world: World, change: Callable[[VirtualCloud, Machine], None], name: str = "east") -> list[str]:
    """Have *change* done to each new server; returns the ids of those, as they are made."""
    made: list[str] = []

    def fate(machine: Machine) -> Fate:
        made.append(machine.id)
        change(world.clouds[name], machine)
        return Fate()

    world.clouds[name].fate = fate
    return made


def node_of(world: World, request: str) -> Node:
    found = world.store.requests.read(request)
    assert found is not None
    node = world.store.nodes.read(found.nodes[0])
    assert node is not None
    return node


def served(world: World, request: str, seconds: float = 300) -> bool:
    return world.run(seconds, until=lambda: request in world.fulfilled)


@pytest.mark.parametrize("state", ["ready", "in-use", "hold"])
@pytest.mark.parametrize("checked", [True, False], ids=["keys read", "keys not read"])
def test_a_ghost_at_the_address_of_a_live_node_is_not_handed_over(state, checked):
    pool = {"name": "main", "labels": [label("small")], "host-key-checking": checked}
    with World(site(provider_document("east", pool))) as world:
        cycle = world.start()
        first = world.request("small")
        assert served(world, first)
        old = node_of(world, first)
        if state != "ready":
            world.take(first)
            old = next(node for node in world.nodes() if node.id == old.id)
            old.set_state(state, world.agenda.now)
            world.store.nodes.write(old)
        victim = world.clouds["east"].machines[old.external_id]

        def ghost(cloud: VirtualCloud, machine: Machine) -> None:
            if len(made) == 1:
                machine.address, machine.host_key = victim.address, victim.host_key

        made = strike(world, ghost)
        second = world.request("small")
        assert served(world, second)
        assert node_of(world, second).external_id == made[1] and len(made) == 2, "it was tried with another server"
        told = [line for _at, line in cycle.lines if "not proved" in line]
        assert len(told) == 1 and all(text in told[0] for text in (made[0], old.id, old.external_id, state))
        left = world.store.nodes.read(old.id)
        assert left is not None and left.state == state and victim.status == "ACTIVE", "the live node is left alone"
        world.run(60)
        assert made[0] not in world.clouds["east"].machines


def test_the_next_cycle_knows_the_nodes_of_the_one_before():
    with World(one_provider()) as world:
        first = world.start()
        request = world.request("small")
        assert served(world, request)
        old = node_of(world, request)
        world.take(request)
        first.kill()
        world.start()
        victim = world.clouds["east"].machines[old.external_id]
        made = strike(
            world, lambda cloud, machine: setattr(machine, "host_key", victim.host_key) if len(made) == 1 else None
        )
        second = world.request("small")
        assert served(world, second) and node_of(world, second).external_id == made[1]


def test_of_two_that_are_reached_in_one_pass_with_one_address_one_is_handed_over():
    with World(one_provider()) as world:
        world.start()
        world.run(5)

        def twin(cloud: VirtualCloud, machine: Machine) -> None:
            first = cloud.machines[made[0]]
            if len(made) == 2:
                machine.address, machine.host_key = first.address, first.host_key

        made = strike(world, twin)
        world.clouds["east"].timing.boot = (10.0, 0.0)
        requests = [world.request("small") for _unused in range(2)]
        assert all(served(world, request) for request in requests)
        nodes = [node_of(world, request) for request in requests]
        assert len({node.interface_ip for node in nodes}) == len({*map(str, (node.host_keys for node in nodes))}) == 2
        assert len(made) == 3


def test_a_ghost_that_comes_back_each_time_fails_nobody_and_is_tried_ever_more_rarely():
    with World(one_provider()) as world:
        world.start()
        first = world.request("small")
        assert served(world, first)
        old = world.clouds["east"].machines[node_of(world, first).external_id]

        def ghost(cloud: VirtualCloud, machine: Machine) -> None:
            machine.address, machine.host_key = old.address, old.host_key

        made = strike(world, ghost)
        second = world.request("small")
        world.run(600)
        assert world.state(second) == "pending" and len(world.nodes("ready")) == 1
        assert 5 < len(made) < 15
        world.clouds["east"].fate = lambda machine: Fate()
        assert served(world, second)


def test_an_image_that_ships_its_host_keys_costs_one_server_and_is_named():
    with World(one_provider()) as world:
        cycle = world.start()
        made = strike(world, lambda cloud, machine: setattr(machine, "host_key", SHIPPED))
        for _unused in range(4):
            request = world.request("small")
            assert served(world, request)
            world.take(request)
        assert len(made) == 5, "only the second server was thrown away"
        told = [line for _at, line in cycle.lines if "it contains host keys" in line]
        assert len(told) == 1 and "image debian" in told[0] and "/etc/ssh/ssh_host_*" in told[0]
        world.run(70)
        cycle.kill()
        world.start()
        world.give_back(list(world.handed_out)[1:])
        world.run(60)
        last = world.request("small")
        assert served(world, last) and len(made) == 6


def test_a_burst_from_an_image_that_ships_its_host_keys_costs_no_server():
    with World(one_provider()) as world:
        world.start()
        made = strike(world, lambda cloud, machine: setattr(machine, "host_key", SHIPPED))
        requests = [world.request("small") for _unused in range(12)]
        assert all(served(world, request) for request in requests)
        assert len(made) == 12


def test_the_address_of_a_node_that_is_deleted_may_be_used_again_at_once():
    with World(one_provider(max_servers=3)) as world:
        cycle = world.start()
        first = world.request("small")
        assert served(world, first)
        old = world.clouds["east"].machines[node_of(world, first).external_id]
        world.clouds["east"].undying = lambda machine: machine is old
        world.give_back(world.take(first))
        world.run(10)
        freed, old.address = old.address, ""
        made = strike(world, lambda cloud, machine: setattr(machine, "address", freed))
        second = world.request("small")
        assert served(world, second) and len(made) == 1
        assert not any("not proved" in line for _at, line in cycle.lines)


def test_two_providers_may_have_the_same_addresses():
    document = site(
        *(provider_document(name, {"name": "main", "labels": [label("small")]}) for name in ("east", "west"))
    )
    with World(document) as world:
        world.start()

        def same(cloud: VirtualCloud, machine: Machine) -> None:
            machine.address = "10.0.0.5"

        made = [strike(world, same, name) for name in ("east", "west")]
        requests = [world.request("small", provider=name) for name in ("east", "west")]
        assert all(served(world, request) for request in requests)
        assert [len(servers) for servers in made] == [1, 1]
