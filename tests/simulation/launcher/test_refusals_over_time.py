# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clouds that refuse although their limits claim room: few refusals, no failures, and what is freed is used."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.freezing import FIRST
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits
from tests.support.effort import first
from tests.support.world import Cycle, Habit, World, one_provider

HOUR = 3600.0
REAL = {"instances": 10}
CLAIMED = Limits({"instances": 100})
MOST_REFUSED = 6
"""In two minutes; creates that were under way together count once."""
IN_AN_HOUR = 30
BOOT = 40.0
"""The create, the boot, the address and the look at the host keys."""


def lying_world(**more: object) -> World:
    """The limits say 100, the cloud takes 10."""
    return World(one_provider(), quota={"east": REAL}, clouds={"east": {"shown": CLAIMED}}, **more)  # type: ignore[arg-type]


def refusals(world: World, cycle: Cycle) -> tuple[int, int]:
    """(creates that came to nothing for want of quota, all calls)."""
    return cycle.account.refused, sum(len(client.calls) for client in cycle.clients)


def refused_at(cycle: Cycle) -> list[float]:
    """When creates came to nothing for want of quota."""
    return [at for at, line in cycle.lines if ": quota: " in line]


def max_in(times: list[float], seconds: float) -> int:
    """The most of them within so many seconds."""
    return max((sum(1 for other in times if at <= other < at + seconds) for at in times), default=0)


def freezes_of(cycle: Cycle) -> list[float]:
    """When a pool was frozen."""
    return [at for at, line in cycle.lines if ": frozen for" in line]


def test_an_hour_below_a_hidden_limit_costs_few_refusals_and_wastes_no_room():
    """What is freed is visible, so it is used at once; but only that."""
    chance = random.Random(1)
    habit = Habit(work=lambda _chance: chance.uniform(120, 600))
    with lying_world() as world:
        cycle = world.start()
        for _unused in range(14):
            world.request("small", habit=habit)
        for _unused in range(100):
            world.run(HOUR / 100)
            world.request("small", habit=habit)
        refused, calls = refusals(world, cycle)
    assert freezes_of(cycle)
    assert max_in(freezes_of(cycle), HOUR) <= IN_AN_HOUR
    assert max_in(freezes_of(cycle), 120.0) <= MOST_REFUSED
    # Those that were under way together at the first refusal are all of them refused creates.
    assert refused <= IN_AN_HOUR + 4, f"{refused} of {calls} calls"
    # A mean of six minutes of work and some 25 s around it.
    assert len(world.fulfilled) >= 0.9 * REAL["instances"] * HOUR / 385
    assert not cycle.account.failed


@pytest.mark.parametrize("seed", first(1, [1, 2, 3]))
def test_limits_that_lie_for_two_minutes(seed: int):
    """Thirty requests wait; everything is served soon after the first look after the lift."""
    with lying_world(seed=seed) as world:
        cloud = world.clouds["east"]
        cycle = world.start()
        asked = [world.request("small") for _unused in range(30)]
        world.run(120)
        cloud.limits = CLAIMED
        assert not cycle.account.failed
        lifted = world.agenda.now
        assert freezes_of(cycle)
        assert world.run(200, until=lambda: len(world.fulfilled) == len(asked))
        creates = [at for at, kind in cycle.clients[0].calls if kind == "POST /servers"]
        probe = next(at for at in creates if at >= lifted)
        boot = max(machine.active_at - machine.created for machine in cloud.machines.values())
        refused = [at for at in freezes_of(cycle) if at <= lifted]
    assert len(refused) <= MOST_REFUSED, f"{refused} creates were refused"
    assert probe - lifted <= 60.0
    assert max(world.fulfilled.values()) - probe <= boot + 10.0


@pytest.mark.parametrize("lie", first(3, [20.0, 50.0, 119.0, 35.0, 65.0, 80.0, 95.0, 110.0]))
def test_what_waits_is_tried_soon_after_a_lie_of_two_minutes_at_most(lie: float):
    with lying_world() as world:
        cloud = world.clouds["east"]
        cloud.limits = Limits({"instances": 0})
        cycle = world.start()
        world.request("small")
        assert world.run(10, until=lambda: bool(cycle.account.refused))
        began = world.agenda.now
        world.run(lie)
        cloud.limits = CLAIMED
        lifted, refused = world.agenda.now, cycle.account.refused
        assert world.run(100, until=lambda: bool(cloud.machines))
        assert refused <= MOST_REFUSED and cycle.account.refused == refused
        assert world.agenda.now - lifted <= 25.0, f"{refused} were refused since {began}"


@pytest.mark.parametrize(
    ("lie", "wait"),
    first(3, [(45.0, 60.0), (599.0, 60.0), (1800.0, 180.0), (120.0, 60.0), (300.0, 60.0), (3600.0, 180.0)]),
)
@pytest.mark.parametrize("real", [0, 10])
def test_what_waits_is_served_soon_after_a_lie_of_minutes_or_of_an_hour(lie: float, wait: float, real: int):
    with lying_world() as world:
        cloud = world.clouds["east"]
        cloud.limits = Limits({"instances": real})
        cycle = world.start()
        asked = [world.request("small") for _unused in range(30)]
        world.run(lie)
        cloud.limits = CLAIMED
        lifted, refused = world.agenda.now, freezes_of(cycle)
        assert world.run(900, until=lambda: len(world.fulfilled) > real)
        first = sorted(world.fulfilled.values())[real] - lifted
        assert world.run(900, until=lambda: len(world.fulfilled) == len(asked))
        assert not cycle.account.failed and freezes_of(cycle) == refused, "nothing is refused after that"
    assert first <= wait + BOOT
    assert max_in(refused, 120.0) <= MOST_REFUSED
    assert max_in(refused, HOUR) <= IN_AN_HOUR


def test_raised_limits_end_a_freeze_at_once():
    with lying_world() as world:
        cloud = world.clouds["east"]
        cycle = world.start()
        asked = [world.request("small") for _unused in range(14)]
        world.run(90)
        assert cycle.account.refused
        cloud.limits = cloud.shown = Limits({"instances": 120})
        began = world.agenda.now
        assert world.run(60, until=lambda: len(world.fulfilled) == len(asked))
        assert max(world.fulfilled.values()) - began <= 15.0 + 30.0


def test_others_that_go_end_a_freeze():
    """The refusal came while others had taken what the limits still showed as free."""
    with World(one_provider(), quota={"east": {"instances": 10}}, clouds={"east": {"shown": CLAIMED}}) as world:
        cloud = world.clouds["east"]
        theirs = cloud.add_foreign(8)
        cycle = world.start()
        asked = [world.request("small") for _unused in range(6)]
        world.run(100)
        assert cycle.account.refused and len(world.fulfilled) == 2
        for machine in theirs[:4]:
            cloud.remove(machine)
        assert world.run(60, until=lambda: len(world.fulfilled) == len(asked))
        assert cycle.account.refused <= MOST_REFUSED


@pytest.mark.parametrize("seed", first(1, [1, 2, 3]))
def test_what_is_given_back_is_used_although_one_that_should_have_fitted_was_refused(seed: int):
    """Somebody takes four places that nobody sees, for half a minute, while nodes are given back."""
    with lying_world(seed=seed) as world:
        cloud = world.clouds["east"]
        cycle = world.start()
        habit = Habit(work=lambda chance: chance.uniform(60, 180))
        asked = [world.request("small", habit=habit) for _unused in range(40)]
        world.run(60)
        first = cycle.account.refused
        cloud.limits = Limits({"instances": 6})
        assert first and world.run(100, until=lambda: cycle.account.refused > first)
        world.run(30)
        cloud.limits = Limits(REAL)
        lifted = world.agenda.now
        assert world.run(1200, until=lambda: len(world.fulfilled) == len(asked))
        creates = sorted(machine.created for machine in [*cloud.machines.values(), *cloud.past])
        times = refused_at(cycle)
    assert min(at for at in creates if at >= lifted) - lifted <= 60.0 + 10.0
    assert max(after - before for before, after in pairwise(at for at in creates if at >= lifted)) <= 120.0
    assert max_in([at for at in times if at >= times[0] + 10], 120.0) <= MOST_REFUSED
    assert world.agenda.now - lifted <= 40 / 10 * (120 + 30) + 60


@pytest.mark.parametrize("seed", first(1, [1, 2, 3]))
def test_places_that_are_given_back_and_cannot_be_had_cost_few_refusals(seed: int):
    """The list does not show a server any more, and its place is not free for an hour: all that is seen is wrong."""
    with lying_world(seed=seed) as world:
        cloud = world.clouds["east"]
        cycle = world.start()
        for _unused in range(60):
            world.request("small", habit=Habit(work=lambda chance: chance.uniform(5, 300)))
        world.run(10)
        assert cycle.account.refused
        cloud.limits = Limits({"instances": 0})
        world.run(HOUR)
        times = freezes_of(cycle)
    assert max_in(times, 120.0) <= MOST_REFUSED
    assert max_in(times, HOUR) <= IN_AN_HOUR
    assert not cycle.account.failed


def test_what_is_given_back_above_a_quota_that_has_fallen_costs_few_refusals():
    """Ten are used when the quota falls to two; they end one after the other, and the limits cannot be read."""
    with World(one_provider(), quota={"east": REAL}) as world:
        cloud = world.clouds["east"]
        cycle = world.start()
        habit = Habit(work=lambda chance: chance.uniform(60, 64))
        asked = [world.request("small", habit=habit) for _unused in range(30)]
        assert world.run(100, until=lambda: len(world.fulfilled) == REAL["instances"])
        cloud.limits = Limits({"instances": 2})
        fault = world.fault("east", "GET /limits")
        world.run(300)
        times = freezes_of(cycle)
        fault.left = 0
        cloud.limits = Limits(REAL)
        assert world.run(1200, until=lambda: len(world.fulfilled) == len(asked))
        assert not cycle.account.failed
    assert len(times) > 1
    assert max_in(times, 20.0) <= 2, "what ends after a refusal that should not have been is no room"
    assert max_in(times, 120.0) <= MOST_REFUSED


def test_nova_s_race_costs_one_freeze():
    """Ten are accepted at once at a quota of three, and most of them fail: the freeze lasts until room is seen."""
    with lying_world() as world:
        cloud = world.clouds["east"]
        cloud.limits = Limits({"instances": 3})
        cycle = world.start()
        asked = [world.request("small", habit=Habit(work=lambda _chance: 30.0)) for _unused in range(12)]
        assert world.run(900, until=lambda: len(world.fulfilled) == len(asked))
        assert max_in(freezes_of(cycle), 120.0) <= MOST_REFUSED
        assert not cycle.account.failed


def test_a_freeze_survives_its_cycle():
    with lying_world() as world:
        world.clouds["east"].limits = Limits({"instances": 0})
        first = world.start(duration=15)
        world.request("small")
        world.run(15, until=lambda: first.ended)
        assert first.account.refused
        (refused_at,) = freezes_of(first)
        second = world.start()
        world.run(5)
        posts = [at for at, kind in second.clients[0].calls if kind == "POST /servers"]
        assert not posts, f"the next cycle asked again {posts[0] - refused_at:.0f} s after the refusal"
        assert world.run(30, until=lambda: bool(second.account.refused))


@pytest.mark.parametrize("after", first(2, [1.0, 15.0, 5.0, 10.0]))
def test_nothing_is_tried_within_a_freeze_before_it_is_known_anew_what_others_use(after: float):
    """What others use is part of what was in use at the refusal."""
    with lying_world() as world:
        world.clouds["east"].add_foreign(5)
        cycle = world.start()
        for _unused in range(3):
            world.request("small", "small")  # the launch of one half waits while the other half is there
        assert world.run(60, until=lambda: bool(cycle.account.refused))
        frozen = world.agenda.now
        world.run(after)
        cycle.store.session.expire(0.2)
        refused = cycle.account.refused
        world.run(FIRST - 1 - after)
        assert cycle.account.refused == refused, f"{after} s after the refusal"
        assert world.run(30, until=lambda: cycle.account.refused > refused), "a single create after the freeze"
        assert world.agenda.now - frozen <= 2 * FIRST
