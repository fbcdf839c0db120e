# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a launcher in virtual time stores of the past, as request_info and node_info tell it."""

from __future__ import annotations

from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.tree_reading import TreeReading
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.explain import (
    explanation,
    launch_path,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.node_rows import (
    gone_life,
    node_life,
    tombstone_paths,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.request_rows import request_rows
from tests.support.virtual_cloud import Timing
from tests.support.world import Habit, World, label, one_provider, provider_document, site

QUICK = Timing(boot=(5.0, 1.0), delete=(1.0, 0.2))


def small_world(instances: int = 4) -> World:
    clouds: dict[str, Any] = {"east": {"timing": QUICK}}
    return World(one_provider(), quota={"east": {"instances": instances}}, clouds=clouds, lag=0.02)


def reading_of(world: World) -> TreeReading:
    """What is stored now."""
    return TreeReading(world.store.session.tree)


def explained(world: World, request: str) -> dict[str, Any]:
    reading = reading_of(world)
    return explanation(reading, request_rows(reading, world.agenda.now), request, world.agenda.now)


def steps(life: dict[str, Any]) -> list[str]:
    return [step["step"] for step in life["steps"]]


def test_a_launch_that_a_later_cycle_continued_is_told():
    with small_world() as world:
        cycle = world.start()
        request = world.request("small")
        assert world.run(60, until=lambda: bool(world.clouds["east"].ours()))
        cycle.kill()
        world.start()
        assert world.run(120, until=lambda: world.state(request) == "fulfilled")
        world.run(1)
        (node,) = world.nodes()
        reading = reading_of(world)
        life = node_life(reading.one(f"/nodepool/nodes/{node.id}"), reading.one(launch_path(node.id)), world.agenda.now)
        assert "adopted" in steps(life) and "ready" in steps(life)
        assert steps(life).index("recorded") < steps(life).index("adopted") < steps(life).index("ready")
        events = {event["event"]: event["text"] for event in explained(world, request)["history"]}
        assert events["adopted"] == f"node {node.id}: a later launcher cycle continued the launch (1 time so far)"


def test_the_life_of_a_deleted_node_is_kept_with_its_tombstone():
    with small_world() as world:
        world.start()
        request = world.request("small")
        assert world.run(60, until=lambda: world.state(request) == "fulfilled")
        world.run(1)
        (node_id,) = world.take(request)
        world.run(20)
        world.give_back([node_id])
        assert world.run(120, until=lambda: not world.nodes())
        world.run(1)
        (path,) = tombstone_paths(node_id, ["east"])
        life = gone_life(reading_of(world).one(path), world.agenda.now)
        assert steps(life) == [*("recorded", "launched", "created", "active", "ready", "in-use", "used", "deleted")]
        assert life["steps"][-1]["text"] == "deleted, because the node is used and no client holds it"
        assert life["server_id"] and life["boot_seconds"] and life["problem"] is None


def test_room_is_expected_by_the_rate_of_deletions():
    with small_world(instances=2) as world:
        world.start()
        for _unused in range(16):
            world.request("small", habit=Habit(work=lambda chance: 20.0))
        last = world.request("small", habit=Habit(work=lambda chance: 20.0))
        assert "fewer than 5 nodes" in waiting(world, last)["expected"]
        assert world.run(600, until=lambda: explained(world, last)["expected_seconds"] is not None), explained(
            world, last
        )
        told = explained(world, last)
        assert "of east/main were deleted within" in told["expected"]
        began = world.agenda.now
        assert world.run(1200, until=lambda: world.state(last) is None or world.state(last) == "fulfilled")
        assert 0.5 < told["expected_seconds"] / (world.agenda.now - began) < 2.0


def waiting(world: World, request: str) -> dict[str, Any]:
    """The explanation, once the request waits for room."""
    assert world.run(60, until=lambda: (explained(world, request)["waits_for"] or "").startswith("1 instance needed"))
    return explained(world, request)


def test_each_pool_says_why_also_the_one_that_can_never_serve_it_and_the_one_whose_cloud_is_away():
    pools = {
        name: {"name": "main", "labels": [label("small")], "max-servers": most}
        for name, most in (("east", 2), ("west", 1), ("north", 9))
    }
    documents = site(*(provider_document(name, pool) for name, pool in pools.items()))
    with World(documents, quota={name: {"instances": 9} for name in pools}, lag=0.02) as world:
        world.fault("north")
        world.start()
        world.request("small", "small")
        request = world.request("small", "small")
        told = {}

        def all_have_spoken() -> bool:
            told.update({pool["pool"]: pool["code"] for pool in explained(world, request)["pools"]})
            return "no-room" in told.values()

        assert world.run(120, until=all_have_spoken)
        assert told == {"east/main": "no-room", "west/main": "too-large-for-pool", "north/main": "provider-trouble"}
