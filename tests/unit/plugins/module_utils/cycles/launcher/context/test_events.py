# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A newer build appears between two requests of one event: the event keeps its build."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.build_verdict import HAND, REVOKED
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import build_of_path
from tests.support.build_case import broken, build_id, serve, upload, uploaded
from tests.support.world import World


def fulfilled(world: World, *labels: str, event: str) -> str:
    request = world.request(*labels, event_id=event)
    assert world.run(600, until=lambda: request in world.fulfilled)
    return request


def builds(world: World, event: str) -> set[int]:
    """The numbers of the builds of all nodes that exist for an event."""
    launches = {node.id: world.store.own.read(f"launches/{node.id}") for node in world.nodes()}
    mine = [node for node in world.nodes() if (launches[node.id] or {}).get("event_id") == event]
    return {int(place[1], 16) for node in mine if (place := build_of_path(node.image_id))}


@pytest.mark.parametrize("killed", [False, True])
def test_a_newer_build_between_two_requests_of_an_event(killed: bool) -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        cycle = world.start()
        first = fulfilled(world, "small", event="e")
        world.take(first)  # the request is deleted, the node is in use
        upload(world, 2)
        other = fulfilled(world, "small", event="f")
        if killed:
            cycle.kill()
            world.start()
        world.take(other)
        fulfilled(world, "small", "small", event="e")
        assert builds(world, "e") == {1} and builds(world, "f") == {2}
        fulfilled(world, "small", event="f")
        assert builds(world, "f") == {2}


def test_a_build_that_is_revoked_is_left_in_the_middle_of_an_event() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        cycle = world.start()
        world.take(fulfilled(world, "small", event="e"))
        upload(world, 2)
        now = world.agenda.now
        world.store.verdicts.change("built", build_id(1), lambda had: had.given(REVOKED, "bad", HAND, now))
        request = fulfilled(world, "small", "small", event="e")
        assert builds(world, "e") == {1, 2}
        told = [line for _at, line in cycle.lines if line.startswith(f"request {request}: its built nodes at east")]
        assert len(told) == 1 and told[0].endswith(f"other nodes of its event from build {build_id(1)[:8]}")


def test_ready_nodes_of_the_new_build_do_not_serve_an_event_of_the_old_one() -> None:
    with World(uploaded(min_ready={"small": 1})) as world:
        upload(world, 1)
        world.start()
        world.take(fulfilled(world, "small", event="e"))
        upload(world, 2)
        for node in [node for node in world.nodes("ready") if node.allocated_to is None]:
            world.give_back(world.take(fulfilled(world, "small", event=f"of {node.id}")))
        world.run(120)
        fulfilled(world, "small", event="e")
        mine = [node for node in world.nodes() if node.allocated_to is not None or node.state == "in-use"]
        assert {int(place[1], 16) for node in mine if (place := build_of_path(node.image_id))} == {1}


def test_a_large_event_does_not_try_a_new_build() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        world.start()
        serve(world, 5)
        upload(world, 2, at=world.agenda.now)
        asked = [world.request("small", event_id="e") for _unused in range(8)]
        assert world.run(300, until=lambda: all(request in world.fulfilled for request in asked))
        assert builds(world, "e") == {1}


def test_a_small_event_tries_it_as_a_whole() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        world.start()
        serve(world, 5)
        upload(world, 2, at=world.agenda.now)
        asked = [world.request("small", event_id="e") for _unused in range(3)]
        assert world.run(300, until=lambda: all(request in world.fulfilled for request in asked))
        assert builds(world, "e") == {2}


def test_an_event_leaves_a_build_that_does_not_boot() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        world.start()
        serve(world, 20)
        upload(world, 2, at=world.agenda.now)
        world.clouds["east"].fate = broken("east-2")
        asked = [world.request("small", "small", event_id="e"), *(world.request("small") for _unused in range(20))]
        assert world.run(300, until=lambda: all(request in world.fulfilled for request in asked))
        world.run(120)
        assert builds(world, "e") == {1}
