# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaves things behind in a simulated cloud, by the real SDK: ghosts of nodes, and what other people have."""

from __future__ import annotations

import time
import uuid
from typing import Any

import openstack

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.leaks.by_hand import run_sweep
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.leaks.sweep_options import SweepOptions
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import floating_ip_description
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site

TREE = "/nodepool/stackci/site"
GONE = "0000099999"
"""A node that no tree of a test ever has."""


class Leftovers:
    """A project member beside the launcher."""

    def __init__(self, site: Site, name: str = "one") -> None:
        self.cloud = site.clouds[name]
        self._site = site
        self._name = name
        self.sdk: Any = openstack.connection.Connection(
            config=openstack.config.OpenStackConfig(config_files=[str(site.clouds_yaml)]).get_one(cloud=name)
        )

    def close(self) -> None:
        self.sdk.close()

    @property
    def tree(self) -> str:
        """The id of the site's tree."""
        requestor = self._site.requestor
        document = requestor.read(TREE)
        if not document:
            document = {"id": uuid.uuid4().hex}
            requestor.put(TREE, document)
        return str(document["id"])

    def description(self, mark: str, provider: str = "one", tree: str | None = None) -> str:
        """What the launcher writes on a floating IP."""
        return floating_ip_description(mark, provider, self.tree if tree is None else tree)

    def server(
        self, provider: str | None = "one", node_id: str = GONE, mark: str | None = None, tree: str | None = None
    ) -> str:
        """A server in ACTIVE that carries a node's metadata, or (provider None) nobody's.

        :param tree: the id of another tree, "" for none.
        """
        metadata = {} if provider is None else {"nodepool_provider_name": provider, "nodepool_node_id": node_id}
        signed = self.tree if tree is None else tree
        if metadata and signed:
            metadata["stackci_site"] = signed
        if mark is not None:
            metadata["stackci_launch"] = mark
        flavor = next(item.id for item in self.sdk.compute.flavors() if item.name == "small")
        image = next(item.id for item in self.sdk.image.images() if item.name == "debian-12")
        made = self.sdk.compute.create_server(
            name="ghost", flavor_id=flavor, image_id=image, metadata=metadata, networks=[{"uuid": self.network()}]
        )
        eventually(lambda: self.sdk.compute.get_server(made.id).status == "ACTIVE")
        return str(made.id)

    def network(self, name: str = "private") -> str:
        return str(next(item.id for item in self.sdk.network.networks() if item.name == name))

    def port(self, device_id: str = "", owner: str = "compute:az1") -> str:
        """A port in DOWN."""
        made = self.sdk.network.create_port(network_id=self.network(), device_id=device_id, device_owner=owner)
        return str(made.id)

    def floating_ip(self, description: str = "", port_id: str | None = None) -> str:
        made = self.sdk.network.create_ip(
            floating_network_id=self.network("public"), description=description, port_id=port_id
        )
        return str(made.id)

    def volume(self) -> str:
        return str(self.sdk.block_storage.create_volume(size=1).id)

    def image(self, provider: str | None, build: str = "f" * 32, upload: str = "0000000001", **more: str) -> str:
        properties = {} if provider is None else {"nodepool_provider_name": provider, "stackci_site": self.tree}
        properties |= more
        made = self.sdk.image.create_image(
            name=f"leftover-{uuid.uuid4().hex}",
            disk_format="qcow2",
            container_format="bare",
            nodepool_build_id=build,
            nodepool_upload_id=upload,
            **properties,
        )
        return str(made.id)

    def left(self) -> set[str]:
        """Ids of all servers, ports, floating IPs, volumes and images."""
        listings = (
            self.sdk.compute.servers(),
            self.sdk.network.ports(),
            self.sdk.network.ips(),
            self.sdk.block_storage.volumes(),
            self.sdk.image.images(),
        )
        return {str(item.id) for listing in listings for item in listing}


def sweep(site: Site, *, check: bool = False, ahead: float = 0.0, **changes: Any) -> dict[str, Any]:
    """A sweep by hand; unless the changes say otherwise, of things of any age, with two looks.

    :param ahead: seconds by which its clock is.
    """
    values: dict[str, Any] = {
        "config": str(site.config),
        "clouds_config": str(site.clouds_yaml),
        "min_age": 0.0,
        "wait": 0.2,
        **changes,
    }
    return run_sweep(SweepOptions(**values), check=check, clock=lambda: time.time() + ahead)


def verdicts(result: dict[str, Any]) -> dict[str, str]:
    """Verdict by id."""
    return {row["id"]: row["verdict"] for row in result["things"]}
