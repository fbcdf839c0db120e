# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check mode: the plan is shown and nothing is changed."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudAuthError, CloudUnavailable
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from tests.support.check_mode import check_mode
from tests.support.world import Habit, World, label, one_provider, provider_document, site


def test_the_plan_is_shown_with_reasons_and_only_gets_are_made():
    document = one_provider(max_servers=2, min_ready={"medium": 1})
    with World(document, quota={"east": {"instances": 9}}) as world, check_mode(world) as run:
        requests = [world.request("small", "small"), world.request("small"), world.request("unknown")]
        result = run()
        plan = result["plan"]
        assert result["changed"] and result["ended"] == "check" and result["acted_for"] == []
        assert [item["request"] for item in plan["admit"]] == [requests[0]]
        assert plan["admit"][0]["pool"] == "east/main"
        assert plan["admit"][0]["slots"] == [{"label": "small", "node": None}] * 2
        assert [(item["request"], item["reason"]["code"]) for item in plan["wait"]] == [(requests[1], "no-room")]
        assert [(item["request"], item["fail"]) for item in plan["decline"]] == [(requests[2], True)]
        assert plan["spare"] == []
        lines = result["diff"]["after"].splitlines()
        assert any(requests[0] in line and "launch small, launch small in east/main" in line for line in lines)
        assert any(requests[1] in line and "wait" in line for line in lines)
        assert set(result["api_calls"]) == {"east"}
        assert all(kind.startswith("GET") for kind in result["api_calls"]["east"])
        assert world.clouds["east"].machines == {} and world.nodes() == []
        assert [world.state(request) for request in requests] == ["requested"] * 3


def test_nothing_to_do_is_no_change():
    with World(one_provider()) as world, check_mode(world) as run:
        result = run()
        assert not result["changed"] and result["diff"]["after"] == ""


def test_deletions_and_what_was_left_behind_are_shown():
    with World(one_provider()) as world, check_mode(world) as run:
        node = Node(provider="east", pool="main", type=["small"], state=NodeState.USED)
        world.store.nodes.create(node)
        request = world.request("small")
        cycle = world.start()
        assert world.run(10, until=lambda: world.state(request) == "pending")
        cycle.kill()
        world.run(30)
        result = run()
        lines = result["diff"]["after"]
        assert f"request {request}: continue it (its launcher has ended)" in lines
        assert result["changed"]


def test_a_provider_that_another_cycle_acts_for_is_named():
    with World(one_provider()) as world, check_mode(world) as run:
        world.start()
        world.run(1)
        assert run()["acting_elsewhere"] == ["east"]


def test_a_cloud_that_does_not_answer_is_the_reason():
    with World(one_provider()) as world, check_mode(world) as run:
        world.fault("east", hang=True)
        request = world.request("small")
        began = world.agenda.now
        result = run()
        assert world.agenda.now - began <= 61.0
        (wait,) = result["plan"]["wait"]
        assert wait["request"] == request
        assert wait["reason"]["code"] in ("provider-trouble", "facts-unread")


@pytest.mark.parametrize("count", [1, 3])
def test_what_check_mode_plans_is_what_the_cycle_does(count):
    with World(one_provider(max_servers=2)) as world, check_mode(world) as run:
        requests = [world.request("small", habit=Habit()) for _unused in range(count)]
        planned = {item["request"] for item in run()["plan"]["admit"]}
        world.start()
        world.run(5)
        assert {request for request in requests if world.state(request) == "pending"} == planned


def test_all_that_fits_is_shown_as_served_and_the_gentle_start_beside_it():
    """A cycle begins with few creates at once; that is no reason to tell anybody that a request would wait."""
    with World(one_provider(), quota={"east": {"instances": 9}}) as world, check_mode(world) as run:
        requests = [world.request("small") for _unused in range(12)]
        result = run()
        plan = result["plan"]
        assert [item["request"] for item in plan["admit"]] == requests[:9]
        assert [(item["request"], item["reason"]["code"]) for item in plan["wait"]] == [
            (request, "no-room") for request in requests[9:]
        ]
        assert "pool east/main: begins with 2 creates at once" in result["diff"]["after"]
        assert plan["pace"] == [{"pool": "east/main", "launches": 9, "creates_at_once": 2}]


def test_few_launches_begin_at_once_and_nothing_is_said_of_the_pace():
    with World(one_provider()) as world, check_mode(world) as run:
        world.request("small")
        result = run()
        assert result["plan"]["pace"] == [] and "begins with" not in result["diff"]["after"]


def two_providers():
    """east and west, each with a pool that offers small."""
    return site(*(provider_document(name, {"name": "main", "labels": [label("small")]}) for name in ("east", "west")))


def test_every_provider_is_told_reached_or_not_and_why():
    with World(two_providers()) as world, check_mode(world) as run:
        world.log_in_by("west", "")
        result = run()
        assert result["providers"]["east"] == {"reached": True}
        assert result["providers"]["west"] == {"reached": False, "text": "clouds.yaml has no entry 'west'"}
        assert result["unusable"] == ["clouds.yaml has no entry 'west'"]
        assert "cannot be used: clouds.yaml has no entry 'west'" in result["diff"]["after"]


def test_a_refused_login_is_told_once_and_the_plan_for_the_others_stands():
    refused = CloudAuthError("provider west: the cloud does not accept the login (401)", provider="west", status=401)
    with World(two_providers()) as world, check_mode(world) as run:
        world.fault("west", error=lambda: refused)
        request = world.request("small")
        result = run()
        assert result["unusable"] == [str(refused)]
        assert [item["request"] for item in result["plan"]["admit"]] == [request]


def test_no_provider_can_be_used_and_the_plan_is_told_all_the_same():
    with World(one_provider()) as world, check_mode(world) as run:
        world.log_in_by("east", "")
        request = world.request("small")
        result = run()
        assert result["unusable"] == ["clouds.yaml has no entry 'east'"]
        assert [item["request"] for item in result["plan"]["wait"]] == [request]
        assert result["plan"]["decline"] == []


def test_an_api_that_fails_once_is_asked_a_second_time():
    with World(one_provider()) as world, check_mode(world) as run:
        world.fault("east", "GET /flavors/detail", left=1)
        assert run()["unusable"] == []


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("GET /flavors/detail", CloudUnavailable("the wire is cut", call="GET /flavors/detail")),
        ("GET /images", CloudAuthError("the catalog has no glance", call="GET /images")),
        ("GET /limits", CloudUnavailable("its answer is not JSON", call="GET /limits", status=200)),
    ],
)
def test_what_is_not_had_is_the_reason_to_wait(kind, error):
    with World(one_provider()) as world, check_mode(world) as run:
        world.fault("east", kind, error=lambda: error)
        world.request("small")
        (wait,) = run()["plan"]["wait"]
        assert wait["reason"]["code"] == "provider-trouble" and str(error) in wait["reason"]["text"]


def test_an_api_that_goes_on_failing_cannot_be_used():
    with World(one_provider()) as world, check_mode(world) as run:
        world.fault("east", "GET /limits")
        (why,) = run()["unusable"]
        assert "503" in why


def test_each_server_list_is_asked_once_whatever_waits():
    with World(two_providers(), quota={"east": {"instances": 1}}) as world, check_mode(world) as run:
        for _unused in range(3):
            world.request("small")
        calls = run()["api_calls"]
        assert [calls[name]["GET /servers/detail"] for name in ("east", "west")] == [{"200": 1}] * 2


def test_a_wrong_image_is_told_beside_another_miss():
    pool = {"name": "main", "labels": [{**label("small", "huge"), "cloud-image": "gone"}]}
    document = site({**provider_document("east", pool), "cloud-images": [{"name": "gone"}]})
    with World(document) as world, check_mode(world) as run:
        (text,) = run()["unusable"]
        assert "no flavor" in text and "no image named 'gone'" in text
