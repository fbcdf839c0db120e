# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a proxy or a firewall before nova forbids is told as that; no account is blamed and no request fails for it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudNotFound, CloudRefused
from tests.support.owner_case import CREATE, PAGE, TENANT, blocked, creates, guard, most_within, served
from tests.support.world import Cycle, Habit, World, label, one_provider, provider_document, site

MOST = 6
"""Refused calls in two minutes."""


def tenants(*names: str) -> dict[str, Any]:
    labels = [label(name, name, **TENANT) for name in names]
    return site(provider_document("east", {"name": "main", "labels": labels}))


def told(cycle: Cycle, words: str) -> bool:
    return any(words in line for _when, line in cycle.lines)


@pytest.mark.parametrize("body", [PAGE, "RBAC: access denied", ""], ids=["page", "text", "nothing"])
@pytest.mark.parametrize("flavors", [("small",), ("small", "medium", "large")], ids=["one label", "three labels"])
def test_a_firewall_that_forbids_all_creates_makes_wait_and_is_told(flavors: tuple[str, ...], body: str):
    with World(tenants(*flavors)) as world:
        fault = world.fault("east", CREATE, error=lambda: blocked(body=body))
        cycle = world.start()
        requests = [world.request(name, tenant_name=f"t{number}") for number in range(2) for name in flavors]
        world.run(1200)
        assert "failed" not in {world.state(request) for request in requests}
        assert most_within(creates(cycle)[len(requests) :], 120.0) <= MOST
        assert told(cycle, "so not by nova but by what stands before it") and told(cycle, "[owner: cloud]")
        assert not told(cycle, "right to create") and not told(cycle, "[owner: account]")
        waits = [world.store.own.read(f"waits/{request}") for request in requests]
        assert {wait["owner"] for wait in waits if wait is not None} == {"cloud"}
        fault.left = 0
        assert world.run(300, until=lambda: all(served(world, request)() for request in requests))


def test_what_it_forbids_of_one_tenant_is_asked_for_rarely_and_keeps_no_other_waiting():
    with World(tenants("small")) as world:
        refused: list[float] = []

        def refuse(spec: Any) -> Any:
            if spec.metadata["tenant"] != "script":
                return None
            refused.append(world.agenda.now)
            return blocked()

        guard(world, refuse)
        cycle = world.start()
        bad = world.request("small", tenant_name="script")
        for _unused in range(30):
            world.run(20)
            good = world.request("small", tenant_name="good", habit=Habit(work=lambda chance: 5.0))
            assert world.run(40, until=served(world, good))
        world.run(600)
        assert world.state(bad) != "failed"
        assert world.store.own.read(f"waits/{bad}")["owner"] == "cloud"
        assert len(refused) > 3 and most_within(refused, 120.0) <= MOST
        assert not told(cycle, "frozen")


def test_a_label_whose_user_data_it_forbids_goes_to_a_provider_without_it():
    pools = {"name": "main", "labels": [label("small")]}
    document = site(provider_document("east", {**pools, "priority": 1}), provider_document("west", pools))
    with World(document) as world:
        world.fault("east", CREATE, error=blocked)
        cycle = world.start()
        request = world.request("small")
        assert world.run(60, until=served(world, request))
        east = next(client for client in cycle.clients if client.provider == "east")
        assert [kind for _when, kind in east.calls].count(CREATE) <= 2, "before the third try in the same place"


def forbidden() -> CloudRefused:
    text = "provider east: GET /ports was answered with 403: rule:get_port is disallowed by policy"
    return CloudRefused(text, provider="east", call="GET /ports", status=403, error_type="PolicyNotAuthorized")


def missing() -> CloudNotFound:
    text = "provider east: GET /ports was answered with 404: The resource could not be found."
    return CloudNotFound(text, provider="east", call="GET /ports", status=404)


@pytest.mark.parametrize(
    ("refusal", "whose", "words"),
    [
        (forbidden, "account", "neutron forbids this call to the account: allow the account to call it"),
        (missing, "cloud", "GET /ports was answered with 404"),
    ],
)
def test_a_server_waits_for_its_address_while_neutron_refuses_the_list_of_ports(refusal: Any, whose: str, words: str):
    with World(one_provider(), clouds={"east": {"direct": False}}) as world:
        fault = world.fault("east", "GET /ports", error=refusal)
        cycle = world.start()
        requests = [world.request("small") for _unused in range(3)]
        world.run(900)
        made = len(creates(cycle))
        assert made <= 3 and told(cycle, words) and not told(cycle, "right to create")
        waits = [world.store.own.read(f"waits/{request}") for request in requests]
        assert {wait["owner"] for wait in waits} == {whose}
        assert any("GET /ports" in wait["text"] for wait in waits)
        fault.left = 0
        assert world.run(240, until=lambda: all(served(world, request)() for request in requests))
        assert len(creates(cycle)) == 3, "no server is thrown away for it"
