# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cycle dies, or loses ZooKeeper, at each point of a life with sets, floating IPs, an ERROR server and min-ready.

With more effort every single point is tried, else a part of them.
"""

from __future__ import annotations

from functools import partial

import pytest

from tests.support.effort import EFFORT
from tests.support.kill_points import (
    ChaosWorld,
    Strike,
    break_connection,
    kill,
    lose_session,
    swap_session,
)
from tests.support.virtual_cloud import Fate
from tests.support.world import Habit, one_provider

SLOW = EFFORT > 1
PARTS = 12 if SLOW else 6
STRIDE = PARTS if SLOW else PARTS * 40
"""Each test has every so many points; the tests of a kind together have all of them, or a fortieth."""
START = 16
"""A cycle that cannot write while it starts says so and ends: only its death is tried before this point."""

KINDS: dict[str, Strike] = {
    "killed": kill,
    "killed on another host": partial(kill, at_once=False),
    "session swapped unseen": swap_session,
    "session lost": lose_session,
    "connection broken": break_connection,
}
HABIT = Habit(work=lambda chance: 8.0)


def ask_late(world: ChaosWorld) -> None:
    """One more request when the others are on their way."""
    world.request("small", habit=HABIT)


def live(strike: Strike | None, at: int) -> ChaosWorld:
    """One whole life with a strike at a point; everything is as it should be at the end."""
    document = one_provider(max_servers=4, min_ready={"small": 1})
    clouds = {"east": {"direct": False}}
    with ChaosWorld(document, quota={"east": {"instances": 4, "floating-ips": 4}}, clouds=clouds) as world:
        cloud = world.clouds["east"]
        cloud.fate = lambda machine: (
            Fate("ERROR", "No valid host was found", 1.0) if machine.id == "server-000002" else Fate()
        )
        victim = world.hunt(lambda number, what: strike if number == at else None)
        world.request("small", habit=HABIT)
        world.request("small", "medium", habit=HABIT)
        world.agenda.after(30, lambda: ask_late(world))

        def over() -> bool:
            if victim.session.killed and len(world.cycles) == 1:
                world.hunt()
            return len(world.asked) == 3 and world.calm() and len(world.nodes()) == 1

        for _turn in range(300):
            if world.run(1.0) and over():
                break
            if over():
                break
        world.run(20)
        assert over(), f"after {victim.struck}: {world.nodes()} {world.store.requests.list()}"
        world.check()
        world.points = victim.points
        return world


@pytest.fixture(scope="module")
def points() -> int:
    """How many there are in a life where nothing happens."""
    return live(None, 0).points


def test_a_life_has_hundreds_of_points(points):
    assert points > 300


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_happens_at_a_point_all_comes_right(kind, part, points):
    strike = KINDS[kind]
    first = 1 if strike is kill or kind.startswith("killed") else START
    # Other points for each kind.
    offset = part * (STRIDE // PARTS) + (0 if SLOW else 8 * list(KINDS).index(kind))
    for at in range(first + offset, points + 1, STRIDE):
        live(strike, at)
