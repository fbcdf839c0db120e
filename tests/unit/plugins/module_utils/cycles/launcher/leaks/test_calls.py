# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last look before a deletion, and what sweeping keeps in the tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.sweep_memory import (
    SweepMemory,
    add_tombstone,
    expire_tombstones,
    read_tombstones,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.leaks.calls import (
    clear_znode,
    may_go,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Image, Port, Server, Volume
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Upload, UploadState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import Launch
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.tombstone import (
    KEPT_SECONDS,
    MOST,
    Tombstone,
    Tombstones,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.sweeping.candidate import Kind, LeakCandidate, Ownership
from ansible_collections.stackci.nodepool.plugins.module_utils.sweeping.find import Known, Seen, find
from ansible_collections.stackci.nodepool.plugins.module_utils.sweeping.judge import Sighting
from tests.support.memory_zookeeper import MemoryStore, MemoryZooKeeper
from tests.support.virtual_time import Agenda

NOW = 1_800_000_000.0
NODE = "0000000000"


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    opened = MemoryZooKeeper(Agenda()).store()
    yield opened
    opened.close()


def leaked(kind: str, ident: str = "x", **figures: str) -> LeakCandidate:
    return LeakCandidate(kind, ident, Ownership.LEAKED, "node-unknown", figures=figures, node_id=NODE)


def add_node(store: MemoryStore, state: str, external_id: str = "s1") -> None:
    node = Node(provider="east", type=["small"], external_id=external_id)
    node.set_state(state, NOW)
    store.nodes.create(node)
    assert node.id == NODE


@pytest.mark.parametrize("kind", [Kind.SERVER, Kind.FLOATING_IP, Kind.VOLUME, Kind.LAUNCH])
def test_what_a_vanished_node_had_may_go(store, kind):
    assert may_go(store, leaked(kind))


@pytest.mark.parametrize("kind", [Kind.SERVER, Kind.FLOATING_IP, Kind.VOLUME, Kind.PORT, Kind.LAUNCH])
def test_of_a_record_that_cannot_be_read_nothing_goes(store, kind):
    store.session.create(f"/nodepool/nodes/{NODE}", b"{broken", parents=True)
    assert not may_go(store, leaked(kind, server="s9"))


@pytest.mark.parametrize("state", sorted(NodeState.ALL))
def test_only_idle_nodes_give_up_a_second_server(store, state):
    add_node(store, state)
    assert may_go(store, leaked(Kind.SERVER, "s2")) == (state == NodeState.READY)
    assert not may_go(store, leaked(Kind.SERVER, "s1"))
    assert not may_go(store, leaked(Kind.VOLUME))


def test_a_node_that_was_locked_meanwhile_keeps_everything(store):
    add_node(store, NodeState.READY)
    held = store.nodes.lock(NODE)
    assert held is not None
    assert not may_go(store, leaked(Kind.SERVER, "s2"))
    held.release()
    assert may_go(store, leaked(Kind.SERVER, "s2"))


def test_a_port_goes_with_its_server_and_not_with_its_node(store):
    add_node(store, NodeState.IN_USE)
    assert may_go(store, leaked(Kind.PORT, "p", server="s0"))
    assert not may_go(store, leaked(Kind.PORT, "p", server="s1"))


def test_things_without_a_node_may_go(store):
    assert may_go(store, LeakCandidate(Kind.IMAGE, "i", Ownership.LEAKED, "upload-unknown"))


def test_a_lease_that_was_made_anew_is_kept(store):
    document: dict[str, Any] = {"name": "web", "expires_at": NOW + 10, "sets": []}
    store.own.put("leases/web", document)
    candidate = LeakCandidate(Kind.DOCUMENT, "leases/web", Ownership.LEAKED, "lease-over")
    assert not clear_znode(store, candidate, NOW)
    assert clear_znode(store, candidate, NOW + 11)
    assert store.own.get("leases/web") is None


def test_a_node_that_has_got_data_is_not_empty_any_more(store):
    add_node(store, NodeState.INIT)
    assert not clear_znode(store, LeakCandidate(Kind.EMPTY_NODE, NODE, Ownership.LEAKED, "empty"), NOW)
    assert store.nodes.get(NODE) is not None


# -- what is found ---------------------------------------------------------------------------------------------------


def test_what_belongs_to_a_server_that_is_listed_stays_whatever_a_tombstone_says():
    """A tombstone is written when the server no longer exists; if it shows up all the same, it comes first."""
    graves = Tombstones([Tombstone(NODE, NOW, servers=["s1"], volumes=["v1", "v2"])])
    known = Known("east", tombstones=lambda: graves)
    there = {"s1": Server("s1", "np", "ACTIVE"), "s2": Server("s2", "web", "ACTIVE", volume_ids=("v2",))}
    port = Port("p1", "s1", "n", status="DOWN")
    volumes = [Volume("v1", "", "in-use", ("s1",)), Volume("v2", "", "in-use", ("s2",))]
    assert [
        candidate for candidate in find(Seen(there, [port], None, volumes), known) if candidate.ownership == "leaked"
    ] == []
    assert {candidate.id for candidate in find(Seen({}, [port], None, volumes), known)} == {"p1", "v1", "v2"}


BUILD = "b" * 32


def test_an_image_whose_upload_goes_on_stays():
    upload = Upload(
        build_id=BUILD, provider="east", path="/x/0000000001", state=UploadState.UPLOADING, external_id="old"
    )
    properties = {"nodepool_build_id": BUILD, "nodepool_upload_id": "0000000001", "nodepool_provider_name": "east"}
    known = Known("east", uploads=lambda: [upload])
    seen = Seen(images=[Image("new", "x", "queued", properties)])
    assert find(seen, known) == []
    upload.state = UploadState.READY
    assert [candidate.id for candidate in find(seen, known)] == ["new"]


# -- what is kept ----------------------------------------------------------------------------------------------------


def test_a_tombstone_gathers_all_attempts(store):
    first = Launch(NODE, "my cloud", "main", "small", mark="m2", server_id="s1", floating_ip_id="f1", superseded=["m1"])
    second = Launch(NODE, "my cloud", "main", "small", mark="m3", server_id="s2", volume_ids=["v1"])
    for launch in (first, second, second):
        add_tombstone(store, NODE, "my cloud", launch, "s2", NOW)
    graves = read_tombstones(store, "my cloud")
    assert set(graves.servers) == {"s1", "s2"}
    assert set(graves.marks) == {"m1", "m2", "m3"}
    assert (set(graves.floating_ips), set(graves.volumes)) == ({"f1"}, {"v1"})
    assert read_tombstones(store, "another").servers == {}


def test_a_node_without_anything_leaves_no_tombstone(store):
    add_tombstone(store, NODE, "east", Launch(NODE, "east", "main", "small"), None, NOW)
    add_tombstone(store, NODE, "east", None, None, NOW)
    assert store.own.children("tombstones/east") == []


def test_tombstones_go_by_age_and_number(store):
    add_tombstone(store, "old", "east", None, "s-old", NOW - KEPT_SECONDS - 1)
    for number in range(MOST + 3):
        add_tombstone(store, f"n{number}", "east", None, f"s{number}", NOW - 2000 + number)
    written = store.session.keeper.writes
    assert expire_tombstones(store, "east", NOW) == 4
    assert store.session.keeper.writes == written + 1, "in one round trip"
    left = store.own.children("tombstones/east")
    assert len(left) == MOST
    assert not {"old", "n0", "n1", "n2"} & set(left)
    assert expire_tombstones(store, "east", NOW) == 0


def test_sightings_survive_and_what_cannot_be_read_is_left_out(store):
    memory = SweepMemory.of_provider(store, "a/b")
    memory.sightings["server/x"] = Sighting(NOW, 1, NOW, "no")
    memory.looked["port"] = NOW
    memory.save(store)
    again = SweepMemory.of_provider(store, "a/b")
    assert (again.sightings, again.looked) == (memory.sightings, memory.looked)
    store.own.put(memory.path, {"seen": {"server/x": 5, "server/y": {"first": 1}}, "looked": {"a": "b", "c": 1}})
    again = SweepMemory.of_provider(store, "a/b")
    assert (set(again.sightings), again.looked) == ({"server/y"}, {"c": 1.0})


def test_one_sweeps_at_a_time(store):
    other = store.session.keeper.store()
    held = SweepMemory.of_provider(store, "east").lock(store)
    assert held is not None
    assert SweepMemory.of_provider(other, "east").lock(other) is None
    held.release()
    assert SweepMemory.of_provider(other, "east").lock(other) is not None
