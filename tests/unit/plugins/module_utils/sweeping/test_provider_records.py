# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Upload
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from ansible_collections.stackci.nodepool.plugins.module_utils.sweeping.provider_records import (
    ProviderRecords,
    left_of,
    own_documents,
    reasons_of,
)

DOCUMENTS: dict[str, dict[str, Any]] = {
    "providers/west": {},
    "providers/east": {},
    "pools/w1": {"provider_name": "west"},
    "pools/e1": {"provider_name": "east"},
    "freezes/w1": {},
    "freezes/w2": {},
    "freezes/e1": {},
    "breakers/west": {},
    "breakers/east": {},
    "launches/0000000001": {"provider": "west"},
    "launches/0000000002": {"provider": "east"},
    "stuck/s1": {"provider": "west"},
    "stuck/s2": {"provider": "east"},
    "waits/100-0000000001": {"where": "west/main"},
    "waits/100-0000000002": {"where": "western/main"},
    "waits/100-0000000003": {"where": 7},
    "tombstones/west": {},
    "image-uploads/west": {},
}


def test_the_documents_of_a_provider_go_and_those_of_others_stay():
    found = own_documents(ProviderRecords("west", pool_ids=["w2"], documents=DOCUMENTS))
    assert sorted(DOCUMENTS.keys() - set(found)) == [
        "breakers/east",
        "freezes/e1",
        "launches/0000000002",
        "pools/e1",
        "providers/east",
        "stuck/s2",
        "waits/100-0000000002",
        "waits/100-0000000003",
    ]
    assert found[-1] == "providers/west", "the lock goes last"


def test_a_name_that_is_encoded_in_paths():
    documents: dict[str, dict[str, Any]] = {"breakers/a b/c": {}, "tombstones/a b%2Fc": {}, "providers/x": {}}
    assert sorted(own_documents(ProviderRecords("a b/c", documents=documents))) == [
        "breakers/a b/c",
        "tombstones/a b%2Fc",
    ]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, None),
        ({"configured": "/etc/nodepool.yaml"}, "it is still in /etc/nodepool.yaml"),
        ({"launchers": {"host2", "host1"}}, "it is served by the launcher on host1, host2"),
        ({"nodes": [Node(id=f"{number}", state="hold") for number in range(7)]}, "4 (hold) and 2 more"),
        ({"nodes": [Node(id="3", state="")]}, "nodes 3 (unknown)"),
        ({"documents": {"launches/9": {"provider": "west"}}}, "launches in flight: nodes 9"),
        ({"documents": {"launches/9": {"provider": "east"}}}, None),
        ({"documents": {"launches/9": {"provider": "west"}}, "nodes": [Node(id="9", state="building")]}, "nodes 9"),
        ({"documents": {"stuck/s9": {"provider": "west"}}}, "unfinished deletions: s9"),
        ({"uploads": [Upload(id="1", image="i", build_id="b", state="ready")]}, "uploads i b/1 (ready)"),
        ({"uploads": [Upload(id="1", image="i", build_id="b", state="failed", external_id="x")]}, "i b/1 (failed)"),
        ({"uploads": [Upload(id="1", image="i", build_id="b", state="failed")]}, None),
        ({"documents": DOCUMENTS | {"launches/0000000001": {}, "stuck/s1": {}}}, None),
    ],
)
def test_what_is_left(given, reason):
    reasons = reasons_of(left_of(ProviderRecords("west", **given)))
    assert (reasons == []) if reason is None else (len(reasons) == 1 and reason in reasons[0])
