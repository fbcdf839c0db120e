# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, hold_problem


def read(kind, *arguments) -> Any:
    """What *kind* makes of a document that it can read."""
    return kind.from_bytes(*arguments)


# Every key of the schema; `id` is Zuul's and dropped.
KEYS = {
    "state", "state_time", "created_time", "type", "provider", "pool", "launcher", "allocated_to", "tenant_name",
    "requestor", "attributes", "image_id", "username", "python_path", "shell_type", "connection_port",
    "connection_type", "ssh_port", "resources", "external_id", "cloud", "region", "az", "host_id", "public_ipv4",
    "private_ipv4", "public_ipv6", "interface_ip", "host_keys", "slot", "hostname", "driver_data", "node_properties",
    "hold_job", "comment", "hold_expiration", "user_data",
}  # fmt: skip


def stored(node):
    return json.loads(node.to_bytes())


def test_every_key_is_written_and_null_where_there_is_nothing():
    document = stored(Node(type=["small"], provider="p", pool="main"))
    assert set(document) == KEYS
    filled = {"state", "type", "provider", "pool", "connection_port", "ssh_port", "host_keys", "node_properties"}
    assert {key for key, value in document.items() if value is not None} == filled
    assert document["type"] == ["small"]
    assert document["host_keys"] == []
    assert document["node_properties"] == {}


def test_defaults_of_a_document_without_keys():
    node = read(Node, "0000000007", b"{}", 4)
    assert (node.id, node.version, node.broken) == ("0000000007", 4, True)
    assert (node.connection_port, node.username, node.host_keys) == (22, "zuul", [])
    missing = stored(node)
    for key in KEYS - {"state", "type", "connection_port", "ssh_port", "username", "host_keys"}:
        assert missing[key] is None, key


@pytest.mark.parametrize(
    ("document", "port"),
    [
        ({"ssh_port": 2222}, 2222),
        ({"ssh_port": 2222, "connection_port": 5986}, 5986),
        ({"ssh_port": None, "connection_port": None}, 22),
        ({"connection_port": "2200"}, 2200),
    ],
)
def test_the_port_and_its_old_name(document, port):
    node = Node.from_document("1", document)
    assert node.connection_port == port
    assert stored(node)["ssh_port"] == port


@pytest.mark.parametrize("old", [{}, {"ssh_port": {"token": "t", "namespace": "main-1"}}], ids=["without", "with"])
def test_the_access_to_a_cluster_is_kept_where_others_have_the_port(old):
    access = {"token": "t", "namespace": "main-1"}
    node = Node.from_document("1", {"connection_type": "kubectl", "connection_port": access, **old})
    assert node.connection_port == 22 and "token" not in repr(node)
    node.allocated_to = None
    for one in (node, node.clone()):
        assert stored(one)["connection_port"] == stored(one)["ssh_port"] == access
    node.connection_port = 2222
    assert stored(node)["connection_port"] == stored(node)["ssh_port"] == 2222


@pytest.mark.parametrize(
    ("value", "expected"), [(None, None), (600, 600), ("600", 600), (599.9, 599), ("never", 0), ([], 0), (True, 0)]
)
def test_hold_expiration_is_coerced(value, expected):
    assert Node.from_document("1", {"hold_expiration": value}).hold_expiration == expected


def test_an_old_type_is_wrapped_in_a_list():
    assert Node.from_document("1", {"type": "small"}).type == ["small"]


def test_zuuls_id_is_tolerated_and_dropped():
    node = Node.from_document("0000000001", {"id": "0000000009", "user_data": {"zuul_system": "x"}, "new": 1})
    assert node.id == "0000000001"
    assert "id" not in stored(node)
    assert stored(node)["new"] == 1
    assert stored(node)["user_data"] == {"zuul_system": "x"}


@pytest.mark.parametrize("external_id", ["uuid", {"a": "b"}, None])
def test_external_ids_are_opaque(external_id):
    assert Node.from_document("1", {"external_id": external_id}).external_id == external_id


@pytest.mark.parametrize(
    "document",
    [
        {"state": "ready", "type": ["a"]},
        {"state": "ready", "type": [], "provider": "p"},
        {"state": None, "type": ["a"], "provider": "p"},
        {"state": "ready", "type": ["a"], "provider": {}},
    ],
)
def test_what_it_cannot_do_without_marks_it_broken(document):
    assert Node.from_document("1", document).broken
    assert not Node.from_document("1", {"state": "ready", "type": ["a"], "provider": "p"}).broken


@pytest.mark.parametrize("limit", ["1h", "", True, [600], {"seconds": 5}, -1, 1e30, "-7", 10**400])
def test_a_limit_of_a_hold_that_is_none_is_remarked_upon_and_counts_as_none(limit):
    held = {"state": "hold", "type": ["a"], "provider": "p", "hold_expiration": limit}
    node = Node.from_document("1", held)
    assert not node.broken
    assert "'hold_expiration' is " in node.remark and "only max-hold-age ends the hold" in node.remark
    assert hold_problem(limit)
    assert Node.from_document("1", {**held, "state": "ready"}).remark == ""


@pytest.mark.parametrize("limit", [None, 0, 600, "600", 86400.0])
def test_what_zuul_and_people_write_is_a_limit(limit):
    node = Node.from_document("1", {"state": "hold", "type": ["a"], "provider": "p", "hold_expiration": limit})
    assert node.remark == ""
    assert node.hold_expiration == (None if limit is None else int(float(limit)))
