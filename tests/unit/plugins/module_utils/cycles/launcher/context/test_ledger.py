# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A ledger that follows changes says what one says that is made anew."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.ledger import Ledger, take_stock
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from tests.support.effort import examples

IDS = [f"{number:010d}" for number in range(6)]
PROVIDERS, POOLS, ZONES = ["east", "west"], ["main", "extra"], ["z1", "z2"]
LABELS, TENANTS = ["small", "large"], ["acme", "other"]

nodes = st.builds(
    Node,
    id=st.just(""),
    state=st.sampled_from(["init", "building", "ready", "in-use", "used", "deleting", "failed", "hold"]),
    type=st.lists(st.sampled_from(LABELS), min_size=1, max_size=2),
    provider=st.sampled_from([None, *PROVIDERS]),
    pool=st.sampled_from([None, *POOLS]),
    az=st.sampled_from([None, *ZONES]),
    tenant_name=st.sampled_from([None, *TENANTS]),
    allocated_to=st.sampled_from([None, "100-1"]),
    external_id=st.sampled_from([None, "uuid"]),
    resources=st.sampled_from([None, {}, {"instances": 1, "cores": 4, "ram": 512}, {"cores": 1, "volumes": 2}]),
    public_ipv4=st.sampled_from([None, "203.0.113.1"]),
    private_ipv4=st.sampled_from([None, "10.0.0.1", "203.0.113.1"]),
    broken=st.booleans(),
)
changes = st.tuples(st.sampled_from(IDS), st.none() | nodes)
chosen = st.sets(st.sampled_from(IDS))


def figures(ledger: Ledger) -> dict[str, Any]:
    """Everything that it says."""
    places = [(provider, pool) for provider in ["", *PROVIDERS] for pool in ["", *POOLS]]
    return {
        "provider": {key: dict(ledger.by_provider[key]) for key in ["", *PROVIDERS]},
        "pool": {key: dict(ledger.by_pool[key]) for key in places},
        "tenant": {key: dict(ledger.by_tenant[key]) for key in TENANTS},
        "cloud": {key: dict(ledger.in_cloud[key]) for key in ["", *PROVIDERS]},
        "freeing": {key: dict(ledger.freeing[key]) for key in ["", *PROVIDERS]},
        "freeing in pool": {key: dict(ledger.freeing_in_pool[key]) for key in places},
        "zones": {key: dict(ledger.zones[key]) for key in places},
        "spare": {key: ledger.spare[key] for key in LABELS},
        "ids": set(ledger.node_ids),
    }


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.tuples(st.lists(changes, max_size=4), chosen, chosen), max_size=8))
def test_whatever_changes_it_says_what_a_new_one_says(steps):
    ledger = Ledger()
    known: dict[str, Node] = {}
    for changed, stuck, to_float in steps:
        for node_id, node in changed:
            if node is None:
                known.pop(node_id, None)
            else:
                node = node.clone()
                node.id = node_id
                known[node_id] = node
        ledger.follow({node_id for node_id, _unused in changed}, known, stuck, to_float)
        assert figures(ledger) == figures(take_stock(known.values(), stuck, to_float))


def test_nothing_is_left_of_nodes_that_are_gone():
    node = Node(id=IDS[0], type=["small"], provider="east", pool="main", state="ready", resources={"cores": 2.5})
    ledger = Ledger()
    ledger.follow([node.id], {node.id: node})
    assert ledger.by_provider["east"]["cores"] == 2.5
    ledger.follow([node.id], {})
    assert figures(ledger) == figures(Ledger())
