# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports that neutron cannot bind, or that hosts cannot plug: the network is to blame, and there are addresses."""

from __future__ import annotations

from tests.support.owner_case import creates, most_within
from tests.support.virtual_cloud import Fate
from tests.support.world import World, one_provider

UNBOUND = "Binding failed for port 7, please check neutron logs for more information."


def test_ports_that_cannot_be_bound_in_one_zone_are_told_as_that_and_the_other_zone_serves():
    """The networks have addresses enough: neutron's agent on the hosts of one zone is down."""
    with World(one_provider()) as world:
        cloud = world.clouds["east"]
        assert len(cloud.zones) > 1
        cloud.fate = lambda one: Fate("ERROR", UNBOUND, 2.0) if one.az == cloud.zones[0] else Fate()
        cycle = world.start()
        requests = [world.request("small") for _unused in range(6)]
        assert world.run(90, until=lambda: all(request in world.fulfilled for request in requests))
        assert {node.az for node in world.nodes("ready")} == set(cloud.zones[1:])
        assert any("working ports in" in line for _when, line in cycle.lines)
        assert not any("addresses" in line for _when, line in cycle.lines)


def test_ports_that_cannot_be_bound_anywhere_wait_and_the_network_is_named():
    with World(one_provider()) as world:
        ends = world.agenda.now + 300
        cloud = world.clouds["east"]
        cloud.fate = lambda one: Fate("ERROR", UNBOUND, 2.0) if one.created < ends else Fate()
        cycle = world.start()
        requests = [world.request(name) for name in ("small", "medium")]
        world.run(200)
        assert not {world.state(request) for request in requests} & {"failed", "fulfilled"}
        reasons = cycle.account.waiting.values()
        assert {reason["owner"] for reason in reasons} == {"network"}
        assert all("east/main has no working ports in" in reason["text"] for reason in reasons)
        assert most_within(creates(cycle), 120.0) <= 6 + 2
        assert world.store.own.get("breakers/east") in (None, {})
        assert world.run(400, until=lambda: all(request in world.fulfilled for request in requests))
