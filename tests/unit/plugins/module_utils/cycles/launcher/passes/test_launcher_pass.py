# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whole cycles on virtual time: bursts, limits, trouble, min-ready, ends."""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import META_LAUNCH
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudQuotaRefused
from tests.support.virtual_cloud import Fate
from tests.support.world import Habit, World, label, one_provider, provider_document, site

CREATE = "POST /servers"
FOR_EVER = Habit(work=lambda chance: 1e6)


def states(world: World, requests: list[str]) -> list[str | None]:
    return [world.state(request) for request in requests]


def all_fulfilled(world: World, requests: list[str]) -> Any:
    return lambda: all(request in world.fulfilled for request in requests)


def count(cycle: Any, kind: str) -> int:
    return sum(1 for client in cycle.clients for _unused, called in client.calls if called == kind)


def test_one_request_is_served_soon_after_its_server_is_up():
    with World(one_provider()) as world:
        world.start()
        request = world.request("small")
        assert world.run(60, until=all_fulfilled(world, [request]))
        (machine,) = world.clouds["east"].machines.values()
        assert machine.active_at is not None
        assert world.fulfilled[request] - machine.active_at < 4.0, "the first boot time is not known before"
        (node,) = world.nodes("ready")
        assert node.allocated_to == request and node.external_id == machine.id
        assert node.interface_ip == machine.address and node.host_keys
        assert machine.metadata["nodepool_node_id"] == node.id


def test_a_burst_of_a_hundred_costs_little_and_is_quick():
    with World(one_provider(), quota={"east": {"instances": 200}}) as world:
        cycle = world.start()
        requests = [world.request("small", habit=Habit(work=lambda chance: 5.0)) for _unused in range(100)]
        active = {}
        assert world.run(120, until=all_fulfilled(world, requests))
        cloud = world.clouds["east"]
        for machine in [*cloud.machines.values(), *cloud.past]:
            active[machine.metadata["nodepool_node_id"]] = machine.active_at
        waits = [world.fulfilled[request] - (active[node] or 0.0) for node, request in world.handed_out.items()]
        assert statistics.median(waits) <= 1.5
        assert world.run(120, until=lambda: not world.nodes())
        assert cloud.refused == {}
        assert sum(len(client.calls) for client in cycle.clients) / 100 <= 3.5
        assert statistics.median(world.fulfilled[key] - world.asked[key] for key in requests) <= 27


@pytest.mark.parametrize("quota", [{"instances": 4}, {"cores": 4}, {"ram": 4096}, {"ports": 4}])
def test_a_full_cloud_is_never_asked_for_more(quota):
    with World(one_provider(), quota={"east": quota}) as world:
        cycle = world.start()
        requests = [world.request("small", habit=Habit(work=lambda chance: 30.0)) for _unused in range(12)]
        world.run(20)
        waiting = [request for request in requests if world.state(request) == "requested"]
        assert len(waiting) == 8, "what does not fit is left in its state"
        reason = world.store.own.get(f"waits/{waiting[0]}")
        assert reason is not None and reason["code"] == "no-room"
        assert world.run(600, until=all_fulfilled(world, requests))
        assert world.clouds["east"].refused == {}
        assert world.clouds["east"].peak["instances"] == 4
        assert cycle.account.failed == {}


def test_others_in_the_same_project_are_respected_and_their_end_is_noticed():
    with World(one_provider(), quota={"east": {"instances": 3}}) as world:
        foreign = world.clouds["east"].add_foreign(3)
        world.start()
        request = world.request("small")
        world.run(120)
        assert world.state(request) == "requested", "temporarily full is no reason to fail"
        assert world.clouds["east"].refused == {}
        world.clouds["east"].remove(foreign[0])
        assert world.run(120, until=all_fulfilled(world, [request]))


def test_what_the_cloud_could_never_hold_is_failed_after_two_readings():
    with World(one_provider(), quota={"east": {"instances": 3}}) as world:
        cycle = world.start()
        request = world.request(*["small"] * 4)
        assert world.run(120, until=lambda: world.state(request) == "failed")
        assert count(cycle, "GET /limits") >= 2 and count(cycle, CREATE) == 0
        (reasons,) = cycle.account.failed.values()
        assert reasons[0]["code"] == "too-large-for-cloud"


def test_a_label_that_nobody_has_fails_at_once():
    with World(one_provider()) as world:
        cycle = world.start()
        request = world.request("unknown")
        assert world.run(5, until=lambda: world.state(request) == "failed")
        assert count(cycle, CREATE) == 0


def test_max_servers_bounds_the_pool_and_the_order_is_kept():
    with World(one_provider(max_servers=2)) as world:
        world.start()
        late = [world.request("small", priority=200, habit=Habit(work=lambda chance: 30.0)) for _unused in range(3)]
        soon = [world.request("small", priority=100, habit=Habit(work=lambda chance: 30.0)) for _unused in range(3)]
        assert world.run(900, until=all_fulfilled(world, late + soon))
        order = sorted(world.fulfilled, key=lambda key: world.fulfilled[key])
        # Two are launched at a time, and the second of them may boot sooner.
        assert set(order[:2]) == set(soon[:2]) and set(soon) < set(order[:4]) and set(order[-2:]) < set(late)
        assert world.clouds["east"].peak["instances"] == 2


def test_a_set_is_in_one_zone_and_its_nodes_in_the_order_of_the_labels():
    with World(one_provider()) as world:
        world.start()
        request = world.request("large", "small", "medium", "small")
        assert world.run(60, until=all_fulfilled(world, [request]))
        done = world.store.requests.read(request)
        assert done is not None
        nodes = [world.store.nodes.read(key) for key in done.nodes]
        assert [node.type[0] for node in nodes if node] == ["large", "small", "medium", "small"]
        assert len({node.az for node in nodes if node}) == 1


def test_a_node_of_a_canceled_request_serves_the_next():
    with World(one_provider()) as world:
        cycle = world.start()
        first = world.request("small")
        world.run(8)
        world.store.requests.delete(first)
        assert world.run(60, until=lambda: [node.allocated_to for node in world.nodes("ready")] == [None])
        second = world.request("small")
        assert world.run(5, until=all_fulfilled(world, [second]))
        assert world.fulfilled[second] - world.asked[second] <= 0.3, "reuse of a ready node"
        assert cycle.account.launched == [world.nodes()[0].id]
        assert cycle.account.canceled == [first]


def test_min_ready_is_kept_and_filled_up_again():
    with World(one_provider(min_ready={"small": 3})) as world:
        world.start()
        assert world.run(60, until=lambda: len(world.nodes("ready")) == 3)
        requests = [world.request("small", habit=FOR_EVER) for _unused in range(2)]
        assert world.run(5, until=all_fulfilled(world, requests))
        assert world.run(60, until=lambda: len(world.nodes("ready")) == 3)
        world.run(300)
        assert len(world.nodes()) == 5


@pytest.mark.parametrize(
    ("fate", "failures"),
    [
        (Fate("ERROR", "Build of instance aborted", 1.0), "fault"),
        (Fate("GONE", None, 5.0), "fault"),
        (Fate(reachable=False), "unreachable"),
    ],
)
def test_one_launch_that_fails_is_tried_again_and_leaves_nothing_behind(fate, failures):
    fates = iter([fate])
    with World(one_provider(), clouds={"east": {"fate": lambda machine: next(fates, Fate())}}) as world:
        cycle = world.start()
        request = world.request("small")
        assert world.run(300, until=all_fulfilled(world, [request]))
        (node,) = world.nodes("ready")
        launch = world.store.own.get(f"launches/{node.id}")
        assert launch is not None and launch["attempt"] == 2
        assert failures in launch["failures"][0]
        assert [machine.id for machine in world.clouds["east"].ours()] == [node.external_id]
        assert cycle.account.failed == {}


def test_launches_that_always_fail_end_and_the_request_with_them():
    fate = Fate("ERROR", "Build of instance 1 aborted: Image 2 is unacceptable: not raw", 0.5)
    with World(one_provider(), clouds={"east": {"fate": lambda machine: fate}}) as world:
        cycle = world.start()
        request = world.request("small")
        assert world.run(3600, until=lambda: world.state(request) == "failed")
        assert count(cycle, CREATE) <= 6
        assert world.run(600, until=lambda: not world.nodes() and not world.clouds["east"].ours())


@pytest.mark.parametrize("kind", [CREATE, "DELETE /servers/{id}", "GET /servers/detail", "GET /limits", ""])
@pytest.mark.parametrize("how", [{}, {"works": True}, {"hang": True}, {"hang": True, "works": True}])
def test_any_call_may_fail_or_hang_a_few_times(kind, how):
    with World(one_provider(), quota={"east": {"instances": 10}}) as world:
        world.fault("east", kind, left=3, **how)
        cycle = world.start()
        requests = [world.request("small", habit=Habit(work=lambda chance: 20.0)) for _unused in range(5)]
        assert world.run(900, until=all_fulfilled(world, requests))
        assert world.run(900, until=lambda: not world.nodes() and not world.clouds["east"].ours())
        assert cycle.account.failed == {}
        assert len(world.handed_out) == 5


def test_a_lost_answer_makes_no_second_server():
    with World(one_provider()) as world:
        world.fault("east", CREATE, left=1, hang=True, works=True)
        world.start()
        request = world.request("small")
        assert world.run(120, until=all_fulfilled(world, [request]))
        cloud = world.clouds["east"]
        assert len(cloud.machines) == 1 and not cloud.past


def test_a_server_that_turns_up_after_its_attempt_was_given_up_is_deleted():
    with World(one_provider(), clouds={"east": {"list_lag": 0.0}}) as world:
        cloud = world.clouds["east"]
        world.fault("east", CREATE, left=1, hang=True)
        cycle = world.start()
        request = world.request("small", habit=FOR_EVER)
        world.run(2)
        spec = next(doc for doc in [world.store.own.get(f"launches/{node.id}") for node in world.nodes()] if doc)
        # Nothing is known of this cloud: its first create is waited for for long.
        assert world.run(400, until=all_fulfilled(world, [request]))
        late = cloud.add_foreign(1, **{META_LAUNCH: spec["mark"], "nodepool_node_id": spec["node_id"]})
        # Its node is watched no more; the next listing for somebody else shows it.
        world.request("small")
        assert world.run(120, until=lambda: late[0].id not in cloud.machines)
        assert len(cloud.of_node(spec["node_id"])) == 1
        assert cycle.account.failed == {}


def test_a_provider_that_is_down_does_not_keep_the_other_from_serving():
    document = site(
        *(provider_document(name, {"name": "main", "labels": [label("small")]}) for name in ("east", "west"))
    )
    with World(document) as world:
        world.fault("east", hang=True)
        world.start()
        requests = [world.request("small") for _unused in range(4)]
        assert world.run(60, until=all_fulfilled(world, requests))
        assert {node.provider for node in world.nodes("ready")} == {"west"}


def by_priority() -> dict[str, Any]:
    """East comes first and has room for two."""
    pool: dict[str, Any] = {"name": "main", "labels": [label("small")]}
    east = provider_document("east", {**pool, "priority": 50, "max-servers": 2})
    return site(east, provider_document("west", {**pool, "priority": 80}))


def providers_of(world: World, requests: list[str]) -> list[str | None]:
    nodes = {node.allocated_to: node.provider for node in world.nodes("ready")}
    return [nodes[request] for request in requests]


def test_a_pool_that_goes_first_is_waited_for_at_the_start_although_another_cloud_answers_first():
    with World(by_priority()) as world:
        world.fault("east", "GET /flavors/detail", fails=False, seconds=3.0)
        cycle = world.start()
        requests = [world.request("small") for _unused in range(4)]
        world.run(2.0)
        waits = [document["text"] for document in cycle.account.waiting.values()]
        assert waits == ["east/main: waiting for the first answers of its API"] * 4
        assert world.run(60, until=all_fulfilled(world, requests))
        assert providers_of(world, requests) == ["east", "east", "west", "west"]


@pytest.mark.parametrize("how", [{"hang": True}, {}], ids=["silent", "refusing"])
def test_a_pool_that_goes_first_is_not_waited_for_when_its_cloud_does_not_answer(how: dict[str, Any]):
    with World(by_priority()) as world:
        world.fault("east", **how)
        world.start()
        requests = [world.request("small") for _unused in range(4)]
        assert world.run(90, until=all_fulfilled(world, requests))
        assert providers_of(world, requests) == ["west"] * 4


def test_a_provider_recovers_by_itself():
    with World(one_provider()) as world:
        fault = world.fault("east", hang=True)
        world.start()
        request = world.request("small")
        world.run(600)
        assert world.state(request) == "requested"
        fault.left = 0
        assert world.run(180, until=all_fulfilled(world, [request]))


def test_refusals_that_the_limits_do_not_explain_are_few():
    with World(one_provider(), quota={"east": {"instances": 5}}) as world:
        world.clouds["east"].shown = None
        refusal = partial(CloudQuotaRefused, "Quota exceeded for cores", resources=("cores",), status=403)
        world.fault("east", CREATE, error=refusal, until=world.agenda.now + 3600)
        cycle = world.start()
        requests = [world.request("small") for _unused in range(20)]
        world.run(3600)
        assert set(states(world, requests)) <= {"requested", "pending"}
        moments = {round(at) for client in cycle.clients for at, kind in client.calls if kind == CREATE}
        assert 1 <= len(moments) <= 30, "creates that were refused together count once"
        assert world.run(2400, until=lambda: bool(world.fulfilled))


def test_an_idle_cycle_makes_no_calls():
    with World(one_provider()) as world:
        cycle = world.start()
        request = world.request("small", habit=Habit(work=lambda chance: 1.0))
        assert world.run(120, until=lambda: request in world.fulfilled and not world.nodes())
        world.run(10)
        before, passes = sum(len(client.calls) for client in cycle.clients), cycle.passes
        world.run(3600)
        assert sum(len(client.calls) for client in cycle.clients) - before <= 60
        assert cycle.passes - passes <= 1000


@pytest.mark.parametrize("until", ["settled", "deadline"])
def test_a_cycle_ends_when_it_was_told_to(until):
    with World(one_provider(max_servers=1)) as world:
        first, second = world.request("small", habit=FOR_EVER), world.request("small")
        cycle = world.start(duration=100.0, until=until)
        assert world.run(200, until=lambda: cycle.ended)
        assert cycle.result["ended"] == until
        assert cycle.result["requests"]["fulfilled"] == [first]
        assert [item["id"] for item in cycle.result["requests"]["waiting"]] == [second]
        assert (cycle.result["seconds"] < 60) == (until == "settled")
        assert world.store.components.pools() == []
        assert not world.store.own.is_locked("providers/east")


def test_nodes_of_cancelled_requests_go_after_an_idle_time_and_those_of_min_ready_stay():
    with World(one_provider(min_ready={"small": 2})) as world:
        cycle = world.start()
        assert world.run(60, until=lambda: len(world.nodes("ready")) == 2)
        requests = [world.request("small", reuse=False) for _unused in range(8)]
        world.run(5)
        for request in requests:
            world.store.requests.delete(request)
        assert world.run(120, until=lambda: len(world.nodes("ready")) == 10)
        world.run(400)
        assert len(world.nodes("ready")) == 10
        taken = world.request("small")
        assert world.run(10, until=lambda: taken in world.fulfilled), "others may have them meanwhile"
        world.take(taken)
        assert world.run(400, until=lambda: len(world.nodes("ready")) == 2)
        world.run(1200)
        assert len(world.nodes("ready")) == 2 and len(world.nodes("in-use")) == 1
        assert len(cycle.account.launched) == 10, "nothing is made anew"
