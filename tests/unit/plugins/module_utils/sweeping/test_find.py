# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Single cases of what leaked, at a provider and in the tree."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import (
    META_LAUNCH,
    META_NODE_ID,
    META_PROVIDER,
    META_SITE,
    FloatingIp,
    Port,
    Server,
    Volume,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import (
    Launch,
    Phase,
    Written,
    floating_ip_description,
    read_description,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest, RequestState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.tombstone import Tombstone, Tombstones
from ansible_collections.stackci.nodepool.plugins.module_utils.sweeping.candidate import Kind, Ownership
from ansible_collections.stackci.nodepool.plugins.module_utils.sweeping.find import Known, Seen, find
from ansible_collections.stackci.nodepool.plugins.module_utils.sweeping.find_in_tree import TreeView, find_in_tree
from ansible_collections.stackci.nodepool.plugins.module_utils.sweeping.judge import Rules, Sighting, judge

NODE = "0000000007"
TREE, OTHER = "a" * 32, "b" * 32
NOW = 1_800_000_000.0


def server(ident: str, mark: str = f"{NODE}-1-a", **more) -> Server:
    site = {META_SITE: tree} if (tree := more.pop("tree", TREE)) else {}
    metadata = {META_PROVIDER: "east", META_NODE_ID: NODE, META_LAUNCH: mark, **site}
    return Server(ident, "np", more.pop("status", "ACTIVE"), metadata, **more)


def node(state: str = NodeState.READY, **more) -> Node:
    made = Node(provider="east", external_id="s1", type=["small"], **more)
    made.id = NODE
    made.set_state(state, NOW)
    return made


def known(launch: Launch | None = None, *, there: Node | None = None, **more) -> Known:
    launches = {} if launch is None else {NODE: launch}
    nodes = {} if there is None else {NODE: there}
    return Known("east", nodes, launch=launches.get, launch_ids=tuple(launches), site=TREE, **more)


def record(**more) -> Launch:
    return Launch(NODE, "east", "main", "small", phase=Phase.READY, server_id="s1", mark=f"{NODE}-2-b", **more)


def keys(seen: Seen, view: Known) -> set[str]:
    return {candidate.key for candidate in find(seen, view) if candidate.ownership == Ownership.LEAKED}


@pytest.mark.parametrize(("status", "at"), [("available", 600.0), ("error", 600.0), ("deleting", 3600.0)])
def test_a_volume_that_cinder_is_deleting_is_left_to_it_for_an_hour(status: str, at: float):
    """cinder refuses to delete it once more, and a large one takes long."""
    born = f"{datetime.fromtimestamp(NOW - 86400.0, UTC):%Y-%m-%dT%H:%M:%SZ}"
    seen = Seen({}, volumes=[Volume("v1", "", status, (), created=born)])
    graves = Tombstones([Tombstone(NODE, NOW, volumes=["v1"])])
    found = find(seen, known(tombstones=lambda: graves))
    sightings: dict[str, Sighting] = {}
    due: list[float] = []
    for now in (NOW, NOW + 600.0, NOW + 3500.0, NOW + 3600.0):
        judged = judge(found, [Kind.VOLUME], sightings, Rules(), now)
        sightings, due = judged.sightings, [*due, *(now - NOW for _row in judged.due)]
    assert due[0] == at


def test_a_second_server_of_an_idle_node_leaked():
    seen = Seen({"s1": server("s1", f"{NODE}-2-b"), "s2": server("s2")})
    assert keys(seen, known(record(), there=node())) == {"server/s2"}


@pytest.mark.parametrize("state", sorted(NodeState.ALL - {NodeState.READY}))
def test_of_a_node_that_is_not_idle_nothing_goes(state):
    seen = Seen({"s1": server("s1", f"{NODE}-2-b"), "s2": server("s2")})
    assert keys(seen, known(record(), there=node(state))) == set()


def test_a_second_server_without_a_mark_or_a_record_stays():
    """Nodepool's own: nobody can tell which of the two it uses."""
    two = {"s1": server("s1"), "s2": Server("s2", "np", "ACTIVE", {META_PROVIDER: "east", META_NODE_ID: NODE})}
    assert keys(Seen(two), known(record(), there=node())) == set()
    assert keys(Seen({"s2": server("s2")}), known(there=node())) == set()


def test_our_mark_alone_names_the_node():
    alone = Server("s2", "np", "ACTIVE", {META_PROVIDER: "east", META_LAUNCH: f"{NODE}-1-a", META_SITE: TREE})
    assert keys(Seen({"s2": alone}), known()) == {"server/s2"}
    assert keys(Seen({"s2": alone}), known(there=node(NodeState.IN_USE))) == set()


def test_a_server_that_is_gone_already_is_nothing():
    assert find(Seen({"s2": server("s2", status="SOFT_DELETED")}), known()) == []


def test_a_launch_record_stays_while_something_of_it_is_there():
    left = record(superseded=[f"{NODE}-1-a"])
    assert keys(Seen({}), known(left)) == {f"launch-record/{NODE}"}
    assert f"launch-record/{NODE}" not in keys(Seen({"s1": server("s1", "other")}), known(left))
    assert f"launch-record/{NODE}" not in keys(Seen({"s9": server("s9")}), known(left))
    assert f"launch-record/{NODE}" not in keys(Seen({}), known(left, there=node()))
    assert keys(Seen(None), known(left)) == set()


def test_a_floating_ip_of_a_ready_node_that_uses_another():
    mine = floating_ip_description(f"{NODE}-1-a", "east", TREE)
    first = FloatingIp("f1", "192.0.2.1", "DOWN", None, mine)
    second = FloatingIp("f2", "192.0.2.2", "DOWN", None, mine)
    view = known(record(floating_ip_id="f1"), there=node())
    assert keys(Seen(floating_ips=[first, second]), view) == {"floating-ip/f2"}
    # Whatever its record says: what the node is reached by stays.
    view = known(record(), there=node(public_ipv4="192.0.2.1", interface_ip="192.0.2.1"))
    assert keys(Seen(floating_ips=[first]), view) == set()


def test_a_floating_ip_with_a_mark_alone_is_ours_when_a_tombstone_says_so():
    floating = FloatingIp("f1", "192.0.2.1", "DOWN", None, f"stackci_launch={NODE}-1-a")
    (foreign,) = find(Seen(floating_ips=[floating]), known())
    assert foreign.ownership == Ownership.FOREIGN
    graves = Tombstones([Tombstone(NODE, marks=[f"{NODE}-1-a"])])
    assert keys(Seen(floating_ips=[floating]), known(tombstones=lambda: graves)) == {"floating-ip/f1"}


def test_ports_are_only_judged_together_with_servers():
    graves = Tombstones([Tombstone(NODE, servers=["s1"])])
    port = Port("p1", "s1", "n", status="DOWN")
    assert keys(Seen({}, [port]), known(tombstones=lambda: graves)) == {"port/p1"}
    assert keys(Seen(None, [port]), known(tombstones=lambda: graves)) == set()
    assert keys(Seen({"s1": server("s1")}, [port]), known(tombstones=lambda: graves, there=node())) == set()
    active = Port("p1", "s1", "n", status="ACTIVE")
    assert keys(Seen({}, [active]), known(tombstones=lambda: graves)) == set()


@pytest.mark.parametrize("text", ["", "stackci_launch=", "stackci_launch=x", "nodepool_provider_name=e", "a b"])
def test_a_description_that_says_nothing(text):
    assert read_description(text) is None


def test_a_description_is_read_as_it_was_written():
    assert read_description(floating_ip_description("7-1-a", "my cloud", TREE)) == Written("7-1-a", "my cloud", TREE)
    assert read_description("stackci_launch=7-1-a nodepool_provider_name=my cloud") == Written("7-1-a", "my cloud")


# -- the tree --------------------------------------------------------------------------------------------------------


def request(state: str = RequestState.PENDING) -> NodeRequest:
    made = NodeRequest(node_types=["small"])
    made.set_state(state, NOW - 5000)
    return made


def in_tree(**view) -> dict[str, tuple[str, float | None]]:
    return {candidate.key: (candidate.code, candidate.created) for candidate in find_in_tree(TreeView(**view), NOW)}


def test_locks_of_requests_that_are_there_stay():
    view: dict[str, Any] = {"request_locks": {"100-1": NOW - 9e4, "100-2": NOW - 9e4}, "requests": {"100-2": request()}}
    assert in_tree(**view) == {"request-lock/100-1": ("request-gone", NOW - 9e4)}
    (candidate,) = find_in_tree(TreeView(**view), NOW)
    assert candidate.min_age == 8 * 3600


def test_lost_requests_are_pending_and_unlocked():
    pending, asked = request(), request(RequestState.REQUESTED)
    requests = {"a": pending, "b": pending, "c": asked}
    assert in_tree(requests=requests, unlocked_requests=["a", "c"]) == {"lost-request/a": ("unserved", NOW - 5000)}


@pytest.mark.parametrize(
    ("path", "document", "leaked"),
    [
        ("waits/100-1", {"code": "no-room"}, True),
        ("waits/100-2", {"code": "no-room"}, False),
        ("leases/web", {"expires_at": NOW - 1, "sets": [{"request": "100-1", "nodes": ["9"]}]}, True),
        ("leases/web", {"expires_at": NOW + 1, "sets": []}, False),
        ("leases/web", {"expires_at": NOW - 1, "sets": [{"request": "100-2", "nodes": []}]}, False),
        ("leases/web", {"expires_at": NOW - 1, "sets": [{"request": None, "nodes": [NODE]}]}, False),
        ("leases/web", {"something": "else"}, False),
        ("freezes/pool-9", {"cores": {"until": NOW - 1}}, True),
        ("freezes/pool-9", {"cores": {"until": NOW + 1}}, False),
        ("freezes/pool-1", {}, False),
        ("freezes/pool-2", {}, False),
        ("breakers/west", {}, True),
        ("breakers/west", {"i/f": {"until": NOW + 9}}, False),
        ("breakers/east", {}, False),
        ("pools/pool-3", {"provider_name": "x", "last_seen": NOW - 90000}, True),
        ("pools/pool-3", {"provider_name": "x", "last_seen": NOW - 3600}, False),
        ("pools/pool-3", {"provider_name": "x", "last_seen": NOW + 90000}, True),
        ("pools/pool-1", {"provider_name": "east", "last_seen": 0}, False),
        ("stuck/s1", {"node": NODE, "tried": NOW}, False),
        ("stuck/s1", {"node": "0000000009", "tried": NOW}, True),
        ("stuck/s1", {"node": None, "tried": NOW}, True),
    ],
)
def test_documents_whose_owner_is_gone(path, document, leaked):
    pools = {"pools/pool-2": {"provider_name": "east", "last_seen": NOW}}
    found = in_tree(
        documents={**pools, path: document}, requests={"100-2": request()}, pools={"pool-1"}, node_ids=[NODE]
    )
    assert (f"document/{path}" in found) == leaked
    assert set(found) <= {f"document/{path}"}
