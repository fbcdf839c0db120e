# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counters are handed on: nothing is counted twice or lost, whatever happens to the writes and the documents."""

from __future__ import annotations

from typing import Any

import pytest
from kazoo.exceptions import ConnectionLoss

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.counts import (
    EVERY,
    KEEP,
    MOST_DOCUMENTS,
    TOKENS,
    CycleCounts,
    KeptCounters,
    counters_of,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.counters import API_CALLS, LAUNCHES
from ansible_collections.stackci.nodepool.plugins.module_utils.model.own_tree import COUNTERS
from tests.support.memory_zookeeper import MemoryStore, MemoryZooKeeper
from tests.support.virtual_time import Agenda
from tests.support.world import World, one_provider

READY = ("east", "main", "ready", "")
PATH = paths.own(f"{COUNTERS}/host-launcher")


class Host:
    """A host with a cycle that counts."""

    def __init__(self, keeper: MemoryZooKeeper, kind: str = "launcher", name: str = "host") -> None:
        self.store: MemoryStore = keeper.store()
        self.cycle_counts = CycleCounts()
        self.lines: list[str] = []
        self.kept = KeptCounters(self.store, kind, self.cycle_counts, self.lines.append, host=name)

    def launch(self, count: int = 1) -> None:
        self.cycle_counts.counters.add(LAUNCHES, *READY, amount=count)


@pytest.fixture
def keeper() -> MemoryZooKeeper:
    return MemoryZooKeeper(Agenda())


def launches(keeper: MemoryZooKeeper, path: str = PATH) -> float:
    document = keeper.document(path)
    return counters_of(document).series[LAUNCHES.name].get(READY, [0])[0] if document else 0


def test_two_cycles_one_after_the_other_and_two_at_once(keeper):
    one = Host(keeper)
    one.launch(3)
    one.kept.flush(1.0)
    two, three = Host(keeper), Host(keeper)
    for number in range(10):
        two.launch()
        three.launch(2)
        two.kept.step(100.0 * number)
        three.kept.step(100.0 * number)
    assert launches(keeper) == 33
    document = keeper.document(PATH)
    assert document is not None
    assert (document["host"], document["cycle"], len(document["writes"])) == ("host", "launcher", TOKENS)


def test_a_cycle_writes_only_what_is_new_and_not_more_often_than_said(keeper):
    host = Host(keeper)
    host.kept.step(0.0)
    assert not host.store.session.log
    for tick in range(1000):
        host.launch()
        host.kept.step(tick / 10)
    written = [entry for entry in host.store.session.log if entry[1] == PATH]
    assert 8 <= len(written) <= 100 / EVERY
    host.kept.flush(100.0)
    assert launches(keeper) == 1000
    before = keeper.writes
    for tick in range(1000):
        host.kept.step(200.0 + tick)
    assert keeper.writes == before


def test_a_cache_that_is_behind_loses_nothing(keeper):
    keeper.lag = 1e6
    one, two = Host(keeper), Host(keeper)
    for number in range(5):
        one.launch()
        one.kept.flush(float(number))
        two.launch(10)
        two.kept.flush(float(number))
    assert launches(keeper) == 55


@pytest.mark.parametrize("done", [True, False], ids=["done", "not done"])
def test_a_write_without_an_answer_counts_once(keeper, done):
    host = Host(keeper)
    host.launch()
    host.kept.flush(0.0)
    calls = 0

    def lost(_request: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ConnectionLoss

    setattr(host.store.session, "after" if done else "before", lost)
    host.launch(2)
    host.kept.step(100.0)
    host.launch(4)
    other = Host(keeper)
    other.launch(100)
    other.kept.flush(100.0)
    host.kept.flush(101.0)
    assert launches(keeper) == 107


def test_without_zookeeper_it_is_kept_for_later(keeper):
    host = Host(keeper)
    host.launch()
    host.store.session.suspend(30.0)
    host.kept.step(10.0)
    host.launch()
    host.kept.step(25.0)
    assert launches(keeper) == 0
    keeper.agenda.run(60)
    host.kept.flush(60.0)
    assert launches(keeper) == 2


@pytest.mark.parametrize(
    "stored",
    [
        b"{ not json",
        b"[]",
        b"{}",
        b'{"counters": []}',
        b'{"counters": {"launches": [[["east","main","ready",""],[-5]]]}}',
        b'{"counters": {"launches": [[["east"],[5]]]}}',
    ],
)
def test_an_odd_document_is_told_and_the_counters_begin_again(keeper, stored):
    keeper.store_raw(PATH, stored)
    host = Host(keeper)
    host.launch(2)
    host.kept.flush(0.0)
    assert launches(keeper) == 2
    told = [*host.lines, *host.store.odd_documents()]
    assert len(told) == 1 and PATH in told[0]


def test_what_another_version_counts_stays(keeper):
    keeper.store_raw(PATH, b'{"counters": {"of_tomorrow": [7]}}')
    host = Host(keeper)
    host.launch()
    host.kept.flush(0.0)
    document = keeper.document(PATH)
    assert document is not None and document["counters"]["of_tomorrow"] == [7]


@pytest.mark.parametrize("odd", [False, True], ids=["good", "odd"])
def test_the_counters_of_hosts_that_are_gone_for_long_are_taken_over(keeper, odd):
    gone, lately, here = Host(keeper, name="gone"), Host(keeper, name="lately"), Host(keeper)
    gone.launch(5)
    gone.kept.flush(0.0)
    if odd:
        gone.store.own.put(f"{COUNTERS}/gone-launcher", {"counters": 7})
    keeper.agenda.run(KEEP / 2)
    lately.launch(2)
    lately.kept.flush(KEEP / 2)
    keeper.agenda.run(KEEP / 2 + 1)
    here.launch()
    here.kept.flush(keeper.agenda.now)
    assert here.store.own.children(COUNTERS) == ["host-launcher", "lately-launcher"]
    assert launches(keeper) == (1 if odd else 6)


def test_cycles_in_containers_leave_few_documents_and_lose_nothing(keeper):
    many = MOST_DOCUMENTS + 30
    for number in range(many):
        keeper.agenda.run(60)
        host = Host(keeper, name=f"job-{number}")
        host.launch()
        host.kept.end(keeper.agenda.now)
        host.store.close()
    here = keeper.store()
    names = here.own.children(COUNTERS)
    assert len(names) <= MOST_DOCUMENTS
    assert sum(launches(keeper, paths.own(f"{COUNTERS}/{name}")) for name in names) == many


def test_a_document_that_is_written_meanwhile_is_not_taken_over(keeper):
    gone, here = Host(keeper, name="gone"), Host(keeper)
    gone.launch(5)
    gone.kept.flush(0.0)
    keeper.agenda.run(KEEP + 1)
    keeper.lag = 1e6
    gone.launch()
    gone.kept.flush(keeper.agenda.now)
    here.launch()
    here.kept.flush(keeper.agenda.now)
    assert launches(keeper) == 1
    assert launches(keeper, paths.own(f"{COUNTERS}/gone-launcher")) == 6


def test_two_cycles_take_over_the_same_host_once(keeper):
    gone = Host(keeper, name="gone")
    gone.launch(5)
    gone.kept.flush(0.0)
    keeper.agenda.run(KEEP + 1)
    keeper.lag = 1e6
    one, two = Host(keeper, name="one"), Host(keeper, name="two")
    for host in (one, two):
        host.launch()
        host.kept.flush(keeper.agenda.now)
    names = [paths.own(f"{COUNTERS}/{name}-launcher") for name in ("one", "two", "gone")]
    assert sum(launches(keeper, name) for name in names) == 7 and keeper.document(names[2]) is None


def test_nothing_is_written_into_another_tree(keeper):
    host = Host(keeper)
    host.launch()
    host.kept.abandon()
    host.kept.flush(0.0)
    assert not host.store.session.log


def test_the_end_of_a_cycle_is_stored_also_when_nothing_was_counted(keeper):
    host = Host(keeper)
    host.kept.end(7.0)
    other = Host(keeper)
    other.launch()
    other.kept.flush(9.0)
    document = keeper.document(PATH)
    assert document is not None and document["ended"] == 7.0 and launches(keeper) == 1


def test_calls_are_counted_once_each():
    cycle_counts = CycleCounts()
    cycle_counts.calls({"east": {"POST /servers": {"202": 3}}})
    cycle_counts.calls({"east": {"POST /servers": {"202": 3, "403": 1}}, "west": {"GET /limits": {"timeout": 1}}})
    assert cycle_counts.counters.series[API_CALLS.name] == {
        ("east", "POST", "/servers", "202"): [3],
        ("east", "POST", "/servers", "403"): [1],
        ("west", "GET", "/limits", "timeout"): [1],
    }


def stored(world: World) -> Any:
    """The counters that the tree has."""
    names = world.store.own.children(COUNTERS)
    assert len(names) == 1
    return counters_of(world.store.own.get(f"{COUNTERS}/{names[0]}") or {}).series


def test_launcher_cycles_hand_their_counters_on():
    with World(one_provider(max_servers=8)) as world:
        first = world.start()
        requests = [world.request("small") for _unused in range(3)]
        assert world.run(120, until=lambda: world.fulfilled.keys() >= set(requests))
        world.run(2 * EVERY)
        before = stored(world)
        first.kill()
        world.run(20)
        second = world.start(duration=200)
        requests += [world.request("small") for _unused in range(2)]
        assert world.run(120, until=lambda: world.fulfilled.keys() >= set(requests))
        assert world.run(300, until=lambda: second.ended)
        after = stored(world)
        assert before["launches"] == {READY: [3]} and after["launches"] == {READY: [5]}
        for name in ("request_ready_seconds", "server_active_seconds", "server_reachable_seconds"):
            values = after[name]["east", "main"]
            assert sum(before[name]["east", "main"][:-1]) == 3 and sum(values[:-1]) == 5
            assert values[-1] > before[name]["east", "main"][-1] > 0
        assert after["api_calls"]["east", "POST", "/servers", "200"] == [5]
        for key, values in before["api_calls"].items():
            assert after["api_calls"][key] >= values
        calls = second.result["api_calls"]["east"]["GET /limits"]["200"]
        limits = ("east", "GET", "/limits", "200")
        assert after["api_calls"][limits][0] >= before["api_calls"][limits][0] + calls


def test_a_busy_launcher_adds_no_more_than_a_write_every_ten_seconds():
    with World(one_provider()) as world:
        cycle = world.start()
        for _second in range(100):
            world.request("small")
            world.run(1)
        path = paths.own(f"{COUNTERS}/{world.store.own.children(COUNTERS)[0]}")
        writes = [entry for entry in cycle.store.session.log if entry[1] == path]
        assert 5 <= len(writes) <= 100 / EVERY + 1
