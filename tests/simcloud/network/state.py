# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Networks, ports and floating IPs of one cloud."""

from __future__ import annotations

import ipaddress
import uuid
from collections.abc import Callable
from typing import Any

from tests.simcloud.answers import Refusal, neutron_error
from tests.simcloud.config import UNLIMITED, CloudConfig, NetworkConfig, Settings, SubnetConfig, stable_id
from tests.simcloud.timing import Scheduler, iso

FIRST_HOST = 10


class Addresses:
    """Hands out the addresses of one subnet, each again only when all the others have had their turn."""

    def __init__(self, subnet: SubnetConfig) -> None:
        self.subnet = subnet
        self._size = min(subnet.cidr.num_addresses - 2, 1 << 22)
        self._next = min(FIRST_HOST, self._size)
        self._taken: set[int] = set()

    @property
    def used(self) -> int:
        return len(self._taken)

    def take(self) -> str | None:
        """Return a free address, None when there is none."""
        for _attempt in range(self._size):
            number = self._next
            self._next = number + 1 if number < self._size else 1
            if number not in self._taken:
                self._taken.add(number)
                return str(self.subnet.cidr.network_address + number)
        return None

    def give_back(self, address: str) -> None:
        base = int(self.subnet.cidr.network_address)
        self._taken.discard(int(ipaddress.ip_address(address)) - base)


class NetworkState:
    """What neutron knows. Ports and floating IPs are kept as the documents that the API shows.

    :param changed: called with the id of a server whose addresses changed.
    """

    def __init__(
        self,
        config: CloudConfig,
        settings: Settings,
        project_id: str,
        scheduler: Scheduler,
        changed: Callable[[str], None],
    ) -> None:
        self.networks: dict[str, NetworkConfig] = {network.id: network for network in config.networks}
        names = config.security_groups
        self.security_groups = {
            stable_id(config.name, "secgroup", name, *(["again"] if name in names[:place] else [])): name
            for place, name in enumerate(names)
        }
        self.group_rules: dict[str, list[dict[str, Any]]] = {}
        self.ports: dict[str, dict[str, Any]] = {}
        self.floating_ips: dict[str, dict[str, Any]] = {}
        self.project_id = project_id
        self.born = scheduler.now()
        self.router_id = stable_id(config.name, "router")
        self._settings = settings
        self._scheduler = scheduler
        self._changed = changed
        self._by_device: dict[str, list[str]] = {}
        self._floating_by_port: dict[str, list[str]] = {}
        self._pools = {subnet.id: Addresses(subnet) for network in config.networks for subnet in network.subnets}
        self._macs = 0

    def room_for_ports(self, number: int) -> bool:
        limit = self._settings.quota["ports"]
        return limit == UNLIMITED or len(self.ports) + number <= limit

    def server_ports(self, server_id: str) -> list[dict[str, Any]]:
        return [self.ports[ident] for ident in self._by_device.get(server_id, ())]

    def port_floating_ips(self, port_id: str) -> list[dict[str, Any]]:
        return [self.floating_ips[ident] for ident in self._floating_by_port.get(port_id, ())]

    def create_port(
        self, network_id: str, fields: dict[str, Any], *, forced: bool = False, beside: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Make a port with one address of each subnet.

        :param forced: do not ask the quota.
        :param beside: a port whose addresses the new one gets, too.
        :raises Refusal: over quota, or no such network.
        """
        network = self.networks.get(network_id)
        if network is None:
            raise neutron_error(404, "NetworkNotFound", f"Network {network_id} could not be found.")
        if not forced and not self.room_for_ports(1):
            raise over_quota("port")
        fixed = []
        for subnet in network.subnets if beside is None else ():
            address = self._pools[subnet.id].take()
            if address is None:
                raise no_addresses(network_id)
            fixed.append({"subnet_id": subnet.id, "ip_address": address})
        fixed += [dict(item) for item in beside["fixed_ips"]] if beside is not None else []
        self._macs += 1
        now = iso(self._scheduler.now())
        port = {
            "id": str(uuid.uuid4()),
            "name": fields.get("name", ""),
            "network_id": network_id,
            "tenant_id": self.project_id,
            "mac_address": "fa:16:3e:" + ":".join(f"{(self._macs >> shift) & 255:02x}" for shift in (16, 8, 0)),
            "admin_state_up": fields.get("admin_state_up", True),
            "status": fields.get("status", "DOWN"),
            "device_id": fields.get("device_id", ""),
            "device_owner": fields.get("device_owner", ""),
            "fixed_ips": fixed,
            "allowed_address_pairs": [],
            "extra_dhcp_opts": [],
            "security_groups": fields.get("security_groups", list(self.security_groups)[:1]),
            "description": fields.get("description", ""),
            "binding:vnic_type": "normal",
            "port_security_enabled": True,
            "tags": [],
            "created_at": now,
            "updated_at": now,
            "revision_number": 1,
            "project_id": self.project_id,
        }
        self.ports[port["id"]] = port
        if port["device_id"]:
            self._by_device.setdefault(port["device_id"], []).append(port["id"])
        return port

    def set_device(self, port: dict[str, Any], device_id: str, owner: str) -> None:
        """Bind a port to a server, or to nothing."""
        self._forget_device(port)
        port.update(device_id=device_id, device_owner=owner, status="DOWN")
        if device_id:
            self._by_device.setdefault(device_id, []).append(port["id"])

    def _forget_device(self, port: dict[str, Any]) -> None:
        owned = self._by_device.get(port["device_id"])
        if owned and port["id"] in owned:
            owned.remove(port["id"])
            if not owned:
                del self._by_device[port["device_id"]]

    def activate_ports(self, server_id: str) -> None:
        for port in self.server_ports(server_id):
            port["status"] = "ACTIVE"
            port["updated_at"] = iso(self._scheduler.now())

    def delete_port(self, port: dict[str, Any]) -> None:
        """Remove a port; floating IPs on it stay, without a port."""
        for floating in self.port_floating_ips(port["id"]):
            self.associate(floating, None, None)
        self._forget_device(port)
        del self.ports[port["id"]]
        for fixed in port["fixed_ips"]:
            # Another port has it, too, when the two belong to a server and a ghost.
            if not any(fixed in other["fixed_ips"] for other in self.ports.values()):
                self._pools[fixed["subnet_id"]].give_back(fixed["ip_address"])

    def refuse_wrong_network(self, network_id: str) -> NetworkConfig:
        """Return the network, if floating IPs can be taken from it.

        :raises Refusal: they cannot.
        """
        network = self.networks.get(network_id)
        if network is None:
            raise neutron_error(404, "NetworkNotFound", f"Network {network_id} could not be found.")
        if not network.external:
            message = f"Bad floatingip request: Network {network_id} is not a valid external network."
            raise neutron_error(400, "BadRequest", message)
        if not any(subnet.cidr.version == 4 for subnet in network.subnets):
            message = f"Bad floatingip request: Network {network_id} does not contain any IPv4 subnet."
            raise neutron_error(400, "BadRequest", message)
        return network

    def create_floating_ip(self, network_id: str, description: str = "") -> dict[str, Any]:
        """Allocate a floating IP of an external network, not yet on a port.

        :raises Refusal: over quota, no such network, or no address left.
        """
        network = self.refuse_wrong_network(network_id)
        limit = self._settings.quota["floating_ips"]
        if limit != UNLIMITED and len(self.floating_ips) >= limit:
            raise over_quota("floatingip")
        v4 = next((subnet for subnet in network.subnets if subnet.cidr.version == 4), None)
        address = self._pools[v4.id].take() if v4 else None
        if address is None:
            raise no_addresses(network_id)
        now = iso(self._scheduler.now())
        floating: dict[str, Any] = {
            "id": str(uuid.uuid4()),
            "tenant_id": self.project_id,
            "floating_ip_address": address,
            "floating_network_id": network_id,
            "router_id": None,
            "port_id": None,
            "fixed_ip_address": None,
            "status": "DOWN",
            "project_id": self.project_id,
            "description": description,
            "port_details": None,
            "tags": [],
            "created_at": now,
            "updated_at": now,
            "revision_number": 0,
        }
        self.floating_ips[floating["id"]] = floating
        return floating

    @property
    def gateway(self) -> NetworkConfig | None:
        """The external network that the project's router leads to."""
        external = [item for item in self.networks.values() if item.external and item.router]
        return next((item for item in external if any(part.cidr.version == 4 for part in item.subnets)), None)

    def refuse_unreachable(self, network_id: str, port: dict[str, Any]) -> None:
        """neutron looks for a router between the subnet of the port and the external network.

        :raises Refusal: there is none.
        """
        inside = self.networks[port["network_id"]]
        if inside.router and self.gateway is not None and self.gateway.id == network_id:
            return
        subnet_id = next((fixed["subnet_id"] for fixed in port["fixed_ips"] if ":" not in fixed["ip_address"]), None)
        message = (
            f"External network {network_id} is not reachable from subnet {subnet_id}.  Therefore, cannot associate Port"
            f" {port['id']} with a Floating IP."
        )
        raise neutron_error(404, "ExternalGatewayForFloatingIPNotFound", message)

    def refuse_second(self, network_id: str, port: dict[str, Any], fixed: str | None) -> None:
        """One floating IP of a network for a fixed address is all that neutron makes.

        :raises Refusal: there is one.
        """
        fixed = fixed or self.v4_address(port)
        for floating in self.port_floating_ips(port["id"]):
            same = floating["floating_network_id"] == network_id and floating["fixed_ip_address"] == fixed
            if same and not self._settings.double_addresses:
                message = (
                    f"Cannot associate floating IP {floating['floating_ip_address']} ({floating['id']}) with port"
                    f" {port['id']} using fixed IP {fixed}, as that fixed IP already has a floating IP on external"
                    f" network {network_id}."
                )
                raise neutron_error(409, "FloatingIPPortAlreadyAssociated", message)

    def associate(self, floating: dict[str, Any], port: dict[str, Any] | None, fixed: str | None) -> None:
        """Put a floating IP onto a port, or take it off (port None)."""
        before = self.ports.get(floating["port_id"] or "")
        if before is not None:
            self._floating_by_port[before["id"]].remove(floating["id"])
            if not self._floating_by_port[before["id"]]:
                del self._floating_by_port[before["id"]]
        if port is None:
            floating.update(port_id=None, fixed_ip_address=None, router_id=None, port_details=None, status="DOWN")
        else:
            details = ("name", "network_id", "mac_address", "admin_state_up", "status", "device_id", "device_owner")
            floating.update(
                port_id=port["id"],
                fixed_ip_address=fixed or self.v4_address(port),
                router_id=self.router_id,
                port_details={key: port[key] for key in details},
                status="ACTIVE",
            )
            self._floating_by_port.setdefault(port["id"], []).append(floating["id"])
        floating["updated_at"] = iso(self._scheduler.now())
        floating["revision_number"] += 1
        for side in (before, port):
            if side is not None and side["device_id"]:
                self._changed(side["device_id"])

    def v4_address(self, port: dict[str, Any]) -> str | None:
        for fixed in port["fixed_ips"]:
            if ":" not in fixed["ip_address"]:
                return str(fixed["ip_address"])
        return None

    def delete_floating_ip(self, floating: dict[str, Any]) -> None:
        self.associate(floating, None, None)
        network = self.networks[floating["floating_network_id"]]
        v4 = next(subnet for subnet in network.subnets if subnet.cidr.version == 4)
        self._pools[v4.id].give_back(floating["floating_ip_address"])
        del self.floating_ips[floating["id"]]

    def used_addresses(self, subnet_id: str) -> int:
        return self._pools[subnet_id].used


def over_quota(resource: str) -> Refusal:
    """Return neutron's refusal for want of quota."""
    return neutron_error(409, "OverQuota", f"Quota exceeded for resources: ['{resource}'].")


def no_addresses(network_id: str) -> Refusal:
    """Return neutron's refusal for want of addresses."""
    message = f"No more IP addresses available on network {network_id}."
    return neutron_error(409, "IpAddressGenerationFailure", message)
