# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is remembered of a node that is gone."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import Launch
from ansible_collections.stackci.nodepool.plugins.module_utils.model.stored import BadDocument
from ansible_collections.stackci.nodepool.plugins.module_utils.model.tombstone import (
    KEPT_SECONDS,
    Tombstone,
    Tombstones,
)

NODE = "0000000007"


def launch() -> Launch:
    return Launch(
        NODE,
        "p",
        "main",
        "small",
        mark="7-1-b",
        superseded=["7-0-a"],
        server_id="s1",
        floating_ip_id="f1",
        volume_ids=["v1"],
    )


def test_all_that_a_launch_has_is_added_once():
    stone = Tombstone(NODE)
    assert stone.add(launch(), "s0")
    assert (stone.servers, stone.floating_ips, stone.volumes) == (["s1", "s0"], ["f1"], ["v1"])
    assert stone.marks == ["7-0-a", "7-1-b"]
    assert not stone.add(launch())


def test_a_node_without_a_launch_record_leaves_its_server():
    stone = Tombstone(NODE)
    assert stone.add(None, "s0")
    assert (stone.servers, stone.marks) == (["s0"], [])
    assert not stone.add(None)


def test_only_the_latest_are_kept():
    stone = Tombstone(NODE)
    for number in range(50):
        stone.add(None, f"s{number}")
    assert len(stone.servers) == 20
    assert stone.servers[-1] == "s49"


def test_it_comes_back_as_it_was_stored():
    stone = Tombstone(NODE, 5.0, ["s"], ["f"], ["v"], ["m"])
    assert Tombstone.from_document({**stone.document(), "of_a_newer_version": 1}) == stone
    with pytest.raises(BadDocument):
        Tombstone.from_document({"node_id": NODE, "servers": "s"})


@pytest.mark.parametrize(
    ("buried", "past"), [(1e6, False), (1e6 - KEPT_SECONDS - 1, True), (1e6 + KEPT_SECONDS + 1, True)]
)
def test_it_is_past_after_its_time_and_when_a_wrong_clock_has_stored_it(buried, past):
    assert Tombstone(NODE, buried).is_past(1e6) == past


def test_nodes_are_found_by_what_they_had():
    found = Tombstones([Tombstone("1", 0.0, ["s1"], marks=["1-0-a"]), Tombstone("2", 0.0, ["s2"], ["f2"], ["v2"])])
    assert found.servers == {"s1": "1", "s2": "2"}
    assert (found.floating_ips, found.volumes, found.marks) == ({"f2": "2"}, {"v2": "2"}, {"1-0-a": "1"})
