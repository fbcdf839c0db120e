# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Convert the services' JSON to objects of model/cloud.py, and a ServerSpec or ImageSpec to JSON. Pure."""

from __future__ import annotations

import base64
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from ...model.bounded_text import bounded
from ...model.cloud import (
    UNKNOWN,
    Address,
    Flavor,
    FloatingIp,
    Image,
    ImageSpec,
    Network,
    Port,
    SecurityGroup,
    Server,
    ServerGroup,
    ServerSpec,
    Volume,
)
from ...model.lines import part_of, word_for
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
from . import json_values
from .json_values import Json
from .sentences import explained

T = TypeVar("T")

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
SSH_PORT = 22
_TYPES = (
    ("status", str, "a text"),
    ("addresses", dict, "an object"),
    ("metadata", dict, "an object"),
    ("flavor", dict, "an object"),
    ("name", str, "a text"),
    ("created", str, "a text"),
    ("updated", str, "a text"),
)
"""(key of a server, its type, its type in words)."""
NEUTRON_QUOTAS = ((PORTS, "port"), (FLOATING_IPS, "floatingip"))


def server_from(document: Json) -> Server:
    """Return a server of GET /servers/detail. From microversion 2.47 on, the document has the sizes of the flavor.

    Only a server without an id cannot be read. Any other value that makes no sense is left out: a server that is
    missing from the list would look as if it were gone.
    """
    server_id = json_values.ident(document)
    flavor = document.get("flavor") if isinstance(document.get("flavor"), Mapping) else {}
    return Server(
        id=server_id,
        name=_said(document, "name"),
        status=(_said(document, "status") or UNKNOWN).upper(),
        metadata=_or_none(lambda: json_values.texts(document, "metadata")) or {},
        addresses=tuple(_addresses(document.get("addresses"))),
        task_state=_said(document, "OS-EXT-STS:task_state") or None,
        fault=_fault(document.get("fault")),
        fault_code=_or_none(lambda: json_values.number(document.get("fault"), "code")),
        flavor_id=_or_none(lambda: json_values.ident(flavor)),
        resources=_or_none(lambda: size(json_values.number(flavor, "vcpus"), json_values.number(flavor, "ram"))),
        volume_ids=tuple(_volume_ids(document.get("os-extended-volumes:volumes_attached"))),
        az=_said(document, "OS-EXT-AZ:availability_zone") or None,
        host_id=_said(document, "hostId") or None,
        created=_said(document, "created") or None,
        updated=_said(document, "updated") or None,
        launched_at=_said(document, "OS-SRV-USG:launched_at") or None,
        access_ipv4=_said(document, "accessIPv4"),
        access_ipv6=_said(document, "accessIPv6"),
        odd=_odd(document),
    )


def _odd(document: Json) -> dict[str, str]:
    """Return key → what is wrong with its value, for keys that nova always shows in one type."""
    return {
        key: str(json_values.wrong(key, document[key], wanted))
        for key, kind, wanted in _TYPES
        if key in document and not isinstance(document[key], kind)
    }


def oddities(servers: Collection[Server]) -> str:
    """Return what to tell of servers that a list shows without a status or with odd values, "" when there are none."""
    unknown = sum(1 for one in servers if one.status == UNKNOWN)
    odd = [text for one in servers if (text := next((said for key, said in one.odd.items() if key != "status"), ""))]
    found, ask = len(servers), "ask the operators of the cloud"
    parts = []
    if unknown:
        parts.append(
            f"{part_of(unknown, found, 'server', 'has', 'have')} no status, or the status {UNKNOWN}, and"
            f" {word_for(unknown, 'is', 'are')} waited for: {ask}"
            " whether a cell of nova is down"
        )
    if odd:
        have = part_of(len(odd), found, "server", "has", "have")
        parts.append(f"{have} values that cannot be used ({odd[0]}): {ask} why")
    return f"GET /servers/detail: {'; '.join(parts)}" if parts else ""


def _or_none(make: Callable[[], T]) -> T | None:
    try:
        return make()
    except json_values.Unreadable:
        return None


def _said(document: Json, key: str) -> str:
    """Return a text of a server; "" for anything else."""
    value = document.get(key)
    return bounded(value) if isinstance(value, str) else ""


def _fault(fault: Any) -> str | None:
    """Return the message of a server's fault, None when it has none."""
    return bounded(explained(_said(fault, "message"))) if isinstance(fault, Mapping) and fault else None


def _volume_ids(attached: Any) -> Iterator[str]:
    return json_values.readable(attached if isinstance(attached, list) else [], json_values.ident)


def _addresses(document: Any) -> Iterator[Address]:
    for network, entries in document.items() if isinstance(document, Mapping) else ():
        for entry in entries if isinstance(entries, list) else ():
            found = _or_none(lambda entry=entry, network=network: _address(network, entry))  # type: ignore[misc]
            if found is not None:
                yield found


def _address(network: str, entry: Any) -> Address:
    return Address(
        network=bounded(network),
        address=json_values.text(entry, "addr"),
        version=json_values.number(entry, "version"),
        floating=entry.get("OS-EXT-IPS:type") == "floating",
        mac=_said(entry, "OS-EXT-IPS-MAC:mac_addr"),
    )


@lru_cache(maxsize=1000)
def size(cores: int, ram: int) -> Resources:
    """Return the compute quota that one server with *cores* and *ram* (MiB) uses."""
    return Resources({INSTANCES: 1, CORES: cores, RAM: ram})


def flavor_from(document: Json) -> Flavor:
    """Return a flavor of GET /flavors/detail."""
    return Flavor(
        id=json_values.ident(document),
        name=json_values.text(document, "name"),
        cores=json_values.number(document, "vcpus"),
        ram=json_values.number(document, "ram"),
        disk=json_values.number(document, "disk") if document.get("disk") else 0,
    )


def image_from(document: Json) -> Image:
    """Return an image of glance; every text value that is not a field of Image counts as a property."""
    image_id = json_values.ident(document)
    own = ("id", "name", "status")
    properties = {
        bounded(key): bounded(value) for key, value in document.items() if key not in own and isinstance(value, str)
    }
    return Image(
        id=image_id,
        name=json_values.optional_text(document, "name"),
        status=json_values.text(document, "status"),
        properties=properties,
        created=json_values.optional_text(document, "created_at") or None,
        size=None if document.get("size") is None else json_values.number(document, "size"),
        min_disk=_or_none(lambda: json_values.number(document, "min_disk")) or 0,
        min_ram=_or_none(lambda: json_values.number(document, "min_ram")) or 0,
    )


def image_name(document: Json) -> str:
    """Return the name of an image of glance, "" when it has none."""
    return json_values.optional_text(json_values.mapping(document), "name")


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


def network_from(document: Json, project_id: str = "") -> Network:
    """Return a network of neutron as *project_id* sees it."""
    return Network(
        id=json_values.ident(document),
        name=json_values.optional_text(document, "name"),
        external=bool(document.get("router:external")),
        physical=bool(document.get("provider:physical_network")),
        automatic=bool(document.get("shared")) or (project_id != "" and _project(document) == project_id),
        has_subnet=document.get("subnets") != [],
    )


def security_group_from(document: Json, project_id: str = "", version: int = 4) -> SecurityGroup:
    """Return a security group of neutron as *project_id* sees it; *version*: that of IP over which ssh is let in."""
    own = _project(document) in ("", project_id)
    rules = json_values.optional_sequence(document, "security_group_rules")
    admits_ssh = any(isinstance(rule, Mapping) and _admits_ssh(rule, version) for rule in rules)
    return SecurityGroup(json_values.ident(document), json_values.optional_text(document, "name"), own, admits_ssh)


def _admits_ssh(rule: Mapping[str, Any], version: int) -> bool:
    """Return True for a rule that lets TCP 22 in over this version of IP, from some network or everywhere.

    A rule for the members of a group lets nobody in from outside.
    """
    lowest, highest = rule.get("port_range_min"), rule.get("port_range_max")
    ports = (lowest is None or lowest <= SSH_PORT) and (highest is None or highest >= SSH_PORT)
    return (
        rule.get("direction") == "ingress"
        and rule.get("ethertype", "IPv4") == f"IPv{version}"
        and str(rule.get("protocol") or "any").lower() in ("any", "tcp", "6")
        and not rule.get("remote_group_id")
        and ports
    )


def server_groups(document: Json) -> list[ServerGroup]:
    """Return the server groups of nova's list."""
    rows = json_values.sequence(document, "server_groups")
    return [ServerGroup(json_values.ident(row), json_values.optional_text(row, "name")) for row in rows]


def _project(document: Json) -> str:
    """Return the project that owns a thing of neutron; "" when the document does not tell."""
    return json_values.optional_text(document, "project_id") or json_values.optional_text(document, "tenant_id")


def port_from(document: Json) -> Port:
    """Return a port of neutron."""
    return Port(
        id=json_values.ident(document),
        server_id=json_values.optional_text(document, "device_id"),
        network_id=json_values.ident(document, "network_id"),
        fixed_addresses=tuple(
            json_values.text(entry, "ip_address") for entry in json_values.optional_sequence(document, "fixed_ips")
        ),
        status=json_values.optional_text(document, "status"),
        device_owner=json_values.optional_text(document, "device_owner"),
        description=json_values.optional_text(document, "description"),
        created=json_values.optional_text(document, "created_at") or None,
    )


def floating_ip_from(document: Json) -> FloatingIp:
    """Return a floating IP of neutron."""
    return FloatingIp(
        id=json_values.ident(document),
        address=json_values.text(document, "floating_ip_address"),
        status=json_values.optional_text(document, "status"),
        port_id=json_values.optional_text(document, "port_id") or None,
        description=json_values.optional_text(document, "description"),
        created=json_values.optional_text(document, "created_at") or None,
    )


def volume_from(document: Json) -> Volume:
    """Return a volume of cinder's detailed list."""
    return Volume(
        id=json_values.ident(document),
        name=json_values.optional_text(document, "name"),
        status=json_values.optional_text(document, "status"),
        server_ids=tuple(
            json_values.ident(entry, "server_id") for entry in json_values.optional_sequence(document, "attachments")
        ),
        metadata=json_values.texts(document, "metadata"),
        created=json_values.optional_text(document, "created_at") or None,
    )


def keypair_names(document: Json) -> list[str]:
    """Return the names of the keypairs of GET /os-keypairs."""
    found = (json_values.mapping(item, "keypair") for item in json_values.sequence(document, "keypairs"))
    return [json_values.text(item, "name") for item in found]


def zone_from(document: Json) -> tuple[str, bool]:
    """Return the name of a zone of GET /os-availability-zone, and whether it is available."""
    state = json_values.mapping(document, "zoneState")
    return json_values.text(document, "zoneName"), bool(state.get("available"))


def absolute_limits(
    document: Json, names: tuple[tuple[str, str, str], ...]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return (limits, usage) of nova's or cinder's limits; no limit (-1) and a missing number are left out."""
    absolute = json_values.mapping(json_values.mapping(document, "limits"), "absolute")
    limits = {name: json_values.number(absolute, limit) for name, limit, _used in names if limit in absolute}
    bounds: dict[str, float] = {name: limit for name, limit in limits.items() if limit >= 0}
    used: dict[str, float] = {name: json_values.number(absolute, key) for name, _limit, key in names if key in absolute}
    return bounds, used


def network_quota(document: Json) -> tuple[dict[str, float], dict[str, float]]:
    """Return (limits, usage) of neutron's quota details.

    No limit (-1) is left out, and what this neutron has no quota of: floating IPs where it has no routers.
    """
    quota = json_values.mapping(document, "quota")
    details = {name: json_values.mapping(quota, key) for name, key in NEUTRON_QUOTAS if key in quota}
    limits = {name: json_values.number(detail, "limit") for name, detail in details.items()}
    bounds: dict[str, float] = {name: limit for name, limit in limits.items() if limit >= 0}
    used: dict[str, float] = {name: json_values.number(detail, "used") for name, detail in details.items()}
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
    return {"server": server, **({"os:scheduler_hints": dict(hints)} if (hints := spec.scheduler_hints) else {})}
