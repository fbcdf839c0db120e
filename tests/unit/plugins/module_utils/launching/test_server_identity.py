# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a new server is a machine of its own."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.server_identity import (
    LEAVING,
    MOST_KEYS,
    SHARED_BY,
    Face,
    SharedKeys,
    explain,
    face_of,
    find_clash,
    fingerprint,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from tests.support.effort import examples

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGhvc3Q="
OTHER_KEY = "ecdsa-sha2-nistp256 AAAAE2VjZHNh"


def face(number: int = 1, address: str = "198.51.100.7", *keys: str, state: str = NodeState.READY, **more) -> Face:
    values = {"provider": "east", "port": 22, **more}
    return Face(
        f"{number:010d}", server_id=f"server-{number}", address=address, keys=frozenset(keys), state=state, **values
    )


@pytest.mark.parametrize("state", sorted(LEAVING | {NodeState.READY, NodeState.IN_USE, NodeState.HOLD}))
def test_the_address_and_the_key_of_another_node_are_one_machine_whatever_its_state(state):
    old, new = face(1, "198.51.100.7", KEY, OTHER_KEY, state=state), face(2, "198.51.100.7", KEY)
    clash = find_clash(new, [old])
    assert clash is not None and (clash.other, clash.keys, clash.address) == (old, frozenset([KEY]), True)
    text = explain(new, clash)
    assert all(word in text for word in ("server-2", "198.51.100.7", old.node_id, state, "server-1", fingerprint(KEY)))
    assert "hypervisor" in text


@pytest.mark.parametrize("keys", [(), (OTHER_KEY,)], ids=["keys unknown", "other keys"])
@pytest.mark.parametrize("state", sorted(NodeState.ALL - {NodeState.INIT}))
def test_an_address_belongs_to_a_live_node_and_is_free_while_that_is_deleted(state, keys):
    old, new = face(1, "198.51.100.7", KEY, state=state), face(2, "198.51.100.7", *keys)
    clash = find_clash(new, [old])
    assert (clash is None) == (state in LEAVING)
    assert clash is None or "has the address of node 0000000001" in explain(new, clash)
    assert find_clash(new, [old], left=lambda other: True) is None, "its server is gone"
    assert find_clash(new, [old], apart=lambda other: True) is None, "another network may have the same addresses"


def test_a_host_key_at_another_address_is_a_clash_until_the_image_is_known_to_ship_it():
    old, new = face(1, "198.51.100.7", KEY), face(2, "198.51.100.8", KEY, OTHER_KEY)
    clash = find_clash(new, [old])
    assert clash is not None and not clash.address and clash.keys == {KEY}
    assert "remove /etc/ssh/ssh_host_* from the image" in explain(new, clash)
    assert find_clash(new, [old], shared=lambda key: key == KEY) is None
    same_place = face(3, "198.51.100.7", KEY)
    assert find_clash(same_place, [old], shared=lambda key: key == KEY) is not None, "the address still counts"


def test_ports_of_a_proxy_are_different_machines_those_of_a_server_are_not():
    old, new = face(1, "198.51.100.7", KEY, port=2201), face(2, "198.51.100.7", OTHER_KEY, port=2202)
    assert find_clash(new, [old], own_address=False) is None
    assert find_clash(new, [old], own_address=True) is not None
    assert find_clash(face(3, "198.51.100.7", KEY, port=2202), [old], own_address=False) is not None


@pytest.mark.parametrize(
    ("changes", "known"),
    [
        ({}, True),
        ({"interface_ip": None}, False),
        ({"external_id": None}, False),
        ({"external_id": 7}, False),
        ({"provider": None}, False),
        ({"interface_ip": "2001:DB8:0::1"}, True),
    ],
)
def test_a_node_answers_by_its_record(changes, known):
    values = {"external_id": "s", "provider": "east", "interface_ip": "2001:db8::1", "host_keys": [KEY], **changes}
    found = face_of(Node(id="1", state="ready", **values))
    assert (found is not None) == known
    assert found is None or (found.address, found.keys) == ("2001:db8::1", frozenset([KEY]))


FACES = st.builds(
    face,
    st.integers(1, 6),
    st.sampled_from(["198.51.100.7", "198.51.100.8", "2001:db8::1"]),
    st.sampled_from([KEY, OTHER_KEY]),
    state=st.sampled_from(sorted(NodeState.ALL)),
)


@settings(max_examples=examples(200))
@given(st.lists(FACES, max_size=12))
def test_of_nodes_that_are_handed_over_one_by_one_no_two_live_ones_have_one_address_or_key(faces):
    given_out: list[Face] = []
    for new in faces:
        if find_clash(new, given_out) is None:
            given_out = [old for old in given_out if old.node_id != new.node_id] + [new]
    live = [one for one in given_out if one.state not in LEAVING]
    assert len({one.address for one in live}) == len(live)
    assert len({key for one in live for key in one.keys}) == sum(len(one.keys) for one in live)


@settings(max_examples=examples(100))
@given(st.lists(st.sampled_from([f"198.51.100.{n}" for n in range(6)])))
def test_a_key_is_shipped_by_the_image_when_it_was_seen_at_enough_addresses(addresses):
    keys = SharedKeys()
    for place, address in enumerate(addresses, 1):
        assert keys.note(KEY, [address]) == (len(set(addresses[:place])) >= SHARED_BY) == (KEY in keys)
    again = SharedKeys()
    again.learn(keys.document())
    assert (KEY in again) == (KEY in keys) and OTHER_KEY not in again


@pytest.mark.parametrize("document", [None, "x", {}, [1, None, {}]])
def test_what_is_stored_may_be_anything(document):
    keys = SharedKeys()
    keys.learn(document)
    assert keys.document() == []


def test_only_so_many_keys_are_remembered():
    keys = SharedKeys()
    for number in range(3 * MOST_KEYS):
        keys.note(f"ssh-rsa key {number}", ["a", "b", "c"])
    assert len(keys.document()) == MOST_KEYS


def test_a_fingerprint_is_that_of_ssh_keygen_and_any_text_has_one():
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
    assert fingerprint(key) == "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU"
    assert fingerprint("no key") == "no key"
