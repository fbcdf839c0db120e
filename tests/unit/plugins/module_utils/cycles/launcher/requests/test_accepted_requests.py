# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests in a cycle's hands: the order of its writes, which is part of Nodepool's contract, and what may go wrong."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import RequestState
from tests.support.virtual_cloud import Fate
from tests.support.world import World, label, one_provider, provider_document, site


def watch(world: World) -> list[str]:
    """From now on, note every change together with the state that it leaves."""
    lines: list[str] = []
    answer = world.keeper._single

    def noted(request: Any, session: Any) -> Any:
        value = answer(request, session)
        path = getattr(request, "path", None)
        verb = type(request).__name__
        if verb in ("Create2", "SetData", "Delete") and path and session is not world.store.session:
            path = value[0] if verb == "Create2" else path
            document = world.keeper.document(path) or {}
            state = f"={document['state']}" if "state" in document else ""
            verb = {"Create2": "create", "SetData": "set", "Delete": "delete"}[verb]
            short = path.removeprefix("/nodepool/").replace("/lock/", "/")
            if "__lock__" in short:
                short = short.rpartition("/")[0] + "/contender"
            lines.append(f"{verb} {short}{state}")
        return value

    world.keeper._single = noted  # type: ignore[method-assign]
    return lines


def test_the_writes_of_a_request_in_their_order():
    with World(one_provider()) as world:
        world.start()
        world.run(1)
        lines = watch(world)
        request = world.request("small")
        assert world.run(60, until=lambda: request in world.fulfilled)
        world.run(1)
        (node,) = world.nodes()
        mine = [line for line in lines if request in line or node.id in line]
        mine = [line for line in mine if "stackci" not in line]
        assert mine == [
            f"create requests-lock/{request}",
            f"create requests-lock/{request}/contender",
            f"set requests/{request}=pending",
            f"create nodes/{node.id}=init",
            f"create nodes/{node.id}/lock",
            f"create nodes/{node.id}/contender",
            *[f"set nodes/{node.id}=building"] * 3,
            f"set nodes/{node.id}=ready",
            f"delete nodes/{node.id}/contender",
            f"set requests/{request}=fulfilled",
            f"delete requests-lock/{request}/contender",
        ]


def test_what_describes_a_call_is_stored_before_the_call():
    with World(one_provider()) as world:
        seen: list[Any] = []
        cloud = world.clouds["east"]
        create = cloud.create

        def noted(spec: Any) -> str:
            seen.append(world.store.own.get(f"launches/{spec.metadata['nodepool_node_id']}"))
            assert seen[-1]["mark"] == spec.metadata["stackci_launch"]
            return create(spec)

        cloud.create = noted  # type: ignore[method-assign]
        world.start()
        request = world.request("small", "small")
        assert world.run(60, until=lambda: request in world.fulfilled)
        assert [document["phase"] for document in seen] == ["creating", "creating"]


def test_all_nodes_are_there_unlocked_and_allocated_when_the_request_says_so():
    with World(one_provider()) as world:
        world.start()
        request = world.request("small", "medium")
        assert world.run(60, until=lambda: request in world.fulfilled)
        done = world.store.requests.read(request)
        assert done is not None and len(done.nodes) == 2
        for node_id in done.nodes:
            node = world.store.nodes.read(node_id)
            assert node is not None and (node.state, node.allocated_to) == (NodeState.READY, request)
            assert not world.store.nodes.is_locked(node_id)


def test_nothing_is_handed_over_before_the_last_node_of_the_set_is_ready():
    boots = iter([5.0, 60.0])
    with World(one_provider(), clouds={"east": {"fate": lambda machine: Fate(boot=next(boots))}}) as world:
        world.start()
        request = world.request("small", "small")
        assert world.run(60, until=lambda: len(world.nodes("ready")) == 1)
        (node,) = world.nodes("ready")
        assert world.state(request) == RequestState.PENDING and world.store.nodes.is_locked(node.id)
        assert world.run(90, until=lambda: request in world.fulfilled)


@pytest.mark.parametrize("taken", ["locked", "gone", "used"])
def test_a_ready_node_that_somebody_takes_at_the_last_moment_is_replaced(taken):
    with World(one_provider(min_ready={"small": 1})) as world:
        world.start()
        assert world.run(60, until=lambda: len(world.nodes("ready")) == 1)
        (idle,) = world.nodes("ready")
        world.keeper.lag = 0.5  # the cycle learns of it too late
        held = world.store.nodes.lock(idle.id)
        assert held is not None
        if taken == "used":
            idle.set_state(NodeState.IN_USE, world.agenda.now)
            world.store.nodes.write(idle)
        elif taken == "gone":
            world.store.nodes.delete(idle.id)
        request = world.request("small")
        assert world.run(120, until=lambda: request in world.fulfilled)
        done = world.store.requests.read(request)
        assert done is not None and done.nodes != [idle.id]


@pytest.mark.parametrize("status", ["ERROR", "DELETED", "SOFT_DELETED", "gone (404)"])
def test_a_ready_node_whose_server_is_known_to_be_lost_is_deleted_and_not_handed_out(status):
    with World(one_provider(min_ready={"small": 1})) as world:
        cycle = world.start()
        assert world.run(60, until=lambda: len(world.nodes("ready")) == 1)
        (idle,) = world.nodes("ready")
        world.run(5)
        machine = world.clouds["east"].machines[idle.external_id]
        machine.status = status
        if "404" in status:
            world.clouds["east"].remove(machine)
        other = world.request("medium")
        assert world.run(60, until=lambda: other in world.fulfilled), "its boot is watched in the list"
        assert f"node {idle.id}: deleting, because east lists its server {machine.id} as {status}" in "\n".join(
            line for _at, line in cycle.lines
        )
        request = world.request("small")
        assert world.run(60, until=lambda: request in world.fulfilled)
        done = world.store.requests.read(request)
        assert done is not None and done.nodes != [idle.id]
        assert world.run(60, until=lambda: world.store.nodes.read(idle.id) is None)
        assert machine.id not in world.clouds["east"].machines


@pytest.mark.parametrize("age", [5, 65], ids=["young list", "old list"])
def test_a_spare_costs_a_list_only_when_the_last_one_is_older_than_a_minute(age):
    with World(one_provider(min_ready={"small": 2})) as world:
        cycle = world.start()
        assert world.run(60, until=lambda: len(world.nodes("ready")) == 2)
        view = cycle.context.actors["east"].view
        assert world.run(600, until=lambda: age <= world.agenda.now - view.listed_from < age + 1)
        calls = sum(len(client.calls) for client in cycle.clients)
        requests = [world.request("small") for _unused in range(2)]
        assert world.run(2, until=lambda: world.fulfilled.keys() >= set(requests))
        assert max(world.fulfilled[one] - world.asked[one] for one in requests) < (0.2 if age == 5 else 0.6)
        listed = [kind for client in cycle.clients for _at, kind in client.calls][calls:]
        assert listed.count("GET /servers/detail") == (0 if age == 5 else 1), listed


@pytest.mark.parametrize(
    "status", ["SHUTOFF", "PAUSED", "SUSPENDED", "RESCUE", "SHELVED_OFFLOADED", "REBOOT", "VERIFY_RESIZE"]
)
@pytest.mark.parametrize("listed", [True, False], ids=["seen in lists", "seen when it is wanted"])
def test_a_spare_whose_server_is_not_active_is_replaced_and_others_are_left_alone(status, listed):
    with World(one_provider(min_ready={"small": 1})) as world:
        world.start()
        assert world.run(60, until=lambda: len(world.nodes("ready")) == 1)
        (idle,) = world.nodes("ready")
        used = world.request("large")
        assert world.run(60, until=lambda: used in world.fulfilled)
        (busy,) = world.take(used)
        world.run(120)
        cloud = world.clouds["east"]
        for machine in cloud.machines.values():
            machine.status, machine.touched = status, world.agenda.now
        if listed:
            other = world.request("medium")
            assert world.run(60, until=lambda: other in world.fulfilled)
        request = world.request("small")
        assert world.run(90, until=lambda: request in world.fulfilled)
        done = world.store.requests.read(request)
        assert done is not None and done.nodes != [idle.id]
        assert world.run(60, until=lambda: world.store.nodes.read(idle.id) is None)
        left = world.store.nodes.read(busy)
        assert left is not None and left.state == NodeState.IN_USE and left.external_id in cloud.machines


@pytest.mark.parametrize("trouble", ["API refuses", "API is silent", "cell is down"])
def test_a_spare_that_cannot_be_shown_to_be_active_is_kept_and_not_handed_out(trouble):
    document = site(
        *(provider_document(name, {"name": "main", "labels": [label("small")]}) for name in ("east", "west"))
    )
    with World(document) as world:
        world.start(providers=("east",))
        requests = [world.request("small") for _unused in range(2)]
        assert world.run(60, until=lambda: world.fulfilled.keys() >= set(requests))
        for request in requests:
            world.store.requests.delete(request)
        world.run(120)
        spares = {node.id for node in world.nodes("ready")}
        world.start(providers=("west",))
        world.run(10)
        fault = None
        if trouble == "cell is down":
            world.clouds["east"].away = lambda machine: machine.id in known
            known = set(world.clouds["east"].machines)
        else:
            fault = world.fault("east", hang=trouble == "API is silent")
        request = world.request("small")
        assert world.run(120, until=lambda: request in world.fulfilled)
        done = world.store.requests.read(request)
        assert done is not None and not spares & set(done.nodes)
        assert spares <= {node.id for node in world.nodes("ready")}, "they are kept"
        world.clouds["east"].away = lambda machine: False
        if fault is not None:
            world.faults["east"].remove(fault)
        world.run(200)
        again = world.request("small", provider="east")
        assert world.run(30, until=lambda: again in world.fulfilled)
        done = world.store.requests.read(again)
        assert done is not None and set(done.nodes) <= spares


def test_a_request_deleted_while_its_nodes_are_launched_leaves_free_nodes():
    with World(one_provider()) as world:
        cycle = world.start()
        request = world.request("small", "small")
        world.run(5)
        world.store.requests.delete(request)
        assert world.run(60, until=lambda: len(world.nodes("ready")) == 2)
        assert [node.allocated_to for node in world.nodes()] == [None, None]
        assert not any(world.store.nodes.is_locked(node.id) for node in world.nodes())
        assert cycle.account.canceled == [request]


def test_a_request_that_somebody_else_holds_is_left_to_him():
    with World(one_provider()) as world:
        request = world.request("small")
        held = world.store.requests.lock(request)
        assert held is not None
        world.start()
        world.run(30)
        assert world.state(request) == RequestState.REQUESTED and world.nodes() == []
        held.release()
        assert world.run(60, until=lambda: request in world.fulfilled)


def test_a_set_of_which_one_launch_fails_for_good_is_declined_and_its_other_nodes_are_free():
    def fate(machine: Any) -> Fate:
        return Fate("ERROR", "it broke", 1.0) if machine.flavor.name == "large" else Fate()

    with World(one_provider(), clouds={"east": {"fate": fate}}) as world:
        cycle = world.start()
        request = world.request("small", "large")
        assert world.run(1200, until=lambda: world.state(request) == "failed")
        # One of the small nodes for each of the two zones in which the set was tried.
        assert world.run(120, until=lambda: [node.state for node in world.nodes()] == ["ready"] * 2)
        assert world.nodes()[0].allocated_to is None
        failed = world.store.requests.read(request)
        assert failed is not None and failed.nodes == [] and len(failed.declined_by) == 1
        ((reason,),) = cycle.account.failed.values()
        assert reason["code"] == "launch-failed" and "it broke" in reason["text"] and reason["nodes"] == 1
        stored = world.store.own.get(f"waits/{request}")
        assert stored is not None and stored["code"] == "failed"


@pytest.mark.parametrize("order", [("east", "west"), ("west", "east")])
def test_what_has_failed_is_told_rather_than_who_does_not_offer_it(order):
    pools = {
        "east": {"name": "main", "labels": [label("small")]},
        "west": {"name": "main", "labels": [label("large", "large")]},
    }
    document = site(*(provider_document(name, pools[name]) for name in order))
    clouds = {"east": {"fate": lambda machine: Fate("ERROR", "it broke", 1.0)}}
    with World(document, clouds=clouds) as world:
        cycle = world.start()
        request = world.request("small")
        assert world.run(1200, until=lambda: world.state(request) == "failed")
        world.run(1)
        (told,) = cycle.account.failed.values()
        assert [reason["code"] for reason in told] == ["launch-failed", "label-unknown"]
        for folder in ("waits", "declines"):
            stored = world.store.own.get(f"{folder}/{request}")
            assert stored is not None and [reason["code"] for reason in stored["reasons"]] == [
                "launch-failed",
                "label-unknown",
            ]
        stored = world.store.own.get(f"waits/{request}")
        assert stored is not None and stored["code"] == "failed"
        lines = [line for _at, line in cycle.lines if f"request {request}: failed" in line]
        assert len(lines) == 1
        for text in (stored["text"], lines[0]):
            assert "it broke" in text and "does not offer" not in text


def test_what_one_provider_cannot_launch_the_other_does():
    document = site(
        *(provider_document(name, {"name": "main", "labels": [label("small")]}) for name in ("east", "west"))
    )
    broken = {"fate": lambda machine: Fate("ERROR", "it broke", 1.0)}
    with World(document, clouds={"east": broken}) as world:
        cycle = world.start()
        requests = [world.request("small") for _unused in range(4)]
        assert world.run(1800, until=lambda: all(request in world.fulfilled for request in requests))
        assert {node.provider for node in world.nodes("ready")} == {"west"}
        assert cycle.account.failed == {}


def test_a_node_that_vanishes_as_it_is_freed_keeps_no_other_from_it():
    with World(one_provider()) as world:
        world.start()
        request = world.request("small", "small")
        assert world.run(60, until=lambda: world.state(request) == "fulfilled")
        gone, left = world.nodes()
        world.keeper.lag = 0.5  # the cycle learns of both too late
        world.store.requests.delete(request)
        world.store.nodes.delete(gone.id)
        assert world.run(30, until=lambda: world.store.nodes.read(left.id).allocated_to is None)
        assert world.store.nodes.read(gone.id) is None
        other = world.request("small")
        assert world.run(60, until=lambda: other in world.fulfilled)


def test_a_request_that_is_withdrawn_as_it_is_declined_harms_nobody():
    with World(one_provider()) as world:
        world.keeper.lag = 0.5
        cycle = world.start()
        world.run(5)
        requests = [world.request("nobody-has-this") for _unused in range(5)]
        for number, request in enumerate(requests):
            world.agenda.after(0.1 * number, partial(world.store.requests.delete, request))
        good = world.request("small")
        assert world.run(60, until=lambda: good in world.fulfilled)
        assert world.keeper.names["/nodepool/requests-lock"] <= {good}
        assert not [line for _when, line in cycle.lines if "unexpected" in line or "new session" in line]


def test_a_launch_that_failed_for_good_gives_its_place_back():
    with World(one_provider(max_servers=1)) as world:
        world.clouds["east"].fate = lambda machine: (
            Fate("ERROR", "Image 1 is unacceptable", 1.0) if machine.flavor.name == "large" else Fate()
        )
        world.start()
        bad, good = world.request("large"), world.request("small")
        assert world.run(900, until=lambda: world.state(bad) == "failed")
        assert world.run(300, until=lambda: good in world.fulfilled)


def test_other_keys_of_a_request_survive():
    with World(one_provider()) as world:
        request = world.request("small", extra={"of_somebody": [1]})
        world.start()
        assert world.run(60, until=lambda: request in world.fulfilled)
        document = world.keeper.document(f"/nodepool/requests/{request}")
        assert document is not None and document["of_somebody"] == [1]


@pytest.mark.parametrize("more", [{}, {"provider": "east"}, {"reuse": False}], ids=["plain", "preferred", "fresh"])
def test_a_request_for_no_nodes_is_fulfilled_at_once_without_nodes(more):
    with World(one_provider(max_servers=1)) as world:
        cycle = world.start()
        world.run(5)
        full = world.request("small")
        assert world.run(60, until=lambda: full in world.fulfilled)
        world.fault("east")
        request = world.request(**more)
        assert world.run(5, until=lambda: request in world.fulfilled), "neither room nor the cloud matters"
        found = world.store.requests.read(request)
        assert found is not None and found.nodes == [] and len(world.nodes()) == 1
        assert any(f"request {request}: fulfilled without nodes" in line for _at, line in cycle.lines)


def test_a_request_for_no_nodes_that_a_killed_cycle_had_accepted_is_fulfilled_by_the_next():
    with World(one_provider()) as world:
        request = world.request()
        found = world.store.requests.read(request)
        assert found is not None
        found.set_state(RequestState.PENDING, world.agenda.now)
        world.store.requests.write(found)
        world.start()
        assert world.run(30, until=lambda: request in world.fulfilled)


@pytest.mark.parametrize("how", ["Multi", "SetData"], ids=["in one batch", "step by step"])
def test_a_request_that_is_revised_as_it_is_accepted_keeps_its_revision(how):
    """Zuul revises the priority of a request that it takes for not yet accepted."""
    with World(one_provider()) as world:
        world.start()
        if how == "Multi":  # the first request of a tree is accepted step by step
            earlier = world.request("small")
            assert world.run(60, until=lambda: earlier in world.fulfilled)
        answer, revised = world.keeper.answer, list[str]()

        def revising(request: Any, session: Any) -> Any:
            path = f"/nodepool/requests/{late}"
            touched = [getattr(one, "path", "") for one in getattr(request, "operations", [request])]
            if type(request).__name__ == how and path in touched and not revised:
                revised.append(path)
                document = {**(world.keeper.document(path) or {}), "relative_priority": 7}
                world.keeper.store_raw(path, json.dumps(document).encode())
            return answer(request, session)

        late = world.request("medium")
        world.keeper.answer = revising  # type: ignore[method-assign]
        assert world.run(60, until=lambda: late in world.fulfilled)
        document = world.keeper.document(f"/nodepool/requests/{late}")
        assert revised and document is not None and document["relative_priority"] == 7
