# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fairness on virtual time: many requests on a small quota, large sets among small ones, two launchers."""

from __future__ import annotations

import pytest

from tests.support.effort import EFFORT
from tests.support.virtual_cloud import Timing
from tests.support.world import Habit, World, label, one_provider, provider_document, site

HELD = Habit(work=lambda chance: 5.0)
QUICK = {"timing": Timing(boot=(5.0, 0.0), delete=(2.5, 0.0)), "shown_deleted": 0.5}
IDEAL = 125.0


def inversions(order: list[str], done: dict[str, float]) -> float:
    """The part of all pairs in which the later request was served first, by more than the grain of a look."""
    pairs = wrong = 0
    for index, early in enumerate(order):
        for late in order[index + 1 :]:
            pairs += 1
            wrong += done[late] < done[early]
    return wrong / pairs


@pytest.mark.parametrize("seed", [1, 2][:EFFORT])
def test_two_hundred_at_once_on_a_quota_of_twenty(seed: int):
    with World(one_provider(), quota={"east": {"instances": 20}}, clouds={"east": QUICK}, seed=seed) as world:
        cycle = world.start()
        began = world.agenda.now
        order = [world.request("small", habit=HELD) for _unused in range(200)]
        assert world.run(300, until=lambda: len(world.fulfilled) == len(order))
        makespan = max(world.fulfilled.values()) - began
        wrong = inversions(order, world.fulfilled)
        refused = cycle.account.refused
    assert makespan <= 1.2 * IDEAL, f"{makespan:.0f} s"
    assert wrong <= 0.02, f"{wrong:.1%} of the pairs"
    assert refused == 0


@pytest.mark.parametrize("bound", ["quota", "max-servers"])
def test_a_large_set_is_served_in_its_turn_among_a_stream_of_small_ones(bound: str):
    """Small ones that came later do not delay it; all-or-nothing means that it needs its room at once."""
    document = one_provider(max_servers=10 if bound == "max-servers" else None)
    quota = {"instances": 10} if bound == "quota" else {}
    with World(document, quota={"east": quota}) as world:
        world.start()
        minute = Habit(work=lambda chance: chance.uniform(40, 80))
        for _unused in range(20):
            world.request("small", habit=minute)
        world.run(5)
        large = world.request(*["small"] * 8, habit=minute)
        later = []
        for _unused in range(60):
            world.run(5)
            later.append(world.request("small", habit=minute))
        assert world.run(400, until=lambda: large in world.fulfilled)
        passed = [name for name in later if world.fulfilled.get(name, 1e12) < world.fulfilled[large]]
        asked = world.asked[large]
    assert world.fulfilled[large] - asked <= 400
    # Two places are left beside eight: who takes those delays nobody, and only while the room is gathered.
    assert len(passed) <= 2, passed


def test_a_small_request_passes_where_it_delays_nobody():
    """The large one waits for cores, the small one has its own pool."""
    document = site(
        provider_document(
            "east",
            {"name": "big", "max-servers": 2, "labels": [label("large", "large")]},
            {"name": "main", "labels": [label("small")]},
        )
    )
    with World(document) as world:
        world.start()
        world.request("large", "large", habit=Habit(work=lambda chance: 300.0))
        assert world.run(60, until=lambda: len(world.fulfilled) == 1)
        blocked = world.request("large")
        free = world.request("small")
        assert world.run(60, until=lambda: free in world.fulfilled)
        assert blocked not in world.fulfilled


def test_idle_nodes_of_another_label_are_given_up_for_who_waits():
    document = site(
        provider_document("east", {"name": "main", "labels": [label("small"), label("medium", "medium")]}),
        min_ready={"small": 4},
    )
    with World(document, quota={"east": {"instances": 4}}) as world:
        world.start()
        assert world.run(90, until=lambda: len(world.nodes("ready")) == 4)
        request = world.request("medium", "medium")
        assert world.run(90, until=lambda: request in world.fulfilled)
        assert len([node for node in world.nodes("ready") if node.type == ["small"]]) == 2


def test_tenants_at_their_limit_do_not_block_others():
    document = {**one_provider(), "tenant-resource-limits": [{"tenant-name": "greedy", "max-servers": 3}]}
    with World(document, quota={"east": {"instances": 20}}) as world:
        world.start()
        greedy = [world.request("small", tenant_name="greedy") for _unused in range(30)]
        modest = [world.request("small", tenant_name="modest") for _unused in range(5)]
        assert world.run(60, until=lambda: all(name in world.fulfilled for name in modest))
        assert sum(name in world.fulfilled for name in greedy) == 3


def test_one_pool_at_its_limit_does_not_hold_up_another():
    document = site(
        provider_document("east", {"name": "tiny", "priority": 1, "max-servers": 1, "labels": [label("small")]}),
        provider_document("west", {"name": "main", "priority": 2, "labels": [label("small")]}),
    )
    with World(document) as world:
        world.start()
        requests = [world.request("small") for _unused in range(12)]
        assert world.run(60, until=lambda: len(world.fulfilled) == len(requests))


def test_min_ready_and_tenants_are_kept_by_two_launchers_together():
    """Each acts for one provider; one of them alone keeps the spares, and both see what a tenant uses."""
    document = site(
        provider_document("east", {"name": "main", "labels": [label("small")]}),
        provider_document("west", {"name": "main", "labels": [label("small")]}),
        min_ready={"small": 3},
        **{"tenant-resource-limits": [{"tenant-name": "greedy", "max-servers": 4}]},
    )
    with World(document, lag=0.05) as world:
        world.start(providers=("east",))
        world.start(providers=("west",))
        world.run(120)
        assert len(world.nodes("ready")) == 3
        for _unused in range(12):
            world.request("small", tenant_name="greedy")
        world.run(120)
        theirs = [node for node in world.nodes() if node.tenant_name == "greedy" and node.allocated_to]
        assert len(world.fulfilled) <= 5
        # Tenant limits are best effort between launchers: each may be late by what the other takes in a moment.
        assert 4 <= len(theirs) <= 5
        assert len([node for node in world.nodes("ready") if not node.allocated_to]) == 3
