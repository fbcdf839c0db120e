# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import math
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack import shapes
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Address, Network, ServerSpec
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits, Resources

SERVER: dict[str, Any] = {
    "id": "s1",
    "name": "np0000000001",
    "status": "ACTIVE",
    "metadata": {"groups": "a,b,c", "stackci_launch": "0000000001-1-ab"},
    "addresses": {
        "net": [
            {"addr": "10.0.0.5", "version": 4, "OS-EXT-IPS:type": "fixed", "OS-EXT-IPS-MAC:mac_addr": "aa"},
            {"addr": "203.0.114.7", "version": 4, "OS-EXT-IPS:type": "floating", "OS-EXT-IPS-MAC:mac_addr": "aa"},
        ],
        "six": [{"addr": "2001:db8::1", "version": 6}],
    },
    "OS-EXT-STS:task_state": None,
    "OS-EXT-AZ:availability_zone": "az1",
    "OS-SRV-USG:launched_at": "2026-11-20T12:00:00.000000",
    "os-extended-volumes:volumes_attached": [{"id": "v1"}],
    "flavor": {"vcpus": 2, "ram": 4096, "disk": 20, "original_name": "m1"},
    "created": "2026-11-20T11:59:00Z",
    "updated": "2026-11-20T12:00:01Z",
    "hostId": "h",
    "accessIPv4": "",
    "accessIPv6": "",
}


def test_a_server_with_an_embedded_flavor() -> None:
    server = shapes.server_from(SERVER)
    assert server.resources == Resources({"instances": 1, "cores": 2, "ram": 4096})
    assert server.flavor_id is None
    assert server.launch_mark == "0000000001-1-ab"
    assert server.addresses == (
        Address("net", "10.0.0.5", 4, False, "aa"),
        Address("net", "203.0.114.7", 4, True, "aa"),
        Address("six", "2001:db8::1", 6),
    )
    assert (server.az, server.volume_ids, server.fault, server.host_id) == ("az1", ("v1",), None, "h")
    assert server.launched_at == "2026-11-20T12:00:00.000000"


def test_a_server_of_an_older_nova_names_its_flavor_only() -> None:
    server = shapes.server_from({**SERVER, "flavor": {"id": "f1", "links": []}})
    assert (server.flavor_id, server.resources) == ("f1", None)


@pytest.mark.parametrize("key", ["status", "addresses", "metadata", "flavor", "name", "created", "updated"])
@pytest.mark.parametrize(("value", "said"), [(None, "null"), (7, "the number 7"), ([], "a list")])
def test_a_value_of_another_type_is_left_out_and_told(key: str, value: Any, said: str) -> None:
    server = shapes.server_from({**SERVER, key: value})
    assert server.id == SERVER["id"] and list(server.odd) == [key] and f"{key} is {said} where" in server.odd[key]
    assert server.is_told == (key not in ("status", "addresses"))
    told = shapes.oddities([server, shapes.server_from(SERVER)])
    assert "1 of 2 servers" in told and (key == "status" or server.odd[key] in told)
    assert shapes.oddities([shapes.server_from(SERVER)]) == ""


def test_a_failed_server_has_its_fault() -> None:
    fault = {"code": 500, "message": "No valid host was found. ", "created": "2026-11-20T12:00:00Z"}
    server = shapes.server_from({**SERVER, "status": "ERROR", "fault": fault})
    assert (server.status, server.fault) == ("ERROR", "No valid host was found. ")


def test_a_server_that_is_being_built_may_lack_nearly_everything() -> None:
    server = shapes.server_from({"id": "s1", "name": None, "addresses": None, "metadata": None})
    assert (server.id, server.name, server.status, server.addresses) == ("s1", "", "UNKNOWN", ())


def test_minus_one_is_no_limit() -> None:
    absolute = {
        "maxTotalInstances": 10,
        "maxTotalCores": -1,
        "maxTotalRAMSize": 51200,
        "totalInstancesUsed": 3,
        "totalCoresUsed": 6,
        "totalRAMUsed": 0,
    }
    bounds, used = shapes.absolute_limits({"limits": {"absolute": absolute}}, shapes.NOVA_LIMITS)
    assert bounds == {"instances": 10, "ram": 51200}
    assert Limits(bounds)["cores"] == math.inf
    assert used == {"instances": 3, "cores": 6, "ram": 0}


def test_cinder_and_neutron_limits_have_our_names() -> None:
    cinder = {"limits": {"absolute": {"maxTotalVolumes": 10, "maxTotalVolumeGigabytes": 1000, "totalVolumesUsed": 2}}}
    assert shapes.absolute_limits(cinder, shapes.CINDER_LIMITS) == ({"volumes": 10, "volume-gb": 1000}, {"volumes": 2})
    neutron = {
        "quota": {
            "port": {"limit": 500, "used": 7, "reserved": 0},
            "floatingip": {"limit": -1, "used": 3, "reserved": 0},
        }
    }
    assert shapes.network_quota(neutron) == ({"ports": 500}, {"ports": 7, "floating-ips": 3})
    del neutron["quota"]["floatingip"]  # neutron without routers
    assert shapes.network_quota(neutron) == ({"ports": 500}, {"ports": 7})


def test_a_plain_create_says_no_more_than_it_must() -> None:
    body = shapes.create_body(ServerSpec("np1", "image", "flavor", {"k": "v"}))
    assert body == {"server": {"name": "np1", "imageRef": "image", "flavorRef": "flavor", "metadata": {"k": "v"}}}


def test_a_create_with_everything() -> None:
    spec = ServerSpec(
        "np1",
        "image",
        "flavor",
        {},
        az="az1",
        network_ids=("n1", "n2"),
        security_groups=("default",),
        key_name="key",
        config_drive=False,
        userdata="#cloud-config ü",
        boot_from_volume=True,
        volume_size=80,
    )
    server = shapes.create_body(spec)["server"]
    assert "imageRef" not in server
    (device,) = server["block_device_mapping_v2"]
    assert (device["uuid"], device["volume_size"], device["delete_on_termination"]) == ("image", 80, True)
    assert (device["source_type"], device["destination_type"], device["boot_index"]) == ("image", "volume", "0")
    assert server["networks"] == [{"uuid": "n1"}, {"uuid": "n2"}]
    assert server["security_groups"] == [{"name": "default"}]
    assert (server["availability_zone"], server["key_name"], server["config_drive"]) == ("az1", "key", False)
    assert base64.b64decode(server["user_data"]).decode() == "#cloud-config ü"


@pytest.mark.parametrize(
    ("document", "network"),
    [
        ({"id": "1", "name": "a", "router:external": True}, Network("1", "a", True)),
        (
            {"id": "1", "name": "a", "router:external": False, "provider:physical_network": "x"},
            Network("1", "a", False, True),
        ),
        ({"id": "1", "name": "a", "provider:physical_network": None}, Network("1", "a")),
    ],
)
def test_networks(document: dict[str, Any], network: Network) -> None:
    assert shapes.network_from(document) == network


def test_images_ports_flavors_and_floating_ips() -> None:
    image = shapes.image_from({"id": "i", "name": "n", "status": "active", "os_type": "linux", "size": 3})
    assert (image.id, image.properties) == ("i", {"os_type": "linux"})
    port = shapes.port_from({"id": "p", "device_id": "s", "network_id": "n", "fixed_ips": [{"ip_address": "10.0.0.1"}]})
    assert (port.server_id, port.fixed_addresses) == ("s", ("10.0.0.1",))
    flavor = shapes.flavor_from({"id": 1, "name": "m1", "vcpus": 2, "ram": 512, "disk": 0})
    assert (flavor.id, flavor.cores) == ("1", 2)
    floating = shapes.floating_ip_from(
        {"id": "f", "floating_ip_address": "203.0.114.1", "status": "DOWN", "port_id": None, "description": None}
    )
    assert (floating.port_id, floating.description) == (None, "")
