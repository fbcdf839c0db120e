# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node's document from its creation to ready, key by key as the schema has it."""

from __future__ import annotations

from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.launching import record
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import ReachedAddresses, Server
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import ImageSettings, Pool, Provider
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Upload
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Resources

PROVIDER = Provider("east", "cloud-east", region_name="r1")
POOL = Pool("main", node_attributes={"executor-zone": "z"})
REQUEST = NodeRequest(id="100-0000000001", requestor="zuul", tenant_name="t")
CLOUD_IMAGE = ImageSettings("debian", None, "Debian", None, "deb", "/usr/bin/python3", "sh", "ssh", 2222)
DISK_IMAGE = ImageSettings("debian", username="deb", connection_type="network_cli", kind="diskimage")
NEED = Resources({"instances": 1, "cores": 2, "ram": 2048, "ports": 1})
SERVER = Server("uuid", "np1", "ACTIVE", az="az2", host_id="h1", resources=Resources({"cores": 4, "ram": 4096}))


def test_init_is_what_nodepool_writes_first():
    node = record.new_node(PROVIDER, POOL, "pool-id", "small", REQUEST, 10.0)
    assert node.state == "init"
    assert changed(node) == {
        "state_time": 10.0,
        "created_time": 10.0,
        "type": ["small"],
        "provider": "east",
        "pool": "main",
        "launcher": "pool-id",
        "allocated_to": "100-0000000001",
        "tenant_name": "t",
        "requestor": "zuul",
        "attributes": {"executor-zone": "z"},
    }


def changed(node: Node, before: Node | None = None) -> dict[str, Any]:
    """The keys of the document that differ from those of *before*, or of an empty node."""
    old = (before or Node()).to_document()
    return {key: value for key, value in node.to_document().items() if value != old[key]}


def test_a_spare_node_belongs_to_nobody():
    node = record.new_node(PROVIDER, Pool("main"), "pool-id", "small", None, 10.0)
    assert (node.allocated_to, node.tenant_name, node.requestor, node.attributes) == (None, None, None, None)


def test_building_a_cloud_image():
    node = Node()
    record.begin(node, CLOUD_IMAGE, None, NEED, 11.0)
    assert changed(node) == {
        "state": "building",
        "state_time": 11.0,
        "image_id": "debian",
        "username": "deb",
        "python_path": "/usr/bin/python3",
        "shell_type": "sh",
        "connection_type": "ssh",
        "connection_port": 2222,
        "ssh_port": 2222,
        "resources": {"instances": 1, "cores": 2, "ram": 2048},
    }


def test_building_a_disk_image_quotes_the_upload():
    path = "/nodepool/images/debian/builds/0a/providers/east/images/0000000001"
    upload = Upload(path=path, username="built", python_path="/py", shell_type="bash")
    node = Node()
    record.begin(node, DISK_IMAGE, upload, NEED, 11.0)
    assert (node.image_id, node.username, node.python_path, node.shell_type) == (path, "built", "/py", "bash")
    assert node.connection_type == "network_cli"


def test_an_upload_that_does_not_say_leaves_it_to_the_configuration():
    node = Node()
    record.begin(node, DISK_IMAGE, Upload(path="/p", username=None, python_path=None), NEED, 11.0)
    assert (node.username, node.python_path) == ("deb", "auto")


def test_an_active_server():
    node = Node(resources={"instances": 1, "cores": 2, "ram": 2048, "volumes": 1})
    before = node.clone()
    addresses = ReachedAddresses("203.0.113.5", "10.0.0.5", "2001:db8::5", "203.0.113.5")
    record.active(node, PROVIDER, SERVER, addresses, None)
    assert changed(node, before) == {
        "external_id": "uuid",
        "cloud": "cloud-east",
        "region": "r1",
        "az": "az2",
        "host_id": "h1",
        "public_ipv4": "203.0.113.5",
        "private_ipv4": "10.0.0.5",
        "public_ipv6": "2001:db8::5",
        "interface_ip": "203.0.113.5",
        "resources": {"instances": 1, "cores": 4, "ram": 4096, "volumes": 1},
    }


def test_a_floating_ip_is_how_the_node_is_reached():
    node = Node()
    record.active(node, PROVIDER, SERVER, ReachedAddresses("", "10.0.0.5", "", ""), "198.51.100.9")
    assert (node.public_ipv4, node.private_ipv4, node.interface_ip) == ("198.51.100.9", "10.0.0.5", "198.51.100.9")


def test_without_a_private_address_the_public_one_stands_for_it():
    node = Node()
    record.active(node, PROVIDER, SERVER, ReachedAddresses("203.0.113.5", "", "", "203.0.113.5"), None)
    assert node.private_ipv4 == "203.0.113.5"


def test_a_cloud_that_does_not_tell_its_zone_leaves_the_one_that_was_asked_for():
    node = Node(az="az1")
    record.active(node, PROVIDER, Server("uuid", "np1", "ACTIVE"), ReachedAddresses(), None)
    assert node.az == "az1"


def test_ready():
    node = Node(state="building", state_time=1.0)
    before = node.clone()
    record.ready(node, ("ssh-ed25519 AAAA", "ssh-rsa BBBB"), 12.0)
    assert changed(node, before) == {
        "state": "ready",
        "state_time": 12.0,
        "host_keys": ["ssh-ed25519 AAAA", "ssh-rsa BBBB"],
    }


def test_reuse_copies_the_new_owner():
    node = Node(allocated_to=None, tenant_name="old", requestor="old")
    record.allocate(node, REQUEST)
    assert (node.allocated_to, node.tenant_name, node.requestor) == ("100-0000000001", "t", "zuul")
