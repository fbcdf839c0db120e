# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Knowledge of what a cloud offers: what is looked up once, and what is forgotten after a refusal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.addresses import (
    FloatingIpTarget,
    NetworkRoles,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.facts import Fact
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.knowledge import Kept, Knowledge
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Network
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Pool, PoolLabel
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudNotFound, CloudUnavailable

NO_ROUTER = CloudNotFound("x", status=404, error_type="ExternalGatewayForFloatingIPNotFound")


def known(client: Any = None) -> Knowledge:
    def fact(what: str, read: Any, max_age: float, *, heeded: bool = True) -> Fact[Any]:
        nothing: Any = None
        return Fact(what, read, nothing, nothing, max_age, lambda error: None, told=heeded)

    return Knowledge("east", lambda: client, lambda: 1000.0, fact)


def test_what_was_looked_up_holds_until_something_changes():
    knowledge, looks = known(SimpleNamespace(private=False, roles=NetworkRoles())), []
    pool, label = Pool("main"), PoolLabel("small")

    def look() -> list[str]:
        looks.append(1)
        return ["nothing"]

    for _unused in range(2):
        assert knowledge.look(pool, label).once("what", look) == ["nothing"]
    assert len(looks) == 1
    knowledge.flavors.value = []
    knowledge.look(pool, label).once("what", look)
    assert len(looks) == 2
    knowledge.look(pool, replace(label)).once("what", look)
    assert len(looks) == 3


def test_a_result_is_kept_until_what_it_was_made_of_was_replaced_even_by_its_equal():
    kept, first, second = Kept(), [1], [1]
    assert kept.once("sum", (first,), lambda: sum(first)) == 1
    first.append(2)
    assert kept.once("sum", (first,), lambda: sum(first)) == 1
    assert kept.once("length", (first,), lambda: len(first)) == 2
    assert kept.once("sum", (second, first), lambda: sum(second) + sum(first)) == 4
    assert kept.once("sum", (second, first), lambda: 0) == 4


def test_whether_a_floating_ip_is_needed_and_can_be_had_follows_networks_client_and_dead_ends():
    roles = NetworkRoles()
    client = SimpleNamespace(private=False, roles=roles)
    knowledge, pool, label = known(client), Pool("main", networks=("private",)), PoolLabel("small")
    private, public = Network("net-1", "private"), Network("net-2", "public", external=True)

    def seen(now: float = 0.0) -> tuple[bool, Sequence[str]]:
        return knowledge.floats(pool, label), knowledge.floating_problems(pool, label, now)

    assert seen() == (False, [])
    knowledge.networks.value = [private, public]
    assert seen() == seen() == (True, [])
    knowledge.dead_ends.learn(FloatingIpTarget(public.id, "port", "10.0.0.5", private.id), NO_ROUTER, 5.0)
    needed, problems = seen(6.0)
    assert needed and "no router connects them" in problems[0]
    knowledge.dead_ends.forget()
    assert seen(7.0) == (True, [])
    client.roles = NetworkRoles(nat_source="elsewhere")
    assert "nat_source" in seen()[1][0]
    client.private = True
    assert seen() == (False, [])
    client.private, client.roles = False, roles
    knowledge.networks.value = [private]
    assert seen()[0] is False


def test_an_image_is_one_fact():
    knowledge = known()
    assert knowledge.image("debian") is knowledge.image("debian")
    assert knowledge.image("debian") in knowledge.facts


def test_after_a_refusal_names_are_asked_for_again_and_zones_for_launches_are_not():
    knowledge = known()
    for fact in (*knowledge.facts, *knowledge.names):
        fact.asked_at = 5.0
    knowledge.forget_names()
    assert knowledge.flavors.asked_at is knowledge.keypairs.asked_at is None
    assert knowledge.zones.asked_at == 5.0


def test_a_nova_that_shows_no_zone_any_more_is_in_trouble():
    zones = ["az1"]
    client = SimpleNamespace(availability_zones=lambda every=False: list(zones))
    knowledge = known(client)
    assert knowledge.zones.read() == ["az1"]
    knowledge.zones.value = ["az1"]
    zones.clear()
    with pytest.raises(CloudUnavailable):
        knowledge.zones.read()


def test_how_well_the_api_is_is_told_by_facts_and_not_by_names():
    knowledge = known()
    assert all(fact.told for fact in knowledge.facts)
    assert not any(fact.told for fact in knowledge.names)
