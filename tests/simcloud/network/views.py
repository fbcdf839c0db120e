# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How neutron shows the things that come from the configuration."""

from __future__ import annotations

from typing import Any

from tests.simcloud.config import NetworkConfig, Settings, SubnetConfig, stable_id
from tests.simcloud.network.state import NetworkState
from tests.simcloud.timing import iso

EXTENSIONS = (
    ("external-net", "Neutron external network"),
    ("router", "Neutron L3 Router"),
    ("security-group", "security-group"),
    ("port-security", "Port Security"),
    ("quotas", "Quota management support"),
    ("quota_details", "Quota details management support"),
    ("binding", "Port Binding"),
    ("subnet_allocation", "Subnet Allocation"),
    ("standard-attr-description", "standard-attr-description"),
    ("standard-attr-timestamp", "Resource timestamps"),
    ("standard-attr-tag", "Tag support for resources with standard attribute"),
    ("net-mtu", "Network MTU"),
    ("fip-port-details", "Floating IP Port Details Extension"),
    ("pagination", "Pagination support"),
    ("sorting", "Sorting support"),
)


def network(state: NetworkState, item: NetworkConfig) -> dict[str, Any]:
    owner = "0" * 32 if item.external else state.project_id
    view = {
        "id": item.id,
        "name": item.name,
        "tenant_id": owner,
        "admin_state_up": True,
        "mtu": 1500 if item.external else 1450,
        "status": "ACTIVE",
        "subnets": [subnet.id for subnet in item.subnets],
        "shared": item.shared,
        "availability_zone_hints": [],
        "availability_zones": [],
        "ipv4_address_scope": None,
        "ipv6_address_scope": None,
        "router:external": item.external,
        "description": "",
        "port_security_enabled": True,
        "tags": [],
        "created_at": iso(state.born),
        "updated_at": iso(state.born),
        "revision_number": 2,
        "project_id": owner,
    }
    if item.external:
        view["is_default"] = False
    return view


def subnet(state: NetworkState, parent: NetworkConfig, item: SubnetConfig) -> dict[str, Any]:
    owner = "0" * 32 if parent.external else state.project_id
    first, last = item.cidr.network_address, item.cidr.broadcast_address
    return {
        "id": item.id,
        "name": f"{parent.name}-subnet",
        "tenant_id": owner,
        "network_id": parent.id,
        "ip_version": item.cidr.version,
        "subnetpool_id": None,
        "enable_dhcp": not parent.external,
        "ipv6_ra_mode": None,
        "ipv6_address_mode": None,
        "gateway_ip": str(first + 1),
        "cidr": str(item.cidr),
        "allocation_pools": [{"start": str(first + 2), "end": str(last - 1)}],
        "host_routes": [],
        "dns_nameservers": [],
        "description": "",
        "service_types": [],
        "tags": [],
        "created_at": iso(state.born),
        "updated_at": iso(state.born),
        "revision_number": 0,
        "project_id": owner,
    }


def router(state: NetworkState) -> dict[str, Any]:
    external = state.gateway
    gateway = None
    if external is not None:
        gateway = {
            "network_id": external.id,
            "external_fixed_ips": [
                {"subnet_id": item.id, "ip_address": str(item.cidr.network_address + 2)} for item in external.subnets
            ],
            "enable_snat": True,
        }
    return {
        "id": state.router_id,
        "name": "router1",
        "tenant_id": state.project_id,
        "admin_state_up": True,
        "status": "ACTIVE",
        "external_gateway_info": gateway,
        "description": "",
        "availability_zones": [],
        "availability_zone_hints": [],
        "routes": [],
        "flavor_id": None,
        "tags": [],
        "created_at": iso(state.born),
        "updated_at": iso(state.born),
        "revision_number": 4,
        "project_id": state.project_id,
    }


def router_ports(state: NetworkState) -> list[dict[str, Any]]:
    """Return the router's legs into the project's networks; the SDK looks for them to choose a floating network."""
    legs = []
    for parent in state.networks.values():
        if parent.external or not parent.router:
            continue
        fixed = [{"subnet_id": item.id, "ip_address": str(item.cidr.network_address + 1)} for item in parent.subnets]
        legs.append(
            {
                "id": stable_id(parent.id, "router-port"),
                "name": "",
                "network_id": parent.id,
                "tenant_id": state.project_id,
                "mac_address": "fa:16:3f:00:00:01",
                "admin_state_up": True,
                "status": "ACTIVE",
                "device_id": state.router_id,
                "device_owner": "network:router_interface",
                "fixed_ips": fixed,
                "allowed_address_pairs": [],
                "extra_dhcp_opts": [],
                "security_groups": [],
                "description": "",
                "binding:vnic_type": "normal",
                "port_security_enabled": False,
                "tags": [],
                "created_at": iso(state.born),
                "updated_at": iso(state.born),
                "revision_number": 3,
                "project_id": state.project_id,
            }
        )
    return legs


def security_group(state: NetworkState, ident: str, name: str) -> dict[str, Any]:
    return {
        "id": ident,
        "name": name,
        "stateful": True,
        "tenant_id": state.project_id,
        "description": "Default security group" if name == "default" else "",
        "shared": False,
        "security_group_rules": state.group_rules.get(ident, []),
        "tags": [],
        "created_at": iso(state.born),
        "updated_at": iso(state.born),
        "revision_number": 1,
        "project_id": state.project_id,
    }


def quota(state: NetworkState, settings: Settings) -> dict[str, dict[str, int]]:
    """Return limit, used and reserved of each resource."""
    used = {
        "network": (100, sum(1 for item in state.networks.values() if not item.external)),
        "subnet": (100, sum(len(item.subnets) for item in state.networks.values() if not item.external)),
        "subnetpool": (-1, 0),
        "port": (settings.quota["ports"], len(state.ports)),
        "router": (10, 1),
        "floatingip": (settings.quota["floating_ips"], len(state.floating_ips)),
        "rbac_policy": (10, 0),
        "security_group": (10, len(state.security_groups)),
        "security_group_rule": (100, 4),
    }
    return {name: {"limit": limit, "used": number, "reserved": 0} for name, (limit, number) in used.items()}


def extensions() -> list[dict[str, Any]]:
    return [
        {"name": name, "alias": alias, "description": name, "updated": "2015-01-01T10:00:00-00:00", "links": []}
        for alias, name in EXTENSIONS
    ]
