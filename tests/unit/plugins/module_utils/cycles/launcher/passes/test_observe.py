# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nodes use, summed up for the plan, and the look itself."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.context import Context
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.ledger import size_of, take_stock
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes import launcher_pass
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes.observe import (
    InHand,
    OpenRequests,
    observe,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Resources
from tests.support.world import Habit, World, one_provider


def node(key: str, state: str = "ready", **more) -> Node:
    values = {"provider": "east", "pool": "main", "resources": {"instances": 1, "cores": 2, "ram": 1024}, **more}
    return Node(id=key, state=state, type=["small"], **values)


@pytest.mark.parametrize(
    ("resources", "size"),
    [
        ({"instances": 1, "cores": 2, "ram": 1024}, {"instances": 1, "cores": 2, "ram": 1024, "ports": 1}),
        (None, {"instances": 1, "ports": 1}),
        ({}, {"instances": 1, "ports": 1}),
        ({"cores": "many", "ram": None}, {"instances": 1, "ports": 1}),
        ({"ports": 2}, {"instances": 1, "ports": 2}),
    ],
)
def test_the_size_of_a_node_is_what_its_record_says(resources, size):
    assert size_of(node("1", resources=resources)) == Resources(size)


def test_a_floating_ip_counts():
    assert size_of(node("1", public_ipv4="203.0.113.1", private_ipv4="10.0.0.1"))["floating-ips"] == 1
    assert size_of(node("1", public_ipv4="203.0.113.1", private_ipv4="203.0.113.1"))["floating-ips"] == 0


def test_every_node_counts_whatever_its_state_and_whatever_pool_it_names():
    states = ["init", "building", "ready", "in-use", "used", "hold", "deleting", "failed", "aborted", "deleted"]
    ledger = take_stock([node(str(number), state) for number, state in enumerate(states)] + [node("x", pool="gone")])
    assert ledger.by_provider["east"]["instances"] == 11
    assert ledger.by_pool["east", "main"]["instances"] == 10
    assert ledger.by_pool["east", "gone"]["instances"] == 1
    assert ledger.by_provider["west"] == Resources()


def test_what_goes_is_room_to_come():
    ledger = take_stock([node("1", "used"), node("2", "deleting"), node("3", "failed"), node("4", "in-use")])
    assert ledger.freeing["east"]["cores"] == 6 and ledger.freeing_in_pool["east", "main"]["cores"] == 6


def test_only_nodes_with_a_server_are_in_the_cloud():
    ledger = take_stock([node("1", "building"), node("2", external_id="uuid")])
    assert ledger.in_cloud["east"]["instances"] == 1


@pytest.mark.parametrize(
    ("state", "allocated_to", "counts"),
    [
        ("in-use", None, True),
        ("hold", None, True),
        ("used", None, True),
        ("ready", "100-1", True),
        ("building", "100-1", True),
        ("ready", None, False),
        ("building", None, False),
    ],
)
def test_a_tenant_pays_for_what_it_has_not_for_what_it_once_asked_for(state, allocated_to, counts):
    ledger = take_stock([node("1", state, tenant_name="t", allocated_to=allocated_to)])
    assert ledger.by_tenant["t"]["instances"] == int(counts)


def test_zones_count_nodes_that_stay():
    ledger = take_stock([node("1", az="z1"), node("2", az="z1"), node("3", "used", az="z2"), node("4")])
    assert dict(ledger.zones["east", "main"]) == {"z1": 2}


def _state_of(world: World, context: Context, parts: Any) -> list[str]:
    """Everything that a look must leave as it is: what was written, asked for, and is remembered."""
    actors = context.actors.values()
    facts = [fact for actor in actors for fact in (*actor._facts, *actor.known.names)]
    memories = [vars(actor.usage) for actor in actors] + [vars(actor.health) for actor in actors]
    windows = [actor.creates.windows for actor in actors]
    return [
        repr([world.keeper.writes, context.account, context.ages._seen, windows]),
        repr([(fact.what, fact.busy, fact.asked_at, fact.begun_at) for fact in facts]),
        repr([{key: value for key, value in memory.items() if not callable(value)} for memory in memories]),
        repr([client.calls for cycle in world.cycles for client in cycle.clients]),
    ]


def test_a_look_writes_nothing_and_asks_for_nothing(monkeypatch):
    looked: list[Any] = []

    def watched(context: Context, gates: Any, *more: Any) -> Any:
        before = _state_of(world, context, gates)
        snapshot = observe(context, gates, *more)
        assert _state_of(world, context, gates) == before
        assert observe(context, gates, *more) == snapshot, "looking again shows the same"
        looked.append(snapshot)
        return snapshot

    monkeypatch.setattr(launcher_pass, "observe", watched)
    with World(one_provider(min_ready={"small": 1}), quota={"east": {"instances": 4}}) as world:
        world.start()
        requests = [world.request("small", habit=Habit(work=lambda chance: 20.0)) for _unused in range(6)]
        world.fault("east", "GET /limits", left=2)
        assert world.run(120, until=lambda: all(request in world.fulfilled for request in requests))
    assert any(snapshot.pools and snapshot.pools[0].offers["small"].not_now for snapshot in looked)
    assert any(snapshot.requests and snapshot.providers["east"].bounds for snapshot in looked)


def test_a_request_is_read_anew_only_when_its_record_or_its_history_is_another_one():
    with World(one_provider()) as world:
        context, requests = world.start().context, OpenRequests()
        record = NodeRequest(id="100-0000000001", node_types=["small"])

        def read(one: NodeRequest, **more: Any) -> Any:
            (found,) = requests.follow(context, [one], InHand(requests=(), launching={}, busy_nodes=(), **more))
            return found

        first = read(record)
        assert read(record) is first
        tried = read(record, tried={record.id: frozenset({"pool"})})
        assert tried.tried == {"pool"} and read(record) == first
        moved = record.clone()
        moved.relative_priority = 7
        assert read(moved).order[1] == 7
        assert requests.follow(context, [moved], InHand(requests=(moved.id,), launching={}, busy_nodes=())) == []
