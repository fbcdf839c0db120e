# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clock of the machine is set while a cycle runs, or between two: everything is served, nothing is given up."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.clock import SteadyClock
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.tree_clock import TreeClock
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.breaking import Breaker
from ansible_collections.stackci.nodepool.plugins.module_utils.model.freeze import Freeze
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lease import REQUESTOR
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest, RequestState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits
from tests.support.effort import first
from tests.support.world import Cycle, Habit, World, one_provider

HOUR = 3600.0
CREATE = "POST /servers"
LEAPS = pytest.mark.parametrize("leap", first(2, [400 * 24 * HOUR, -3 * HOUR, 7.0, -7.0, 3 * HOUR, -400 * 24 * HOUR]))


class Machine:
    """The machine that the cycles run on: its time of day can be set. All others go by their own."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ahead = 0.0

    def start(self) -> Cycle:
        """A cycle on it."""
        cycle, agenda = self.world.start(), self.world.agenda
        cycle.inbox.clock = SteadyClock(self.time, agenda.clock)
        return cycle

    def start_by_zookeeper(self) -> Cycle:
        """A cycle that has asked ZooKeeper for its time."""
        tree_clock = TreeClock(self.time)
        tree_clock.ask(self.world.store)
        cycle = self.world.start()
        cycle.inbox.clock = SteadyClock(tree_clock, self.world.agenda.clock)
        cycle.context.hear = tree_clock.hear
        return cycle

    def time(self) -> float:
        """Its time of day."""
        return self.world.agenda.now + self.ahead


def creates(cycle: Cycle) -> int:
    return sum(1 for client in cycle.clients for _unused, kind in client.calls if kind == CREATE)


@LEAPS
@pytest.mark.parametrize("moment", [0.05, 0.5, 1.2, 8.0, 21.0])
def test_in_the_middle_of_launches(leap, moment):
    """Before the first answer, with creates on the wire, while servers boot, while host keys are looked at."""
    with World(one_provider()) as world:
        machine = Machine(world)
        cycle = machine.start()
        requests = [world.request("small") for _unused in range(5)] + [world.request("small", "small")]
        world.run(moment)
        machine.ahead += leap
        assert world.run(60, until=lambda: len(world.fulfilled) == len(requests))
        assert not cycle.account.failed and not cycle.account.launch_failures
        assert creates(cycle) == 7, "none was given up and made again"


@LEAPS
def test_while_others_use_nodes_and_give_them_back(leap):
    with World(one_provider(max_servers=4)) as world:
        machine = Machine(world)
        machine.start()
        requests = [world.request("small", habit=Habit(work=lambda chance: 40.0)) for _unused in range(12)]
        world.run(50)
        machine.ahead += leap
        assert world.run(400, until=lambda: len(world.fulfilled) == len(requests))
        assert world.run(120, until=lambda: not world.nodes() and not world.clouds["east"].machines)


@LEAPS
def test_while_a_pool_is_frozen(leap):
    quota, cloud = {"east": {"instances": 0}}, {"east": {"shown": Limits({"instances": 100})}}
    with World(one_provider(), quota=quota, clouds=cloud) as world:
        machine = Machine(world)
        cycle = machine.start()
        requests = [world.request("small") for _unused in range(3)]
        world.run(100)
        assert cycle.account.refused
        machine.ahead += leap
        world.run(100)
        before = cycle.account.refused
        world.clouds["east"].limits = Limits({"instances": 100})
        assert before <= 8, "six in the first two minutes, then one a minute by a clock that goes a tenth faster"
        # The clock of a cycle goes a tenth slower at most.
        assert world.run(60 / 0.9 + 40, until=lambda: len(world.fulfilled) == len(requests))


@LEAPS
def test_while_an_api_is_silent(leap):
    with World(one_provider()) as world:
        machine = Machine(world)
        machine.start()
        world.run(5)
        world.fault("east", hang=True, until=world.agenda.now + 90)
        requests = [world.request("small") for _unused in range(3)]
        world.run(45)
        machine.ahead += leap
        assert world.run(600, until=lambda: len(world.fulfilled) == len(requests))


@LEAPS
@pytest.mark.parametrize("moment", [0.5, 1.2, 8.0, 60.0])
def test_the_next_cycle_goes_on_by_another_time_of_day(leap, moment):
    """Killed, and the clock is set before the next one begins: launches and ready nodes are of another time."""
    with World(one_provider(min_ready={"small": 1})) as world:
        machine = Machine(world)
        first = machine.start()
        requests = [world.request("small") for _unused in range(4)]
        world.run(moment)
        first.kill()
        machine.ahead += leap
        world.run(15)
        machine.start()
        assert world.run(200, until=lambda: len(world.fulfilled) == len(requests))
        last = world.request("small")
        assert world.run(100, until=lambda: last in world.fulfilled)
        assert world.run(100, until=lambda: len(world.nodes("ready")) == 6), "min-ready"
        assert world.run(400, until=lambda: len(world.clouds["east"].machines) == 6), "nothing is left over"


@pytest.mark.parametrize("state", ["building", "ready", "hold"])
def test_a_record_of_the_future_is_as_old_as_it_is_known_here(state):
    """It was written by a machine whose clock is ahead by hours; what is due by age is due all the same."""
    document = {**one_provider(), "max-hold-age": 60}
    document["labels"] = [{**one, "max-ready-age": 60} for one in document["labels"]]
    with World(document) as world:
        node = Node(state=state, provider="east", pool="main", type=["small"], az="az1")
        node.state_time = node.created_time = world.agenda.now + 5 * HOUR
        world.store.nodes.create(node)
        world.start()
        world.run(25)
        assert [known.id for known in world.nodes()] == [node.id]
        assert world.run(120, until=lambda: not world.nodes())


def test_a_request_of_a_lease_from_a_clock_that_is_ahead_does_not_stay():
    """It takes a node that no playbook comes back for."""
    with World(one_provider(max_servers=1)) as world:
        ahead = world.agenda.now + 400 * 24 * HOUR
        data = {"lease": "try", "nonce": "n", "set": 0, "expires_at": ahead + 60}
        request = NodeRequest(node_types=["small"], requestor=REQUESTOR, requestor_data=data, created_time=ahead)
        request.set_state(RequestState.REQUESTED, ahead)
        world.store.requests.create(request)
        world.start()
        assert world.run(50, until=lambda: world.state(request.id) == RequestState.FULFILLED)
        assert world.run(120, until=lambda: world.state(request.id) is None)


@LEAPS
def test_a_freeze_of_another_time_of_day_does_not_hold(leap):
    quota, cloud = {"east": {"instances": 0}}, {"east": {"shown": Limits({"instances": 100})}}
    with World(one_provider(), quota=quota, clouds=cloud) as world:
        machine = Machine(world)
        first = machine.start()
        requests = [world.request("small") for _unused in range(3)]
        world.run(100)
        assert first.account.refused
        first.kill()
        machine.ahead += leap
        world.run(15)
        second = machine.start()
        world.run(100)
        assert second.account.refused <= 6
        world.clouds["east"].limits = Limits({"instances": 100})
        assert world.run(60 / 0.9 + 40, until=lambda: len(world.fulfilled) == len(requests))


@pytest.mark.parametrize("ahead", [-3 * HOUR, 3 * HOUR, 400 * 24 * HOUR])
@pytest.mark.parametrize("later", [False, True], ids=["from the start", "set while the cycle runs"])
@pytest.mark.parametrize("state", ["hold_expiration", "max-hold-age", "max-ready-age"])
def test_a_launcher_whose_host_has_another_time_judges_ages_by_zookeeper(ahead, later, state):
    """It deletes what is held, leased or ready neither hours early nor hours late."""
    document = {**one_provider(), "max-hold-age": 600 if state == "max-hold-age" else 0}
    document["labels"] = [{**one, "max-ready-age": 600} for one in document["labels"]]
    if state == "max-ready-age":
        document["labels"][0]["min-ready"] = 1
    with World(document) as world:
        machine = Machine(world)
        if state != "max-ready-age":
            node = Node(state="hold", provider="east", pool="main", type=["small"], az="az1")
            node.hold_expiration = 600 if state == "hold_expiration" else None
            node.state_time = node.created_time = world.agenda.now
            world.store.nodes.create(node)
        machine.ahead = 0.0 if later else ahead
        machine.start_by_zookeeper()
        world.run(60)
        (node,) = world.nodes()
        machine.ahead = ahead
        world.run(500)
        assert world.store.nodes.get(node.id), "deleted hours too early"
        assert world.run(150, until=lambda: world.store.nodes.get(node.id) is None), "its time is over"


AHEAD = 86400.0 * 365


def test_a_freeze_of_a_clock_that_was_ahead_is_over():
    with World(one_provider()) as world:
        first = world.start()
        world.run(5)
        pool_id = next(iter(first.context.pool_ids.values()))
        first.kill()
        freeze = Freeze(
            "instances", world.agenda.now + AHEAD, [world.agenda.now + AHEAD - 24.0] * 6, text="Quota exceeded"
        )
        world.store.own.put(f"freezes/{pool_id}", {"instances": freeze.document()})
        world.start()
        request = world.request("small")
        assert world.run(90, until=lambda: request in world.fulfilled)


def test_a_breaker_of_a_clock_that_was_ahead_is_over():
    with World(one_provider()) as world:
        world.store.own.put(
            "breakers/east", {"debian/small": Breaker(9, world.agenda.now + AHEAD, "broken").document()}
        )
        world.start()
        request = world.request("small")
        assert world.run(90, until=lambda: request in world.fulfilled)
