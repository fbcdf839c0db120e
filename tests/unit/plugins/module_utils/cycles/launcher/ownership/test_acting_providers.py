# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration changes while a cycle runs, on virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.config_watch import LOOK_EVERY
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Network
from tests.support.world import Cycle, World, label, provider_document, site

SOON = 5.0
"""Seconds within which a change takes effect."""


def pool(*names: str, name: str = "main", **more: Any) -> dict[str, Any]:
    return {"name": name, "labels": [label(one) for one in names or ("small", "medium")], **more}


def east(*pools: dict[str, Any], **more: Any) -> dict[str, Any]:
    return provider_document("east", *(pools or (pool(),)), **more)


def west(*pools: dict[str, Any], **more: Any) -> dict[str, Any]:
    return provider_document("west", *(pools or (pool(),)), **more)


@pytest.fixture
def world() -> Iterator[World]:
    with World(site(east(), west())) as made:
        yield made


def begin(world: World) -> Cycle:
    cycle = world.start()
    world.run(5)
    return cycle


def served(world: World, *labels: str, **fields: Any) -> str:
    request = world.request(*labels, **fields)
    assert world.run(120, lambda: world.state(request) == "fulfilled"), world.state(request)
    return request


def machines(world: World, name: str) -> int:
    return len(world.clouds[name].listing())


def lines(cycle: Cycle, text: str) -> list[str]:
    return [line for _unused, line in cycle.lines if text in line]


def registered(world: World) -> dict[str, list[str]]:
    return {f"{one.provider_name}/{one.name}": one.supported_labels for one in world.store.components.pools()}


def known(world: World) -> set[str]:
    documents = [world.store.own.get(f"pools/{key}") or {} for key in world.store.own.children("pools")]
    return {f"{one['provider_name']}/{one['name']}" for one in documents}


def ready_nodes(world: World, name: str, *labels: str) -> list[str]:
    """Ready nodes that nobody has: their request is gone."""
    ids = []
    for one in labels:
        request = served(world, one, provider=name)
        ids += world.store.requests.read(request).nodes
        world.store.requests.delete(request)
    assert world.run(30, lambda: all(world.store.nodes.read(key).allocated_to is None for key in ids))
    return ids


# -- labels, pools, limits ---------------------------------------------------------------------------------------------


def test_a_raised_limit_is_used_at_once():
    with World(site(east(pool() | {"max-servers": 1}))) as world:
        begin(world)
        served(world, "small")
        second = world.request("small")
        world.run(30)
        assert world.state(second) == "requested"
        world.configure(site(east(pool() | {"max-servers": 2})))
        assert world.run(SOON, lambda: world.state(second) == "pending")
        assert world.run(60, lambda: world.state(second) == "fulfilled")


def test_a_limit_that_is_set_below_what_is_used_makes_wait_until_it_is_kept():
    with World(site(east(pool() | {"max-servers": 3}))) as world:
        cycle = begin(world)
        used = [world.take(served(world, "small", reuse=False)) for _unused in range(3)]
        world.configure(site(east(pool() | {"max-servers": 1})))
        waiting = world.request("small", reuse=False)
        for nodes in used[:2]:
            world.give_back(nodes)
        world.run(120)
        assert (world.state(waiting), machines(world, "east")) == ("requested", 1)
        assert not lines(cycle, "unexpected")
        world.give_back(used[2])
        assert world.run(60, lambda: world.state(waiting) == "fulfilled")


def test_min_ready_follows(world):
    begin(world)
    assert not world.nodes()
    world.configure(site(east(), west(), min_ready={"small": 2}))
    assert world.run(60, lambda: len(world.nodes("ready")) == 2)


def test_a_new_label_is_registered_and_served(world):
    begin(world)
    world.configure(site(east(pool("small", "medium", "large")), west()))
    assert world.run(SOON, lambda: registered(world)["east/main"] == ["large", "medium", "small"])
    served(world, "large")


def test_other_networks_of_a_pool_are_those_of_the_next_server():
    nets = (Network("a-id", "a", automatic=True), Network("b-id", "b", automatic=True))
    with World(site(east(pool(networks=["a"]))), clouds={"east": {"nets": nets}}) as world:
        begin(world)
        served(world, "small")
        world.configure(site(east(pool(networks=["a", "b"]))))
        world.run(SOON)
        served(world, "medium")
        assert [machine.ports for machine in world.clouds["east"].machines.values()] == [1, 2]


def test_the_priority_of_a_pool_follows(world):
    begin(world)
    world.configure(site(east(pool(priority=7)), west()))

    def priority() -> int:
        return next(int(one.priority) for one in world.store.components.pools() if one.provider_name == "east")

    assert world.run(SOON, lambda: priority() == 7)


def test_ready_nodes_of_a_label_that_left_are_deleted_and_those_in_use_live_on(world):
    begin(world)
    (idle,) = ready_nodes(world, "east", "medium")
    (kept,) = ready_nodes(world, "east", "small")
    used = world.take(served(world, "medium", provider="east", reuse=False))
    world.configure(site(east(pool("small")), west(pool("small"))))
    assert world.run(60, lambda: world.store.nodes.read(idle) is None)
    assert world.store.nodes.read(used[0]).state == "in-use"
    assert world.store.nodes.read(kept).state == "ready"
    world.give_back(used)
    assert world.run(60, lambda: world.store.nodes.read(used[0]) is None)


def test_a_request_for_a_label_that_left_fails(world):
    begin(world)
    world.configure(site(east(pool("small")), west(pool("small"))))
    world.run(SOON)
    request = world.request("medium")
    assert world.run(10, lambda: world.state(request) == "failed")


def test_a_pool_set_to_zero_gives_its_requests_away_and_its_idle_nodes_up(world):
    begin(world)
    (idle,) = ready_nodes(world, "east", "small")
    used = world.take(served(world, "small", provider="east", reuse=False))
    world.configure(site(east(pool() | {"max-servers": 0}), west()))
    assert world.run(60, lambda: world.store.nodes.read(idle) is None)
    request = served(world, "small", provider="east")
    assert [world.store.nodes.read(key).provider for key in world.store.requests.read(request).nodes] == ["west"]
    assert world.store.nodes.read(used[0]).state == "in-use"
    assert machines(world, "east") == 1


def test_a_server_that_boots_in_a_pool_set_to_zero_is_used(world):
    begin(world)
    request = world.request("small", provider="east")
    assert world.run(10, lambda: machines(world, "east") == 1)
    world.configure(site(east(pool() | {"max-servers": 0}), west()))
    assert world.run(60, lambda: world.state(request) == "fulfilled")
    assert machines(world, "east") == 1
    assert machines(world, "west") == 0


@pytest.mark.parametrize("without", [site(west()), site(east(pool() | {"max-servers": 0}), west())])
def test_a_create_that_is_not_sent_yet_is_made_elsewhere(world, without):
    """The networks must be known before a create; here they are slow to come."""
    world.fault("east", "GET /networks", fails=False, seconds=100.0)
    begin(world)
    request = world.request("small", "medium", provider="east")
    world.run(1)
    assert world.state(request) == "pending"
    world.configure(without)
    assert world.run(60, lambda: world.state(request) == "fulfilled")
    world.run(120)
    assert machines(world, "east") == 0
    assert machines(world, "west") == 2


def test_a_spare_whose_create_is_not_sent_yet_is_not_made():
    with World(site(east(), min_ready={"small": 1})) as world:
        world.fault("east", "GET /networks", fails=False, seconds=50.0)
        begin(world)
        assert len(world.nodes()) == 1
        world.configure(site(east(pool("medium"))))
        assert world.run(SOON, lambda: not world.nodes())
        world.run(120)
        assert machines(world, "east") == 0


def test_a_launch_goes_on_by_its_own_record_when_its_image_is_renamed(world):
    begin(world)
    world.fault("east", "POST /servers", left=1)
    request = world.request("small", provider="east")
    world.run(0.5)
    other = east(
        {"name": "main", "labels": [{"name": "small", "flavor-name": "small", "cloud-image": "fresh"}]},
        **{"cloud-images": [{"name": "fresh", "image-name": "debian"}]},
    )
    world.configure(site(other, west()))
    assert world.run(180, lambda: world.state(request) == "fulfilled")


# -- providers ---------------------------------------------------------------------------------------------------------


def test_an_added_provider_is_acted_for():
    with World(site(east())) as world:
        cycle = begin(world)
        world.configure(site(east(), west(pool("small", "special"))))
        assert world.run(SOON, lambda: bool(lines(cycle, "provider west: acting")))
        assert set(registered(world)) == {"east/main", "west/main"}
        served(world, "special")


def test_a_removed_provider_lives_out_its_life(world):
    cycle = begin(world)
    (idle,) = ready_nodes(world, "west", "small")
    used = world.take(served(world, "small", provider="west", reuse=False))
    world.configure(site(east()))
    assert world.run(SOON, lambda: set(registered(world)) == {"east/main"})
    assert known(world) == {"east/main"}
    assert world.run(60, lambda: world.store.nodes.read(idle) is None)
    request = served(world, "small", provider="west")
    assert [world.store.nodes.read(key).provider for key in world.store.requests.read(request).nodes] == ["east"]
    assert world.store.nodes.read(used[0]).state == "in-use"
    world.give_back(used)
    assert world.run(60, lambda: machines(world, "west") == 0)
    assert world.run(10, lambda: bool(lines(cycle, "provider west: nothing is left")))
    assert not world.store.own.children("drain")
    assert not world.store.own.is_locked("providers/west")


def test_a_booting_node_of_a_removed_provider_serves_its_request(world):
    begin(world)
    request = world.request("small", provider="west")
    assert world.run(10, lambda: machines(world, "west") == 1)
    world.configure(site(east()))
    assert world.run(60, lambda: world.state(request) == "fulfilled")
    used = world.take(request)
    assert world.store.nodes.read(used[0]).provider == "west"
    world.give_back(used)
    assert world.run(60, lambda: machines(world, "west") == 0)


@pytest.mark.parametrize("how", ["kill", "end"])
def test_the_next_cycle_goes_on_draining(world, how):
    first = world.start(duration=60)
    used = world.take(served(world, "small", provider="west"))
    world.configure(site(east()))
    world.run(SOON)
    if how == "kill":
        first.kill()
        world.run(15)
    else:
        assert world.run(60, lambda: first.ended)
        assert first.result["ended"] == "deadline"
    cycle = begin(world)
    world.run(15)
    assert world.store.nodes.read(used[0]).state == "in-use"
    world.give_back(used)
    assert world.run(60, lambda: machines(world, "west") == 0)
    assert world.run(10, lambda: not world.store.own.children("drain"))
    assert cycle.account.deleted == used


def test_a_provider_that_was_removed_while_nobody_ran_is_drained(world):
    cycle = begin(world)
    used = world.take(served(world, "small", provider="west"))
    cycle.kill()
    world.configure(site(east()))
    world.run(15)
    begin(world)
    world.run(15)
    world.give_back(used)
    assert world.run(60, lambda: machines(world, "west") == 0)


def test_a_removed_provider_that_comes_back_is_acted_for_again(world):
    begin(world)
    used = world.take(served(world, "small", provider="west"))
    world.configure(site(east()))
    world.run(10)
    assert world.store.own.children("drain") == ["west"]
    world.configure(site(east(), west(pool("small", "special"))))
    assert world.run(SOON, lambda: "west/main" in registered(world))
    assert not world.store.own.children("drain")
    served(world, "special")
    assert world.store.nodes.read(used[0]).state == "in-use"


def test_a_provider_that_moved_to_another_launcher_is_left_to_it(world):
    """Another file, another cycle: it has the provider in its configuration, so nothing is drained."""
    begin(world)
    (idle,) = ready_nodes(world, "west", "small")
    used = world.take(served(world, "small", provider="west", reuse=False))
    other = world.start(providers=("west",))
    world.run(SOON)
    world.store.own.put("drain/west", {"provider": "west", "cloud": "west", "region": None, "place": {}})
    world.run(SOON)
    assert not world.store.own.children("drain")
    assert world.store.nodes.read(idle).state == "ready"
    world.give_back(used)
    assert world.run(60, lambda: world.store.nodes.read(used[0]) is None)
    assert world.store.nodes.read(idle).state == "ready"
    assert not other.ended


def test_a_removed_provider_whose_entry_is_gone_is_named(world):
    cycle = begin(world)
    world.take(served(world, "small", provider="west"))
    cycle.kill()
    world.configure(site(east()))
    world.log_in_by("west", "")
    world.run(15)
    cycle = world.start(duration=20)
    world.run(30)
    (problem,) = cycle.result["config_problems"]
    assert problem.startswith("provider west: it has nodes left, which cannot be deleted: clouds.yaml has no entry")


def test_nobody_fails_requests_when_all_providers_leave(world):
    cycle = begin(world)
    used = world.take(served(world, "small", provider="west"))
    world.configure(site())
    world.run(SOON)
    request = world.request("small")
    world.run(60)
    assert world.state(request) == "requested"
    world.give_back(used)
    world.run(60)
    assert not cycle.context.actors
    world.configure(site(west()))
    assert world.run(60, lambda: world.state(request) == "fulfilled")


def test_what_pools_that_left_have_declined_counts_for_nothing(world):
    """Those who have declined are gone; a pool that is known and only absent has not: the request waits for it."""
    world.configure(site(east(pool("small"))))
    begin(world)
    absent = {"id": "absent", "name": "main", "provider_name": "north", "supported_labels": ["medium"]}
    world.store.own.put("pools/absent", {**absent, "config": "elsewhere", "last_seen": world.agenda.now})
    request = world.request("medium", declined_by=["left-long-ago", "left-too"])
    world.run(60)
    assert world.state(request) == "requested"
    world.store.own.delete("pools/absent")
    assert world.run(10, lambda: world.state(request) == "failed")


def test_a_provider_that_moves_to_another_cloud_is_emptied_first(world):
    cycle = begin(world)
    (idle,) = ready_nodes(world, "west", "small")
    used = world.take(served(world, "small", provider="west", reuse=False))
    world.configure(site(east(), west(cloud="new-west")))
    assert world.run(60, lambda: world.store.nodes.read(idle) is None)
    assert world.run(SOON, lambda: "west/main" not in registered(world))
    world.give_back(used)
    assert world.run(60, lambda: machines(world, "west") == 0)
    assert world.run(SOON, lambda: "west/main" in registered(world))
    served(world, "small", provider="west")
    assert machines(world, "new-west") == 1
    assert lines(cycle, "moves to another cloud when nothing is left in west, which still has 2 nodes")


def test_a_provider_that_moved_while_nobody_ran_is_emptied_first(world):
    cycle = begin(world)
    used = world.take(served(world, "small", provider="west"))
    cycle.kill()
    world.configure(site(east(), west(cloud="new-west")))
    world.run(15)
    begin(world)
    world.run(15)
    assert machines(world, "west") == 1
    world.give_back(used)
    assert world.run(60, lambda: machines(world, "west") == 0)
    assert world.run(SOON, lambda: "west/main" in registered(world))
    served(world, "small", provider="west")
    assert machines(world, "new-west") == 1


# -- connections -------------------------------------------------------------------------------------------------------


def test_another_rate_makes_another_client_and_keeps_the_work(world):
    cycle = begin(world)
    request = world.request("small", provider="west")
    world.run(1)
    before = len(cycle.clients)
    world.configure(site(east(), west(rate=0.5)))
    assert world.run(SOON, lambda: len(cycle.clients) == before + 1)
    assert world.run(60, lambda: world.state(request) == "fulfilled")
    assert machines(world, "west") == 1


def test_labels_alone_make_no_client(world):
    cycle = begin(world)
    before = len(cycle.clients)
    world.configure(site(east(pool("small")), west()))
    world.run(SOON)
    assert len(cycle.clients) == before


def test_calls_of_former_clients_are_counted(world):
    cycle = begin(world)
    served(world, "small", provider="west")
    world.log_in_by("west", "second")
    world.run(SOON)
    served(world, "small", provider="west", reuse=False)
    counted = cycle.launcher._takeover.calls()["west"]["POST /servers"]
    assert sum(counted.values()) == 2


def test_a_client_stays_when_its_entry_vanishes(world):
    cycle = begin(world)
    world.log_in_by("west", "")
    world.run(SOON)
    served(world, "small", provider="west")
    assert lines(cycle, "provider west: clouds.yaml has no entry 'west'")
    assert cycle.launcher._takeover.problems() == ["provider west: clouds.yaml has no entry 'west'"]
    world.log_in_by("west", "second")
    world.run(SOON)
    assert cycle.launcher._takeover.problems() == []


def test_a_provider_without_an_entry_is_taken_when_it_gets_one():
    with World(site(east(), west())) as world:
        world.log_in_by("west", "")
        cycle = begin(world)
        assert set(registered(world)) == {"east/main"}
        world.log_in_by("west", "first")
        assert world.run(SOON, lambda: bool(lines(cycle, "provider west: acting")))
        assert not cycle.account.unusable


# -- broken files ------------------------------------------------------------------------------------------------------


def test_a_broken_file_leaves_the_old_in_force_and_is_told_once(world):
    cycle = world.start(duration=100)
    world.run(5)
    world.spoil("first problem", "second problem")
    world.run(20)
    assert lines(cycle, "first problem") == ["configuration: first problem"]
    served(world, "small")
    world.run(100)
    assert cycle.result["config_problems"] == ["first problem", "second problem"]


def test_a_mended_file_is_taken(world):
    cycle = world.start(duration=100)
    world.run(5)
    world.spoil("a problem")
    world.run(10)
    world.configure(site(east(pool("small", "large")), west()))
    assert world.run(SOON, lambda: "large" in registered(world)["east/main"])
    world.run(100)
    assert cycle.result["config_problems"] == []


def test_looking_at_the_files_costs_no_pass(world):
    cycle = begin(world)
    world.run(60)
    before = cycle.passes
    world.run(300)
    assert cycle.passes - before < 300 / LOOK_EVERY / 1.5
