# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A nova whose cells are away denies zones that it had a moment ago."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.own_tree import WAITS
from tests.support.world import Habit, World, label, one_provider, provider_document, site

CREATE = "POST /servers"


def failed(world: World) -> list[str]:
    return [line for _unused, line in world.cycles[0].lines if ": refused:" in line]


def creates(world: World) -> int:
    return sum(1 for client in world.cycles[0].clients for _unused, kind in client.calls if kind == CREATE)


def two_zones() -> dict[str, Any]:
    pool = {"name": "main", "labels": [label("small")], "availability-zones": ["az1", "az2"]}
    return site(provider_document("east", pool))


@pytest.mark.parametrize("document", [one_provider(), two_zones()], ids=["zones of the cloud", "zones of the pool"])
@pytest.mark.parametrize("labels", [("small",), ("small", "small")])
def test_requests_outlast_cells_that_are_away(document, labels):
    with World(document) as world:
        cycle = world.start()
        first = world.request("small", habit=Habit(work=lambda chance: 5.0))
        assert world.run(120, until=lambda: first in world.fulfilled)
        world.clouds["east"].cells_down = True
        request = world.request(*labels)
        world.run(90)
        assert world.state(request) in ("pending", "requested")
        health = cycle.context.actors["east"].health.document(world.agenda.now)
        assert health["state"] == "trouble" and "availability zone" in health["text"]
        assert creates(world) <= 20, "it is left alone meanwhile"
        world.clouds["east"].cells_down = False
        assert world.run(120, until=lambda: request in world.fulfilled)
        assert failed(world) == [] and cycle.account.failed == {} and cycle.account.launch_failures == {}


def test_a_cycle_that_begins_meanwhile_waits_as_well():
    """It has read no zones before; nova shows none."""
    with World(two_zones()) as world:
        world.clouds["east"].cells_down = True
        world.start()
        request = world.request("small")
        world.run(60)
        assert world.state(request) in ("pending", "requested")
        world.clouds["east"].cells_down = False
        assert world.run(120, until=lambda: request in world.fulfilled)
        assert failed(world) == []


def test_a_zone_that_is_away_costs_a_single_node_nothing():
    with World(one_provider()) as world:
        cycle = world.start()
        first = [world.request("small") for _unused in range(2)]
        assert world.run(120, until=lambda: all(request in world.fulfilled for request in first))
        world.clouds["east"].zones = ("az1",)
        requests = [world.request("small") for _unused in range(4)]
        assert world.run(120, until=lambda: all(request in world.fulfilled for request in requests))
        assert failed(world) == [] and cycle.account.launch_failures == {}


def test_a_zone_that_never_was_is_refused():
    document = site(
        provider_document("east", {"name": "main", "labels": [label("small")], "availability-zones": ["nowhere"]})
    )
    with World(document) as world:
        world.start()
        request = world.request("small")
        assert world.run(300, until=lambda: world.state(request) == "failed")
        assert not any("a moment ago" in line for _unused, line in world.cycles[0].lines)


@pytest.mark.parametrize("labels", [("small",), ("small", "small")])
def test_a_pool_outlasts_the_absence_of_its_zone(labels):
    """What zones there are is read anew meanwhile, and shows the others only; the label is not broken by that."""
    pool = {"name": "main", "labels": [label("small")], "availability-zones": ["az2"]}
    with World(site(provider_document("east", pool))) as world:
        cycle = world.start()
        first = [world.request("small", habit=Habit(work=lambda chance: 5.0)) for _unused in range(2)]
        assert world.run(120, until=lambda: all(request in world.fulfilled for request in first))
        world.clouds["east"].zones = ("az1",)
        known = cycle.context.actors["east"].known
        for fact in (known.every_zone, known.zones):
            fact.forget()
        requests = [world.request(*labels) for _unused in range(2)]
        world.run(90)
        assert not {world.state(request) for request in requests} & {"failed", None}
        world.clouds["east"].zones = ("az1", "az2")
        assert world.run(120, until=lambda: all(request in world.fulfilled for request in requests))
        assert failed(world) == [] and cycle.account.declined == {}


def test_a_zone_that_does_not_come_back_is_refused_in_the_end():
    document = two_zones()
    with World(document) as world:
        cycle = world.start()
        first = [world.request("small") for _unused in range(2)]
        assert world.run(120, until=lambda: all(request in world.fulfilled for request in first))
        world.clouds["east"].zones = ("az3",)
        request = world.request("small", "small")
        assert world.run(1800, until=lambda: world.state(request) == "failed")
        assert failed(world)
        (reason,) = cycle.account.failed[request]
        assert (reason["code"], reason["owner"]) == ("label-broken", "label") and "availability-zones" in reason["text"]


def only_az2() -> dict[str, Any]:
    pool = {"name": "main", "labels": [label("small")], "availability-zones": ["az2"]}
    return site(provider_document("east", pool))


def serve_and_kill(world: World) -> None:
    """A cycle that has seen all zones, and is gone."""
    cycle = world.start()
    first = world.request("small", habit=Habit(work=lambda chance: 5.0))
    assert world.run(200, until=lambda: first in world.fulfilled)
    world.run(200)
    cycle.kill()
    world.cycles.remove(cycle)


def test_a_cycle_that_begins_while_all_cells_are_away_creates_nothing_without_a_zone():
    """The pool names no zones, and nova's first answer is an empty list."""
    with World(one_provider()) as world:
        serve_and_kill(world)
        world.clouds["east"].cells_down = True
        world.start()
        request = world.request("small")
        world.run(900)
        assert world.state(request) in ("pending", "requested")
        assert creates(world) == 0 and failed(world) == []
        document = world.store.own.get(f"{WAITS}/{request}")
        assert document["text"].startswith("provider east: nova shows no availability zone, but had "), document
        world.clouds["east"].cells_down = False
        assert world.run(200, until=lambda: request in world.fulfilled)
        (server,) = world.clouds["east"].machines.values()
        assert server.az is not None


@pytest.mark.parametrize("stands_by", [False, True])
def test_a_cycle_that_begins_while_one_cell_is_away_fails_no_request_for_its_zone(stands_by):
    with World(only_az2()) as world:
        cloud = world.clouds["east"]
        if stands_by:
            first = world.start()
            served = world.request("small", habit=Habit(work=lambda chance: 5.0))
            assert world.run(200, until=lambda: served in world.fulfilled)
            world.run(200)
            cloud.zones = ("az1",)
            world.start()
            world.run(20)
            first.kill()
            world.cycles.remove(first)
        else:
            serve_and_kill(world)
            cloud.zones = ("az1",)
            world.start()
        request = world.request("small")
        world.run(90)
        assert world.state(request) in ("pending", "requested") and failed(world) == []
        cloud.zones = ("az1", "az2")
        assert world.run(300, until=lambda: request in world.fulfilled)


def test_a_zone_that_stays_away_over_several_short_cycles_is_believed_to_be_gone():
    with World(only_az2()) as world:
        serve_and_kill(world)
        world.clouds["east"].zones = ("az1",)
        request = world.request("small")
        for _unused in range(6):
            cycle = world.start()
            world.run(250)
            cycle.kill()
            world.cycles.remove(cycle)
        assert world.state(request) == "failed"


def test_what_was_stored_and_makes_no_sense_is_nothing():
    with World(one_provider()) as world:
        world.store.own.put("providers/east", {"boot_seconds": [], "zones": {"az9": "soon", "az8": 10.0**12}})
        world.start()
        request = world.request("small")
        assert world.run(200, until=lambda: request in world.fulfilled)
        world.store.own.put("providers/east", {"boot_seconds": [], "zones": ["az9"]})
        world.start()
