# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Room that the quota shows before a list does."""

from __future__ import annotations

import statistics
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.given_back import (
    DOUBT,
    PACE,
    UNKNOWN_PACE,
    Acknowledged,
    Expected,
    GivenBack,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.polling import Times
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import CloudLimits
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudError, CloudUnavailable
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits, Resources
from tests.support.world import Habit, World, one_provider

SIZE = Resources({"instances": 1, "cores": 2, "ports": 1})
QUOTA = Limits({"instances": 4, "cores": 8})


def pending(*node_ids: str) -> list[Acknowledged]:
    return [Acknowledged(node_id, float(place), SIZE) for place, node_id in enumerate(node_ids)]


def size(servers: int) -> Resources:
    return Resources({"instances": servers, "cores": 2 * servers})


class Reading:
    """Stands in for the fact of the limits: the test answers it."""

    busy = False
    value: CloudLimits | None = None
    asked_at: float | None = None

    def __init__(self, changed: Any) -> None:
        self.changed = changed
        self.calls = 0

    def age(self, now: float) -> float:
        return 1e9 if self.asked_at is None else now - self.asked_at

    def want(self, now: float) -> None:
        self.calls, self.busy, self.asked_at = self.calls + 1, True, now

    def answer(self, used: int, error: CloudError | None = None) -> None:
        self.busy = False
        self.value = CloudLimits(QUOTA, Resources({"instances": used, "cores": 2 * used}))
        self.changed(error)


class Bench:
    """Four servers of a quota of four; deletions take five seconds."""

    def __init__(self) -> None:
        self.now = 6.0
        self.times = Times()
        self.times.add(5.0)
        self.sent_at = 0.0
        self.given_back = GivenBack(
            self._fact, lambda: CloudLimits(QUOTA, Resources()), lambda: self.now, lambda: self.sent_at
        )

    def _fact(self, _read: Any, changed: Any) -> Any:
        self.reading = Reading(changed)
        return self.reading

    def ask(self, servers: int = 4, uncounted: int = 0, unanswered: int = 0) -> float:
        self.now += 0.5
        expected = Expected(size(servers) - self.given_back.size, size(uncounted), size(unanswered))
        return self.given_back.poll(expected, self.times, self.now)

    def given(self) -> list[str]:
        return sorted(self.given_back.nodes)


@pytest.fixture
def bench() -> Bench:
    made = Bench()
    made.given_back.follow(pending("a", "b"), doubted=False)
    return made


def test_what_the_quota_does_not_count_any_more_is_given_back_the_oldest_first(bench: Bench):
    bench.ask()
    bench.reading.answer(used=4)
    assert bench.given() == []
    bench.ask()
    bench.reading.answer(used=3)
    assert bench.given() == ["a"] and bench.given_back.size["cores"] == 2
    bench.ask()
    bench.reading.answer(used=0)
    assert bench.given() == ["a", "b"], "only what nova agreed to delete"


def test_the_same_room_is_not_given_twice_when_a_list_confirms_the_end_of_another(bench: Bench):
    bench.ask()
    bench.reading.answer(used=3)
    bench.given_back.follow(pending("a"), doubted=False)
    assert bench.given() == [], "it was b that has ended"


def test_a_reading_under_way_does_not_change_what_the_last_one_told(bench: Bench):
    bench.ask()
    bench.reading.answer(used=2)
    bench.given_back.follow([Acknowledged("c", 4.0, SIZE)], doubted=False)
    bench.ask(servers=2)
    bench.given_back.follow([Acknowledged("c", 4.0, SIZE)], doubted=False)
    assert bench.given() == [], "a and b have ended, c has not"


def test_what_is_taken_again_takes_nothing_back_from_the_count(bench: Bench):
    bench.ask()
    bench.reading.answer(used=3)
    bench.ask(servers=5)
    bench.reading.answer(used=4)
    assert bench.given() == ["a"]


def test_a_list_that_lacks_servers_and_a_reading_that_failed_give_nothing_back(bench: Bench):
    bench.ask()
    bench.reading.answer(used=3)
    bench.given_back.follow(pending("a", "b"), doubted=True)
    assert bench.given() == []
    bench.given_back.follow(pending("a", "b"), doubted=False)
    bench.reading.answer(used=3, error=CloudUnavailable("503", provider="east", call="GET /limits"))
    assert bench.given() == [] and not bench.given_back.tells
    bench.now += DOUBT
    assert bench.given_back.tells


def test_the_limits_are_read_only_while_a_server_may_be_gone(bench: Bench):
    bench.now = 1.0
    assert bench.ask() > PACE and bench.reading.calls == 0
    bench.now = 6.0
    assert bench.ask() == PACE and bench.reading.calls == 1
    bench.now = 60.0
    assert bench.ask() == float("inf") and bench.reading.calls == 1, "both are late"


def test_while_nothing_is_known_of_deletions_the_limits_are_read_at_growing_distances(bench: Bench):
    bench.times.samples.clear()
    bench.now = 1.5
    bench.ask()
    bench.reading.answer(used=4)
    assert bench.reading.calls == 1 and bench.ask() == PACE and bench.reading.calls == 2, f"after {UNKNOWN_PACE:g} s"
    bench.reading.answer(used=4)
    bench.now = 10.0
    bench.ask()
    bench.reading.answer(used=4)
    assert bench.reading.calls == 3 and bench.ask() > UNKNOWN_PACE and bench.reading.calls == 3


def test_a_create_that_nova_may_not_count_yet_gives_no_room_back(bench: Bench):
    bench.ask(uncounted=1)
    bench.reading.answer(used=3)
    assert bench.given() == []
    bench.ask(uncounted=1)
    bench.reading.answer(used=2)
    assert bench.given() == ["a"]


def test_room_that_may_be_a_create_that_is_not_counted_is_in_doubt(bench: Bench):
    for used, uncounted, doubt in ((4, 1, False), (3, 1, True), (2, 0, False)):
        bench.ask(uncounted=uncounted)
        bench.reading.answer(used=used)
        assert bench.given_back.in_doubt is doubt


def test_a_list_that_confirms_the_end_of_a_server_ends_the_doubt(bench: Bench):
    bench.ask(uncounted=1)
    bench.reading.answer(used=3)
    bench.given_back.follow(pending("a", "b"), doubted=False)
    assert bench.given_back.in_doubt, "the list has told nothing new"
    bench.given_back.follow(pending("a"), doubted=False)
    assert not bench.given_back.in_doubt


def test_when_nova_counts_every_server_is_remembered(bench: Bench):
    uncounted = bench.given_back.uncounted
    uncounted.accepted(size(1), bench.now, bench.now)
    for unanswered, left in ((1, 1), (0, 0)):
        bench.ask(uncounted=1, unanswered=unanswered)
        bench.reading.answer(used=4)
        assert uncounted.at_most(bench.now, 0.0) == size(left), "a create without an answer may be one that is counted"


def test_a_reading_beside_which_a_create_was_sent_tells_nothing_of_others(bench: Bench):
    uncounted = bench.given_back.uncounted
    uncounted.accepted(size(1), bench.now, bench.now)
    bench.ask(uncounted=1)
    bench.sent_at = bench.now + 0.1
    bench.reading.answer(used=4)
    assert uncounted.at_most(bench.now, 0.0) == size(1), "nova may have counted the one that was sent"


def test_a_create_that_nova_does_not_count_yet_is_no_room():
    with World(one_provider(), quota={"east": {"instances": 10}}) as world:
        world.clouds["east"].counted_after = 1.0
        cycle = world.start()
        for _unused in range(60):
            world.request("small", habit=Habit(work=lambda chance: chance.uniform(4.0, 6.0)))
        assert world.run(900, until=lambda: len(world.fulfilled) == 60)
        assert not cycle.account.refused and not world.clouds["east"].refused


def test_a_cycle_begins_with_the_times_of_deletions_that_an_earlier_one_has_seen():
    with World(one_provider(), quota={"east": {"instances": 4}}) as world:
        first = world.start(duration=200.0)
        for _unused in range(12):
            world.request("small", habit=Habit(work=lambda chance: 5.0))
        assert world.run(300, until=lambda: first.ended) and len(world.fulfilled) == 12
        known = list(world.store.own.get("providers/east")["delete_seconds"])
        second = world.start()
        assert world.run(60, until=lambda: "east" in second.context.actors)
        assert known and list(second.context.actors["east"].experience.delete_times.samples) == known


def test_a_freed_place_is_used_before_a_list_shows_it_and_no_create_is_refused():
    with World(one_provider(), quota={"east": {"instances": 10}}) as world:
        cycle = world.start()
        for _unused in range(100):
            world.request("small", habit=Habit(work=lambda chance: 5.0))
        assert world.run(900, until=lambda: len(world.fulfilled) == 100)
        cloud = world.clouds["east"]
        created = sorted(machine.created for machine in [*cloud.machines.values(), *cloud.past])[20:]
        freed = sorted(machine.removed or 0.0 for machine in cloud.past)[10:]
        assert not cycle.account.refused
        # The first ten deletions teach how long one takes; then the least is half of the call for the create.
        assert statistics.mean(at - free for at, free in zip(created, freed, strict=False)) <= 0.6
