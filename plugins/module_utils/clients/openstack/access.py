# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The calls with which somebody gets access to nodes: keypairs, security groups with their rules, routers, images."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from ...model.cloud import Image, Port, SecurityGroup
from ...model.errors import CloudConflict, CloudNotFound
from . import json_values, shapes
from .kinds import in_path
from .rest import Rest

_PING = {4: "icmp", 6: "ipv6-icmp"}


class _List(Protocol):
    def __call__(
        self,
        service: str,
        path: str,
        key: str,
        make: Callable[[Any], Any],
        *,
        params: dict[str, Any] | None = None,
    ) -> list[Any]:
        """Read all pages of a list."""


class CloudAccess:
    """These calls for one cloud. All block, are bounded in time and raise the Cloud* errors.

    :param listed: reads a list of a service page by page, as :class:`.client.CloudClient` does.
    """

    def __init__(self, rest: Rest, listed: _List) -> None:
        self._rest = rest
        self._listed = listed

    @property
    def has_neutron(self) -> bool:
        """True when the catalog has a network service."""
        return self._rest.has("network")

    def list_images(self) -> list[Image]:
        """Return all images that the project sees in glance's ordinary list."""
        return self._listed("image", "/images", "images", shapes.image_from)

    def list_routes(self) -> list[tuple[str, str]]:
        """Return the pairs (id of a network, id of the external network) that the routers of the project connect."""
        if not self._rest.has("network"):
            return []
        gateways = dict(self._listed("network", "/routers", "routers", _gateway))
        owner = {"device_owner": "network:router_interface"}
        legs: list[Port] = self._listed("network", "/ports", "ports", shapes.port_from, params=owner)
        return sorted({(leg.network_id, gateway) for leg in legs if (gateway := gateways.get(leg.server_id))})

    def list_ip_versions(self) -> dict[str, set[int]]:
        """Return, by the id of a network, the versions of IP of its subnets that the project sees."""
        found: dict[str, set[int]] = {}
        if self._rest.has("network"):
            for network, version in self._listed("network", "/subnets", "subnets", _version):
                found.setdefault(network, set()).add(version)
        return found

    def list_groups(self, version: int = 4) -> list[SecurityGroup]:
        """Return the project's own security groups with what their rules admit; none when the cloud has no neutron.

        :param version: of IP, over which ssh is let in or not.
        """
        if not self._rest.has("network"):
            return []
        project = self._rest.project_id()
        return self._listed(
            "network",
            "/security-groups",
            "security_groups",
            lambda item: shapes.security_group_from(item, project, version),
            params={"project_id": project},
        )

    def create_ssh_group(self, name: str, description: str, version: int = 4) -> str:
        """Create a security group that lets ssh and ping in from everywhere over one version of IP; return its id.

        After an error between the calls the group exists with fewer rules.
        """
        wanted = {"name": name, "description": description}
        answer = self._rest.call(
            "network", "POST", "/security-groups", body={"security_group": wanted}, key="security_group"
        )
        group = json_values.ident(answer.document["security_group"])
        port = shapes.SSH_PORT
        for rule in ({"protocol": "tcp", "port_range_min": port, "port_range_max": port}, {"protocol": _PING[version]}):
            body = {"security_group_id": group, "direction": "ingress", "ethertype": f"IPv{version}", **rule}
            self._rest.call("network", "POST", "/security-group-rules", body={"security_group_rule": body})
        return group

    def delete_group(self, group_id: str) -> bool:
        """Delete the security group; return False when it was already gone."""
        return self._delete("network", f"/security-groups/{in_path(group_id)}")

    def create_keypair(self, name: str, public_key: str) -> None:
        """Give the user's account a public key under *name*. That it has the name already is no error."""
        body = {"keypair": {"name": name, "public_key": public_key}}
        with suppress(CloudConflict):
            self._rest.call("compute", "POST", "/os-keypairs", body=body)

    def delete_keypair(self, name: str) -> bool:
        """Delete the keypair; return False when it was already gone."""
        return self._delete("compute", f"/os-keypairs/{in_path(name)}")

    def _delete(self, service: str, path: str) -> bool:
        try:
            self._rest.call(service, "DELETE", path)
        except CloudNotFound:
            return False
        return True


def _version(document: json_values.Json) -> tuple[str, int]:
    """Return the id of the network of a subnet, and its version of IP; 4 where that is not told."""
    return json_values.optional_text(document, "network_id"), 6 if document.get("ip_version") == 6 else 4


def _gateway(document: json_values.Json) -> tuple[str, str]:
    """Return the id of a router and that of its external network, "" when it has none."""
    info = document.get("external_gateway_info")
    return json_values.ident(document), str((info or {}).get("network_id") or "") if isinstance(info, dict) else ""
