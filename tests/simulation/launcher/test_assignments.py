# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Launchers of several hosts in one tree, on virtual time."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import pairwise

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.ownership import live_launchers
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.ownership.assignments import (
    CALM,
    MOVE_EVERY,
    PATIENCE,
    TWIN,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.experience import STANDBY_EVERY
from tests.support.effort import EFFORT, first
from tests.support.memory_zookeeper import SESSION_TIMEOUT
from tests.support.world import Habit, World, label, provider_document, site

PROVIDERS = ("p1", "p2", "p3", "p4", "p5", "p6")
HOSTS = ("a", "b", "c")
CROWD = 120 if EFFORT > 1 else 72
"""So many requests, three in a second, want more than a limit of 25 all the time that hosts come and go."""


def several(*names, max_servers=20, **more):
    pools = [{"name": "main", "labels": [label("small")], "max-servers": max_servers}]
    return site(*(provider_document(name, *pools) for name in names), **more)


@pytest.fixture
def world():
    with World(several(*PROVIDERS)) as world:
        yield world


def acting(cycle):
    return sorted(cycle.context.actors)


def shares(*cycles):
    return sorted(len(acting(cycle)) for cycle in cycles if not cycle.ended)


def nobody_twice(*cycles):
    taken = Counter(name for cycle in cycles if not cycle.ended for name in acting(cycle))
    return all(count == 1 for count in taken.values())


def lines(cycle, text):
    return [line for _moment, line in cycle.lines if text in line]


def even(world, *cycles, seconds=60):
    return world.run(seconds, lambda: shares(*cycles) == [2, 2, 2] and nobody_twice(*cycles))


def test_three_hosts_share_six_providers_within_a_minute_of_the_last_start(world):
    cycles = []
    for host in HOSTS:
        cycles.append(world.start(host=host))
        world.run(20)
    assert even(world, *cycles, seconds=40)
    before = [acting(cycle) for cycle in cycles]
    world.run(120)
    assert [acting(cycle) for cycle in cycles] == before, "nothing moves any more"


def test_all_hosts_started_at_once_share_the_providers(world):
    cycles = [world.start(host=host) for host in HOSTS]
    assert even(world, *cycles)


def test_one_provider_moves_at_a_time(world):
    first = world.start(host="a")
    world.run(10)
    second = world.start(host="b")
    least = [len(PROVIDERS)]

    def shared():
        least[0] = min(least[0], len(acting(first)) + len(acting(second)))
        return shares(first, second) == [3, 3]

    assert world.run(60, shared)
    assert least[0] >= len(PROVIDERS) - 1
    moments = [moment for moment, line in first.lines if "handed over to" in line]
    assert len(moments) == 3
    assert all(later - earlier >= min(CALM, MOVE_EVERY) for earlier, later in pairwise(moments))


def test_launches_in_flight_are_handed_over_and_nothing_is_created_twice(world):
    first = world.start(host="a")
    world.run(10)
    requests = [world.request("small", habit=Habit()) for _number in range(40)]
    second = world.start(host="b")
    assert world.run(300, lambda: len(world.fulfilled) == len(requests))
    assert shares(first, second) == [3, 3] and nobody_twice(first, second)
    assert len(lines(first, "handed over to")) == 3
    assert sum(cloud._count - cloud.first for cloud in world.clouds.values()) == len(requests)


def test_a_dead_host_is_replaced_when_its_session_ends_and_gets_its_share_back(world):
    cycles = [world.start(host=host) for host in HOSTS]
    assert even(world, *cycles)
    cycles[0].kill()
    assert world.run(SESSION_TIMEOUT + 2, lambda: shares(*cycles[1:]) == [3, 3])
    cycles[0] = world.start(host="a")
    assert even(world, *cycles)


def stood_by(cycle):
    return {name: actor.experience.stood_by for name, actor in cycle.context.actors.items()}


def test_the_last_launcher_knows_since_when_nobody_stands_by(world):
    cycles = [world.start(host=host) for host in HOSTS[:2]]
    assert world.run(60, lambda: shares(*cycles) == [3, 3])
    world.run(STANDBY_EVERY)
    cycles[0].kill()
    killed = world.agenda.now
    assert world.run(SESSION_TIMEOUT + 2, lambda: shares(cycles[1]) == [6])
    world.run(3 * STANDBY_EVERY)
    known = stood_by(cycles[1])
    assert known.keys() == set(PROVIDERS)
    assert all(at is not None and killed - STANDBY_EVERY <= at <= killed + SESSION_TIMEOUT for at in known.values())


def test_nobody_is_missed_where_nobody_ever_stood_by(world):
    alone = world.start(host="a")
    assert world.run(60, lambda: shares(alone) == [6])
    world.run(3 * STANDBY_EVERY)
    assert set(stood_by(alone).values()) == {None}


def test_a_host_that_is_stopped_is_replaced_at_once(world):
    cycles = [world.start(host=host, duration=150 if host == "a" else 1e9) for host in HOSTS]
    assert even(world, *cycles)
    assert world.run(151, lambda: cycles[0].ended)
    assert world.run(1, lambda: shares(*cycles[1:]) == [3, 3])


def test_a_cycle_follows_another_one_of_its_host_without_a_move(world):
    others = [world.start(host="b"), world.start(host="c")]
    first = world.start(host="a", duration=150)
    assert even(world, first, *others)
    mine, theirs = acting(first), [acting(cycle) for cycle in others]
    world.run(10)
    second = world.start(host="a")
    assert world.run(151, lambda: first.ended) and world.run(1, lambda: acting(second) == mine)
    world.run(30)
    assert [acting(cycle) for cycle in others] == theirs


def test_shares_follow_the_weights(world):
    large, small = world.start(host="large", weight=2.0), world.start(host="small")
    assert world.run(60, lambda: (len(acting(large)), len(acting(small))) == (4, 2))


def test_a_preference_is_kept_while_its_host_lives(world):
    near, far = world.start(host="near", prefers=("p1", "p2")), world.start(host="far", prefers=PROVIDERS[2:])
    assert world.run(60, lambda: acting(near) == ["p1", "p2"] and acting(far) == list(PROVIDERS[2:]))
    far.kill()
    assert world.run(SESSION_TIMEOUT + 2, lambda: acting(near) == list(PROVIDERS))
    back = world.start(host="far", prefers=PROVIDERS[2:])
    assert world.run(60, lambda: acting(near) == ["p1", "p2"] and acting(back) == list(PROVIDERS[2:]))


def test_a_free_provider_is_taken_by_another_host_when_its_own_does_not(world):
    first = world.start(host="a")
    world.run(5)
    # A host that is registered and does nothing: its process hangs.
    fields = {"host": "hangs", "weight": 100.0, "wants": ["p1"], "prefers": ["p1"], "ready": True, "stays": True}
    world.store.components.register("live-launchers", "hangs", fields, root="/nodepool/stackci")
    assert world.run(60, lambda: "p1" not in first.context.actors)
    assert world.run(PATIENCE + 1, lambda: "p1" in first.context.actors)


def test_a_brief_cycle_takes_nothing_from_a_launcher_that_stays(world):
    staying = world.start(host="a")
    world.run(10)
    brief = world.start(host="b", brief=True)
    world.run(60)
    assert (shares(staying), shares(brief)) == ([6], [0])


def test_nothing_moves_from_a_cycle_that_ends_soon(world):
    """Such as a job of AWX, which the next job follows on another host."""
    first = world.start(host="a", duration=70)
    world.run(15)
    second = world.start(host="b")
    assert world.run(60, lambda: first.ended) and lines(first, "handed over to") == []
    assert world.run(1, lambda: acting(second) == list(PROVIDERS))


def test_a_standby_says_once_for_what_it_stands_by_and_who_acts():
    with World(several("p1")) as world:
        first = world.start(host="a")
        world.run(5)
        second = world.start(host="b")
        world.run(60)
        (line,) = lines(second, "standing by")
        assert line.startswith("provider p1: standing by, ") and line.endswith(":a acts")
        assert lines(first, "standing by") == []


# -- what the launchers share ----------------------------------------------------------------------------------------


def largest(world, counts):
    """The largest number of nodes of which *counts* is true, as the returned list's only item."""
    most = [0]

    def look(path):
        if path.startswith("/nodepool/nodes/"):
            most[0] = max(most[0], sum(counts(node) for node in world.nodes()))

    world.store.on_change(look)
    return most


def is_spare(node):
    return node.state in ("init", "building", "ready") and node.allocated_to is None


@pytest.mark.parametrize("lag", [0.0, 0.3])
def test_min_ready_is_exact_with_several_hosts(lag):
    with World(several(*PROVIDERS), lag=lag) as world:
        most = largest(world, is_spare)
        cycles = [world.start(host=host) for host in HOSTS]
        assert even(world, *cycles)
        # All of them see at once that five are missing.
        world.configure(several(*PROVIDERS, min_ready={"small": 5}))
        assert world.run(120, lambda: len(world.nodes("ready")) == 5)
        cycles[0].kill()
        world.run(60)
        request = world.request("small", habit=Habit(work=lambda chance: 1.0))
        assert world.run(60, lambda: request in world.fulfilled)
        assert world.run(120, lambda: sum(map(is_spare, world.nodes("ready"))) == 5)
        assert most == [5]


def test_min_ready_does_not_depend_on_who_acts_for_no_provider():
    with World(several("p1", min_ready={"small": 5})) as world:
        world.start(host="idle", prefers=())
        world.run(1)
        acts = world.start(host="acts", prefers=("p1",))
        assert world.run(120, lambda: len(world.nodes("ready")) == 5)
        assert world.run(60, lambda: acting(acts) == ["p1"])


@pytest.mark.parametrize("prefers", [{}, {"a": PROVIDERS[:3], "b": PROVIDERS[3:], "c": ()}], ids=["any", "preferred"])
def test_min_ready_is_exact_after_partitions_and_the_loss_of_the_quorum(prefers):
    """Shorter and longer than a session lives. A job wants a spare while not every launcher, or none, is connected."""
    with World(several(*PROVIDERS, min_ready={"small": 5})) as world:
        cycles = [world.start(host=host, prefers=prefers.get(host)) for host in HOSTS]
        assert world.run(120, lambda: len(world.nodes("ready")) == 5 and sum(shares(*cycles)) == len(PROVIDERS))
        most = largest(world, is_spare)
        for struck in (cycles[:1], cycles[1:2], cycles):
            for what in ("suspend", "expire"):
                for cycle in struck:
                    getattr(cycle.store.session, what)(4.0 if what == "suspend" else 25.0)
                world.run(1)
                request = world.request("small", habit=Habit(work=lambda chance: 1.0))
                assert world.run(120, partial(is_served, world, request)), (what, len(struck))
                assert world.run(120, lambda: sum(map(is_spare, world.nodes("ready"))) == 5), (what, len(struck))
        assert most == [5]
        assert world.run(120, lambda: sum(shares(*cycles)) == len(PROVIDERS)) and nobody_twice(*cycles)


def is_served(world, request):
    return request in world.fulfilled


@pytest.mark.parametrize("lag", first(1, [0.3, 0.0]))
@pytest.mark.parametrize("seed", first(1, range(2)))
def test_the_limit_of_a_tenant_is_never_exceeded_by_several_hosts(lag, seed):
    limits = [{"tenant-name": "t", "max-servers": 8}]
    document = several(*PROVIDERS, **{"tenant-resource-limits": limits})
    with World(document, lag=lag, seed=seed) as world:
        cycles = [world.start(host=host) for host in HOSTS]
        assert even(world, *cycles)
        most = largest(world, lambda node: node.tenant_name == "t" and node.state != "deleting")
        habit = Habit(work=lambda chance: chance.uniform(1, 20))

        def ask(name):
            world.request("small", tenant_name="t", habit=habit, provider=name)

        # Each host has requests of its own to accept: they do not compete for the same one.
        for number in range(48):
            world.agenda.after(world.random.uniform(0, 60), partial(ask, PROVIDERS[number % len(PROVIDERS)]))
        assert world.run(1200, lambda: len(world.fulfilled) == 48)
        assert most == [8]


@pytest.mark.parametrize("seed", first(1, range(2)))
def test_a_limit_of_25_is_never_26_while_three_hosts_come_and_go(seed):
    document = several(*PROVIDERS, **{"tenant-resource-limits": [{"tenant-name": "t", "max-servers": 25}]})
    with World(document, lag=0.2, seed=seed) as world:
        cycles = {host: world.start(host=host) for host in HOSTS}
        assert even(world, *cycles.values())
        most = largest(world, lambda node: node.tenant_name == "t" and node.state != "deleting")
        habit = Habit(work=lambda chance: chance.uniform(5, 30))
        for number in range(CROWD):
            name = PROVIDERS[number % len(PROVIDERS)]
            world.agenda.after(world.random.uniform(0, CROWD / 3), partial(_of_tenant, world, habit, name))
        for host in HOSTS[1:]:
            world.run(10)
            cycles[host].kill()
            world.run(5)
            cycles[host] = world.start(host=host)
        assert world.run(1800, lambda: len(world.fulfilled) == CROWD)
        assert most == [25]


def _of_tenant(world, habit, name):
    world.request("small", tenant_name="t", habit=habit, provider=name)


def test_a_launcher_that_is_alone_needs_no_turn_and_gives_way_to_another_one():
    limits = [{"tenant-name": "t", "max-servers": 8}]
    with World(several("p1", "p2", **{"tenant-resource-limits": limits})) as world:
        first = world.start(host="a")
        world.request("small", tenant_name="t", habit=Habit())
        world.run(30)
        assert first.launcher._takeover.turn.has
        locks = [path for what, path in first.store.session.log if "/min-ready/lock/" in path and what == "create"]
        assert len(locks) == 1
        second = world.start(host="b")
        assert world.run(60, lambda: shares(first, second) == [1, 1])
        requests = [world.request("small", tenant_name="t", provider=name, habit=Habit()) for name in ("p1", "p2")]
        assert world.run(60, lambda: all(request in world.fulfilled for request in requests))
        assert not first.launcher._takeover.turn.has and not second.launcher._takeover.turn.has


def test_a_launcher_of_the_same_names_elsewhere_is_told_after_a_minute(world, monkeypatch):
    """Two machines with one host name: one of them stands by for all, and nobody would know why."""
    machines = iter(("m1", "m2"))
    monkeypatch.setattr(live_launchers, "_machine", lambda _folder: next(machines))
    here, there = world.start(host="a"), world.start(host="a")
    world.run(TWIN - 10)
    assert not lines(here, "another launcher has the host name")
    assert world.run(30, lambda: all(lines(cycle, "another launcher has the host name") for cycle in (here, there)))
    assert shares(here, there) == [0, 6] and nobody_twice(here, there)
    world.run(TWIN)
    assert len(lines(here, "another launcher has the host name")) == 1
