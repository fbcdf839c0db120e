# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers that do not answer, in whole worlds: a broken way makes wait, a broken image fails its own requests alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Image, Network
from tests.support.virtual_cloud import Fate, Machine
from tests.support.world import World, provider_document, site

PRIVATE, SECOND = Network("net-private", "private"), Network("net-second", "second")
CLOUD: dict[str, Any] = {
    "images": (Image("img-1", "debian", "active"), Image("img-2", "fedora", "active")),
    "nets": (PRIVATE, SECOND, Network("net-public", "public", external=True)),
}
TRIES = 3
BOOT = 30.0


def offer(name: str, image: str = "debian", network: str = "private") -> dict[str, Any]:
    return {"name": name, "flavor-name": "small", "cloud-image": image, "networks": [network]}


def east(*labels: dict[str, Any], name: str = "east") -> dict[str, Any]:
    images = [{"name": "debian"}, {"name": "fedora"}]
    pool = {"name": "main", "labels": list(labels), "auto-floating-ip": False}
    return provider_document(name, pool, **{"cloud-images": images, "boot-timeout": BOOT, "launch-retries": TRIES})


class Ways:
    """Which labels' servers answer."""

    def __init__(self, world: World, is_silent: Callable[[str], bool]) -> None:
        self._world = world
        self.is_silent = is_silent
        for cloud in world.clouds.values():
            cloud.fate = self.fate

    def fate(self, machine: Machine) -> Fate:
        record = self._world.store.own.get(f"launches/{machine.name.removeprefix('np')}") or {}
        return Fate(reachable=not self.is_silent(str(record.get("label"))))


def worlds(*providers: dict[str, Any]) -> World:
    return World(site(*providers), clouds={one["name"]: CLOUD for one in providers})


def creates(world: World) -> int:
    calls = [kind for cycle in world.cycles for client in cycle.clients for _when, kind in client.calls]
    return calls.count("POST /servers")


def owners(world: World) -> set[str]:
    """The owners that the lines about servers without an answer name."""
    told = [line for cycle in world.cycles for _when, line in cycle.lines if ": unreachable: " in line]
    return {line.rpartition("[owner: ")[2].rstrip("]") for line in told}


def reason(world: World, request: str) -> dict[str, Any]:
    return world.store.own.get(f"waits/{request}") or {}


def test_a_network_that_is_away_fails_nobody_and_costs_few_servers():
    labels = offer("one"), offer("two", "fedora"), offer("far", "debian", "second")
    with worlds(east(*labels)) as world:
        ways = Ways(world, lambda label: label in ("one", "two"))
        world.start()
        requests = [world.request(name) for name in ("one", "two", "far", "one", "two")]
        world.run(300)
        far = requests.pop(2)
        assert world.state(far) == "fulfilled"
        assert {world.state(request) for request in requests} <= {"requested", "pending"}
        assert owners(world) <= {"network", "unknown"} and "network" in owners(world)
        told = [reason(world, request) for request in requests]
        assert all(item["owner"] == "network" for item in told), told
        assert any("answering servers in private" in item["text"] for item in told)
        before = creates(world)
        assert before <= 5 + 8, "while it is away only single servers try it"
        ways.is_silent = lambda label: False
        assert world.run(400, until=lambda: all(request in world.fulfilled for request in requests))
        assert world.store.own.get("breakers/east") in (None, {})


def test_a_broken_image_beside_a_good_one_fails_its_own_requests_alone():
    with worlds(east(offer("bad"), offer("good", "fedora"))) as world:
        Ways(world, lambda label: label == "bad")
        world.start()
        bad = world.request("bad")
        good = []
        while world.state(bad) != "failed" and world.agenda.now < 1_700_001_000:
            good.append(world.request("good"))
            world.run(20)
        assert world.state(bad) == "failed"
        assert world.run(60, until=lambda: all(request in world.fulfilled for request in good))
        assert max(world.fulfilled[request] - world.asked[request] for request in good) < 30
        reasons = (world.store.own.get(f"waits/{bad}") or {})["reasons"]
        assert reasons[0]["owner"] == "image"
        assert "image" in owners(world) and "network" not in owners(world)


def test_an_image_that_nothing_else_clears_or_blames_is_blamed_as_before():
    with worlds(east(offer("only"))) as world:
        Ways(world, lambda label: True)
        world.start()
        request = world.request("only")
        assert world.run(600, until=lambda: world.state(request) == "failed")
        assert creates(world) == TRIES and owners(world) == {"image"}


@pytest.mark.parametrize("killed", [False, True], ids=["same cycle", "next cycle"])
def test_an_image_that_has_answered_before_is_not_to_blame(killed: bool):
    with worlds(east(offer("only"))) as world:
        ways = Ways(world, lambda label: False)
        cycle = world.start()
        first = world.request("only")
        assert world.run(60, until=lambda: first in world.fulfilled)
        world.take(first)
        if killed:
            cycle.kill()
            world.run(30)
            world.start()
        ways.is_silent = lambda label: True
        requests = [world.request("only") for _unused in range(3)]
        world.run(600)
        assert {world.state(request) for request in requests} <= {"requested", "pending"}
        assert owners(world) == {"network"}
        ways.is_silent = lambda label: False
        assert world.run(400, until=lambda: all(request in world.fulfilled for request in requests))


def test_an_image_that_answered_days_ago_is_not_to_blame_although_no_node_of_it_is_left():
    with worlds(east(offer("only"))) as world:
        ways = Ways(world, lambda label: False)
        cycle = world.start(duration=300)
        first = world.request("only")
        assert world.run(60, until=lambda: first in world.fulfilled)
        world.give_back(world.take(first))
        assert world.run(400, until=lambda: cycle.ended) and not world.nodes()
        world.run(3 * 86400)
        ways.is_silent = lambda label: True
        world.start()
        request = world.request("only")
        world.run(600)
        assert world.state(request) in ("requested", "pending") and owners(world) == {"network"}
        ways.is_silent = lambda label: False
        assert world.run(400, until=lambda: request in world.fulfilled)


def test_a_cloud_in_which_nothing_answers_is_to_blame_and_another_one_serves():
    names = ("one", "two")
    both = [east(offer("one"), offer("two", "fedora", "second"), name=name) for name in ("east", "west")]
    both[0]["pools"][0]["priority"] = 1
    with worlds(*both) as world:
        ways = Ways(world, lambda label: False)
        world.clouds["east"].fate = lambda machine: Fate(reachable=False)
        world.start()
        requests = [world.request(name) for name in names * 3]
        assert world.run(600, until=lambda: all(request in world.fulfilled for request in requests))
        assert "cloud" in owners(world) and "image" not in owners(world)
        assert ways is not None


def test_where_nothing_answers_in_any_cloud_the_launcher_looks_at_itself():
    both = [east(offer(f"label-{name}"), name=name) for name in ("east", "west")]
    with worlds(*both) as world:
        ways = Ways(world, lambda label: True)
        world.start()
        requests = [world.request(f"label-{name}") for name in ("east", "west", "east", "west")]
        world.run(400)
        assert {world.state(request) for request in requests} <= {"requested", "pending"}
        assert owners(world) == {"us"}
        ways.is_silent = lambda label: False
        assert world.run(400, until=lambda: all(request in world.fulfilled for request in requests))


def test_a_single_server_without_an_answer_blames_nobody():
    with worlds(east(offer("one"))) as world:
        ways = Ways(world, lambda label: False)
        count = iter(range(100))
        world.clouds["east"].fate = lambda machine: Fate(reachable=next(count) != 1)
        world.start()
        requests = [world.request("one") for _unused in range(4)]
        assert world.run(300, until=lambda: all(request in world.fulfilled for request in requests))
        assert owners(world) <= {"unknown", "network"} and creates(world) <= 5
        assert ways is not None and world.store.own.get("breakers/east") in (None, {})


def test_a_label_that_lets_nobody_in_fails_although_its_image_works_for_others():
    """For example by its security groups."""
    with worlds(east(offer("closed"), offer("open"))) as world:
        Ways(world, lambda label: label == "closed")
        world.start()
        closed = world.request("closed")
        end = world.agenda.now + 1500
        while world.state(closed) != "failed" and world.agenda.now < end:
            world.request("open")
            world.run(25)
        assert world.state(closed) == "failed"
        told = (world.store.own.get(f"waits/{closed}") or {})["reasons"]
        assert told[0]["owner"] == "label" and "image" not in owners(world)
