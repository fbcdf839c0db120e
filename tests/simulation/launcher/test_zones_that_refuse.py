# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Zones that a cloud lists and in which it creates nothing: few refused creates, and the other zones serve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.owner_case import NO_HOST, creates, guard, most_within, refusing
from tests.support.virtual_cloud import Fate
from tests.support.world import Cycle, Habit, World, label, provider_document, site

MOST = 6
"""Refused creates in two minutes."""
MOST_UNKNOWN = 15
"""The same for sets whose creates are refused in words that no rule knows."""
BAD, GOOD = "az1", "az2"
"""The launcher begins with the first one."""
HOSTS = "hosts"
WORDS = {
    "nova's words": refusing("The requested availability zone is not available"),
    "other words": refusing("Availability zone az1 is closed for maintenance"),
    "no zone is named": refusing("Cannot be done at present (E1234)"),
    "policy": refusing("Request blocked", 403),
    "service": refusing("MessagingTimeout: Timed out waiting for a reply to message ID 7"),
    HOSTS: None,
}
LOADS: dict[str, list[tuple[str, ...]]] = {
    "one": [("small",)],
    "four": [("small",) for _unused in range(4)],
    "two labels": [(name,) for name in ("small", "medium") for _unused in range(4)],
    "set": [("small", "small")],
    "sets": [("small", "small")] * 3,
}


def document(zones: tuple[str, ...], named_by: str) -> dict[str, Any]:
    pool: dict[str, Any] = {"name": "main", "labels": [label("small"), label("medium", "medium")]}
    if named_by == "nodepool.yaml":
        pool["availability-zones"] = list(zones)
    return site(provider_document("east", pool))


class Refusing:
    """Has the cloud refuse in some zones while it is told to, and notes when."""

    def __init__(self, world: World, words: str, zones: tuple[str, ...]) -> None:
        self.moments: list[float] = []
        self.holds: Callable[[Any], bool] = lambda server: server.az in zones
        self._world = world
        if WORDS[words] is None:
            world.clouds["east"].fate = self._fate
        else:
            guard(world, lambda spec: self._note(WORDS[words]()) if self.holds(spec) else None)

    def _note(self, outcome: Any) -> Any:
        self.moments.append(self._world.agenda.now)
        return outcome

    def _fate(self, machine: Any) -> Fate:
        return self._note(Fate("ERROR", NO_HOST, 2.0)) if self.holds(machine) else Fate()


def most(words: str, load: str) -> int:
    """What no rule knows freezes nothing before another zone accepts it, and a set tries twice before it moves."""
    return MOST_UNKNOWN if load in ("set", "sets") and words in ("no zone is named", "policy") else MOST


def failed(world: World, cycle: Cycle, requests: list[str]) -> list[str]:
    return [one for one in requests if world.state(one) == "failed" or one in cycle.account.declined]


@pytest.mark.parametrize("named_by", ["nodepool.yaml", "the cloud"])
@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("load", LOADS)
def test_one_zone_of_two_costs_few_creates_and_nobody_fails(words: str, load: str, named_by: str):
    with World(document((BAD, GOOD), named_by), clouds={"east": {"zones": (BAD, GOOD)}}) as world:
        refusing_zone = Refusing(world, words, (BAD,))
        cycle = world.start()
        requests = [world.request(*labels) for labels in LOADS[load]]
        assert world.run(90, until=lambda: all(one in world.fulfilled for one in requests))
        longest = 30 if load == "one" and words != HOSTS else 60
        assert max(world.fulfilled.values()) - min(world.asked.values()) <= longest
        world.run(300)
        assert 0 < most_within(refusing_zone.moments, 120.0) <= most(words, load)
        assert not failed(world, cycle, requests)
        assert {node.az for node in world.nodes("ready")} == {GOOD}


@pytest.mark.parametrize("words", WORDS)
def test_a_zone_that_refuses_for_long_is_tried_now_and_then_and_used_when_it_works(words: str):
    with World(document((BAD, GOOD), "the cloud"), clouds={"east": {"zones": (BAD, GOOD)}}) as world:
        refusing_zone = Refusing(world, words, (BAD,))
        cycle = world.start()
        requests = []
        for _unused in range(100):
            requests.append(world.request("small", habit=Habit(work=lambda chance: 10.0)))
            world.run(6)
        assert len(refusing_zone.moments) > 2 and most_within(refusing_zone.moments, 120.0) <= MOST
        refusing_zone.holds = lambda server: False
        for _unused in range(50):
            requests.append(world.request("small", habit=Habit(work=lambda chance: 10.0)))
            world.run(6)
        assert world.run(90, until=lambda: all(one in world.fulfilled for one in requests))
        assert max(world.fulfilled[one] - world.asked[one] for one in requests) <= 45
        assert not failed(world, cycle, requests)
        ours = [*world.clouds["east"].machines.values(), *world.clouds["east"].past]
        late = [one for one in ours if one.created > world.asked[requests[110]]]
        assert {one.az for one in late} == {GOOD, BAD}


def test_a_full_zone_is_tried_rarely_while_another_one_has_room():
    """Each try costs a request the time of a server that fails."""
    with World(document((BAD, GOOD), "the cloud"), clouds={"east": {"zones": (BAD, GOOD)}}) as world:
        full = Refusing(world, HOSTS, (BAD,))
        cycle = world.start()
        requests = []
        for turn in range(100):
            name = "small" if turn % 2 else "medium"
            requests.append(world.request(name, name if turn % 2 else "small", habit=Habit(work=lambda chance: 20.0)))
            world.run(6)
        assert world.run(90, until=lambda: all(one in world.fulfilled for one in requests))
        assert not failed(world, cycle, requests)
        flavors = 2
        assert len(full.moments) <= flavors * 2 * (2 + 4), "two at first, then one in three minutes, of sets of two"


@pytest.mark.parametrize("zones", [(BAD, GOOD), (BAD,)], ids=["all", "the only one"])
@pytest.mark.parametrize("words", [words for words in WORDS if words != "no zone is named"])
@pytest.mark.parametrize("load", ["four", "set"])
def test_zones_that_all_refuse_are_tried_rarely_and_nobody_fails(words: str, load: str, zones: tuple[str, ...]):
    with World(document(zones, "nodepool.yaml"), clouds={"east": {"zones": zones}}) as world:
        refusing_zone = Refusing(world, words, zones)
        cycle = world.start()
        requests = [world.request(*labels) for labels in LOADS[load]]
        world.run(400)
        assert not failed(world, cycle, requests)
        assert 0 < most_within(refusing_zone.moments, 120.0) <= most(words, load)
        refusing_zone.holds = lambda server: False
        assert world.run(240, until=lambda: all(one in world.fulfilled for one in requests))


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("words", WORDS)
def test_a_set_whose_zone_begins_to_refuse_moves_as_a_whole(words: str, size: int):
    """Its node that came up stays ready for others."""
    with World(document((BAD, GOOD), "nodepool.yaml"), clouds={"east": {"zones": (BAD, GOOD)}}) as world:
        refusing_zone = Refusing(world, words, (BAD,))
        made: list[Any] = []

        def second(server: Any) -> bool:
            made.extend([server] if server.az == BAD else [])
            return server.az == BAD and len(made) > 1

        refusing_zone.holds = second
        cycle = world.start()
        request = world.request(*["small"] * size)
        assert world.run(90, until=lambda: request in world.fulfilled)
        stored = world.store.requests.read(request)
        assert stored is not None and len(stored.nodes) == size
        assert {node.az for node in world.nodes("ready") if node.allocated_to == request} == {GOOD}
        assert [node.az for node in world.nodes("ready") if node.allocated_to is None] == [BAD]
        assert len(creates(cycle)) <= 2 * size + 2


def test_a_set_with_two_images_is_served_although_both_have_had_no_hosts():
    """Of what is tried in turn one launch of the set tries its own, then the next one."""
    labels = [label("one"), {**label("two"), "cloud-image": "fedora"}]
    images = [{"name": "debian"}, {"name": "fedora", "image-name": "debian"}]
    pool = {"name": "main", "labels": labels}
    with World(site(provider_document("east", pool, **{"cloud-images": images}))) as world:
        ends = world.agenda.now + 100
        world.clouds["east"].fate = lambda one: Fate("ERROR", NO_HOST, 2.0) if one.created < ends else Fate()
        world.start()
        request = world.request("one", "two")
        assert world.run(240, until=lambda: request in world.fulfilled)
