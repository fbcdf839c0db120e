# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ready nodes that an earlier cycle left: handed out when the first list has shown their servers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Server
from ansible_collections.stackci.nodepool.plugins.module_utils.model.own_tree import WAITS
from tests.support.virtual_cloud import Timing, VirtualCloud
from tests.support.world import Cycle, World, one_provider

ONE = "GET /servers/{id}"
LIST = "GET /servers/detail"
CREATE = "POST /servers"


def asked(cycle: Cycle, kind: str) -> int:
    return sum(1 for client in cycle.clients for _unused, called in client.calls if called == kind)


def servers_of(world: World, requests: list[str]) -> set[str]:
    """What the requests were given."""
    found = [world.store.requests.read(request) for request in requests]
    return {str(node.external_id) for node in world.nodes() if any(r and node.id in r.nodes for r in found)}


@contextmanager
def left_by_another(spares: int, duration: float = 60, **more: object) -> Iterator[World]:
    """An earlier cycle has left ready nodes; some hours pass."""
    with World(one_provider(min_ready={"small": spares}), **more) as world:  # type: ignore[arg-type]
        first = world.start(duration=duration)
        assert world.run(2 * duration, until=lambda: first.ended)
        assert len(world.nodes("ready")) == spares
        world.configure(one_provider())
        world.run(7200)
        yield world


def delete(cloud: VirtualCloud, count: int) -> set[str]:
    victims = list(cloud.machines.values())[:count]
    for machine in victims:
        cloud.remove(machine)
    return {machine.id for machine in victims}


@pytest.mark.parametrize("timed", [True, False], ids=["request first", "cycle first"])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_node_whose_server_is_gone_is_not_handed_out(count, timed):
    with left_by_another(5) as world:
        victims = delete(world.clouds["east"], count)
        requests = [world.request("small") for _unused in range(5)] if timed else []
        cycle = world.start()
        requests = requests or [world.request("small") for _unused in range(5)]
        assert world.run(300, until=lambda: len(world.fulfilled) == 5)
        given = servers_of(world, requests)
        assert len(given) == 5 and not given & victims
        assert asked(cycle, CREATE) == count, "the others were reused"
        assert asked(cycle, ONE) <= 3


@pytest.mark.parametrize("status", ["ERROR", "DELETED", "SOFT_DELETED"])
def test_a_node_whose_server_is_shown_as_lost_is_not_handed_out(status):
    with left_by_another(2) as world:
        victim = next(iter(world.clouds["east"].machines.values()))
        victim.status = status
        requests = [world.request("small") for _unused in range(2)]
        cycle = world.start()
        assert world.run(300, until=lambda: len(world.fulfilled) == 2)
        assert victim.id not in servers_of(world, requests)
        assert asked(cycle, CREATE) == 1
        assert asked(cycle, ONE) == 0


@pytest.mark.parametrize("task", ["powering-off", "suspending", "reboot_started", "soft-deleting"])
def test_a_node_with_whose_server_nova_does_something_is_not_handed_out(task):
    """nova shows a server as ACTIVE until it is stopped."""
    with left_by_another(2) as world:
        cloud = world.clouds["east"]
        victim, listing = next(iter(cloud.machines.values())), cloud.listing

        def shown(changes_since: str | None = None) -> list[Server]:
            return [replace(one, task_state=task) if one.id == victim.id else one for one in listing(changes_since)]

        cloud.listing = shown  # type: ignore[method-assign]
        requests = [world.request("small") for _unused in range(2)]
        cycle = world.start()
        assert world.run(300, until=lambda: len(world.fulfilled) == 2)
        assert victim.id not in servers_of(world, requests)
        assert asked(cycle, CREATE) == 1


def test_nodes_that_are_well_are_handed_out_with_the_first_list_and_cost_no_call_more():
    with left_by_another(3) as world:
        requests = [world.request("small") for _unused in range(2)]
        began = world.agenda.now
        cycle = world.start()
        assert world.run(300, until=lambda: len(world.fulfilled) == 2)
        listed = min(at for at, kind in cycle.clients[0].calls if kind == LIST)
        assert all(began <= listed <= at < began + 5.0 for at in world.fulfilled.values())
        assert asked(cycle, CREATE) == asked(cycle, ONE) == 0
        assert not any(world.store.own.get(f"{WAITS}/{request}") for request in requests), "over in a moment"
        last = world.request("small")
        assert world.run(300, until=lambda: last in world.fulfilled)
        assert world.fulfilled[last] - world.asked[last] < 0.1, "a running cycle asks nobody"


def test_what_is_beyond_the_ready_nodes_is_launched_at_once():
    with left_by_another(2) as world:
        requests = [world.request("small") for _unused in range(4)]
        cycle = world.start()
        assert world.run(300, until=lambda: len(world.fulfilled) == 4)
        assert asked(cycle, CREATE) == 2 and len(servers_of(world, requests)) == 4


@pytest.mark.parametrize(
    "fault", [{}, {"hang": True}, {"kind": LIST, "hang": True}], ids=["refuses", "hangs", "no list"]
)
def test_while_the_api_does_not_answer_nothing_is_handed_out_and_nothing_is_lost(fault):
    with left_by_another(2) as world:
        known = set(world.clouds["east"].machines)
        trouble = world.fault("east", **{"kind": "", **fault})
        requests = [world.request("small") for _unused in range(2)]
        world.start()
        world.run(120)
        assert not world.fulfilled and set(world.clouds["east"].machines) >= known
        world.faults["east"].remove(trouble)
        assert world.run(120, until=lambda: len(world.fulfilled) == 2)
        assert len(servers_of(world, requests)) == 2


def test_a_list_proves_nodes_where_the_limits_are_forbidden():
    with left_by_another(2) as world:
        world.fault("east", "GET /limits")
        requests = [world.request("small") for _unused in range(2)]
        began = world.agenda.now
        world.start()
        assert world.run(120, until=lambda: len(world.fulfilled) == 2)
        assert len(servers_of(world, requests)) == 2 and max(world.fulfilled.values()) - began <= 3.0


def test_a_list_is_waited_for_as_long_as_lists_lately_took():
    """A control plane under load: its list of servers takes longer than the time after which an API is suspect."""
    timing = Timing(listing=14.0, spread=0.0)
    with left_by_another(3, 180, clouds={"east": {"timing": timing}}) as world:
        victims = delete(world.clouds["east"], 1)
        requests = [world.request("small") for _unused in range(3)]
        cycle = world.start()
        assert world.run(300, until=lambda: len(world.fulfilled) == 3)
        assert not servers_of(world, requests) & victims
        assert asked(cycle, CREATE) == 1


def test_nodes_in_a_cell_that_is_down_are_not_handed_out_and_new_ones_are_launched():
    with left_by_another(6) as world:
        known = set(world.clouds["east"].machines)
        world.clouds["east"].away = lambda machine: machine.id in known
        requests = [world.request("small") for _unused in range(6)]
        cycle = world.start()
        assert world.run(120, until=lambda: len(world.fulfilled) == 6)
        assert not servers_of(world, requests) & known
        assert asked(cycle, CREATE) == 6


def test_what_only_the_list_leaves_out_is_handed_out_when_nova_shows_it():
    with left_by_another(1) as world:
        world.clouds["east"].listing = lambda *_since: []  # type: ignore[method-assign]
        request = world.request("small")
        began = world.agenda.now
        cycle = world.start()
        assert world.run(120, until=lambda: request in world.fulfilled)
        assert world.fulfilled[request] - began < 5.0
        assert asked(cycle, ONE) == 1 and asked(cycle, CREATE) == 0


def test_a_cycle_that_stood_by_hands_out_at_once_what_its_predecessor_launched():
    with World(one_provider(min_ready={"small": 2})) as world:
        first = world.start(duration=60)
        world.run(30)
        second = world.start()
        assert world.run(60, until=lambda: first.ended)
        request = world.request("small")
        assert world.run(60, until=lambda: request in world.fulfilled)
        assert world.fulfilled[request] - world.asked[request] < 0.3
        assert asked(second, LIST) <= 2


def test_a_cycle_that_stood_by_for_long_looks_again():
    """Another host stands by for hours; the list that it read at first tells nothing of what was deleted since."""
    with World(one_provider(min_ready={"small": 2})) as world:
        first = world.start()
        assert world.run(120, until=lambda: len(world.nodes("ready")) == 2)
        second = world.start()
        world.run(7200)
        (victim,) = delete(world.clouds["east"], 1)
        first.kill()
        requests = [world.request("small") for _unused in range(2)]
        assert world.run(300, until=lambda: len(world.fulfilled) == 2)
        assert victim not in servers_of(world, requests)
        assert asked(second, ONE) <= 1


def test_a_list_that_was_read_while_standing_by_and_lacks_a_server_is_read_again():
    with left_by_another(2) as world:
        (victim,) = delete(world.clouds["east"], 1)
        first = world.start(duration=3600)
        world.fault("east", ONE, until=world.agenda.now + 25)
        world.run(20)
        second = world.start()
        world.run(10)
        first.kill()
        requests = [world.request("small") for _unused in range(2)]
        assert world.run(300, until=lambda: len(world.fulfilled) == 2)
        assert victim not in servers_of(world, requests)
        assert asked(second, ONE) <= 2


def test_a_record_of_the_future_is_older_than_the_first_list_all_the_same():
    """It was written by a machine whose clock was ahead by hours."""
    with left_by_another(2) as world:
        for node in world.nodes("ready"):
            node.state_time = world.agenda.now + 5 * 3600
            world.store.nodes.write(node)
        victim = next(iter(world.clouds["east"].machines.values()))
        victim.status = "ERROR"
        requests = [world.request("small") for _unused in range(2)]
        world.start()
        assert world.run(300, until=lambda: len(world.fulfilled) == 2)
        assert victim.id not in servers_of(world, requests)
