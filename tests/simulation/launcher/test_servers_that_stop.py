# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers that stop, break or go while their guests are waited for: neither image nor network is to blame."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import NodepoolConfig
from tests.support.config_texts import parse
from tests.support.virtual_cloud import Fate, Machine
from tests.support.world import World, one_provider

BROKEN = "Connection to the hypervisor is broken on host"


def stopped(world: World, machine: Machine) -> None:
    machine.status = "SHUTOFF"


def broken(world: World, machine: Machine) -> None:
    machine.status, machine.fault = "ERROR", BROKEN


def gone(world: World, machine: Machine) -> None:
    del world.clouds["east"].machines[machine.id]


ENDS = [
    (stopped, "the server is in status SHUTOFF", "unknown"),
    (broken, BROKEN, "cloud"),
    (gone, "the server no longer exists", "unknown"),
]


def configured(probe: bool, limit: int) -> NodepoolConfig:
    document = one_provider()
    (east,) = document["providers"]
    settings = {"labels": [{"name": "small", "probe": {"port": 5986, "timeout": limit}}]} if probe else {}
    changed = {**document, "providers": [{**east, "boot-timeout": limit, "launch-retries": 1}]}
    return parse(changed, settings_text=json.dumps(settings))


@pytest.mark.parametrize("limit", [8, 60])
@pytest.mark.parametrize("probe", [False, True], ids=["silent", "probed"])
@pytest.mark.parametrize(("end", "text", "whose"), ENDS, ids=["stopped", "broken", "gone"])
def test_what_became_of_the_server_is_told_and_its_request_is_served_by_another(
    end: Callable[[World, Machine], None], text: str, whose: str, probe: bool, limit: int
) -> None:
    with World(one_provider()) as world:
        world.config = configured(probe, limit)
        cloud = world.clouds["east"]
        cloud.fate = lambda machine: Fate(reachable=probe)
        world.passes = float("inf") if probe else 0.0
        cycle = world.start()
        request = world.request("small")
        assert world.run(60, until=lambda: any(machine.active_at for machine in cloud.machines.values()))
        world.run(limit / 2)
        (machine,) = cloud.machines.values()
        end(world, machine)
        cloud.fate = lambda other: Fate()
        world.passes = 0.0
        assert world.run(300, until=lambda: world.state(request) == "fulfilled")
        (told,) = [line for _when, line in cycle.lines if "[owner: " in line]
        assert f"fault: {text}; it was ACTIVE before [owner: {whose}]" in told
        assert world.store.own.get("breakers/east") in (None, {})


def test_a_server_that_is_stopped_is_not_waited_for_until_launch_timeout() -> None:
    """It was ACTIVE before this cycle began, or between two lists."""
    with World(one_provider()) as world:
        cloud = world.clouds["east"]
        cloud.fate = lambda machine: Fate(status="SHUTOFF")
        world.start()
        request = world.request("small")
        assert world.run(120, until=lambda: any(machine.status == "SHUTOFF" for machine in cloud.machines.values()))
        cloud.fate = lambda machine: Fate()
        assert world.run(300, until=lambda: world.state(request) == "fulfilled")


@pytest.mark.parametrize("direct", [True, False], ids=["public", "floating"])
def test_a_server_whose_address_is_shown_after_it_became_active_is_kept(direct: bool) -> None:
    """nova fills in what neutron tells it later. Without any address the network would be to blame."""
    with World(one_provider()) as world:
        cloud = world.clouds["east"]
        cloud.direct = direct
        cycle = world.start()
        request = world.request("small")
        assert world.run(60, until=lambda: bool(cloud.machines))
        (machine,) = cloud.machines.values()
        address, machine.address = machine.address, ""
        assert world.run(120, until=lambda: machine.active_at is not None)
        world.run(6)
        machine.address = address
        assert world.run(60, until=lambda: world.state(request) == "fulfilled")
        assert list(cloud.machines) == [machine.id]
        assert [node.interface_ip for node in world.store.nodes.list()] == [machine.floating or address]
        assert not [line for _when, line in cycle.lines if "[owner: " in line]
