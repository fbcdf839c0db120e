# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Creates that are refused by a right or a quota: nobody else waits, and few calls are spent."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.quota import quota_resources
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudQuotaRefused, CloudRefused
from tests.support.owner_case import (
    CREATE,
    NO_HOST,
    TENANT,
    creates,
    failed,
    guard,
    most_within,
    refusing,
    served,
)
from tests.support.virtual_cloud import Fate
from tests.support.world import Habit, World, label, one_provider, provider_document, site


def _with_tenants() -> dict[str, Any]:
    return site(provider_document("east", {"name": "main", "labels": [label("tenants", **TENANT)]}))


FORBIDDEN = refusing("Request blocked", 403)


def test_a_tenant_whose_data_a_proxy_forbids_lets_the_others_be_served():
    with World(_with_tenants()) as world:
        cloud = world.clouds["east"]
        create = cloud.create

        def guarded(spec: Any) -> str:
            if spec.metadata["tenant"] == "bad":
                raise FORBIDDEN()
            return create(spec)

        cloud.create = guarded  # type: ignore[method-assign]
        world.start()
        bad = world.request("tenants", tenant_name="bad")
        world.run(30)
        for _unused in range(10):
            good = world.request("tenants", tenant_name="good", habit=Habit(work=lambda chance: 5.0))
            assert world.run(60, until=served(world, good))
        assert world.run(600, until=failed(world, bad))


@pytest.mark.parametrize("refusal", [FORBIDDEN, refusing("Flavor f2 could not be found.", 404)])
def test_a_flavor_that_the_account_may_not_use_stops_no_other_flavor(refusal):
    with World(one_provider()) as world:
        cloud = world.clouds["east"]
        create = cloud.create

        def guarded(spec: Any) -> str:
            if spec.flavor_id == "f2":
                raise refusal()
            return create(spec)

        cloud.create = guarded  # type: ignore[method-assign]
        cycle = world.start()
        bad = world.request("medium")
        for _unused in range(20):
            good = world.request("small", habit=Habit(work=lambda chance: 5.0))
            assert world.run(60, until=served(world, good))
            world.run(30)
        assert world.state(bad) == "failed"
        assert any("[owner: label]" in line for _when, line in cycle.lines)


def test_creates_that_are_forbidden_for_all_tenants_freeze_the_pool_and_fail_nobody():
    with World(_with_tenants()) as world:
        world.fault("east", CREATE, error=FORBIDDEN)
        cycle = world.start()
        requests = [world.request("tenants", tenant_name=f"tenant-{index}") for index in range(6)]
        world.run(1200)
        states = [world.state(request) for request in requests]
        assert set(states) <= {"requested", "pending"}
        waiting = [cycle.account.waiting[one]["owner"] for one in requests if one in cycle.account.waiting]
        assert len(waiting) >= 5 and set(waiting) == {"account"}
        assert most_within(creates(cycle), 120.0) <= 10


def test_six_requests_whose_creates_are_all_forbidden_cost_six_refusals_in_two_minutes():
    with World(_with_tenants()) as world:
        world.fault("east", CREATE, error=FORBIDDEN)
        cycle = world.start()
        requests = [world.request("tenants", tenant_name=f"tenant-{index}") for index in range(6)]
        world.run(1800)
        assert "failed" not in {world.state(request) for request in requests}
        assert most_within(creates(cycle), 120.0) <= 6
        assert len(creates(cycle)) <= 30


def test_a_lone_forbidden_create_that_lasts_keeps_nobody_else_waiting():
    """For ten minutes nobody else asks, so nothing shows whose fault it is; then others do."""
    with World(one_provider()) as world:
        guard(world, lambda spec: FORBIDDEN() if spec.flavor_id == "f2" else None)
        cycle = world.start()
        bad = world.request("medium")
        world.run(900)
        assert cycle.account.waiting[bad]["owner"] == "account" if bad in cycle.account.waiting else True
        assert len(creates(cycle)) <= 20 and most_within(creates(cycle), 120.0) <= 7
        good = world.request("small")
        assert world.run(40, until=served(world, good))
        assert world.run(300, until=failed(world, bad))


def test_labels_that_are_forbidden_do_not_keep_another_one_from_its_try():
    with World(one_provider()) as world:
        guard(world, lambda spec: FORBIDDEN() if spec.flavor_id in ("f1", "f2") else None)
        cycle = world.start()
        for name in ("small", "medium"):
            for _unused in range(3):
                world.request(name)
        world.run(300)
        good = world.request("large")
        assert world.run(40, until=served(world, good))
        assert most_within(creates(cycle), 120.0) <= 8


def test_a_flavor_with_two_images_waits_for_none_whose_request_is_gone():
    """Each image is tried in its turn, also if nobody asks for the other one any more."""
    labels = [label("one"), {**label("two"), "cloud-image": "fedora"}]
    images = [{"name": "debian"}, {"name": "fedora", "image-name": "debian"}]
    with World(
        site(provider_document("east", {"name": "main", "labels": labels}, **{"cloud-images": images}))
    ) as world:
        ends = world.agenda.now + 100
        world.clouds["east"].fate = lambda one: Fate("ERROR", NO_HOST, 2.0) if one.created < ends else Fate()
        world.start()
        first, second = world.request("one"), world.request("two")
        world.run(90)
        world.store.requests.delete(first)
        assert world.run(200, until=served(world, second))


@pytest.mark.parametrize(
    ("text", "status", "resource"),
    [
        ("Volume quota exceeded", 403, "volumes"),
        (
            "VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for quota 'volumes_ssd'.",
            413,
            "volumes",
        ),
        ("Requested volume or snapshot exceeds allowed gigabytes quota. Requested 20G", 413, "volume-gb"),
        ("Quota exceeded, too many servers in group", 403, "room in other quotas for small with debian"),
        ("Quota exceeded for resources: snapshots", 403, "room in other quotas for small with debian"),
        (
            "Project p is over a limit for [Resource class:CUSTOM_METAL is over limit of 3 due to current usage 3]",
            403,
            "room in other quotas for small with debian",
        ),
    ],
)
def test_what_is_used_up_freezes_what_is_named_and_nothing_else(text, status, resource):
    volumes = {**label("volumes"), "boot-from-volume": True, "volume-size": 20}
    with World(
        site(provider_document("east", {"name": "main", "labels": [volumes, label("plain", "medium")]}))
    ) as world:
        message = f"POST /servers was answered with {status}: {text}"
        named = quota_resources(text)

        def refused(spec: Any) -> Any:
            if not spec.boot_from_volume:
                return None
            return CloudQuotaRefused(message, resources=named, call=CREATE, status=status)

        guard(world, refused)
        cycle = world.start()
        stuck = [world.request("volumes") for _unused in range(4)]
        for _unused in range(10):
            good = world.request("plain", habit=Habit(work=lambda chance: 5.0))
            asked = world.agenda.now
            assert world.run(40, until=served(world, good))
            assert world.agenda.now - asked <= 35
            world.run(20)
        assert {world.state(request) for request in stuck} == {"requested"}
        told = cycle.account.waiting[stuck[0]]
        assert (told["code"], told["owner"], told["resource"]) == ("frozen", "capacity", resource)
        refusals = len(creates(cycle)) - 10
        assert refusals <= 20 and most_within(creates(cycle), 120.0) <= 6 + 4


def test_a_quota_that_the_launch_does_not_need_by_its_figures_is_not_tried_again_and_again():
    with World(one_provider()) as world:
        message = "POST /servers was answered with 403: Volume quota exceeded"
        world.fault(
            "east", CREATE, error=lambda: CloudQuotaRefused(message, resources=["volumes"], call=CREATE, status=403)
        )
        cycle = world.start()
        requests = [world.request("small") for _unused in range(4)]
        world.run(300)
        assert {cycle.account.waiting[one]["resource"] for one in requests} == {
            "room in other quotas for small with debian"
        }
        assert most_within(creates(cycle), 120.0) <= 6


def test_servers_that_fail_for_a_quota_after_they_were_accepted_are_tried_one_by_one():
    gigabytes = (
        "Build of instance 1 aborted: VolumeSizeExceedsAvailableQuota: Requested volume or snapshot exceeds allowed"
        " gigabytes quota. Requested 20G, quota is 100G and 95G has been consumed."
    )
    volumes = {**label("volumes"), "boot-from-volume": True, "volume-size": 20}
    with World(site(provider_document("east", {"name": "main", "labels": [volumes]}))) as world:
        ends = world.agenda.now + 400
        world.clouds["east"].fate = lambda one: Fate("ERROR", gigabytes, 2.0) if one.created < ends else Fate()
        cycle = world.start()
        requests = [world.request("volumes") for _unused in range(4)]
        world.run(390)
        assert {cycle.account.waiting[request]["resource"] for request in requests} == {"volume-gb"}
        assert most_within(creates(cycle), 120.0) <= 6
        assert world.run(300, until=lambda: all(request in world.fulfilled for request in requests))


@pytest.mark.parametrize(
    "refusal",
    [
        refusing("Flavor f1 could not be found.", 404),
        refusing("Invalid key_name provided."),
        refusing("MessagingTimeout: Timed out waiting for a reply to message ID 7"),
        lambda: CloudRefused("POST /servers was answered with 404: 404 page not found", call=CREATE, status=404),
    ],
    ids=["flavor that is shown", "key that is not named", "queue", "proxy"],
)
def test_a_trouble_of_the_cloud_with_one_flavor_costs_few_creates_and_stops_no_other(refusal):
    with World(one_provider()) as world:
        ends = world.agenda.now + 300
        guard(world, lambda spec: refusal() if spec.flavor_id == "f1" and world.agenda.now < ends else None)
        cycle = world.start()
        stuck = [world.request("small") for _unused in range(10)]
        world.run(290)
        assert {world.state(request) for request in stuck} <= {"requested", "pending"}
        assert {cycle.account.waiting[one]["owner"] for one in stuck if one in cycle.account.waiting} == {"cloud"}
        assert most_within(creates(cycle), 120.0) <= 6
        good = world.request("large")
        assert world.run(40, until=served(world, good))
        assert world.run(300, until=lambda: all(request in world.fulfilled for request in stuck))
