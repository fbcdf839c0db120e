# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The index of addresses and host keys."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.identities import Identities
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.server_identity import COMING, Face, face_of
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from tests.support.effort import examples

KEYS = ["ssh-ed25519 YQ==", "ssh-rsa Yg=="]
NODES = st.builds(
    lambda number, **values: Node(id=f"{number}", type=["small"], **values),
    st.integers(1, 5),
    state=st.sampled_from(["building", "ready", "in-use", "deleting"]),
    provider=st.sampled_from(["east", "west"]),
    interface_ip=st.sampled_from([None, "10.0.0.1", "10.0.0.2"]),
    host_keys=st.lists(st.sampled_from(KEYS), unique=True),
    external_id=st.sampled_from([None, "s1", "s2"]),
)


@settings(max_examples=examples(200))
@given(st.lists(NODES, max_size=20), st.sampled_from(KEYS), st.sampled_from(["10.0.0.1", "10.0.0.2"]))
def test_it_finds_what_a_look_at_all_nodes_finds(changes, key, address):
    index, nodes = Identities(), dict[str, Node]()
    for node in changes:
        if node.state in COMING and node.id in nodes:
            continue  # a node that is ready is never launched again
        nodes[node.id] = node
        index.follow([node.id], nodes)
    new = Face("new", "east", "s9", address, 22, frozenset([key]))
    faces = [face for node in nodes.values() if node.state not in COMING and (face := face_of(node)) is not None]
    near = [one for one in faces if one.provider == "east" and (one.address == address or key in one.keys)]
    assert index.near(new) == sorted(near, key=lambda face: face.node_id)
    assert index.addresses("east", key) == {one.address for one in faces if one.provider == "east" and key in one.keys}
    index.follow(list(nodes), {})
    assert index.near(new) == []


def test_a_claim_holds_until_the_record_tells_it_or_the_node_gets_another_server():
    index = Identities()
    node = Node(id="1", type=["small"], provider="east", state="building", interface_ip="10.0.0.1", external_id="s1")
    new = Face("2", "east", "s2", "10.0.0.1", 22, frozenset())
    index.follow(["1"], {"1": node})
    assert index.near(new) == [], "it is not proved yet"
    index.claim(Face("1", "east", "s1", "10.0.0.1", 22, frozenset(KEYS)))
    index.follow(["1"], {"1": node})
    assert [face.keys for face in index.near(new)] == [frozenset(KEYS)]
    node.external_id = None
    index.follow(["1"], {"1": node})
    assert index.near(new) == []
