# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clouds that answer creates late: served all the same, with hardly a server thrown away."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.own_tree import PROVIDERS
from tests.simcloud.plane import ControlPlane
from tests.support.effort import first
from tests.support.virtual_cloud import Fate, Timing, busy
from tests.support.world import World, label, one_provider, provider_document, site

BOOT = 20.0
EAST = "east"


def constant(seconds: float) -> Timing:
    """Each POST /servers takes so long, whatever else goes on."""
    return Timing(post=lambda chance: seconds, boot=(BOOT, 0.0))


def asked(world: World, number: int) -> list[str]:
    return [world.request("small") for _unused in range(number)]


def served(world: World, requests: list[str]) -> bool:
    return all(request in world.fulfilled for request in requests)


def thrown_away(world: World, name: str = EAST) -> int:
    """Servers of ours that were deleted, or are being: nobody has used any yet."""
    cloud = world.clouds[name]
    return len(cloud.past) + sum(1 for machine in cloud.machines.values() if machine.deleting)


def creates(world: World) -> list[float]:
    """When creates were sent."""
    calls = [call for cycle in world.cycles for client in cycle.clients for call in client.calls]
    return sorted(when for when, kind in calls if kind == "POST /servers")


def test_a_create_is_waited_for_at_a_cloud_of_which_nothing_is_known():
    with World(one_provider(), clouds={EAST: {"timing": constant(45.0)}}) as world:
        world.start()
        requests = asked(world, 2)
        assert world.run(100, until=lambda: served(world, requests))
        assert len(creates(world)) == 2
        assert thrown_away(world) == 0


def test_what_a_cloud_needed_is_known_to_the_next_cycle():
    with World(one_provider(), clouds={EAST: {"timing": constant(45.0)}}) as world:
        first = world.start(duration=120)
        requests = asked(world, 2)
        assert world.run(300, until=lambda: first.ended)
        assert served(world, requests)
        assert world.store.own.get(f"{PROVIDERS}/{EAST}")["creates"]["seconds"] == [45.0, 45.0]
        world.start()
        world.run(5)
        (actor,) = world.cycles[-1].launcher._launcher_pass._context.actors.values()
        assert actor.creates.answers.patience == 450.0


def test_a_cycle_that_is_killed_has_not_learned_in_vain():
    with World(one_provider(), clouds={EAST: {"timing": constant(45.0)}}) as world:
        first = world.start()
        requests = asked(world, 2)
        assert world.run(300, until=lambda: served(world, requests))
        world.run(70)
        first.kill()
        assert world.store.own.get(f"{PROVIDERS}/{EAST}")["creates"]["seconds"] == [45.0, 45.0]


def test_a_cloud_that_becomes_slow_costs_one_more_server_for_each_create_under_way_and_no_more():
    with World(one_provider(), clouds={EAST: {"timing": Timing(boot=(BOOT, 0.0))}}) as world:
        world.start()
        requests = asked(world, 4)
        assert world.run(60, until=lambda: served(world, requests))
        world.clouds[EAST].timing = constant(60.0)
        before = len(creates(world))
        late = asked(world, 4)
        assert world.run(200, until=lambda: served(world, late))
        world.run(120)
        assert len(creates(world)) - before <= 2 * len(late)
        assert thrown_away(world) <= len(late)
        assert len(world.clouds[EAST].machines) == len(requests) + len(late)


def test_a_late_server_is_taken_while_its_successor_has_no_answer():
    with World(one_provider(), clouds={EAST: {"timing": Timing(boot=(BOOT, 0.0))}}) as world:
        cycle = world.start()
        first = asked(world, 1)
        assert world.run(60, until=lambda: served(world, first))
        world.clouds[EAST].timing = constant(70.0)
        (late,) = asked(world, 1)
        assert world.run(200, until=lambda: late in world.fulfilled)
        # Its own create is answered after 70 s at the most; the successor was sent after 40 s.
        assert world.fulfilled[late] - world.asked[late] < 70.0 + BOOT + 10.0
        assert any("appeared late" in line for _when, line in cycle.lines)


def test_a_slow_create_is_not_taken_for_a_dead_api():
    with World(one_provider(), clouds={EAST: {"timing": constant(150.0)}}) as world:
        world.start()
        requests = asked(world, 2)
        for _unused in range(14):
            world.run(10)
            (actor,) = world.cycles[-1].launcher._launcher_pass._context.actors.values()
            assert actor.blocked is None
        assert world.run(60, until=lambda: served(world, requests))


def test_an_api_that_hangs_as_a_whole_is_seen_although_only_creates_are_under_way():
    pools = {"name": "main", "labels": [label("small")]}
    document = site(provider_document("east", {**pools, "priority": 1}), provider_document("west", pools))
    with World(document) as world:
        world.start()
        world.run(5)
        world.fault("east", hang=True)
        requests = asked(world, 5)
        assert world.run(60, until=lambda: served(world, requests))
        assert all(world.fulfilled[request] - world.asked[request] < 45.0 for request in requests)


def test_a_server_that_stays_half_made_is_replaced():
    with World(one_provider()) as world:
        world.start()
        first = asked(world, 1)
        assert world.run(60, until=lambda: served(world, first))
        fates = [Fate("BUILD")]
        world.clouds[EAST].fate = lambda machine: fates.pop() if fates else Fate()
        world.fault(EAST, "POST /servers", works=True, left=1)
        requests = asked(world, 1)
        assert world.run(250, until=lambda: served(world, requests))
        world.run(30)
        assert thrown_away(world) == 1


def test_the_answer_of_a_superseded_create_ends_its_server_even_without_a_list():
    with World(one_provider(), clouds={EAST: {"timing": Timing(boot=(BOOT, 0.0))}}) as world:
        world.start()
        first = asked(world, 1)
        assert world.run(60, until=lambda: served(world, first))
        world.clouds[EAST].timing = constant(70.0)
        late = asked(world, 1)
        assert world.run(200, until=lambda: served(world, late))
        world.run(200)
        assert len(world.clouds[EAST].machines) == 2


@pytest.mark.parametrize("seconds", first(1, [90.0, 45.0, 150.0]))
def test_fifty_at_a_cloud_that_is_always_slow(seconds):
    with World(one_provider(), clouds={EAST: {"timing": constant(seconds)}}) as world:
        world.start()
        requests = asked(world, 50)
        began = world.agenda.now
        assert world.run(20 * seconds, until=lambda: served(world, requests))
        assert max(world.fulfilled.values()) - began <= 1.3 * (seconds + BOOT)
        assert thrown_away(world) <= 2


@pytest.mark.parametrize("number", first(1, [100, 200]))
def test_hundreds_at_a_busy_cloud(number):
    with World(one_provider(), clouds={EAST: {"timing": busy()}}) as world:
        world.start()
        requests = asked(world, number)
        assert world.run(1800, until=lambda: served(world, requests))
        calls = sum(len(client.calls) for client in world.cycles[0].clients)
        assert thrown_away(world) <= 4
        assert calls <= 3 * len(requests)


def test_others_are_served_beside_a_slow_one_as_if_it_were_not_there():
    pools = {"name": "main", "labels": [label("small")]}
    slow, quick = {**pools, "labels": [label("other")]}, {**pools}
    document = site(provider_document("slow", slow), provider_document("quick", quick))
    with World(document, clouds={"slow": {"timing": constant(150.0)}, "quick": {"timing": constant(0.3)}}) as world:
        world.start()
        waiting = [world.request("other") for _unused in range(30)]
        requests = asked(world, 30)
        assert world.run(BOOT + 15.0, until=lambda: served(world, requests))
        assert not any(request in world.fulfilled for request in waiting)


def test_rate_does_not_count_into_the_time_of_a_job():
    document = site(provider_document(EAST, {"name": "main", "labels": [label("small")]}, rate=8.0))
    with World(document, api_timeout=1.0) as world:
        world.start()
        requests = asked(world, 5)
        assert world.run(300, until=lambda: served(world, requests))
        assert thrown_away(world) == 0


def seconds_for(number: int, most: float | None = None, before: int = 0) -> tuple[float, World]:
    """Seconds until so many are served by a control plane of fixed capacity, with *most* launches at once."""
    more = {} if most is None else {"max-concurrency": most}
    document = site(provider_document(EAST, {"name": "main", "labels": [label("small")]}, **more))
    with World(document, clouds={EAST: {"timing": Timing(plane=ControlPlane())}}) as world:
        world.start()
        for _unused in range(before):
            asked(world, 1)
            assert world.run(60, until=lambda: len(world.fulfilled) == len(world.asked))
        began = world.agenda.now
        requests = asked(world, number)
        assert world.run(3600, until=lambda: served(world, requests))
        assert thrown_away(world) == 0
        return max(world.fulfilled.values()) - began, world


@pytest.mark.parametrize("before", first(1, [0, 5]))
def test_a_control_plane_of_fixed_capacity_is_not_asked_for_more_than_it_can_build(before):
    # 10 is the best of 5, 10, 20, 40.
    assert seconds_for(60, 10)[0] / seconds_for(60, before=before)[0] >= 0.8


def calls_of_a_crowd(seed: int, number: int) -> int:
    document = site(provider_document(EAST, {"name": "main", "labels": [label("small")]}))
    with World(document, clouds={EAST: {"timing": Timing(plane=ControlPlane()), "seed": seed}}, seed=seed) as world:
        cycle = world.start()
        requests = asked(world, number)
        assert world.run(3600, until=lambda: served(world, requests))
        world.give_back([node for request in requests for node in world.take(request)])
        assert world.run(600, until=lambda: not world.nodes())
        return sum(len(client.calls) for client in cycle.clients)


def test_a_life_in_a_crowd_of_a_hundred_costs_two_and_a_half_calls():
    """A create, a delete, and a part of a list; single courses differ, so several are counted together."""
    seeds = first(2, range(1, 11))
    assert sum(calls_of_a_crowd(seed, 100) for seed in seeds) <= 2.5 * 100 * len(seeds)
