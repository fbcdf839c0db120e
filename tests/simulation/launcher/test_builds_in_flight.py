# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Control planes that build only so many at once: what is in flight is governed, and others are not held back."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.builds import MOST, Builds
from ansible_collections.stackci.nodepool.plugins.module_utils.model import reasons
from ansible_collections.stackci.nodepool.plugins.module_utils.model.api_timeouts import MOST_CREATES
from ansible_collections.stackci.nodepool.plugins.module_utils.model.own_tree import PROVIDERS, WAITS
from tests.simcloud.plane import COLLAPSE, ControlPlane
from tests.support.effort import first
from tests.support.virtual_cloud import Fate, Timing
from tests.support.world import World, label, provider_document, site

EAST = "east"


def a_world(timing: Timing, most: float | None = None, min_ready: int = 0) -> World:
    more = {} if most is None else {"max-concurrency": most}
    pool = {"name": "main", "labels": [label("small")]}
    document = site(provider_document(EAST, pool, **more), min_ready={"small": min_ready} if min_ready else None)
    return World(document, clouds={EAST: {"timing": timing}})


def builds_of(world: World) -> Builds:
    (actor,) = world.cycles[-1].launcher._launcher_pass._context.actors.values()
    return actor.creates.builds


def ask(world: World, number: int) -> list[str]:
    return [world.request("small") for _unused in range(number)]


def seconds_for(plane: ControlPlane, number: int, most: float | None = None, known: float | None = None) -> float:
    with a_world(Timing(plane=plane), most) as world:
        if known is not None:
            learned(world, known, usual=12.0)
        world.start()
        began = world.agenda.now
        requests = ask(world, number)
        assert world.run(3600, until=lambda: all(request in world.fulfilled for request in requests))
        assert not world.clouds[EAST].past
        return max(world.fulfilled.values()) - began


# The best of 4, 6, 8, 10, 13, 16, 22, 28, 40, 50, 60 and 100 in flight is given beside each.
@pytest.mark.parametrize(
    ("peak", "thrash", "best"),
    first(1, [(10, COLLAPSE, 16), (4, COLLAPSE, 8), (10, 0.0, 16), (40, COLLAPSE, 40)]),
)
def test_a_hundred_from_a_cold_start_come_near_the_best_fixed_number(peak, thrash, best):
    fixed = seconds_for(ControlPlane.contended(peak, thrash), 100, best)
    assert fixed / seconds_for(ControlPlane.contended(peak, thrash), 100) >= 0.8


def test_a_cloud_that_has_become_slower_for_another_reason_is_not_held_back_for_that():
    def at_noon() -> ControlPlane:
        """What took 12 s at night takes three times as long, however many are in flight."""
        return ControlPlane(alone=34.5, each=3.45, thrash=COLLAPSE, post=1.2, post_each=1.8)

    fixed = seconds_for(at_noon(), 100, 16, known=MOST)
    assert fixed / seconds_for(at_noon(), 100, known=16.0) >= 0.8


def test_a_cloud_with_room_for_all_is_never_held_back():
    with a_world(Timing()) as world:
        world.start()
        requests = ask(world, 100)
        assert world.run(300, until=lambda: all(request in world.fulfilled for request in requests))
        assert builds_of(world).limit is None
        assert not any("at a time" in line for _when, line in world.cycles[0].lines)


def learned(world: World, limit: float, usual: float = 20.0) -> None:
    """An earlier cycle found that so many are best, and that a build takes so many seconds."""
    world.store.own.put(f"{PROVIDERS}/{EAST}", {"builds": {"limit": limit, "usual": {"small": usual}}})


def creates_at_once(world: World) -> int:
    """How many creates the next cycle has without an answer when it is asked for a hundred nodes."""
    cycle = world.start(duration=200)
    requests = ask(world, 100)
    world.run(1.9)
    (actor,) = cycle.launcher._launcher_pass._context.actors.values()
    unanswered = actor.creates.unanswered
    world.run(400, until=lambda: cycle.ended)
    assert all(request in world.fulfilled for request in requests)
    return unanswered


def test_a_cycle_begins_with_as_many_creates_at_once_as_the_one_before_has_ended_with():
    with a_world(Timing(create=2.0)) as world:
        assert creates_at_once(world) == 2 < MOST_CREATES == creates_at_once(world)


def test_who_waits_for_that_is_told_the_number():
    with a_world(Timing()) as world:
        learned(world, 6.0)
        world.start()
        requests = ask(world, 20)
        world.run(10)
        assert builds_of(world).allowed(1e9) == 6
        assert len(world.clouds[EAST].machines) == 6
        waiting = [world.store.own.get(f"{WAITS}/{request}") for request in requests]
        told = {document["text"] for document in waiting if document is not None}
        assert told == {"the cloud of east is fastest with 6 builds at a time, and that many are in progress"}
        assert world.run(300, until=lambda: all(request in world.fulfilled for request in requests))


def test_what_was_learned_is_kept_for_the_next_cycle():
    with a_world(Timing()) as world:
        learned(world, 6.0)
        first = world.start(duration=120)
        ask(world, 20)
        assert world.run(300, until=lambda: first.ended)
        assert world.store.own.get(f"{PROVIDERS}/{EAST}")["builds"]["limit"] > 6.0, "it explores upwards"


def test_max_concurrency_is_told_where_it_is_less():
    with a_world(Timing(), most=4) as world:
        learned(world, 6.0)
        world.start()
        requests = ask(world, 20)
        world.run(10)
        waiting = [world.store.own.get(f"{WAITS}/{request}") for request in requests]
        assert {document["code"] for document in waiting if document is not None} == {reasons.CONCURRENCY}


def test_spares_are_held_back_like_requests_and_told_why():
    with a_world(Timing(), min_ready=20) as world:
        learned(world, 6.0)
        cycle = world.start()
        world.run(10)
        assert len(world.clouds[EAST].machines) == 6
        assert cycle.account.unmet_reasons == {
            "small": "the cloud of east is fastest with 6 builds at a time, and that many are in progress"
        }
        assert world.run(300, until=lambda: len(world.nodes("ready")) == 20)


def test_sets_larger_than_the_limit_are_served():
    with a_world(Timing()) as world:
        learned(world, 3.0)
        world.start()
        request = world.request(*["small"] * 8)
        assert world.run(300, until=lambda: request in world.fulfilled)


def test_servers_in_error_do_not_count_as_built():
    with a_world(Timing()) as world:
        world.clouds[EAST].fate = lambda machine: Fate("ERROR", "Build of instance aborted", 60.0)
        world.start()
        ask(world, 20)
        world.run(100)
        assert builds_of(world).usual == {}
