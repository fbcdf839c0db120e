# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose fault a failure is decides who waits and who fails: nobody pays for somebody else's mistake."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Flavor
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudUnavailable,
)
from tests.support.owner_case import (
    CREATE,
    NO_ADDRESS,
    NO_HOST,
    TENANT,
    creates,
    failed,
    guard,
    most_within,
    refusing,
    served,
)
from tests.support.virtual_cloud import Fate, Machine
from tests.support.world import Habit, World, label, one_provider, provider_document, site

# -- what is used up --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [NO_HOST, NO_ADDRESS, "Insufficient compute resources: Free memory 10 MB < 512 MB."])
def test_what_is_used_up_for_a_minute_fails_nobody(text):
    with World(one_provider()) as world:
        ends = world.agenda.now + 60
        world.clouds["east"].fate = lambda machine: Fate("ERROR", text, 2.0) if world.agenda.now < ends else Fate()
        cycle = world.start()
        requests = [world.request("small") for _unused in range(4)]
        told: dict[str, list[dict[str, Any]]] = {}
        for _unused in range(11):
            world.run(5)
            for request, reason in cycle.account.waiting.items():
                told.setdefault(request, []).append(reason)
        assert set(told) == set(requests)
        frozen = [reason for reasons in told.values() for reason in reasons if reason["code"] == "frozen"]
        assert frozen and {reason["owner"] for reason in frozen} == {"capacity"}
        assert all(text.strip()[:40] in reason["text"] for reason in frozen)
        assert world.run(200, until=lambda: all(request in world.fulfilled for request in requests))
        assert most_within(creates(cycle), 120.0) <= 6 + 4
        assert world.store.own.get("breakers/east") in (None, {})


def test_what_is_used_up_for_one_flavor_for_ever_waits_and_touches_no_other_flavor():
    with World(one_provider()) as world:
        world.clouds["east"].fate = lambda one: Fate("ERROR", NO_HOST, 2.0) if one.flavor.name == "large" else Fate()
        cycle = world.start()
        stuck = [world.request("large") for _unused in range(3)]
        waits = []
        for _unused in range(60):
            request = world.request("small", habit=Habit(work=lambda chance: 5.0))
            assert world.run(60, until=served(world, request))
            waits.append(world.fulfilled[request] - world.asked[request])
            world.run(60 - waits[-1])
        assert max(waits) < 40
        assert [world.state(request) for request in stuck] == ["requested"] * 3
        ended = [one for one in world.clouds["east"].past if one.fate.status == "ERROR"]
        moments = sorted(one.created for one in ended)
        assert most_within(moments, 120.0) <= 6 and most_within(moments, 3600.0) <= 33
        reason = cycle.account.waiting[stuck[0]]
        assert (reason["code"], reason["owner"]) == ("frozen", "capacity")
        assert "east/main has no hosts for large with debian in zone az" in reason["text"]


def test_hosts_that_are_given_back_are_used_at_once():
    """Bare metal: three machines, and more requests than machines for an hour."""
    with World(one_provider()) as world:
        cloud = world.clouds["east"]

        def fate(one: Machine) -> Fate:
            others = [other for other in cloud.machines.values() if other is not one and other.status != "ERROR"]
            return Fate("ERROR", NO_HOST, 1.0) if len(others) >= 3 else Fate(boot=5.0)

        cloud.fate = fate
        cycle = world.start()
        habit = Habit(work=lambda chance: 100.0)
        requests = [world.request("small", habit=habit) for _unused in range(30)]
        assert world.run(2400, until=lambda: all(request in world.fulfilled for request in requests))
        assert len(creates(cycle)) <= 100


def test_another_zone_goes_first_when_one_has_no_hosts():
    with World(one_provider()) as world:
        cloud = world.clouds["east"]
        assert len(cloud.zones) > 1
        cloud.fate = lambda one: Fate("ERROR", NO_HOST, 2.0) if one.az == cloud.zones[0] else Fate()
        cycle = world.start()
        requests = [world.request("small", "small") for _unused in range(8)]
        assert world.run(150, until=lambda: all(request in world.fulfilled for request in requests))
        assert len(creates(cycle)) <= 16 + 10


def test_another_pool_goes_first_when_one_has_no_hosts():
    document = site(
        provider_document("east", {"name": "main", "priority": 1, "labels": [label("small")]}),
        provider_document("west", {"name": "main", "labels": [label("small")]}),
    )
    with World(document) as world:
        world.clouds["east"].fate = lambda one: Fate("ERROR", NO_HOST, 2.0)
        world.start()
        requests = [world.request("small") for _unused in range(4)]
        assert world.run(90, until=lambda: all(request in world.fulfilled for request in requests))
        assert {node.provider for node in world.nodes("ready")} == {"west"}


def test_an_account_that_may_not_create_servers_waits_and_tells_it():
    with World(one_provider()) as world:
        fault = world.fault("east", CREATE, error=refusing("Policy doesn't allow servers:create to be performed.", 403))
        cycle = world.start()
        requests = [world.request(name) for name in ("small", "medium", "large")]
        world.run(300)
        assert [world.state(request) for request in requests] == ["requested"] * 3
        assert {cycle.account.waiting[request]["owner"] for request in requests} == {"account"}
        assert most_within(creates(cycle), 120.0) <= 6 + 2
        fault.left = 0
        assert world.run(300, until=lambda: all(request in world.fulfilled for request in requests))


# -- a request's or a label's own fault -------------------------------------------------------------------------------


def with_tenants() -> dict[str, Any]:
    labels = [
        label("small", **TENANT),
        label("plain"),
        label("heavy", userdata="x" * 64 * 1024),
    ]
    return site(provider_document("east", {"name": "main", "labels": labels}))


def test_the_long_name_of_a_tenant_costs_no_create_and_touches_nobody():
    with World(with_tenants()) as world:
        cycle = world.start()
        for _unused in range(10):
            bad = world.request("small", tenant_name="t" * 300)
            good = world.request("small", tenant_name="good")
            assert world.run(60, until=served(world, good))
            assert world.run(5, until=failed(world, bad))
        (reason,) = cycle.account.failed[bad]
        assert reason["owner"] == "request" and "metadata tenant has 300 characters" in reason["text"]
        assert len(creates(cycle)) == 10
        assert world.store.own.get("breakers/east") in (None, {})


def test_the_user_data_of_a_label_is_refused_once_for_all_and_a_correction_ends_that():
    with World(with_tenants()) as world:
        cycle = world.start()
        bad = [world.request("heavy") for _unused in range(5)]
        good = world.request("plain")
        assert world.run(60, until=lambda: good in world.fulfilled)
        assert [world.state(request) for request in bad] == ["failed"] * 5
        reasons = [cycle.account.failed[request][0] for request in bad]
        assert {reason["owner"] for reason in reasons} == {"label"}
        assert all("userdata has 87384 characters" in reason["text"] for reason in reasons)
        assert len(creates(cycle)) == 1
        document = with_tenants()
        document["providers"][0]["pools"][0]["labels"][2]["userdata"] = "x"
        world.configure(document)
        world.run(10)
        corrected = world.request("heavy")
        assert world.run(40, until=lambda: corrected in world.fulfilled)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("instance-properties", "Invalid input for field/attribute team. Value: ci. 'ci' is not allowed here"),
        ("dynamic-instance-properties", "Invalid metadata"),
    ],
)
def test_a_correction_of_the_metadata_of_a_label_ends_what_its_mistake_has_caused(option: str, text: str):
    def document(team: str) -> dict[str, Any]:
        made = {**label("small"), option: {"team": team}}
        return site(provider_document("east", {"name": "main", "labels": [made]}))

    with World(document("ci")) as world:
        wrong = refusing(text)
        guard(world, lambda spec: wrong() if spec.metadata.get("team") == "ci" else None)
        cycle = world.start()
        bad = world.request("small")
        assert world.run(60, until=failed(world, bad))
        assert cycle.account.failed[bad][0]["owner"] == "label"
        world.configure(document("qa"))
        world.run(10)
        corrected = world.request("small")
        assert world.run(40, until=served(world, corrected))


@pytest.mark.parametrize("name", ["launch-timeout", "boot-timeout"])
def test_a_correction_of_a_time_out_of_the_provider_ends_the_breaker_that_it_opened(name):
    """A server needs 20 s to boot, or to answer."""

    def document(most: int) -> dict[str, Any]:
        pool = {"name": "main", "labels": [label("small")], "max-servers": 8}
        return site(provider_document("east", pool, **{name: most, "launch-retries": 1}))

    with World(document(5)) as world:
        boot, silent = (20.0, 0.0) if name == "launch-timeout" else (1.0, 20.0)
        world.clouds["east"].fate = lambda machine: Fate(boot=boot, silent=silent)
        world.start()
        bad = [world.request("small") for _unused in range(7)]
        assert world.run(60, until=lambda: all(world.state(request) == "failed" for request in bad))
        assert world.store.own.get("breakers/east")
        world.configure(document(120))
        corrected = world.request("small")
        assert world.run(40, until=lambda: corrected in world.fulfilled)


def test_what_nova_says_of_a_field_that_was_not_checked_before_is_tried_once():
    text = "Invalid input for field/attribute tenant. Value: ab\x01. 'ab\x01' is not valid"
    with World(with_tenants()) as world:
        cycle = world.start()
        world.fault("east", CREATE, left=1, error=refusing(text))
        request = world.request("small", tenant_name="ab")
        other = world.request("small", tenant_name="good")
        assert world.run(60, until=lambda: other in world.fulfilled and world.state(request) == "failed")
        assert cycle.account.failed[request][0]["owner"] == "request"


def test_a_taken_name_costs_one_refused_create():
    with World(one_provider()) as world:
        cloud = world.clouds["east"]
        cloud.unique_names, cloud.taken_names = True, {f"np{number:010d}" for number in range(10)}
        cycle = world.start()
        requests = [world.request("small") for _unused in range(4)]
        assert world.run(60, until=lambda: all(request in world.fulfilled for request in requests))
        assert len(creates(cycle)) == 8
        names = [machine.name for machine in cloud.ours()]
        assert len(set(names)) == 4 and all(name[:12] in cloud.taken_names for name in names)
        assert any("already exists" in line and "[owner: us]" in line for _when, line in cycle.lines)


# -- facts that changed -----------------------------------------------------------------------------------------------


def test_a_flavor_that_was_made_again_under_another_id_costs_few_refused_creates():
    with World(one_provider()) as world:
        cloud = world.clouds["east"]
        cycle = world.start()
        first = world.request("small")
        assert world.run(60, until=lambda: first in world.fulfilled)
        cloud.flavors = (Flavor("new", "small", 1, 1024), *cloud.flavors[1:])
        before = len(creates(cycle))
        requests = [world.request("small") for _unused in range(10)]
        assert world.run(120, until=lambda: all(request in world.fulfilled for request in requests))
        assert len(creates(cycle)) - before <= 10 + 3
        assert world.store.own.get("breakers/east") in (None, {})


def test_a_flavor_that_is_gone_declines_the_request_after_one_create():
    with World(one_provider()) as world:
        cycle = world.start()
        first = world.request("small")
        assert world.run(60, until=lambda: first in world.fulfilled)
        world.clouds["east"].flavors = world.clouds["east"].flavors[1:]
        request = world.request("small")
        assert world.run(60, until=lambda: world.state(request) == "failed")
        (reason,) = cycle.account.failed[request]
        assert (reason["code"], reason["owner"]) == ("label-broken", "label")
        assert len(creates(cycle)) == 2


# -- what no rule knows -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 4])
def test_what_nobody_understands_and_lasts_for_less_than_a_minute_fails_nobody(count):
    with World(one_provider()) as world:
        ends = world.agenda.now + 50
        world.clouds["east"].fate = lambda one: Fate("ERROR", "the flux broke", 1.0) if one.created < ends else Fate()
        world.start()
        requests = [world.request("small") for _unused in range(count)]
        assert world.run(300, until=lambda: all(request in world.fulfilled for request in requests))


def test_what_nobody_understands_fails_a_request_when_others_succeed():
    with World(one_provider()) as world:
        world.clouds["east"].fate = lambda one: Fate("ERROR", "odd", 1.0) if one.flavor.name == "large" else Fate()
        cycle = world.start()
        bad = world.request("large")
        for _unused in range(4):
            world.request("small", habit=Habit(work=lambda chance: 5.0))
            world.run(30)
        assert world.run(120, until=lambda: world.state(bad) == "failed")
        assert cycle.account.failed[bad][0]["owner"] == "image"


def test_what_nobody_understands_and_meets_every_image_and_flavor_is_the_cloud_and_fails_nobody():
    with World(one_provider()) as world:
        ends = world.agenda.now + 900
        world.clouds["east"].fate = lambda one: Fate("ERROR", "odd", 1.0) if one.created < ends else Fate()
        world.start()
        requests = [world.request(name) for name in ("small", "medium", "large") for _unused in range(2)]
        world.run(880)
        assert "failed" not in {world.state(request) for request in requests}
        assert world.run(1200, until=lambda: all(request in world.fulfilled for request in requests))


def test_what_fails_twice_in_one_pool_is_tried_in_another_before_the_third_time():
    document = site(
        provider_document("east", {"name": "main", "priority": 1, "labels": [label("small")]}),
        provider_document("west", {"name": "main", "labels": [label("small")]}),
    )
    with World(document) as world:
        world.clouds["east"].fate = lambda one: Fate("ERROR", "odd", 1.0)
        cycle = world.start()
        request = world.request("small", "small")
        assert world.run(90, until=lambda: request in world.fulfilled)
        assert {node.provider for node in world.nodes("ready")} == {"west"}
        east = [client for client in cycle.clients if client.provider == "east"]
        assert sum(1 for client in east for _when, kind in client.calls if kind == CREATE) <= 5


def test_a_set_with_a_node_that_is_up_moves_before_the_third_try_when_another_pool_has_room():
    document = site(
        provider_document("east", {"name": "main", "priority": 1, "labels": [label("small")]}),
        provider_document("west", {"name": "main", "labels": [label("small")]}),
    )
    with World(document) as world:
        cloud = world.clouds["east"]

        def fate(one: Machine) -> Fate:
            others = [other for other in cloud.machines.values() if other is not one and other.status != "ERROR"]
            return Fate("ERROR", NO_HOST, 1.0) if others else Fate(boot=5.0)

        cloud.fate = fate
        cycle = world.start()
        request = world.request("small", "small")
        assert world.run(200, until=served(world, request))
        east = [client for client in cycle.clients if client.provider == "east"]
        assert sum(1 for client in east for _when, kind in client.calls if kind == CREATE) <= 3
        ready = world.nodes("ready")
        assert [node.provider for node in ready if node.allocated_to] == ["west", "west"]
        assert [node.provider for node in ready if not node.allocated_to] == ["east"], "a spare for the next request"


def test_a_set_that_fails_twice_in_one_zone_is_tried_in_another_as_a_whole():
    with World(one_provider()) as world:
        cloud = world.clouds["east"]
        assert len(cloud.zones) > 1
        bad = cloud.zones[0]
        cloud.fate = lambda one: Fate("ERROR", "odd", 1.0) if one.az == bad else Fate()
        cycle = world.start()
        request = world.request("small", "small")
        assert world.run(120, until=served(world, request))
        assert {node.az for node in world.nodes("ready")} == set(cloud.zones) - {bad}
        assert len(creates(cycle)) <= 7, (
            "two that failed twice, one of which goes on as a spare, and the set in its new zone"
        )


def breaking(world: World, flavor: str) -> None:
    """Have nova answer each create with this flavor with 500."""
    cloud = world.clouds["east"]
    create = cloud.create

    def broken(spec: Any) -> str:
        if any(item.id == spec.flavor_id and item.name == flavor for item in cloud.flavors):
            raise CloudUnavailable("Unexpected API Error", call=CREATE, status=500, unclear=True)
        return create(spec)

    cloud.create = broken  # type: ignore[method-assign]


def test_a_create_over_which_nova_always_breaks_fails_in_the_end_if_others_are_served():
    with World(one_provider()) as world:
        breaking(world, "large")
        cycle = world.start()
        bad, good = world.request("large"), []
        for _unused in range(45):
            good.append(world.request("small", habit=Habit(work=lambda chance: 10.0)))
            world.run(20)
        assert world.run(300, until=failed(world, bad))
        assert world.run(40, until=lambda: all(request in world.fulfilled for request in good))
        (reason,) = [one for rows in cycle.account.failed.values() for one in rows]
        assert "Unexpected API Error" in reason["text"] and "[owner: label]" in reason["text"], reason
        assert len(creates(cycle)) - len(good) <= 40


def test_nobody_fails_while_nova_breaks_over_all_creates():
    with World(one_provider()) as world:
        breaking(world, "large")
        world.start()
        bad = [world.request("large") for _unused in range(3)]
        world.run(1500)
        assert "failed" not in {world.state(request) for request in bad}


def test_attempts_are_told_apart_by_growing_pauses():
    with World(one_provider()) as world:
        world.clouds["east"].fate = lambda one: Fate("ERROR", "odd", 1.0)
        cycle = world.start()
        request = world.request("small")
        assert world.run(1500, until=lambda: world.state(request) == "failed")
        moments = creates(cycle)
        assert moments[-1] - moments[0] >= 600 and len(moments) <= 14
        assert all(after - before >= 1.0 for before, after in pairwise(moments))
        assert cycle.account.failed[request][0]["owner"] == "image"
