# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An operator ends freezes and breakers; the acting launcher goes by it at once, a later one when it starts."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.by_hand.throttles import (
    BREAKER,
    FREEZE,
    ThrottleWish,
    end_throttles,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.breaking import FAILURES, Breaker
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits
from tests.support.virtual_cloud import Fate
from tests.support.world import World, one_provider

CLAIMED = Limits({"instances": 50})
FREEZES = ThrottleWish(provider="east", kind=FREEZE)
BREAKERS = ThrottleWish(provider="east", kind=BREAKER)


def frozen(world: World) -> tuple[str, str]:
    """A pool that is frozen although the cloud would take a server again; path of its document, waiting request."""
    cloud = world.clouds["east"]
    cloud.limits = Limits({"instances": 0})
    waits = world.request("small")
    assert world.run(60, until=lambda: bool(world.store.own.children("freezes")))
    cloud.limits = CLAIMED
    (pool_id,) = world.store.own.children("freezes")
    return f"freezes/{pool_id}", waits


def test_a_freeze_that_is_ended_is_over_within_a_second():
    with World(one_provider(), clouds={"east": {"shown": CLAIMED}}) as world:
        world.start()
        _path, waits = frozen(world)
        world.run(5)
        servers = len(world.clouds["east"].machines)
        (seen,) = end_throttles(world.store, FREEZES, world.agenda.now, check=True)
        assert seen["resource"] == "instances" and 0 < seen["ends_in"] < 30 and seen["pool"] == "main"
        world.run(2)
        assert len(world.clouds["east"].machines) == servers, "still frozen: a preview ends nothing"
        assert end_throttles(world.store, FREEZES, world.agenda.now, check=False)
        assert world.run(1, until=lambda: len(world.clouds["east"].machines) > servers)
        assert world.run(60, until=lambda: waits in world.fulfilled)
        assert end_throttles(world.store, FREEZES, world.agenda.now, check=False) == []


def test_a_launcher_that_was_killed_goes_by_it_when_it_starts_again():
    with World(one_provider(), clouds={"east": {"shown": CLAIMED}}) as world:
        cycle = world.start()
        _path, waits = frozen(world)
        cycle.kill()
        assert end_throttles(world.store, FREEZES, world.agenda.now, check=False)
        world.run(12)
        world.start()
        assert world.run(5, until=lambda: bool(world.nodes()) and bool(world.clouds["east"].machines))
        assert world.run(60, until=lambda: waits in world.fulfilled)


@pytest.mark.parametrize("wish", [{"pools": ["other"]}, {"resources": ["cores"]}])
def test_what_is_not_meant_stays(wish):
    with World(one_provider(), clouds={"east": {"shown": CLAIMED}}) as world:
        world.start()
        path, _waits = frozen(world)
        before = world.store.own.get(path)
        narrowed = ThrottleWish(provider="east", kind=FREEZE, **wish)
        assert end_throttles(world.store, narrowed, world.agenda.now, check=False) == []
        assert end_throttles(world.store, BREAKERS, world.agenda.now, check=False) == []
        assert world.store.own.get(path) == before


def test_a_launcher_that_does_not_know_of_it_yet_does_not_bring_it_back():
    """The launcher writes what it knows of other resources at the very moment at which one freeze is ended."""
    with World(one_provider(), clouds={"east": {"shown": CLAIMED}}, lag=0.4) as world:
        cycle = world.start()
        path, _waits = frozen(world)
        world.run(1)
        assert end_throttles(world.store, FREEZES, world.agenda.now, check=False)
        freezes = cycle.launcher._launcher_pass._gates.freezes
        (pool_id,) = world.store.own.children("freezes")
        assert "instances" in freezes.of(pool_id, world.agenda.now), "it knows the freeze only"
        freezes.refuse(pool_id, cycle.context.actors["east"], ["cores"], "Quota exceeded for cores", world.agenda.now)
        assert list(world.store.own.read(path)) == ["cores"]


def test_a_breaker_that_is_ended_lets_the_next_launch_begin():
    with World(one_provider()) as world:
        cloud = world.clouds["east"]
        cloud.fate = lambda machine: Fate("ERROR", "kernel panic", 0.5)
        cycle = world.start()
        for _unused in range(2):
            world.request("small")

        def is_open() -> bool:
            stored = (world.store.own.get("breakers/east") or {}).get("debian/small", {})
            return bool(stored.get("until", 0) > world.agenda.now)

        assert world.run(300, until=is_open)
        cloud.fate = lambda machine: Fate()
        waits = world.request("small")
        world.run(3)
        other = ThrottleWish(provider="east", kind=BREAKER, flavors=["large"])
        assert end_throttles(world.store, other, world.agenda.now, check=False) == []
        (ended,) = end_throttles(world.store, BREAKERS, world.agenda.now, check=False)
        assert (ended["image"], ended["flavor"]) == ("debian", "small") and ended["ends_in"] > 30
        assert world.run(1, until=lambda: any(node.allocated_to == waits for node in world.nodes()))
        assert world.run(60, until=lambda: waits in world.fulfilled)
        assert any(f"failed {FAILURES} times in a row" in line for _at, line in cycle.lines)


def test_a_breaker_ends_as_late_as_the_reasons_of_its_requests_say():
    with World(one_provider()) as world:
        now = world.agenda.now
        recent = [now - 5.0 + number for number in range(6)]
        known = Breaker(failures=5, until=now + 30.0, text="kernel panic", recent=recent)
        world.store.own.put("breakers/east", {"debian/small": known.document()})
        world.start()
        waits = world.request("small")
        assert world.run(10, until=lambda: (world.store.own.get(f"waits/{waits}") or {}).get("code") == "breaker")
        told = world.store.own.get(f"waits/{waits}")
        (ended,) = end_throttles(world.store, BREAKERS, world.agenda.now, check=True)
        left = told["seconds"] - (world.agenda.now - told["at"])
        assert abs(ended["ends_in"] - left) <= 1.0 and ended["ends_in"] > 100


def test_a_document_that_cannot_be_used_is_left_alone():
    with World(one_provider()) as world:
        world.keeper.store_raw("/nodepool/stackci/breakers/east", b'{"debian/small": 7}')
        assert end_throttles(world.store, BREAKERS, world.agenda.now, check=False) == []
        assert world.store.own.get("breakers/east") == {"debian/small": 7}
