# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How nova shows servers and flavors at each microversion."""

from __future__ import annotations

from typing import Any

import orjson

from tests.simcloud.compute.quota import Usage
from tests.simcloud.compute.server import Server
from tests.simcloud.config import FlavorConfig, Settings
from tests.simcloud.microversion import Version
from tests.simcloud.network.state import NetworkState
from tests.simcloud.timing import iso, iso_micro

# At these versions something is added to the view of a server.
STEPS = ((2, 1), (2, 3), (2, 9), (2, 19), (2, 26), (2, 47), (2, 63), (2, 71), (2, 73), (2, 90))


class ServerViews:
    """Shows servers. ``root`` is the URL of nova's v2.1."""

    def __init__(self, root: str, network: NetworkState, settings: Settings) -> None:
        self._root = root
        self._settings = settings
        self._bookmarks = root.rsplit("/", 1)[0]
        self._network = network

    def links(self, collection: str, ident: str) -> list[dict[str, str]]:
        return [
            {"rel": "self", "href": f"{self._root}/{collection}/{ident}"},
            {"rel": "bookmark", "href": f"{self._bookmarks}/{collection}/{ident}"},
        ]

    def short(self, server: Server) -> dict[str, Any]:
        return {"id": server.id, "name": server.wish.name, "links": self.links("servers", server.id)}

    def fragment(self, server: Server, version: Version, *, listed: bool) -> orjson.Fragment:
        """Return the view as finished JSON; most servers do not change between two listings.

        :param listed: True in a listing, where ``server_groups`` is absent.
        """
        step = max(step for step in STEPS if step <= version)
        key = (step, listed, self._settings.faults_in_lists)
        found: orjson.Fragment | None = server.views.get(key)
        if found is None:
            found = server.views[key] = orjson.Fragment(orjson.dumps(self.full(server, version, listed=listed)))
        return found

    def full(self, server: Server, version: Version, *, listed: bool) -> dict[str, Any]:
        """Return the whole view of a server."""
        wish = server.wish
        image: Any = ""
        if wish.image_id:
            links = [{"rel": "bookmark", "href": f"{self._bookmarks}/images/{wish.image_id}"}]
            image = {"id": wish.image_id, "links": links}
        view: dict[str, Any] = {
            "id": server.id,
            "name": wish.name,
            "status": server.status,
            "tenant_id": server.project_id,
            "user_id": server.user_id,
            # Nova shows no metadata of a deleted server.
            "metadata": {} if server.destroyed else wish.metadata,
            "hostId": server.host_id,
            "image": image,
            "flavor": self._flavor(wish.flavor, version),
            "created": iso(server.created),
            "updated": iso(server.updated),
            "addresses": self.addresses(server),
            "accessIPv4": "",
            "accessIPv6": "",
            "links": self.links("servers", server.id),
            "OS-DCF:diskConfig": "MANUAL",
            "OS-EXT-AZ:availability_zone": server.az if server.placed else "",
            "config_drive": "True" if wish.config_drive else "",
            "key_name": wish.key_name,
            "OS-SRV-USG:launched_at": None if server.launched is None else iso_micro(server.launched),
            "OS-SRV-USG:terminated_at": None if server.terminated is None else iso_micro(server.terminated),
            "OS-EXT-STS:task_state": server.task_state,
            "OS-EXT-STS:vm_state": server.vm_state,
            "OS-EXT-STS:power_state": server.power_state,
            "os-extended-volumes:volumes_attached": self._volumes(server, version),
        }
        if server.status in ("ACTIVE", "BUILD"):
            view["progress"] = 0
        # A listing asks the data base that nova-api itself is configured with, which is not that of the server's cell.
        if server.fault is not None and (self._settings.faults_in_lists or not listed):
            view["fault"] = server.fault
        if version >= (2, 9):
            view["locked"] = server.locked
        if version >= (2, 73):
            view["locked_reason"] = server.locked_reason
        if version >= (2, 19):
            view["description"] = wish.description
        if version >= (2, 26):
            view["tags"] = wish.tags
        if version >= (2, 63):
            view["trusted_image_certificates"] = None
        if version >= (2, 90):
            view["OS-EXT-SRV-ATTR:hostname"] = wish.name.lower()
        if version >= (2, 71) and not listed:
            view["server_groups"] = []
        if server.networked and not server.gone and self._network.server_ports(server.id):
            view["security_groups"] = [{"name": name} for name in wish.security_groups]
        return view

    def addresses(self, server: Server) -> dict[str, list[dict[str, Any]]]:
        """Return fixed and floating addresses by the network's name."""
        shown: dict[str, list[dict[str, Any]]] = {}
        if not server.networked or server.gone or server.no_address:
            return shown
        for port in self._network.server_ports(server.id):
            network = self._network.networks[port["network_id"]]
            rows = shown.setdefault(network.name, [])
            for fixed in port["fixed_ips"]:
                rows.append(_address(fixed["ip_address"], "fixed", port))
            for floating in self._network.port_floating_ips(port["id"]):
                rows.append(_address(floating["floating_ip_address"], "floating", port))
        return shown

    def _flavor(self, flavor: FlavorConfig, version: Version) -> dict[str, Any]:
        if version < (2, 47):
            links = [{"rel": "bookmark", "href": f"{self._bookmarks}/flavors/{flavor.id}"}]
            return {"id": flavor.id, "links": links}
        return {
            "vcpus": flavor.vcpus,
            "ram": flavor.ram,
            "disk": flavor.disk,
            "ephemeral": 0,
            "swap": 0,
            "original_name": flavor.name,
            "extra_specs": flavor.extra_specs,
        }

    @staticmethod
    def _volumes(server: Server, version: Version) -> list[dict[str, Any]]:
        if version < (2, 3):
            return [{"id": ident} for ident in server.volumes]
        sizes = server.wish.volumes
        return [
            {"id": ident, "delete_on_termination": terminate}
            for ident, (_size, terminate) in zip(server.volumes, sizes, strict=False)
        ]

    def flavor(self, flavor: FlavorConfig, version: Version) -> dict[str, Any]:
        """Return the whole view of a flavor."""
        view: dict[str, Any] = {
            "id": flavor.id,
            "name": flavor.name,
            "ram": flavor.ram,
            "disk": flavor.disk,
            "swap": "" if version < (2, 75) else 0,
            "OS-FLV-EXT-DATA:ephemeral": 0,
            "OS-FLV-DISABLED:disabled": False,
            "vcpus": flavor.vcpus,
            "os-flavor-access:is_public": True,
            "rxtx_factor": 1.0,
            "links": self.links("flavors", flavor.id),
        }
        if version >= (2, 55):
            view["description"] = None
        if version >= (2, 61):
            view["extra_specs"] = flavor.extra_specs
        return view


def _address(address: str, kind: str, port: dict[str, Any]) -> dict[str, Any]:
    return {
        "version": 6 if ":" in address else 4,
        "addr": address,
        "OS-EXT-IPS:type": kind,
        "OS-EXT-IPS-MAC:mac_addr": port["mac_address"],
    }


def limits(settings: Settings, usage: Usage, version: Version) -> dict[str, Any]:
    """Return the document of GET /limits."""
    absolute: dict[str, int] = {
        "maxTotalInstances": settings.quota["instances"],
        "maxTotalCores": settings.quota["cores"],
        "maxTotalRAMSize": settings.quota["ram"],
        "maxServerMeta": 128,
        "maxTotalKeypairs": 100,
        "maxServerGroups": 10,
        "maxServerGroupMembers": 10,
        "totalRAMUsed": usage.ram,
        "totalCoresUsed": usage.cores,
        "totalInstancesUsed": usage.instances,
        "totalServerGroupsUsed": 0,
    }
    if version < (2, 36):
        absolute |= {
            "maxTotalFloatingIps": -1,
            "maxSecurityGroups": -1,
            "maxSecurityGroupRules": -1,
            "totalFloatingIpsUsed": 0,
            "totalSecurityGroupsUsed": 0,
        }
    if version < (2, 39):
        absolute["maxImageMeta"] = 128
    if version < (2, 57):
        absolute |= {"maxPersonality": 5, "maxPersonalitySize": 10240}
    return {"limits": {"rate": [], "absolute": absolute}}
