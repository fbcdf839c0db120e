# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One simulated cloud: its services and its state put together."""

from __future__ import annotations

import hashlib
import random
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.simcloud.calls import CallLog
from tests.simcloud.compute.api import ComputeApi
from tests.simcloud.compute.create import Surroundings
from tests.simcloud.compute.machines import Machines
from tests.simcloud.compute.server import Server
from tests.simcloud.compute.views import ServerViews
from tests.simcloud.config import CloudConfig
from tests.simcloud.faults import Faults
from tests.simcloud.identity import Identity
from tests.simcloud.image import ImageApi, ImageState
from tests.simcloud.network.api import NetworkApi
from tests.simcloud.network.state import NetworkState
from tests.simcloud.objects import ObjectApi
from tests.simcloud.tasks import TaskApi
from tests.simcloud.timing import Scheduler
from tests.simcloud.volume import VolumeApi, VolumeState


class Cloud:
    """A cloud.

    :param base: URL of the whole service, without a slash at its end.
    """

    def __init__(
        self,
        config: CloudConfig,
        identity: Identity,
        base: str,
        folder: Path,
        scheduler: Scheduler,
    ) -> None:
        self.config = config
        self.name = config.name
        self.settings = config.settings
        self.identity = identity
        self.random = random.Random(config.seed)
        self.faults = Faults(random.Random(config.seed + 1))
        self.log = CallLog()
        self.url = f"{base}/{config.name}"
        project_id = identity.project_id
        self.network = NetworkState(config, self.settings, project_id, scheduler, self._addresses_changed)
        self.volumes = VolumeState(self.settings, scheduler)
        self.images = ImageState(config, project_id, folder / "images", scheduler)
        owner = (identity.user_id, project_id)
        services = (self.network, self.volumes)
        self.machines = Machines(self.settings, *services, scheduler, self.random, owner, config.server_groups)
        self.flavors = {flavor.id: flavor for flavor in config.flavors}
        self.keypairs = keypairs = {name: _keypair(name) for name in config.keypairs}
        self.views = ServerViews(f"{self.url}/compute/v2.1", self.network, self.settings)
        around = Surroundings(self.settings, self.network, self.flavors, keypairs, self.images.images.get)
        self.compute_api = ComputeApi(
            self.settings, self.machines, self.views, around, keypairs, self.console, identity.user_id
        )
        self.network_api = NetworkApi(self.network, self.settings)
        self.volume_api = VolumeApi(self.volumes, self.settings, project_id)
        self.image_api = ImageApi(self.images, self.settings)
        self.objects = ObjectApi(folder / "objects")
        self.task_api = TaskApi(self.images, self.image_api, self.objects, self.settings)
        self.guest_port: int | None = None
        self.host_keys: dict[str, list[str]] = {}

    def renew_flavor(self, name: str) -> str:
        """Delete a flavor and make it again under another id; return that id."""
        flavor = next(item for item in self.flavors.values() if item.name == name)
        del self.flavors[flavor.id]
        fresh = replace(flavor, id=str(uuid.uuid4()))
        self.flavors[fresh.id] = fresh
        return fresh.id

    def _addresses_changed(self, ident: str) -> None:
        self.machines.addresses_changed(ident)

    @staticmethod
    def console(server: Server) -> str | None:
        """Return what the console of a server shows; nothing until it runs."""
        if server.launched is None:
            return None
        name = server.wish.name
        source = "ConfigDrive" if server.wish.config_drive else "OpenStack"
        return "\n".join(
            [
                "[    0.000000] Linux version 6.1.0-simcloud",
                "[    1.000000] systemd[1]: Hostname set to <" + name + ">.",
                f"Cloud-init v. 22.4.2 finished. Datasource {source}",
                "",
                f"{name} login: ",
            ]
        )

    def state(self) -> dict[str, Any]:
        """Return a summary for the control endpoint."""
        usage, quota = self.machines.usage, self.settings.quota
        statuses: dict[str, int] = {}
        for server in self.machines.servers.values():
            statuses[server.status] = statuses.get(server.status, 0) + 1
        return {
            "name": self.name,
            "region": self.config.region,
            "project_id": self.identity.project_id,
            "auth_url": self.identity.url,
            "usage": {"instances": usage.instances, "cores": usage.cores, "ram": usage.ram},
            "quota": quota,
            "servers": statuses,
            "deleted": len(self.machines.deleted),
            "ports": len(self.network.ports),
            "floating_ips": len(self.network.floating_ips),
            "volumes": len(self.volumes.volumes),
            "images": {
                ident: {
                    "name": image["name"],
                    "status": image["status"],
                    "size": image["size"],
                    "disk_format": image.get("disk_format"),
                    "md5": image["checksum"],
                    "sha256": self.images.sha256(ident),
                    "tags": image["tags"],
                }
                for ident, image in self.images.images.items()
            },
            "objects": {
                f"{container}/{name}": found.size
                for container, objects in self.objects.containers.items()
                for name, found in objects.items()
            },
            "guest_port": self.guest_port,
            "faults": self.faults.rows(),
        }

    def servers(self) -> list[dict[str, Any]]:
        """Return the servers with what the API hides: whose they are, whether they count, their faults."""
        return [
            {
                "id": server.id,
                "name": server.wish.name,
                "status": server.status,
                "task_state": server.task_state,
                "metadata": server.wish.metadata,
                "az": server.az,
                "flavor": server.wish.flavor.name,
                "image": server.wish.image_id,
                "outsider": server.outsider,
                "counted": server.counted,
                "locked": server.locked,
                "addresses": self.views.addresses(server),
                "fault": server.fault,
                "created": server.created,
                "launched": server.launched,
                "user_data": server.wish.user_data,
                "config_drive": server.wish.config_drive,
                "key_name": server.wish.key_name,
                "security_groups": server.wish.security_groups,
                "volumes": server.volumes,
                "hints": server.wish.hints,
                "host": server.host,
                "host_keys": self.host_keys.get(server.id, []),
            }
            for server in self.machines.servers.values()
        ]

    def journal(self) -> dict[str, Any]:
        """Return the servers and the uploaded images that there have ever been, also those that are gone."""
        servers = [*self.machines.deleted.values(), *self.machines.servers.values()]
        rows = [
            {"id": one.id, "name": one.wish.name, "image": one.wish.image_id, "created": one.created}
            for one in servers
            if not one.outsider
        ]
        return {"servers": rows, "images": self.images.journal}


def _keypair(name: str) -> dict[str, Any]:
    digest = hashlib.md5(name.encode()).hexdigest()
    fingerprint = ":".join(digest[place : place + 2] for place in range(0, 32, 2))
    return {"name": name, "public_key": f"ssh-rsa AAAA{digest} {name}", "fingerprint": fingerprint}
