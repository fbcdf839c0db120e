# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two providers of which at least one is slow: each request is served with one create, whatever the machine is doing.

Each call takes 0.5 to 2 times its latency, the clouds are in and out of step, and the launcher does not always get a
processor.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching import moving
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.moving import WELL
from tests.support.effort import EFFORT, first
from tests.support.virtual_cloud import Timing
from tests.support.world import Cycle, Habit, World, label, provider_document, site

REQUESTS = 20
SEEDS = range(50 if EFFORT > 1 else 2)
"""With the four pairs 200 worlds in the slow lane."""
MOST_WASTED = 0.05
LONGER = 1.3
"""The two clouds together may take this many times as long as the slower of them alone takes for its half."""


def slow(create: float, other: float) -> Timing:
    """A cloud whose lists, limits and deletes take *other* seconds."""
    kinds = dict.fromkeys(("GET /limits", "GET /quotas/{id}/details", "DELETE /servers/{id}"), other)
    return Timing(
        post=lambda chance: create,
        listing=other,
        kinds=kinds,
        boot=(20.0, 2.0),
        spread=0.0,
        stretch=lambda chance: 2.0 ** chance.uniform(-1, 1),
    )


QUICK = Timing()
PAIRS = {
    "45-13": (slow(45, 13), slow(45, 13)),
    "15-11": (slow(15, 11), slow(15, 11)),
    "90-30": (slow(90, 30), slow(90, 30)),
    "quick-slow": (QUICK, slow(45, 13)),
}


@dataclass
class Course:
    """What was seen."""

    served: int
    creates: int
    deletes: int
    seconds: float


def starved(chance: random.Random) -> float:
    """Three times of ten the woken launcher waits for a processor."""
    return chance.expovariate(1 / 0.7) if chance.random() < 0.3 else 0.0


def course(timings: tuple[Timing, ...], seed: int, requests: int, limit: float = 1500.0) -> Course:
    """Serve so many requests by as many providers as there are timings."""
    names = [f"cloud{place}" for place in range(len(timings))]
    pools = {"name": "main", "labels": [label("small")], "max-servers": REQUESTS // 2}
    document = site(*(provider_document(name, pools) for name in names))
    clouds = {
        name: {"timing": timing, "seed": seed + 1000 * place}
        for place, (name, timing) in enumerate(zip(names, timings, strict=True))
    }
    with World(document, clouds=clouds, seed=seed) as world:
        world.starved = starved
        world.start()
        asked = [world.request("small") for _unused in range(requests)]
        world.run(limit, until=lambda: all(request in world.fulfilled for request in asked))
        calls = [kind for cycle in world.cycles for client in cycle.clients for _when, kind in client.calls]
        return Course(
            served=len(world.fulfilled),
            creates=calls.count("POST /servers"),
            deletes=calls.count("DELETE /servers/{id}"),
            seconds=max(world.fulfilled.values(), default=0.0) - min(world.asked.values()),
        )


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("seed", SEEDS)
def test_everything_is_served_and_hardly_a_server_is_thrown_away(pair: str, seed: int):
    seen = course(PAIRS[pair], seed, REQUESTS)
    assert seen.served == REQUESTS, seen
    assert seen.creates - REQUESTS <= MOST_WASTED * REQUESTS, seen
    assert seen.deletes <= MOST_WASTED * REQUESTS, seen


@pytest.mark.parametrize("pair", PAIRS)
def test_two_clouds_take_little_longer_than_the_slower_one_alone_for_its_half(pair: str):
    """Single worlds differ by their draws, so their sums are compared. All of it is virtual time."""
    seeds = [seed + 500 for seed in (range(20) if EFFORT > 1 else range(3))]
    both = sum(course(PAIRS[pair], seed, REQUESTS).seconds for seed in seeds)
    halves = [
        max(course((timing,), seed + place, REQUESTS // 2).seconds for place, timing in enumerate(PAIRS[pair]))
        for seed in seeds
    ]
    assert both <= LONGER * sum(halves)


@pytest.mark.parametrize("seed", SEEDS)
def test_cycles_that_end_before_their_creates_are_answered_throw_nothing_away(seed: int):
    """A new cycle looks for the server of a create as long as the cloud's other calls let expect."""
    pools = {"name": "main", "labels": [label("small")], "max-servers": REQUESTS // 2}
    document = site(provider_document("east", pools), provider_document("west", pools))
    clouds = {"east": {"timing": slow(45, 13), "seed": seed}, "west": {"timing": slow(45, 13), "seed": seed + 1000}}
    with World(document, clouds=clouds, seed=seed) as world:
        world.starved = starved
        asked = [world.request("small") for _unused in range(REQUESTS)]
        for _unused in range(15):
            cycle = world.start(duration=60)
            if not world.run(120, until=partial(attrgetter("ended"), cycle)):
                break
        assert all(request in world.fulfilled for request in asked)
        calls = [kind for each in world.cycles for client in each.clients for _when, kind in client.calls]
        assert calls.count("POST /servers") - REQUESTS <= MOST_WASTED * REQUESTS


SLOWDOWN_SEEDS = range(40) if EFFORT > 1 else range(4)


def slowed_down(seed: int, timing: Timing, *names: str) -> int:
    """Creates for 20 requests at two quick clouds of which some become slow at once, just before the requests come."""
    pools = {"name": "main", "labels": [label("small")], "max-servers": REQUESTS // 2}
    document = site(provider_document("east", pools), provider_document("west", pools))
    with World(document, clouds={"east": {"seed": seed}, "west": {"seed": seed + 1000}}, seed=seed) as world:
        world.starved = starved
        cycle = world.start()
        world.run(10)
        for _unused in range(REQUESTS // 2):
            world.request("small", habit=Habit(work=lambda chance: 20.0))
        world.run(120)
        before = creates_of(cycle)
        for name in names:
            world.clouds[name].timing = timing
        asked = [world.request("small") for _unused in range(REQUESTS)]
        assert world.run(1500, until=lambda: all(request in world.fulfilled for request in asked))
        return creates_of(cycle) - before


def creates_of(cycle: Cycle) -> int:
    return sum(kind == "POST /servers" for client in cycle.clients for _when, kind in client.calls)


@pytest.mark.parametrize("pair", first(1, ["90-30", "45-13", "120-40"]))
@pytest.mark.parametrize("names", [("east",), ("east", "west")], ids=["one", "both"])
def test_clouds_that_become_slow_at_once_keep_their_requests(names: tuple[str, ...], pair: str):
    creates = [slowed_down(seed, slow(*map(int, pair.split("-"))), *names) for seed in SLOWDOWN_SEEDS]
    assert sum(creates) <= (1 + MOST_WASTED) * REQUESTS * len(creates), creates


@pytest.mark.parametrize(
    ("kinds", "most"),
    [(("",), 16.0), (("POST /servers", "GET /servers/detail", "GET /limits"), 92.0)],
    ids=["dead", "only cheap calls work"],
)
def test_a_provider_that_dies_loses_its_requests_as_soon_as_promised(kinds: tuple[str, ...], most: float):
    pools = {"name": "main", "labels": [label("small")]}
    document = site(provider_document("dead", {**pools, "priority": 1}), provider_document("well", pools))
    with World(document) as world:
        cycle = world.start()
        world.run(10)
        world.request("small")
        world.run(90)
        for kind in kinds:
            world.fault("dead", kind, hang=True)
        began = world.agenda.now
        asked = [world.request("small") for _unused in range(6)]
        assert world.run(200, until=lambda: all(request in world.fulfilled for request in asked))
        left = [when - began for when, line in cycle.lines if "taken back from dead" in line]
        assert max(left) <= most


def test_a_dead_provider_beside_a_slow_one_still_loses_its_requests():
    pools = {"name": "main", "labels": [label("small")]}
    document = site(provider_document("dead", {**pools, "priority": 1}), provider_document("slow", pools))
    with World(document, clouds={"slow": {"timing": slow(15, 11)}}) as world:
        world.start()
        world.run(100)
        world.fault("dead", hang=True)
        asked = [world.request("small") for _unused in range(5)]
        assert world.run(400, until=lambda: all(request in world.fulfilled for request in asked))
        calls = [kind for client in world.cycles[0].clients for _when, kind in client.calls]
        assert calls.count("POST /servers") <= 10
        assert any("taken back from dead/main" in line for _when, line in world.cycles[0].lines)


def test_no_more_requests_leave_a_provider_in_a_minute_when_a_cycle_is_killed(monkeypatch: pytest.MonkeyPatch):
    few = 4
    monkeypatch.setattr(moving, "MOST_A_MINUTE", few)
    pools = {"name": "main", "labels": [label("small")]}
    document = site(provider_document("dead", {**pools, "priority": 1}), provider_document("well", pools))
    with World(document) as world:
        cycle = world.start()
        for _unused in range(30):
            world.request("small")
        world.run(100)
        world.fault("dead", hang=True)
        asked = [world.request("small") for _unused in range(20)]

        def thrown() -> list[float]:
            """When requests whose creates were sent left."""
            stored = [world.store.own.get(f"declines/{request}") or {} for request in asked]
            items = [item for document in stored for item in document.get("taken_back", [])]
            return sorted(item["at"] for item in items if item["thrown"])

        assert world.run(60, until=lambda: len(thrown()) == few)
        cycle.kill()
        world.run(11)
        world.start()
        world.run(150)
        assert len(thrown()) > few, "more wanted to leave"
        assert all(after - before >= 60.0 for before, after in zip(thrown(), thrown()[few:], strict=False))


def test_a_request_does_not_move_to_a_provider_that_was_in_trouble_a_moment_ago():
    shared, own = label("small"), label("own")
    east = provider_document("east", {"name": "main", "priority": 1, "labels": [shared]})
    west = provider_document("west", {"name": "main", "labels": [shared, own]})
    with World(site(east, west)) as world:
        world.start()
        world.run(5)
        # west answers with errors for a while; east gets the request, and its create is not answered.
        trouble = world.fault("west")
        world.request("own")
        world.run(2)
        world.fault("east", hang=True)
        request = world.request("small")
        world.run(20)
        trouble.left = 0
        world.run(WELL - 5)
        assert not any("taken back from east/main" in line for _when, line in world.cycles[0].lines)
        assert world.run(60, until=lambda: request in world.fulfilled)
        assert any("taken back from east/main" in line for _when, line in world.cycles[0].lines)


def test_the_next_cycle_knows_that_a_provider_was_in_trouble_a_moment_ago():
    shared, own = label("small"), label("own")
    east = provider_document("east", {"name": "main", "priority": 1, "labels": [shared]})
    west = provider_document("west", {"name": "main", "labels": [shared, own]})
    with World(site(east, west)) as world:
        before = world.start(duration=30)
        world.run(5)
        trouble = world.fault("west")
        world.request("own")
        world.run(15)
        trouble.left = 0
        assert world.run(60, until=lambda: before.ended)
        ended = world.agenda.now
        after = world.start()
        world.run(3)
        world.fault("east", hang=True)
        request = world.request("small")
        world.run(ended + WELL - 20 - world.agenda.now)
        assert not any("taken back from east/main" in line for _when, line in after.lines)
        assert world.run(60, until=lambda: request in world.fulfilled)
        assert any("taken back from east/main" in line for _when, line in after.lines)


@pytest.mark.parametrize("seed", range(105, 125) if EFFORT > 1 else range(105, 107))
def test_a_slow_provider_that_was_asked_nothing_for_a_while_keeps_its_requests(seed: int):
    names = ("quick", "slow")
    document = site(*(provider_document(name, {"name": "main", "labels": [label("small")]}) for name in names))
    with World(document, clouds={"slow": {"timing": slow(45, 13)}}, seed=seed) as world:
        world.start()
        world.run(90)
        asked = [world.request("small") for _unused in range(REQUESTS)]
        assert world.run(600, until=lambda: all(request in world.fulfilled for request in asked))
        calls = [kind for client in world.cycles[0].clients for _when, kind in client.calls]
        assert calls.count("POST /servers") == REQUESTS
