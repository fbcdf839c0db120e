# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever stands in ZooKeeper, the launcher goes on: it skips what it cannot use, says so once, and leaves it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.ownership.registry import pool_id
from tests.support.effort import first
from tests.support.odd_documents import NODE, OWN, REQUEST, Spoiler, deep, documents
from tests.support.world import World, one_provider

SITE = "the-site"
POOL = pool_id(SITE, "east", "main")
TOO_DEEP = json.dumps({"state": "requested", "node_types": ["small"], "requestor_data": deep(400)}).encode()


def made(world: World) -> dict[str, dict[str, Any]]:
    """Every kind of document, as it should be."""
    found = documents(world.agenda.now, POOL)
    world.keeper.store_raw(f"{OWN}/site", json.dumps({"id": SITE}).encode())
    for path, document in found.items():
        world.keeper.store_raw(path, json.dumps(document).encode())
    return found


def goes_on(world: World) -> None:
    """A request that is made now is fulfilled."""
    request = world.request("small")
    assert world.run(900, until=lambda: world.state(request) == "fulfilled"), world.cycles[-1].lines


def test_whole_documents_of_every_kind_do_not_hold_it_up():
    with World(one_provider(max_servers=20)) as world:
        made(world)
        cycle = world.start()
        goes_on(world)
        world.run(300)
        assert not [line for _unused, line in cycle.lines if "is ignored and not changed" in line]


@pytest.mark.parametrize("seed", first(3, range(60)))
def test_the_launcher_goes_on_whatever_stands_in_the_tree(seed):
    with World(one_provider(max_servers=20)) as world:
        spoiler = Spoiler(seed)
        found = made(world)
        for path in spoiler.chance.sample(sorted(found), spoiler.chance.choice([1, 2, 5, len(found)])):
            world.keeper.store_raw(path, spoiler.data(found[path]))
        cycle = world.start()
        goes_on(world)
        world.run(100)
        for path in spoiler.chance.sample(sorted(found), 3):
            world.keeper.store_raw(path, spoiler.data(found[path]))
        goes_on(world)
        told = [line for _unused, line in cycle.lines if "is ignored and not changed" in line]
        assert len(told) == len(set(told))
        cycle.kill()
        world.run(20)
        world.start()
        goes_on(world)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        (f"/nodepool/requests/{REQUEST}", TOO_DEEP),
        (f"/nodepool/requests/{REQUEST}", b"{"),
        (f"/nodepool/requests/{REQUEST}", b'{"node_types": ["small"]}'),
        (f"/nodepool/nodes/{NODE}", TOO_DEEP.replace(b'"requested"', b'"used"')),
        (f"/nodepool/nodes/{NODE}", b"[]"),
        (f"/nodepool/nodes/{NODE}", b'{"state": "used", "type": ["small"]}'),
    ],
)
def test_what_belongs_to_others_is_left_as_it_is_and_told_once(path, data):
    with World(one_provider(max_servers=20)) as world:
        world.keeper.store_raw(path, data)
        cycle = world.start()
        goes_on(world)
        goes_on(world)
        world.run(700)
        assert world.keeper.znodes[path].data == data
        told = [line for _unused, line in cycle.lines if line.startswith(f"{path} is ignored and not changed: ")]
        assert len(told) == 1, cycle.lines


def test_a_node_that_an_unreadable_request_has_stays_with_it():
    with World(one_provider(max_servers=20)) as world:
        found = documents(world.agenda.now, POOL)
        node = {**found[f"/nodepool/nodes/{NODE}"], "tenant_name": None}
        world.keeper.store_raw(f"/nodepool/nodes/{NODE}", json.dumps(node).encode())
        world.keeper.store_raw(f"/nodepool/requests/{REQUEST}", TOO_DEEP)
        world.start()
        goes_on(world)
        assert world.store.nodes.read(NODE).allocated_to == REQUEST


@pytest.mark.parametrize("amount", ["1e400", "NaN", "1e308", "-5", str(10**400), "true", '"many"'])
def test_resources_without_bounds_count_as_nothing(amount):
    with World(one_provider(max_servers=20), quota={"east": {"instances": 5, "cores": 50}}) as world:
        node = documents(world.agenda.now, POOL)[f"/nodepool/nodes/{NODE}"]
        text = json.dumps({**node, "resources": {"instances": 1, "cores": "CORES"}}).replace('"CORES"', amount)
        world.keeper.store_raw(f"/nodepool/nodes/{NODE}", text.encode())
        world.start()
        goes_on(world)


def test_a_launch_whose_record_cannot_be_used_is_given_up():
    with World(one_provider(max_servers=20)) as world:
        found = documents(world.agenda.now, POOL)
        node = {**found["/nodepool/nodes/0000000901"], "external_id": None}
        world.keeper.store_raw("/nodepool/nodes/0000000901", json.dumps(node).encode())
        world.keeper.store_raw(f"{OWN}/launches/0000000901", b'{"phase": 7}')
        cycle = world.start()
        assert world.run(300, until=lambda: world.store.nodes.read("0000000901") is None), cycle.lines
        assert any(
            "launches/0000000901 is ignored and not changed: it has no 'node_id'" in line
            for _unused, line in cycle.lines
        )


@pytest.mark.parametrize("data", [b"{}", b"[]", b'{"id": null}', b'{"id": 7}', b'{"id": ""}', b"{"])
def test_a_tree_whose_identity_was_spoilt_gets_another(data):
    with World(one_provider(max_servers=20)) as world:
        world.keeper.store_raw(f"{OWN}/site", data)
        world.start()
        goes_on(world)
        assert len(world.keeper.document(f"{OWN}/site")["id"]) == 32


@pytest.mark.parametrize("ahead", [7200.0, 1e6, 1e9])
def test_what_a_clock_that_was_ahead_has_stored_holds_nothing_up(ahead):
    with World(one_provider(max_servers=20)) as world:
        world.keeper.store_raw(f"{OWN}/site", json.dumps({"id": SITE}).encode())
        found = documents(world.agenda.now + ahead, POOL)
        for path, document in found.items():
            world.keeper.store_raw(path, json.dumps(document).encode())
        cycle = world.start()
        request = world.request("small")
        assert world.run(60, until=lambda: world.state(request) == "fulfilled"), cycle.lines
