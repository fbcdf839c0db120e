# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Floating IPs of which nobody heard that they were made."""

from __future__ import annotations

import pytest

from tests.support.virtual_client import VirtualClient
from tests.support.world import Habit, World, one_provider

CREATE = "POST /floatingips"


@pytest.mark.parametrize(
    "works", [(True,), (False,), (False, True), (True, True), (False, False), (False, False, True)]
)
def test_creates_without_an_answer_leave_no_floating_ip_behind(works):
    """Whatever was made is found by its description, however many answers were lost before."""
    with World(one_provider(), clouds={"east": {"direct": False}}) as world:
        for place, effective in enumerate(works):
            world.fault("east", CREATE, left=1, skip=place, works=effective)
        world.start()
        request = world.request("small")
        assert world.run(300, until=lambda: request in world.fulfilled)
        world.run(30)
        cloud = world.clouds["east"]
        assert len(cloud.floating_ips) == len(cloud.ours()) == 1


@pytest.mark.parametrize("works", [True, False])
def test_an_answer_that_comes_after_the_session_was_lost_harms_nobody(works):
    """The launch has been adopted anew when it comes, and what the create may have made is being looked for."""
    with World(one_provider(), clouds={"east": {"direct": False}}) as world:
        world.fault("east", CREATE, left=1, works=works, seconds=0.5)
        cycle = world.start()
        request = world.request("small", habit=Habit(work=lambda chance: 10.0))
        assert world.run(60, until=lambda: any(CREATE in kinds(client) for client in cycle.clients))
        cycle.store.session.expire(2.0)
        assert world.run(300, until=lambda: request in world.fulfilled and not world.nodes())
        assert not world.clouds["east"].floating_ips


def kinds(client: VirtualClient) -> set[str]:
    """What it was asked so far."""
    return {kind for _unused, kind in client.calls}


def floating(world: World) -> list[str]:
    """The addresses that the project has."""
    return [item.id for item, _unused in world.clouds["east"].floating_ips.values()]


def calls(world: World, kind: str) -> int:
    """How often it was asked."""
    return sum(
        1 for cycle in world.cycles for client in cycle.clients for _unused, called in client.calls if called == kind
    )


@pytest.mark.parametrize("lands", [33.0, 45.0, 55.0])
def test_an_address_that_is_made_slowly_is_found(lands):
    """The create takes longer than anybody waits for it; asked again, neutron says 409, and the first one is there."""
    with World(one_provider(), clouds={"east": {"direct": False}}) as world:
        world.fault("east", CREATE, left=1, hang=True, lands=lands)
        world.fault("east", CREATE, left=1, seconds=25.0, fails=False)
        cycle = world.start()
        request = world.request("small")
        assert world.run(300, until=lambda: request in world.fulfilled)
        (node,) = world.nodes("ready")
        launch = cycle.context.launch(node.id)
        assert launch is not None and [launch.floating_ip_id] == floating(world)
        assert cycle.account.launch_failures == {} and launch.failures == []


def test_the_address_of_somebody_else_fails_the_launch_and_is_left_alone():
    with World(one_provider(), clouds={"east": {"direct": False}}) as world:
        cycle = world.start()
        request = world.request("small")
        cloud = world.clouds["east"]
        assert world.run(60, until=lambda: len(cloud.machines) == 1)
        (machine,) = cloud.machines.values()
        theirs = cloud.create_floating_ip(f"port-{machine.id}", "somebody's")
        machine.floating = ""
        assert world.run(300, until=lambda: request in world.fulfilled)
        assert theirs.id in floating(world) and len(floating(world)) == 2
        (line,) = [line for _unused, line in cycle.lines if "already has a floating IP" in line]
        assert line.startswith("node "), line


@pytest.mark.parametrize("lands", [20.0, 58.0, 62.0])
def test_what_a_create_in_doubt_left_behind_goes_with_its_launch(lands):
    """No answer, nothing found: the launch begins again, and the address that came after all does not stay."""
    with World(one_provider(), clouds={"east": {"direct": False}}) as world:
        world.fault("east", "GET /floatingips", left=0)
        world.fault("east", CREATE, left=1, hang=True, lands=lands)
        world.fault("east", CREATE, left=1, hang=True)
        world.start()
        request = world.request("small")
        assert world.run(400, until=lambda: request in world.fulfilled)
        world.run(60)
        assert len(floating(world)) == len(world.clouds["east"].machines) == 1


@pytest.mark.parametrize("when", [1.0, 10.0, 31.0, 59.0])
def test_what_a_create_in_doubt_left_behind_goes_with_its_node(when):
    """The request goes away, or the label, while the create is without an answer."""
    with World(one_provider(), clouds={"east": {"direct": False}}) as world:
        world.fault("east", CREATE, left=1, hang=True, lands=9.0)
        world.start()
        request = world.request("small")
        assert world.run(60, until=lambda: calls(world, CREATE) == 1)
        world.run(when)
        world.store.requests.delete(request)
        document = one_provider()
        document["providers"][0]["pools"][0]["labels"] = [{**document["providers"][0]["pools"][0]["labels"][1]}]
        world.configure(document)
        assert world.run(300, until=lambda: not world.nodes())
        assert floating(world) == [] and not world.clouds["east"].machines


def test_what_a_killed_cycle_had_asked_for_goes_with_the_node():
    with World(one_provider(), clouds={"east": {"direct": False}}) as world:
        world.fault("east", CREATE, left=1, hang=True, lands=4.0)
        first = world.start()
        request = world.request("small")
        assert world.run(60, until=lambda: calls(world, CREATE) == 1)
        first.kill()
        world.store.requests.delete(request)
        (node,) = world.nodes()
        world.run(15)
        node = world.store.nodes.read(node.id) or node
        node.set_state("deleting", world.agenda.now)
        world.store.nodes.write(node)
        world.start()
        assert world.run(300, until=lambda: not world.nodes())
        assert floating(world) == []


@pytest.mark.parametrize("gone", [False, True])
def test_a_cycle_that_goes_on_with_a_launch_looks_for_its_address_where_the_server_list_does_not_show_it(gone):
    """nova's list is behind neutron's; some networks give a port a second address when asked for it."""
    with World(one_provider(), clouds={"east": {"direct": False, "double_addresses": True}}) as world:
        cloud = world.clouds["east"]
        first = world.start()
        request = world.request("small")

        def written() -> bool:
            return any(cloud.floating_ips) and all(
                first.context.launch(node.id).floating_ip_id for node in world.nodes()
            )

        assert world.run(60, until=written)
        (machine,) = cloud.machines.values()
        address, machine.floating = machine.floating, ""
        (before,) = floating(world)
        if gone:
            cloud.floating_ips.clear()
        first.kill()
        second = world.start()
        world.run(40)
        if not gone:
            assert floating(world) == [before]
            machine.floating = address
        assert world.run(200, until=lambda: request in world.fulfilled)
        (node,) = world.nodes("ready")
        assert [second.context.launch(node.id).floating_ip_id] == floating(world)
