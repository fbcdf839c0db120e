# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nova's list shows no faults, and for a while not every server: what it leaves out is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import Launch
from tests.support.virtual_cloud import Fate, Timing
from tests.support.world import Cycle, Habit, World, label, one_provider, provider_document, site

ONE = "GET /servers/{id}"
CREATE = "POST /servers"
RACE = "Quota exceeded for instances: Requested 1, but already used 6 of 6 instances"


def asked(cycle: Cycle, kind: str = ONE) -> int:
    return sum(1 for client in cycle.clients for _unused, called in client.calls if called == kind)


def said(cycle: Cycle) -> str:
    return "\n".join(line for _unused, line in cycle.lines)


def first_fails(fault: str) -> Any:
    """The first server ends in ERROR with this fault, the others come up."""
    fates = [Fate("ERROR", fault, 2.0)]
    return lambda machine: fates.pop() if fates else Fate()


def test_a_quota_race_is_recognised_although_the_list_shows_no_fault():
    with World(one_provider(), clouds={"east": {"fate": first_fails(RACE)}}) as world:
        cycle = world.start()
        request = world.request("small")
        assert world.run(20, until=lambda: cycle.account.refused == 1)
        (resource,) = next(iter(cycle.launcher._launcher_pass._gates.freezes.result().values()))
        assert resource == "instances"
        assert world.run(300, until=lambda: request in world.fulfilled)
        assert "quota: Quota exceeded for instances" in said(cycle)
        (node,) = world.nodes("ready")
        launch = cycle.context.launch(node.id)
        assert launch is not None and launch.failures == [] and launch.attempt == 1, "a race costs no attempt"
        assert asked(cycle) == 1


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("No valid host was found. ", "no capacity: No valid host was found."),
        ("Build of instance 1 aborted: failed to map", "fault: Build of instance 1 aborted: failed to map"),
        ("Exceeded maximum number of retries. Exhausted all hosts", "fault: Exceeded maximum number of retries."),
    ],
)
def test_the_cause_of_an_error_is_told(fault, kind):
    with World(one_provider(), clouds={"east": {"fate": first_fails(fault)}}) as world:
        world.clouds["east"].add_foreign()
        cycle = world.start()
        request = world.request("small")
        assert world.run(300, until=lambda: request in world.fulfilled)
        assert kind in said(cycle)
        assert asked(cycle) == 1, "once for each server that failed"


def test_the_cause_is_told_also_when_the_launch_has_no_time_left():
    """The question takes its time; what is known by then is that the server failed, not that it was too slow."""
    east = provider_document("east", {"name": "main", "labels": [label("small")]})
    document = site({**east, "launch-timeout": 1})
    with World(document, clouds={"east": {"fate": first_fails("No valid host was found. ")}}) as world:
        cycle = world.start()
        world.request("small")
        failure = "node 0000000000: "
        assert world.run(60, until=lambda: said(cycle).count(failure) > 1)
        assert f"{failure}no capacity: No valid host was found." in said(cycle)


def test_a_list_that_shows_the_fault_is_believed():
    with World(one_provider(), clouds={"east": {"fate": first_fails(RACE), "faults_listed": True}}) as world:
        cycle = world.start()
        request = world.request("small")
        assert world.run(300, until=lambda: request in world.fulfilled)
        assert cycle.account.refused == 1 and asked(cycle) == 0


def test_a_question_without_an_answer_is_asked_once_more():
    with World(one_provider(), clouds={"east": {"fate": first_fails(RACE)}}) as world:
        world.fault("east", ONE, left=1)
        cycle = world.start()
        request = world.request("small")
        assert world.run(300, until=lambda: request in world.fulfilled)
        assert cycle.account.refused == 1 and asked(cycle) == 2


def test_a_fault_that_is_not_to_be_had_is_unknown():
    """It costs an attempt, and no more than two questions."""
    with World(one_provider(), clouds={"east": {"fate": first_fails(RACE)}}) as world:
        world.fault("east", ONE)
        cycle = world.start()
        request = world.request("small")
        assert world.run(300, until=lambda: request in world.fulfilled)
        assert "fault: the server is in status ERROR" in said(cycle)
        assert cycle.account.refused == 0 and asked(cycle) == 2


# -- servers that the list leaves out ------------------------------------------------------------------------------


def outage(world: World, begin: float, end: float) -> None:
    """The only cell is down for a while: lists lack its servers, questions for one are answered with 500."""
    cloud = world.clouds["east"]
    start = world.agenda.now
    cloud.away = lambda machine: start + begin <= world.agenda.now < start + end


@pytest.mark.parametrize("count", [1, 2, 30])
def test_servers_that_are_missing_for_a_while_are_not_gone(count):
    with World(one_provider()) as world:
        outage(world, 12.0, 60.0)
        cycle = world.start()
        requests = [world.request("small") for _unused in range(count)]
        assert world.run(300, until=lambda: all(request in world.fulfilled for request in requests))
        assert asked(cycle, CREATE) == count, "none was given up and made again"
        assert cycle.account.launch_failures == {} and "is gone" not in said(cycle)
        assert 0 < asked(cycle) <= 30, "not one question for each server"


def test_servers_that_no_list_has_shown_yet_are_asked_for():
    """The cell is slow from the beginning: the create was answered, and no list has ever shown the server."""
    with World(one_provider()) as world:
        outage(world, 0.0, 45.0)
        cycle = world.start()
        request = world.request("small")
        assert world.run(300, until=lambda: request in world.fulfilled)
        assert asked(cycle, CREATE) == 1
        assert 0 < asked(cycle) <= 6


def test_what_only_the_list_leaves_out_is_served_all_the_same():
    """Eventual consistency: the one server is known, the list never shows it."""
    with World(one_provider()) as world:
        cloud = world.clouds["east"]
        cloud.listing = lambda *_since: []  # type: ignore[method-assign]
        cycle = world.start()
        request = world.request("small")
        assert world.run(300, until=lambda: request in world.fulfilled)
        assert asked(cycle, CREATE) == 1


@pytest.mark.parametrize("count", [1, 3, 30])
def test_servers_that_are_gone_are_noticed(count):
    """All the servers of a burst vanish while they boot; a few questions tell."""
    with World(one_provider()) as world:
        cycle = world.start()
        requests = [world.request("small") for _unused in range(count)]
        cloud = world.clouds["east"]
        assert world.run(60, until=lambda: len(cloud.machines) == count)
        world.run(6.0)
        for machine in list(cloud.machines.values()):
            cloud.remove(machine)
        assert world.run(300, until=lambda: all(request in world.fulfilled for request in requests))
        gone = [
            line for _unused, line in cycle.lines if line.startswith("node ") and "the server no longer exists" in line
        ]
        assert len(gone) == count
        assert asked(cycle) <= 12


def test_a_record_stays_while_the_end_of_its_server_is_in_doubt():
    with World(one_provider(), clouds={"east": {"timing": Timing(delete=(60.0, 0.0))}}) as world:
        cycle = world.start()
        kept = [world.request("small") for _unused in range(3)]
        given = world.request("small", habit=Habit(work=lambda chance: 5.0))
        assert world.run(120, until=lambda: all(request in world.fulfilled for request in [*kept, given]))
        cloud = world.clouds["east"]
        assert world.run(20, until=lambda: any(machine.deleting for machine in cloud.machines.values()))
        outage(world, 0.0, 40.0)
        world.run(30)
        assert len(world.nodes()) == 4, "nobody knows whether the fourth server is gone"
        assert world.run(120, until=lambda: len(world.nodes()) == 3)
        assert len(cloud.machines) == 3
        assert asked(cycle) <= 12


def test_the_last_server_of_a_project_is_asked_for_once():
    """An empty list looks the same whether all are gone or nova cannot see them."""
    with World(one_provider(), clouds={"east": {"shown_deleted": 0.0}}) as world:
        cycle = world.start()
        requests = [world.request("small", habit=Habit(work=lambda chance: 5.0)) for _unused in range(10)]
        assert world.run(120, until=lambda: len(world.fulfilled) == len(requests))
        assert world.run(120, until=lambda: not world.nodes())
        assert not world.clouds["east"].machines
        assert asked(cycle) <= 2


def test_a_server_that_is_shown_as_deleted_still_counts():
    """Its place is free when it leaves the list: a create before that would be refused."""
    clouds = {"east": {"shown_deleted": 8.0}}
    with World(one_provider(), quota={"east": {"instances": 2}}, clouds=clouds) as world:
        cycle = world.start()
        for _unused in range(8):
            world.request("small", habit=Habit(work=lambda chance: 10.0))
        assert world.run(600, until=lambda: len(world.fulfilled) == 8)
        assert world.clouds["east"].refused == {} and cycle.account.refused == 0


def test_nothing_is_swept_by_a_list_that_is_in_doubt():
    """The record of a node that is gone is the evidence for what is left of it."""
    with World(one_provider()) as world:
        cycle = world.start()
        kept = [world.request("small") for _unused in range(3)]
        assert world.run(120, until=lambda: all(request in world.fulfilled for request in kept))
        node = "0000000099"
        marks = {"nodepool_provider_name": "east", "nodepool_node_id": node, "stackci_launch": f"{node}-1-abc"}
        (machine,) = world.clouds["east"].add_foreign(1, **marks)
        launch = Launch(node, "east", "main", "small", mark=f"{node}-1-abc", server_id=machine.id, phase="failed")
        world.store.own.put(f"launches/{node}", launch.document())
        world.request("small")
        world.run(10)
        outage(world, 0.0, 900.0)
        world.run(890)
        assert cycle.context.launch(node) is not None
        assert world.run(900, until=lambda: machine.id not in world.clouds["east"].machines), "it leaked"
