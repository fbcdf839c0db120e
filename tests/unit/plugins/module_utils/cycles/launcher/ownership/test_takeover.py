# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Providers are taken over, stood by for and let go of, on virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.stop import SERVING, STANDING_BY
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.ownership.takeover import REMEMBER_EVERY
from ansible_collections.stackci.nodepool.plugins.module_utils.model.own_tree import LIVE_LAUNCHERS
from tests.support.world import Cycle, World, label, one_provider, provider_document, site


@pytest.fixture
def world() -> Iterator[World]:
    with World(one_provider()) as made:
        yield made


def lines(cycle: Cycle, text: str) -> list[str]:
    return [line for _unused, line in cycle.lines if text in line]


def remembered(world: World) -> dict[str, Any]:
    return world.store.own.get("providers/east") or {}


def serve(world: World) -> None:
    request = world.request("small")
    assert world.run(120, lambda: world.state(request) == "fulfilled")


def test_the_second_cycle_stands_by_until_the_first_lets_go(world):
    first, second = world.start(duration=60), world.start()
    assert world.run(30, lambda: bool(second.launcher and second.launcher.state == STANDING_BY))
    assert second.launcher and not lines(second, "provider east: acting")
    calls = second.launcher._takeover.calls()["east"]
    assert world.run(60, lambda: first.ended) and world.run(5, lambda: second.launcher.state == SERVING)
    assert first.result["acted_for"] == ["east"] and second.launcher._takeover.acted_for == {"east"}
    serve(world)
    now = second.launcher._takeover.calls()["east"]
    assert now["GET /flavors/detail"] == calls["GET /flavors/detail"], "what was read while standing by serves"


def test_one_acting_cycle_reports_for_the_whole_tree(world):
    first, second = world.start(host="a"), world.start(host="b")
    world.run(5)
    leads = [cycle.launcher._takeover.leads for cycle in (first, second) if cycle.launcher]
    assert leads == [True, False]
    first.kill()
    world.run(60)
    assert second.launcher and second.launcher._takeover.leads


def test_what_was_learned_is_stored_for_the_case_that_the_cycle_is_killed(world):
    cycle = world.start()
    serve(world)
    assert remembered(world)["boot_seconds"] == []
    world.run(REMEMBER_EVERY + 5)
    (seconds,) = remembered(world)["boot_seconds"]
    cycle.kill()
    follower = world.start()
    world.run(30)
    (actor,) = follower.context.actors.values()
    assert list(actor.experience.boot_times.samples) == [seconds]


def test_trouble_is_said_and_stored_once_and_so_is_its_end(world):
    cycle = world.start()
    world.run(5)
    fault = world.fault("east")
    request = world.request("small")
    assert world.run(600, lambda: bool(lines(cycle, "provider east: ") and remembered(world)["health"]))
    world.run(600)
    (trouble,) = [line for line in lines(cycle, "provider east: ") if "acting" not in line]
    fault.left = 0
    assert world.run(600, lambda: world.state(request) == "fulfilled")
    said = [line for line in lines(cycle, "provider east: ") if "acting" not in line]
    assert said == [trouble, "provider east: its API works again"]


def test_another_zookeeper_is_not_taken_and_said_once(world):
    cycle = world.start(duration=60)
    world.run(5)
    document = {**one_provider(), "zookeeper-servers": [{"host": "elsewhere"}]}
    world.configure(document)
    world.run(10)
    world.configure({**document, "max-hold-age": 9})
    world.run(10)
    assert len(lines(cycle, "the connection to ZooKeeper")) == 1
    assert cycle.context.config.zookeeper.servers[0].host == "memory"
    assert cycle.context.config.max_hold_age == 9
    world.run(60)
    assert any("the connection to ZooKeeper" in warning for warning in cycle.result["warnings"])


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_provider_that_another_host_has_in_its_file_is_left_to_that_host(when):
    """Each host has a file of its own, and the provider moves from one to the other."""
    east, west = (provider_document(name, {"name": "main", "labels": [label("small")]}) for name in ("east", "west"))

    def register(world: World) -> None:
        fields = {"host": "b:", "weight": 1.0, "prefers": None, "stays": True, "wants": ["west"], "ready": True}
        world.store.components.register(LIVE_LAUNCHERS, "b", fields, root=paths.OWN)

    with World(site(east, west)) as world:
        cycle = world.start()
        requests = [world.request("small", provider="west", reuse=False) for _number in range(2)]
        assert world.run(120, lambda: all(world.state(one) == "fulfilled" for one in requests))
        (used,) = world.take(requests[0])
        (spare,) = world.store.requests.read(requests[1]).nodes
        world.store.requests.delete(requests[1])
        assert world.run(30, lambda: world.store.nodes.read(spare).allocated_to is None)
        if when == "before":
            register(world)
        world.configure(site(east))
        world.run(5)
        if when == "after":
            register(world)
            world.run(5)
        assert not world.store.own.children("drain")
        assert not world.store.own.is_locked("providers/west")
        assert world.store.nodes.read(used).state == "in-use"
        if when == "before":
            assert world.store.nodes.read(spare).state == "ready"
            assert not lines(cycle, f"node {spare}: deleting")
