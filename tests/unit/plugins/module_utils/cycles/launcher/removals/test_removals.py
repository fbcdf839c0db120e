# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers that do not go, on virtual time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudConflict,
    CloudNotFound,
    CloudUnavailable,
)
from tests.support.virtual_cloud import Fate, Machine, Timing
from tests.support.world import Habit, World, one_provider

DELETE = "DELETE /servers/{id}"
FORCE = "POST /servers/{id}/action"
BRIEF = Habit(work=lambda chance: 1.0)


def serve(world: World, **more: Any) -> tuple[Any, str]:
    """A cycle that has served one request; the cycle and the request."""
    cycle = world.start()
    request = world.request("small", habit=BRIEF, **more)
    assert world.run(120, until=lambda: request in world.fulfilled)
    return cycle, request


def kinds(cycle: Any) -> Counter[str]:
    """The calls that change something, by kind."""
    return Counter(kind for client in cycle.clients for _unused, kind in client.calls if not kind.startswith("GET"))


def stuck(cycle: Any) -> list[dict[str, Any]]:
    return list(cycle.launcher._launcher_pass._removals.stuck()) if cycle.launcher else []


def test_a_server_that_the_cloud_denies_and_lists_is_not_gone():
    """nova lists servers whose mapping to a cell is lost, and answers every call about one of them with 404."""
    with World(one_provider(), quota={"east": {"instances": 1}}) as world:
        fault = world.fault("east", DELETE, error=lambda: CloudNotFound("Instance could not be found.", status=404))
        cycle, _unused = serve(world)
        assert world.run(300, until=lambda: bool(stuck(cycle)))
        (node,), (entry,) = world.nodes(), stuck(cycle)
        assert (entry["server"], entry["node"]) == (node.external_id, node.id)
        assert "404" in entry["answer"] and "its list shows it" in entry["answer"]
        assert list(world.clouds["east"].machines) == [node.external_id]
        fault.left = 0
        assert world.run(600, until=lambda: not world.nodes() and not stuck(cycle))
        assert not world.clouds["east"].machines and world.store.own.children("stuck") == []


def test_a_server_that_somebody_has_deleted_since_the_last_list_costs_one_call():
    with World(one_provider()) as world:
        cycle = world.start()
        request = world.request("small")
        assert world.run(120, until=lambda: request in world.fulfilled)
        taken = world.take(request)
        world.clouds["east"].machines.clear()
        world.give_back(taken)
        assert world.run(60, until=lambda: not world.nodes())
        assert kinds(cycle)[DELETE] == 1 and stuck(cycle) == []


def test_a_server_that_stays_is_reported_and_tried_ever_more_rarely():
    with World(one_provider(), clouds={"east": {"undying": lambda machine: True}}) as world:
        cycle, _unused = serve(world)
        assert world.run(300, until=lambda: bool(stuck(cycle)))
        (entry,) = stuck(cycle)
        (node,) = world.nodes()
        assert (entry["provider"], entry["server"], entry["node"]) == ("east", node.external_id, node.id)
        assert entry["answer"] == "3 deletes were accepted, but it still exists"
        assert not entry["locked"]
        before = kinds(cycle)[DELETE]
        listings = sum(1 for _unused, kind in cycle.clients[0].calls if kind == "GET /servers/detail")
        world.run(3600)
        assert 12 <= kinds(cycle)[DELETE] - before <= 20
        assert sum(1 for _unused, kind in cycle.clients[0].calls if kind == "GET /servers/detail") - listings <= 40
        assert stuck(cycle)[0]["since"] == entry["since"]
        assert kinds(cycle)[FORCE] == 1  # refused for good


@pytest.mark.parametrize("fate", [Fate("ERROR", "libvirt exploded", 1.0), Fate(reachable=False)], ids=["error", "mute"])
def test_a_failed_server_that_cannot_be_deleted_does_not_keep_its_launch_from_the_next_attempt(fate: Fate):
    fates, first = [fate], "server-000001"
    with World(one_provider(), clouds={"east": {"undying": lambda machine: machine.id == first}}) as world:
        cloud = world.clouds["east"]
        cloud.fate = lambda machine: fates.pop() if fates else Fate()
        cycle = world.start(duration=3000)
        request = world.request("small")
        assert world.run(1500, until=lambda: world.state(request) == "fulfilled")
        (node,) = world.nodes()
        assert node.external_id in cloud.machines and node.external_id != first
        assert kinds(cycle)["POST /servers"] == 2 and first in cloud.machines
        assert [entry["server"] for entry in stuck(cycle)] == [first]
        # It goes when the cloud lets it go, and the node stays.
        cloud.undying = lambda machine: False
        assert world.run(1200, until=lambda: first not in cloud.machines)
        assert world.run(1500, until=lambda: stuck(cycle) == [])
        assert list(cloud.machines) == [node.external_id] and world.state(request) == "fulfilled"


def test_the_next_cycle_deletes_what_a_launch_has_left_behind_and_never_takes_it():
    fates, first = [Fate(reachable=False)], "server-000001"
    with World(one_provider(), clouds={"east": {"undying": lambda machine: machine.id == first}}) as world:
        cloud = world.clouds["east"]
        cloud.fate = lambda machine: fates.pop() if fates else Fate(boot=200.0)
        cycle = world.start(duration=3000)
        request = world.request("small")
        assert world.run(1500, until=lambda: kinds(cycle)["POST /servers"] == 2)
        cycle.kill()
        cloud.undying = lambda machine: False
        world.start(duration=3000)
        assert world.run(1500, until=lambda: world.state(request) == "fulfilled")
        (node,) = world.nodes()
        assert node.external_id != first
        assert world.run(1500, until=lambda: list(cloud.machines) == [node.external_id])


def test_creates_that_hang_do_not_keep_deletions_waiting():
    with World(one_provider()) as world:
        cycle = world.start()
        used = [node for _unused in range(5) for node in _taken(world)]
        world.fault("east", "POST /servers", hang=True)
        waiting = [world.request("small") for _unused in range(20)]
        world.run(5)
        before = kinds(cycle)[DELETE]
        world.give_back(used)
        assert world.run(30, until=lambda: kinds(cycle)[DELETE] - before == 5)
        assert not any(request in world.fulfilled for request in waiting)


def _taken(world: World) -> list[str]:
    request = world.request("small", reuse=False)
    assert world.run(120, until=lambda: world.state(request) == "fulfilled")
    return world.take(request)


def test_a_cloud_that_is_busy_with_deletions_is_asked_once_for_each():
    """A real nova took nine minutes for a hundred; each further delete of a server waits behind the first."""
    shape = {"timing": Timing(delete=(150.0, 60.0))}
    with World(one_provider(), clouds={"east": shape}) as world:
        cycle = world.start(duration=3000)
        requests = [world.request("small") for _unused in range(40)]
        assert world.run(400, until=lambda: set(requests) <= set(world.fulfilled))
        world.give_back([node for request in requests for node in world.take(request)])
        assert world.run(1000, until=lambda: not world.nodes())
        assert kinds(cycle)[DELETE] == 40
        assert not kinds(cycle)[FORCE]


def test_a_delete_is_not_repeated_before_a_list_has_shown_that_it_did_nothing():
    """While a real nova deleted a hundred servers one list took 20 s, and what it did not show was asked for again."""
    shape = {"timing": Timing(listing=25.0)}
    with World(one_provider(), clouds={"east": shape}) as world:
        cycle = world.start(duration=3000)
        requests = [world.request("small") for _unused in range(10)]
        assert world.run(600, until=lambda: set(requests) <= set(world.fulfilled))
        world.give_back([node for request in requests for node in world.take(request)])
        assert world.run(600, until=lambda: not world.nodes())
        assert kinds(cycle)[DELETE] == 10


def test_a_delete_that_nova_forgot_is_asked_for_again_while_others_end():
    forgotten: list[str] = []

    def forget(machine: Machine) -> bool:
        if not forgotten:
            forgotten.append(machine.id)
            return True
        return False

    shape = {"timing": Timing(delete=(150.0, 60.0)), "undying": forget}
    with World(one_provider(), clouds={"east": shape}) as world:
        cycle = world.start(duration=3000)
        requests = [world.request("small") for _unused in range(40)]
        assert world.run(400, until=lambda: set(requests) <= set(world.fulfilled))
        world.give_back([node for request in requests for node in world.take(request)])
        assert world.run(1000, until=lambda: not world.nodes())
        assert kinds(cycle)[DELETE] == 41


def test_force_is_tried_where_the_cloud_allows_it():
    options = {"undying": lambda machine: True, "yielding": True}
    with World(one_provider(), clouds={"east": options}) as world:
        cycle, _unused = serve(world)
        assert world.run(600, until=lambda: not world.nodes())
        assert kinds(cycle)[FORCE] == 1
        assert stuck(cycle) == []
        assert world.store.own.children("stuck") == []


@pytest.mark.parametrize("servers", [1, 5])
def test_a_server_that_nova_keeps_for_restoring_is_gone(servers: int):
    """With reclaim_instance_interval nova shows it as SOFT_DELETED to whoever asks for it, and in no list."""
    with World(one_provider(), clouds={"east": {"soft": True}}) as world:
        cycle = world.start(duration=1200)
        requests = [world.request("small") for _unused in range(servers)]
        assert world.run(120, until=lambda: set(requests) <= set(world.fulfilled))
        world.give_back([node for request in requests for node in world.take(request)])
        assert world.run(120, until=lambda: not world.nodes())
        assert kinds(cycle)[DELETE] == servers and not kinds(cycle)[FORCE]
        assert world.run(120, until=lambda: not stuck(cycle) and world.store.own.children("stuck") == [])


def test_a_stuck_deletion_is_no_room():
    with World(
        one_provider(), quota={"east": {"instances": 1}}, clouds={"east": {"undying": lambda machine: True}}
    ) as world:
        cycle, _unused = serve(world)
        second = world.request("small")
        world.run(1800)
        assert world.state(second) == "requested"
        assert kinds(cycle)["POST /servers"] == 1
        assert stuck(cycle)
        world.clouds["east"].undying = lambda machine: False
        assert world.run(600, until=lambda: second in world.fulfilled)
        assert stuck(cycle) == []


def test_idle_nodes_are_given_up_although_a_stuck_one_seems_to_make_room():
    """A stuck deletion is not room that is about to come: somebody else has to make way."""
    document = one_provider(min_ready={"medium": 1})
    with World(document, quota={"east": {"instances": 2}}) as world:
        cycle = world.start()
        assert world.run(120, until=lambda: len(world.nodes("ready")) == 1)
        ready = world.nodes("ready")[0]
        world.clouds["east"].undying = lambda machine: machine.id != ready.external_id
        first = world.request("small", habit=BRIEF)
        assert world.run(120, until=lambda: first in world.fulfilled)
        assert world.run(600, until=lambda: bool(stuck(cycle)))
        second = world.request("small")
        assert world.run(120, until=lambda: second in world.fulfilled)


@pytest.mark.parametrize(
    ("error", "locked"),
    [
        (lambda: CloudConflict("DELETE /servers/{id} was answered with 409: Instance x is locked", status=409), True),
        (lambda: CloudUnavailable("DELETE /servers/{id} was answered with 500", status=500, unclear=True), False),
    ],
)
def test_a_refused_delete_is_reported_with_its_answer(error, locked):
    with World(one_provider()) as world:
        fault = world.fault("east", DELETE, error=error)
        cycle, _unused = serve(world)
        assert world.run(300, until=lambda: bool(stuck(cycle)))
        (entry,) = stuck(cycle)
        assert (entry["locked"], entry["tries"]) == (locked, 3)
        assert entry["answer"] == str(error())
        world.run(600)
        assert kinds(cycle)[DELETE] + kinds(cycle)[FORCE] <= 14
        assert (kinds(cycle)[FORCE] == 0) == locked
        fault.left = 0
        assert world.run(600, until=lambda: not world.nodes())
        assert stuck(cycle) == []


def test_a_delete_that_is_accepted_after_a_trouble_is_looked_after_as_any_other():
    """The API was in trouble, not the server: nobody waits a minute to see that it is gone."""
    with World(one_provider()) as world:
        fault = world.fault(
            "east", DELETE, error=lambda: CloudUnavailable("DELETE /servers/{id} was answered with 503", status=503)
        )
        cycle, _unused = serve(world)
        assert world.run(60, until=lambda: bool(stuck(cycle)))
        fault.left = 0
        assert world.run(60, until=lambda: not world.clouds["east"].machines)
        assert world.run(10, until=lambda: not world.nodes())
        assert stuck(cycle) == []


def test_the_next_cycle_knows_since_when():
    with World(one_provider(), clouds={"east": {"undying": lambda machine: True}}) as world:
        cycle, _unused = serve(world)
        assert world.run(600, until=lambda: bool(world.store.own.children("stuck")))
        since = stuck(cycle)[0]["since"]
        cycle.kill()
        world.run(30)
        successor = world.start()
        assert world.run(60, until=lambda: bool(stuck(successor)))
        assert stuck(successor)[0]["since"] == since


def test_a_node_without_a_floating_ip_costs_no_call_of_neutron():
    with World(one_provider()) as world:
        cycle, _unused = serve(world)
        assert world.run(300, until=lambda: not world.nodes())
        calls = {kind for client in cycle.clients for _unused, kind in client.calls}
        assert DELETE in calls and not any("floatingips" in kind for kind in calls)


def test_a_floating_ip_that_stays_does_not_keep_the_server():
    with World(one_provider(), clouds={"east": {"direct": False}}) as world:
        cycle, _unused = serve(world)
        fault = world.fault("east", "DELETE /floatingips/{id}")
        assert world.run(300, until=lambda: not world.clouds["east"].machines)
        assert world.run(60, until=lambda: bool(stuck(cycle)))
        assert stuck(cycle)[0]["floating_ip"] in world.clouds["east"].floating_ips
        fault.left = 0
        assert world.run(600, until=lambda: not world.nodes())
        assert world.clouds["east"].floating_ips == {}
