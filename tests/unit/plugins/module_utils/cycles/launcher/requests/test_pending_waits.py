# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stored reasons of requests that a launcher works on: told while they are true, and no longer."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudError, CloudRefused
from tests.support.virtual_cloud import Fate, Timing
from tests.support.world import World, label, one_provider, provider_document, site

CREATE = "POST /servers"


def reason(world: World, request: str) -> dict[str, Any]:
    return world.store.own.get(f"waits/{request}") or {}


def sentence(world: World, request: str) -> str:
    """The sentence alone: the digits of a time may be anything."""
    return str(reason(world, request).get("text", ""))


def launch(world: World, request: str) -> dict[str, Any]:
    node = next((node for node in world.nodes() if node.allocated_to == request), None)
    return (world.store.own.get(f"launches/{node.id}") if node is not None else None) or {}


def refused(status: int, text: str) -> CloudError:
    return CloudRefused(f"{CREATE} was answered with {status}: {text}", provider="east", call=CREATE, status=status)


@pytest.mark.parametrize("kind", [CREATE, ""])
@pytest.mark.parametrize("most", [3, 10])
def test_nova_refuses_and_is_back_and_a_minute_later_no_request_tells_the_old_refusal(kind: str, most: int):
    with World(one_provider(max_servers=most)) as world:
        world.start()
        world.run(20)
        fault = world.fault("east", kind)
        requests = [world.request("small") for _unused in range(4)]
        world.run(90)
        pending = [request for request in requests if world.state(request) == "pending"]
        assert pending
        for request in requests:
            told = reason(world, request)
            assert told["code"] == "provider-trouble" and told["owner"] == "cloud" and "503" in told["text"]
            assert told["where"] == "east"
        fault.left = 0
        world.run(60)
        for request in requests:
            assert "503" not in str(reason(world, request)) and "503" not in launch(world, request).get("trouble", "")


def test_a_cloud_that_is_back_but_slow_does_not_leave_the_old_refusal():
    """Requests behind the first creates wait for a reason of a moment, which lasts here."""
    create = [0.5]
    timing = Timing(post=lambda chance: create[0], boot=(5.0, 1.0))
    with World(one_provider(), clouds={"east": {"timing": timing}}, api_timeout=120) as world:
        cycle = world.start()
        world.run(20)
        for _unused in range(10):
            world.request("small")
        world.run(30)
        fault = world.fault("east", CREATE)
        requests = [world.request("small") for _unused in range(30)]
        world.run(60)
        assert all("503" in sentence(world, request) for request in requests)
        fault.left, create[0] = 0, 90.0
        world.run(30)
        assert {document["code"] for document in cycle.account.waiting.values()} == {"starting"}
        world.run(30)
        assert [request for request in requests if "503" in sentence(world, request)] == []


def test_a_request_in_work_at_a_cloud_without_trouble_has_no_stored_reason():
    with World(one_provider()) as world:
        world.start()
        told = []
        world.store.on_change(lambda path: told.append(path) if "/waits/" in path else None)
        requests = [world.request("small") for _unused in range(20)]
        assert world.run(300, until=lambda: all(request in world.fulfilled for request in requests))
        world.run(30)
        assert told == []


def test_the_reason_of_a_request_that_was_served_after_all_is_removed():
    with World(one_provider()) as world:
        world.start()
        world.run(5)
        fault = world.fault("east", CREATE)
        request = world.request("small")
        assert world.run(60, until=lambda: bool(reason(world, request)))
        fault.left = 0
        assert world.run(120, until=lambda: request in world.fulfilled)
        world.run(10)
        assert world.state(request) == "fulfilled" and reason(world, request) == {}


def test_the_next_cycle_removes_what_is_not_true_any_more():
    with World(one_provider()) as world:
        cycle = world.start()
        world.run(5)
        fault = world.fault("east", CREATE)
        request = world.request("small")
        assert world.run(60, until=lambda: bool(reason(world, request)))
        cycle.kill()
        fault.left = 0
        world.clouds["east"].timing = Timing(boot=(300.0, 1.0))
        world.run(30)
        world.start()
        world.run(60)
        assert world.state(request) == "pending" and reason(world, request) == {}


def test_a_create_without_an_answer_is_told_and_forgotten_with_the_answer():
    with World(one_provider()) as world:
        world.start()
        world.run(5)
        world.fault("east", CREATE, left=1, seconds=50.0, fails=False)
        request = world.request("small")
        world.run(30)
        told = reason(world, request)
        assert (told["code"], told["where"], told["owner"]) == ("unanswered", "east/main", "cloud")
        assert world.run(120, until=lambda: launch(world, request)["phase"] == "booting")
        world.run(10)
        assert reason(world, request) == {}


def test_a_server_that_is_long_in_build_is_told_until_it_is_active():
    with World(one_provider()) as world:
        world.clouds["east"].timing = Timing(boot=(400.0, 1.0))
        world.start()
        request = world.request("small")
        world.run(100)
        assert launch(world, request)["phase"] == "booting" and reason(world, request) == {}
        world.run(60)
        told = reason(world, request)
        assert (told["code"], told["where"], told["owner"]) == ("slow-boot", "east/main", "cloud")
        assert f"server {launch(world, request)['server_id']} is not ACTIVE yet" in told["text"]
        assert world.run(600, until=lambda: world.state(request) == "fulfilled")
        world.run(11)
        assert reason(world, request) == {}


def test_an_attempt_that_failed_is_told_until_the_next_one_is_accepted():
    with World(one_provider()) as world:
        fates = iter([Fate("ERROR", "libvirt exploded", 1.0), Fate("ERROR", "libvirt exploded", 1.0)])
        world.clouds["east"].fate = lambda machine: next(fates, Fate())
        world.start()
        request = world.request("small")
        assert world.run(120, until=lambda: launch(world, request).get("attempt") == 2)
        assert launch(world, request)["trouble"] == "libvirt exploded" and launch(world, request)["thrown"] == 1
        assert world.run(600, until=lambda: bool(reason(world, request)))
        told = reason(world, request)
        assert (told["code"], told["owner"]) == ("retrying", "unknown") and "libvirt exploded" in told["text"]
        assert world.run(
            600, until=lambda: launch(world, request)["attempt"] == 3 and not launch(world, request)["trouble"]
        )
        world.run(11)
        assert reason(world, request) == {} and launch(world, request)["thrown"] == 2


def test_what_a_move_gave_up_and_tried_is_kept_with_the_request():
    pools = {"name": "main", "labels": [label("small")]}
    document = site(provider_document("east", {**pools, "priority": 1}), provider_document("west", pools))
    with World(document) as world:
        world.start()
        world.run(5)
        world.clouds["east"].fate = lambda machine: Fate("ERROR", "libvirt exploded", 1.0)
        request = world.request("small")
        assert world.run(600, until=lambda: request in world.fulfilled)
        (moved,) = (world.store.own.get(f"declines/{request}") or {})["taken_back"]
        assert moved["where"] == "east/main" and moved["thrown"] >= 2 and moved["attempts"] >= 2
