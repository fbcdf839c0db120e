# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers and node records become hosts."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Address, Server
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.hosts import (
    Selection,
    all_known_hosts,
    enriched,
    groups_of,
    hosts,
    of_servers,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.node_access_rows import (
    node_row,
    refusals,
    server_row,
)

METADATA = {
    "groups": "cloud1,debian,small",
    "nodepool_node_id": "0000000007",
    "nodepool_provider_name": "cloud1",
    "nodepool_pool_name": "main",
    "nodepool_image_name": "debian-12",
    "nodepool_node_label": "small",
}


def row(**changes: Any) -> dict[str, Any]:
    server = Server(
        id=changes.pop("server_id", "uuid-7"),
        name=changes.pop("name", "np0000000007"),
        status="ACTIVE",
        metadata={**METADATA, **changes.pop("metadata", {})},
        addresses=(
            Address("private", "fd00::7", 6),
            Address("private", "10.0.0.7", 4),
            Address("private", "192.0.2.7", 4, floating=True),
        ),
        az="az1",
    )
    made = server_row(server)
    assert made is not None
    return {**made, **changes}


RECORD: dict[str, Any] = {
    "id": "0000000007",
    "external_id": "uuid-7",
    "state": "hold",
    "request": None,
    "tenant": None,
    "requestor": "x",
    "user": "zuul",
    "port": 2222,
    "connection_type": "ssh",
    "python_path": "auto",
    "shell_type": "",
    "host_keys": ["ssh-ed25519 AAAA", "broken"],
    "address": "192.0.2.7",
    "attributes": {},
    "hold_job": "lease web",
    "comment": None,
    "expires_at": 5.0,
}


@pytest.mark.parametrize("missing", ["nodepool_provider_name", "nodepool_node_id"])
def test_server_of_somebody_else_is_no_node(missing: str) -> None:
    metadata = {key: value for key, value in METADATA.items() if key != missing}
    assert server_row(Server(id="x", name="y", status="ACTIVE", metadata=metadata)) is None


def test_records_of_other_drivers_are_told_apart() -> None:
    coming, strange = {**RECORD, "external_id": None}, {**RECORD, "id": "8", "external_id": {"pod": "x"}}
    usable, told = of_servers([{**RECORD, "refused": ["node 7: x"]}, strange, coming])
    assert [record["external_id"] for record in usable] == ["uuid-7", None]
    assert told[0] == "node 7: x"
    assert "skipped: 8;" in told[1]


def test_host_of_the_cloud_alone() -> None:
    (host,) = hosts([row()], Selection())
    assert host.name == "np0000000007"
    assert host.groups == [
        "provider_cloud1",
        "label_small",
        "pool_main",
        "image_debian-12",
        "az_az1",
        "status_ACTIVE",
    ]
    assert host.variables["ansible_host"] == "192.0.2.7"
    assert set(host.variables) == {"nodepool", "ansible_host"}


def test_host_with_its_record() -> None:
    (found,) = hosts(enriched([row()], [RECORD]), Selection(states=["hold"]), known_hosts="/tmp/a b/known")
    variables = found.variables
    assert "state_hold" in found.groups
    assert (variables["ansible_user"], variables["ansible_port"]) == ("zuul", 2222)
    assert "ansible_connection" not in variables
    assert "ansible_python_interpreter" not in variables
    assert shlex.split(variables["ansible_ssh_common_args"])[:2] == ["-o", 'UserKnownHostsFile="/tmp/a b/known"']
    assert all_known_hosts([found]) == "[192.0.2.7]:2222 ssh-ed25519 AAAA\n"


def test_record_of_another_server_does_not_count() -> None:
    (host,) = hosts(enriched([row(server_id="other")], [RECORD]), Selection(), known_hosts="/k")
    assert "ansible_user" not in host.variables
    assert "ansible_ssh_common_args" not in host.variables, "ssh must not insist on keys that nobody recorded"


def test_windows_and_python() -> None:
    record = {**RECORD, "connection_type": "winrm", "python_path": "/usr/bin/python3", "shell_type": "powershell"}
    (host,) = hosts(enriched([row()], [record]), Selection())
    assert host.variables["ansible_connection"] == "winrm"
    assert host.variables["ansible_python_interpreter"] == "/usr/bin/python3"
    assert host.variables["ansible_shell_type"] == "powershell"


NETWORK = """
zookeeper-servers: [{host: localhost}]
labels: [{name: small}, {name: switch}]
providers:
  - name: east
    cloud: east
    cloud-images: [{name: debian}, {name: ios, connection-type: network_cli}]
    pools:
      - name: main
        labels:
          - {name: small, cloud-image: debian, min-ram: 512}
          - {name: switch, cloud-image: ios, min-ram: 512}
"""


@pytest.mark.parametrize(
    ("label", "pool", "found"),
    [("switch", "main", "network_cli"), ("small", "main", ""), ("switch", "other", ""), ("nothing", "main", "")],
)
def test_a_connection_for_network_devices_as_the_configuration_says(label: str, pool: str, found: str) -> None:
    """Ansible runs many modules for such a host on the controller, so a record alone must not choose it."""
    config = parse_config(NETWORK)
    node = Node(id="1", type=[label], provider="east", pool=pool, connection_type="network_cli")
    assert node_row(node, config)["connection_type"] == found
    assert bool(refusals(node, config)) is not bool(found)
    assert node_row(node)["connection_type"] == ""


@pytest.mark.parametrize(
    ("connect_with", "address"),
    [
        (["floating", "fixed"], "192.0.2.7"),
        (["fixed", "floating"], "10.0.0.7"),
        (["ipv6"], "fd00::7"),
        (["recorded", "fixed"], "10.0.0.7"),
        (["recorded"], None),
    ],
)
def test_choice_of_address(connect_with: list[str], address: str | None) -> None:
    (host,) = hosts([row()], Selection(), connect_with=connect_with)
    assert host.variables.get("ansible_host") == address


@pytest.mark.parametrize(
    ("hostname", "name"),
    [("name", "np0000000007"), ("node_id", "0000000007"), ("server_id", "uuid-7"), ("address", "192.0.2.7")],
)
def test_choice_of_name(hostname: str, name: str) -> None:
    assert [host.name for host in hosts([row()], Selection(), hostname=hostname)] == [name]


def test_names_are_unique() -> None:
    twins = [row(server_id="a"), row(server_id="b"), row(server_id="c", node_id="0000000008")]
    assert [host.name for host in hosts(twins, Selection())] == ["np0000000007_a", "np0000000007_b", "np0000000008"]


def test_no_server_becomes_one_host_with_another_by_the_name_that_this_gets() -> None:
    rows = [row(server_id=one, name=name) for one, name in (("a", "web_b"), ("b", "web"), ("c", "web"))]
    found = hosts(rows, Selection(), hostname="name")
    assert sorted(host.name for host in found) == ["web_b_a", "web_b_b", "web_c"]


@pytest.mark.parametrize(
    ("selection", "kept"),
    [
        (Selection(labels=["small"]), True),
        (Selection(labels=["large"]), False),
        (Selection(pools=["other"]), False),
        (Selection(statuses=["BUILD"]), False),
        (Selection(states=["ready"]), False),
        (Selection(labels=["large", "small"], pools=["main"], statuses=["ACTIVE"]), True),
    ],
)
def test_selection(selection: Selection, kept: bool) -> None:
    assert bool(hosts([row()], selection)) is kept


def test_only_the_nodes_of_a_lease():
    rows = enriched([row(), row(server_id="uuid-8", node_id="0000000008")], [{**RECORD, "lease": "acceptance-42"}])
    (host,) = hosts(rows, Selection(leases=["acceptance-42"]))
    assert host.variables["nodepool"]["server_id"] == "uuid-7"
    assert "lease_acceptance-42" in host.groups


def test_a_record_from_an_older_cache_lacks_only_what_is_new():
    (found,) = enriched([row()], [{key: value for key, value in RECORD.items() if key != "comment"}])
    assert (found["state"], found["comment"], found["lease"]) == ("hold", None, None)


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("cloud1,debian,small", ["cloud1", "debian", "small"]),
        (" a , ,b,", ["a", "b"]),
        ('["cloud1", "debian", 7]', ["cloud1", "debian"]),
        ("[not json", ["[not json"]),
        ("all,ungrouped,x", ["x"]),
        ("", []),
    ],
)
def test_groups_of_novas_metadata(text, groups):
    assert groups_of({"groups": text}) == groups


def test_groups_of_novas_metadata_only_where_they_are_wanted():
    assert "debian" not in hosts([row()], Selection())[0].groups
    assert "debian" in hosts([row()], Selection(), metadata_groups=True)[0].groups


def test_names_by_a_template_and_else_by_the_choice():
    def name_of(variables: dict[str, Any]) -> str:
        return "ci" if variables["nodepool"]["label"] == "small" else ""

    others = row(server_id="uuid-8", node_id="0000000008", name="np8", label="big")
    assert [host.name for host in hosts([row(), others], Selection(), name_of=name_of)] == ["ci", "np0000000008"]
    twins = [row(), row(server_id="uuid-8", node_id="0000000008", label="small")]
    assert [host.name for host in hosts(twins, Selection(), name_of=name_of)] == ["ci_uuid-7", "ci_uuid-8"]


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "all", "ungrouped"])
def test_no_server_takes_a_name_of_ansibles_own(name):
    assert hosts([row(name=name)], Selection(), hostname="name")[0].name == f"{name}_uuid-7"


@pytest.mark.parametrize(
    ("node_id", "name"), [("0000000007", "np0000000007"), ("db01", "uuid-7"), ("7 8", "uuid-7"), ("\u0667", "uuid-7")]
)
def test_the_usual_name_is_that_of_the_node_and_no_text_that_metadata_chooses(node_id, name):
    assert hosts([row(node_id=node_id, name="db01")], Selection())[0].name == name
