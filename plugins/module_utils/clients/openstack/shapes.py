# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Convert the services' JSON to objects of model/cloud.py, and a ServerSpec or ImageSpec to JSON. Pure."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ...model.bounded_text import bounded
from ...model.cloud import (
    Address,
    Flavor,
    FloatingIp,
    Image,
    ImageSpec,
    Network,
    Port,
    SecurityGroup,
    Server,
    ServerSpec,
    Volume,
)
from ...model.resources import (
    CORES,
    FLOATING_IPS,
    INSTANCES,
    PORTS,
    RAM,
    VOLUME_GB,
    VOLUMES,
    Resources,
)

Json = Mapping[str, Any]

# (name in model/resources.py, key of the limit, key of the usage)
NOVA_LIMITS = (
    (INSTANCES, "maxTotalInstances", "totalInstancesUsed"),
    (CORES, "maxTotalCores", "totalCoresUsed"),
    (RAM, "maxTotalRAMSize", "totalRAMUsed"),
)
CINDER_LIMITS = (
    (VOLUMES, "maxTotalVolumes", "totalVolumesUsed"),
    (VOLUME_GB, "maxTotalVolumeGigabytes", "totalGigabytesUsed"),
)
NEUTRON_QUOTAS = ((PORTS, "port"), (FLOATING_IPS, "floatingip"))


def server_from(document: Json) -> Server:
    """Return a server of GET /servers/detail. From microversion 2.47 on, the document has the sizes of the flavor."""
    flavor = document.get("flavor") or {}
    fault = document.get("fault") or {}
    return Server(
        id=str(document["id"]),
        name=str(document.get("name") or ""),
        status=str(document.get("status") or "UNKNOWN").upper(),
        metadata={str(key): str(value) for key, value in (document.get("metadata") or {}).items()},
        addresses=_addresses(document.get("addresses") or {}),
        task_state=document.get("OS-EXT-STS:task_state"),
        fault=bounded(str(fault.get("message") or "")) if fault else None,
        fault_code=fault["code"] if isinstance(fault.get("code"), int) else None,
        flavor_id=str(flavor["id"]) if flavor.get("id") else None,
        resources=size(int(flavor["vcpus"]), int(flavor["ram"])) if "vcpus" in flavor else None,
        volume_ids=tuple(str(volume["id"]) for volume in document.get("os-extended-volumes:volumes_attached") or ()),
        az=document.get("OS-EXT-AZ:availability_zone") or None,
        host_id=document.get("hostId") or None,
        created=document.get("created"),
        updated=document.get("updated"),
        launched_at=document.get("OS-SRV-USG:launched_at"),
        access_ipv4=str(document.get("accessIPv4") or ""),
        access_ipv6=str(document.get("accessIPv6") or ""),
    )


def _addresses(document: Json) -> tuple[Address, ...]:
    return tuple(
        Address(
            network=str(network),
            address=str(entry["addr"]),
            version=int(entry["version"]),
            floating=entry.get("OS-EXT-IPS:type") == "floating",
            mac=str(entry.get("OS-EXT-IPS-MAC:mac_addr") or ""),
        )
        for network, entries in document.items()
        for entry in entries
    )


@lru_cache(maxsize=1000)
def size(cores: int, ram: int) -> Resources:
    """Return the compute quota that one server with *cores* and *ram* (MiB) uses."""
    return Resources({INSTANCES: 1, CORES: cores, RAM: ram})


def flavor_from(document: Json) -> Flavor:
    """Return a flavor of GET /flavors/detail."""
    return Flavor(
        id=str(document["id"]),
        name=str(document["name"]),
        cores=int(document["vcpus"]),
        ram=int(document["ram"]),
        disk=int(document.get("disk") or 0),
    )


def image_from(document: Json) -> Image:
    """Return an image of glance; every text value that is not a field of Image counts as a property."""
    own = ("id", "name", "status")
    properties = {key: value for key, value in document.items() if key not in own and isinstance(value, str)}
    return Image(
        id=str(document["id"]),
        name=str(document.get("name") or ""),
        status=str(document["status"]),
        properties=properties,
        created=document.get("created_at"),
        size=None if document.get("size") is None else int(document["size"]),
    )


def image_body(spec: ImageSpec) -> Json:
    """Return the body of POST /images.

    As in the SDK, the image is private by default, min_disk and min_ram are numbers, and protected is a boolean.
    """
    numbers = {key: int(spec.properties[key]) for key in ("min_disk", "min_ram") if key in spec.properties}
    flags = {"protected": spec.properties["protected"].lower() == "true"} if "protected" in spec.properties else {}
    return {
        "visibility": "private",
        **spec.properties,
        **numbers,
        **flags,
        **({"tags": list(spec.tags)} if spec.tags else {}),
        "name": spec.name,
        "disk_format": spec.disk_format,
        "container_format": "bare",
    }


def network_from(document: Json) -> Network:
    """Return a network of neutron."""
    return Network(
        id=str(document["id"]),
        name=str(document.get("name") or ""),
        external=bool(document.get("router:external")),
        physical=bool(document.get("provider:physical_network")),
    )


def security_group_from(document: Json) -> SecurityGroup:
    """Return a security group of neutron."""
    return SecurityGroup(str(document["id"]), str(document.get("name") or ""))


def port_from(document: Json) -> Port:
    """Return a port of neutron."""
    return Port(
        id=str(document["id"]),
        server_id=str(document.get("device_id") or ""),
        network_id=str(document["network_id"]),
        fixed_addresses=tuple(str(entry["ip_address"]) for entry in document.get("fixed_ips") or ()),
        status=str(document.get("status") or ""),
        device_owner=str(document.get("device_owner") or ""),
        description=str(document.get("description") or ""),
        created=document.get("created_at"),
    )


def floating_ip_from(document: Json) -> FloatingIp:
    """Return a floating IP of neutron."""
    return FloatingIp(
        id=str(document["id"]),
        address=str(document["floating_ip_address"]),
        status=str(document.get("status") or ""),
        port_id=document.get("port_id") or None,
        description=str(document.get("description") or ""),
        created=document.get("created_at"),
    )


def volume_from(document: Json) -> Volume:
    """Return a volume of cinder's detailed list."""
    return Volume(
        id=str(document["id"]),
        name=str(document.get("name") or ""),
        status=str(document.get("status") or ""),
        server_ids=tuple(str(entry["server_id"]) for entry in document.get("attachments") or ()),
        metadata={str(key): str(value) for key, value in (document.get("metadata") or {}).items()},
        created=document.get("created_at"),
    )


def absolute_limits(
    document: Json, names: tuple[tuple[str, str, str], ...]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return (limits, usage) of nova's or cinder's limits; no limit (-1) and a missing number are left out."""
    absolute = document["limits"]["absolute"]
    bounds: dict[str, float] = {
        name: int(absolute[limit]) for name, limit, _used in names if int(absolute.get(limit, -1)) >= 0
    }
    used: dict[str, float] = {name: int(absolute[key]) for name, _limit, key in names if key in absolute}
    return bounds, used


def network_quota(document: Json) -> tuple[dict[str, float], dict[str, float]]:
    """Return (limits, usage) of neutron's quota details; no limit (-1) is left out."""
    quota = document["quota"]
    bounds: dict[str, float] = {
        name: int(quota[key]["limit"]) for name, key in NEUTRON_QUOTAS if int(quota[key]["limit"]) >= 0
    }
    used: dict[str, float] = {name: int(quota[key]["used"]) for name, key in NEUTRON_QUOTAS}
    return bounds, used


def create_body(spec: ServerSpec) -> dict[str, Any]:
    """Return the body of POST /servers at microversion 2.1, where nova chooses the networks when the body has none."""
    server: dict[str, Any] = {"name": spec.name, "flavorRef": spec.flavor_id, "metadata": dict(spec.metadata)}
    if spec.boot_from_volume:
        server["block_device_mapping_v2"] = [
            {
                "boot_index": "0",
                "uuid": spec.image_id,
                "source_type": "image",
                "destination_type": "volume",
                "volume_size": spec.volume_size,
                "delete_on_termination": True,
            }
        ]
    else:
        server["imageRef"] = spec.image_id
    if spec.az:
        server["availability_zone"] = spec.az
    if spec.network_ids:
        server["networks"] = [{"uuid": network_id} for network_id in spec.network_ids]
    if spec.security_groups:
        server["security_groups"] = [{"name": group} for group in spec.security_groups]
    if spec.key_name:
        server["key_name"] = spec.key_name
    if spec.config_drive is not None:
        server["config_drive"] = spec.config_drive
    if spec.userdata is not None:
        server["user_data"] = base64.b64encode(spec.userdata.encode()).decode("ascii")
    return {"server": server}
