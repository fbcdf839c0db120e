# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cycle shows that its thread goes on, at a modest pace, and no longer than it is connected."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.heartbeat import EVERY, Heartbeat
from ansible_collections.stackci.nodepool.plugins.module_utils.model.own_tree import HEARTBEATS
from tests.support.memory_zookeeper import MemoryZooKeeper
from tests.support.virtual_time import Agenda
from tests.support.world import World, one_provider

FOLDER = paths.own(HEARTBEATS)


@pytest.fixture
def keeper() -> MemoryZooKeeper:
    return MemoryZooKeeper(Agenda())


def stored(keeper: MemoryZooKeeper) -> list[tuple[str, float, list[str]]]:
    documents = [keeper.document(f"{FOLDER}/{name}") for name in keeper.store().own.children(HEARTBEATS)]
    return [(one["cycle"], one["at"], one["providers"]) for one in documents if one]


def test_it_is_written_at_a_modest_pace_and_at_once_when_the_providers_change(keeper):
    beat = Heartbeat(keeper.store(), "launcher")
    beat.step(100.0)
    beat.step(100.0 + EVERY - 1)
    assert stored(keeper) == [("launcher", 100.0, [])]
    beat.step(100.0 + EVERY)
    assert stored(keeper) == [("launcher", 100.0 + EVERY, [])]
    beat.step(101.0 + EVERY, ["west", "east"])
    assert stored(keeper) == [("launcher", 101.0 + EVERY, ["east", "west"])]


def test_problems_of_the_configuration_are_written_at_once_and_bounded(keeper):
    beat = Heartbeat(keeper.store(), "launcher")
    beat.step(100.0, ["east"])
    beat.step(101.0, ["east"], ["x" * 10_000, *"abcdef"])
    (name,) = keeper.store().own.children(HEARTBEATS)
    problems = (keeper.document(f"{FOLDER}/{name}") or {})["config_problems"]
    assert [len(problem) for problem in problems] == [500, 1, 1]
    beat.step(102.0, ["east"])
    assert (keeper.document(f"{FOLDER}/{name}") or {})["config_problems"] == []


def test_a_wrong_clock_of_the_host_is_written_when_it_was_heard_twice():
    heard = iter([7.0, 0.0, 61.4, 61.6, 61.6, 0.0, 0.0])
    agenda, found = Agenda(), []
    keeper = MemoryZooKeeper(agenda)
    beat = Heartbeat(keeper.store(), "launcher", lambda _server_time: next(heard))
    for _turn in range(7):
        agenda.now += EVERY
        beat.step(agenda.now)
        (name,) = keeper.store().own.children(HEARTBEATS)
        found.append((keeper.document(f"{FOLDER}/{name}") or {})["clock_ahead"])
    assert found == [0, 0, 0, 0, 62, 62, 0]


def test_why_metrics_are_not_sent_is_written_at_once_and_bounded(keeper):
    why: list[str | None] = [None]
    beat = Heartbeat(keeper.store(), "launcher", unsent=lambda: why[0])
    beat.step(100.0)
    (name,) = keeper.store().own.children(HEARTBEATS)
    assert (keeper.document(f"{FOLDER}/{name}") or {})["unsent_metrics"] == ""
    why[0] = "no such host" + "x" * 10_000
    beat.step(101.0)
    told = (keeper.document(f"{FOLDER}/{name}") or {})["unsent_metrics"]
    assert told.startswith("no such host") and len(told) == 500
    why[0] = None
    beat.step(102.0)
    assert (keeper.document(f"{FOLDER}/{name}") or {})["unsent_metrics"] == ""


def test_each_cycle_has_its_own_and_it_goes_with_the_cycle(keeper):
    one, other = Heartbeat(keeper.store(), "launcher"), Heartbeat(keeper.store(), "launcher")
    one.step(100.0, ["east"])
    other.step(101.0)
    assert sorted(stored(keeper)) == [("launcher", 100.0, ["east"]), ("launcher", 101.0, [])]
    one.end()
    assert stored(keeper) == [("launcher", 101.0, [])]
    Heartbeat(keeper.store(), "builds").end()


def test_a_launcher_writes_it_for_the_providers_that_it_acts_for_until_its_session_ends():
    with World(one_provider()) as world:
        cycle = world.start()
        assert world.run(60, until=lambda: ("launcher", ["east"]) in beats(world))
        world.run(10 * EVERY)
        (name,) = world.store.own.children(HEARTBEATS)
        writes = [entry for entry in cycle.store.session.log if entry[1] == f"{FOLDER}/{name}"]
        assert 9 <= len(writes) <= 14
        cycle.kill()
        assert world.run(60, until=lambda: not beats(world))


def beats(world: World) -> list[tuple[str, list[str]]]:
    documents = [world.store.own.get(f"{HEARTBEATS}/{name}") for name in world.store.own.children(HEARTBEATS)]
    return [(one["cycle"], one["providers"]) for one in documents if one]
