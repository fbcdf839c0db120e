# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whoever runs next releases what is over, and tells what nobody deletes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.paths import segment
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.leases import expiry
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.leases.lease_cycle import Leasing
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lease import LeaseSpec
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.own_tree import LEASES
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import RequestState
from tests.support.lease_store import MemoryStore

START = 1000.0


def leased(name: str, *, expires: int = 15, store: Any = None) -> Any:
    """A tree with a lease of one node, which was handed over at START."""
    tree: Any = store or MemoryStore()
    leasing = Leasing(tree, LeaseSpec(name, ("small",), expires=expires, patience=600), clock=lambda: START)
    leasing.advance()
    (request,) = tree.all_requests()
    node = tree.add_node(state=NodeState.READY, type=["small"], allocated_to=request.id, provider="east")
    request.nodes = [node.id]
    request.set_state(RequestState.FULFILLED, START)
    assert leasing.advance().done
    return tree


def states(tree: Any) -> list[str]:
    return [node.state for node in tree.nodes.items.values()]


def test_a_lease_whose_time_is_over_is_released_whole() -> None:
    tree = leased("web")
    expiry.release_expired(tree, START + 14.0)
    assert states(tree) == ["hold"]
    expiry.release_expired(tree, START + 15.0, but="web")
    assert states(tree) == ["hold"], "its own run does it by itself"
    expiry.release_expired(tree, START + 15.0)
    assert states(tree) == ["used"] and tree.own.documents == {}
    assert [node.id for node in expiry.over(tree, START)] == ["0000000000"]


def test_one_that_has_just_begun_or_still_waits_is_left_alone() -> None:
    tree: Any = MemoryStore()
    leasing = Leasing(tree, LeaseSpec("web", ("small",), expires=15, patience=600), clock=lambda: START)
    leasing.advance()
    expiry.release_expired(tree, START + 599.0)
    assert len(tree.all_requests()) == 1 and list(tree.own.documents) == [f"{LEASES}/{segment('web')}"]
    expiry.release_expired(tree, START + 615.0)
    assert tree.all_requests() == [] and tree.own.documents == {}


def test_a_node_that_another_program_has_locked_is_left_for_the_next_run() -> None:
    tree = leased("web")
    tree.locks.add("node/0000000000")
    expiry.release_expired(tree, START + 20.0)
    assert states(tree) == ["hold"]
    tree.locks.clear()
    expiry.release_expired(tree, START + 20.0)
    assert states(tree) == ["used"]


def test_a_clock_that_was_ahead_keeps_no_node() -> None:
    """The requestor's clock was a year ahead; ZooKeeper's says when the node was held."""
    tree = leased("web")
    (node,) = tree.nodes.items.values()
    node.state_time = START + 3e7
    expiry.release_expired(tree, START + 20.0)
    assert states(tree) == ["hold"], "it may just have been held"
    tree.written[node.id] = START
    expiry.release_expired(tree, START + 14.0)
    assert states(tree) == ["hold"]
    expiry.release_expired(tree, START + 20.0)
    assert states(tree) == ["used"]


def test_a_damaged_document_stops_nothing() -> None:
    tree = leased("web")
    tree.own.documents[f"{LEASES}/odd"] = {"name": 7}
    expiry.release_expired(tree, START + 20.0)
    assert states(tree) == ["used"] and list(tree.own.documents) == [f"{LEASES}/odd"]


def test_who_deletes_is_known_from_the_registered_pools() -> None:
    tree = leased("web")
    nodes = list(tree.nodes.items.values())
    assert expiry.unattended(tree, nodes) == nodes
    assert "no launcher serves east" in expiry.unattended_text(nodes, "was given back")
    tree.components.pools = lambda: [SimpleNamespace(provider_name="east")]
    assert expiry.unattended(tree, nodes) == []
