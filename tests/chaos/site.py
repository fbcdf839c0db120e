# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The site of a real run: two simulated clouds with resources of others in them, and nodepool.yaml for each host."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import openstack

from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import IMAGE_UPLOAD, META_LAUNCH
from tests.chaos.history import Configured, CreateRefused, Event, Remains, ServerDeleted
from tests.chaos.schedule import LABELS, PROVIDERS
from tests.support.simcloud_process import SimCloud, default_cloud

IMAGE = "debian-12"
QUOTA = {"instances": 14, "cores": 60, "ports": 40, "floating_ips": 12}
THEIR_QUOTA = {"instances": 60, "cores": 200, "ports": 150, "floating_ips": 12}
"""For five minutes Nodepool's launcher counts as foreign what a killed one has left."""
MAX_SERVERS = {"main": 8, "spare": 4}
BOOT = {"kind": "uniform", "low": 0.3, "high": 3.0}


def new_clouds(folder: Path, names: Sequence[str]) -> SimCloud:
    """The service of these clouds, not started."""
    made: dict[str, Any] = {}
    delete = {"kind": "uniform", "low": 0.1, "high": 1.5}
    for name in names:
        quota = QUOTA if name in PROVIDERS else THEIR_QUOTA
        made |= default_cloud(name, quota=quota, boot=BOOT, delete=delete)
    return SimCloud(made, state_dir=folder, timeout=120.0)


def label(name: str, flavor: str = "") -> dict[str, Any]:
    """A label of a pool."""
    return {"name": name, "cloud-image": IMAGE, "flavor-name": flavor or name}


def providers(more: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Both providers: east has two pools, west gives floating IPs. Their main pools offer *more* labels, small ones."""
    made = []
    for name in PROVIDERS:
        pools = []
        for pool in ["main", "spare"] if name == "east" else ["main"]:
            pools.append(
                {
                    "name": pool,
                    "max-servers": MAX_SERVERS[pool],
                    "host-key-checking": False,
                    "auto-floating-ip": name == "west",
                    "networks": ["private"],
                    "labels": [label(one) for one in (LABELS if pool == "main" else LABELS[:2])]
                    + [label(one, "small") for one in more if pool == "main"],
                }
            )
        made.append(
            {
                "name": name,
                "cloud": name,
                "rate": 0.01,
                "boot-timeout": 20,
                "launch-timeout": 40,
                "clean-floating-ips": True,
                "cloud-images": [{"name": IMAGE, "username": "zuul"}],
                "pools": pools,
            }
        )
    return made


def changed(items: Sequence[dict[str, Any]], change: str, provider: str) -> list[dict[str, Any]]:
    """These providers after a change of the configuration."""
    made = copy.deepcopy(list(items))
    one = next(item for item in made if item["name"] == provider)
    pool = one["pools"][0]
    if change == "no-servers":
        pool["max-servers"] = 0
    elif change == "few-servers":
        pool["max-servers"] = 2
    elif change == "fewer-labels":
        pool["labels"] = pool["labels"][:1]
    elif change == "more-labels":
        pool["labels"].append({**label("small"), "name": "another"})
    elif change == "without":
        made.remove(one)
    return made


def document(items: list[dict[str, Any]], port: int, chroot: str) -> dict[str, Any]:
    """nodepool.yaml."""
    names = dict.fromkeys(
        [*LABELS, *(entry["name"] for one in items for pool in one["pools"] for entry in pool["labels"])]
    )
    return {
        "zookeeper-servers": [{"host": "127.0.0.1", "port": port, "chroot": chroot}],
        "zookeeper-timeout": 6.0,
        "labels": [{"name": name, "min-ready": 1 if name == "small" else 0} for name in names],
        "providers": items,
    }


def offers(items: list[dict[str, Any]], at: float) -> Configured:
    """The same for the checker."""
    pools = {
        f"{one['name']}/{pool['name']}": (
            float(pool["max-servers"]),
            frozenset(entry["name"] for entry in pool["labels"]),
        )
        for one in items
        for pool in one["pools"]
    }
    return Configured(at, pools)


class CloudView:
    """A member of the projects beside the launchers: plants what is foreign, and looks at what is there.

    :param clouds: whose nodes are judged; the refusals of ours only.
    """

    def __init__(self, sim: SimCloud, clouds: Sequence[str] = PROVIDERS) -> None:
        self.sim = sim
        self._clouds = clouds
        self._sdk: dict[str, Any] = {
            name: openstack.connection.Connection(
                config=openstack.config.OpenStackConfig(config_files=[str(sim.clouds_yaml)]).get_one(
                    cloud=name, api_timeout=20
                )
            )
            for name in clouds
        }
        self._foreign: set[str] = set()

    def close(self) -> None:
        """Close the clients."""
        for sdk in self._sdk.values():
            sdk.close()

    def plant(self) -> None:
        """Servers, a port, an address, a volume and an image of others, in each cloud."""
        for sdk in self._sdk.values():
            flavor = next(item.id for item in sdk.compute.flavors() if item.name == "small")
            image = next(item.id for item in sdk.image.images() if item.name == IMAGE)
            networks = {item.name: item.id for item in sdk.network.networks()}
            stranger = {
                "nodepool_provider_name": "east",
                "nodepool_node_id": "0000000001",
                "stackci_site": "f" * 32,
            }
            for metadata in ({}, stranger):
                sdk.compute.create_server(
                    name="np0000000001",
                    flavor_id=flavor,
                    image_id=image,
                    metadata=metadata,
                    networks=[{"uuid": networks["private"]}],
                )
            sdk.network.create_port(network_id=networks["private"], device_owner="compute:az1")
            sdk.network.create_ip(floating_network_id=networks["public"], description="of others")
            sdk.block_storage.create_volume(size=1)
            sdk.image.create_image(name="golden", disk_format="qcow2", container_format="bare")
        self._foreign = {thing for thing in self._things() if " image " not in thing or "golden" in thing}

    def replace_image(self, cloud: str, *, gone: bool) -> None:
        """Delete the image of all labels, or upload it anew under another id."""
        sdk = self._sdk[cloud]
        there = [item for item in sdk.image.images() if item.name == IMAGE]
        if gone:
            for item in there:
                sdk.image.delete_image(item.id)
        elif not there:
            made = sdk.image.create_image(name=IMAGE, disk_format="qcow2", container_format="bare")
            made.data = b"image"
            made.upload(sdk.image)

    def remains(self) -> Remains:
        """What is there now."""
        servers = {(cloud, server["id"]) for cloud, server in self._servers() if _marked(cloud, server)}
        addresses: dict[tuple[str, str], str] = {}
        for cloud, sdk in self._sdk.items():
            ports = {port.id: port.device_id for port in sdk.network.ports()}
            for item in sdk.network.ips():
                if item.description != "of others":
                    addresses[(cloud, item.id)] = str(ports.get(item.port_id, ""))
        return Remains(frozenset(servers), addresses, frozenset(self._foreign), frozenset(self._things()))

    def uploaded(self) -> set[tuple[str, str]]:
        """(cloud, id) of each image with the marks of an upload."""
        return {
            (cloud, item.id)
            for cloud, sdk in self._sdk.items()
            for item in sdk.image.images()
            if (item.properties or {}).get(IMAGE_UPLOAD)
        }

    def events(self) -> Iterator[Event]:
        """What the checker needs of the log of all calls."""
        for cloud in self._clouds:
            for call in self.sim.calls(cloud):
                if call["kind"] == "DELETE /servers/{id}":
                    yield ServerDeleted(call["start"], cloud, call["path"].rpartition("/")[2])
                elif call["kind"] == "POST /servers" and call["status"] == 403 and cloud in PROVIDERS:
                    yield CreateRefused(call["end"], call["start"], cloud)

    def _servers(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for cloud in self._clouds:
            for server in self.sim.servers(cloud):
                if not server["outsider"]:
                    yield cloud, server

    def _things(self) -> list[str]:
        found = [f"{cloud} server {server['id']}" for cloud, server in self._servers() if not _marked(cloud, server)]
        for cloud, sdk in self._sdk.items():
            found += [f"{cloud} port {item.id}" for item in sdk.network.ports() if not item.device_id]
            found += [f"{cloud} floating IP {item.id}" for item in sdk.network.ips() if item.description == "of others"]
            found += [f"{cloud} volume {item.id}" for item in sdk.block_storage.volumes()]
            found += [f"{cloud} image {item.name} {item.id}" for item in sdk.image.images()]
        return found


def _marked(cloud: str, server: dict[str, Any]) -> bool:
    """True for a server of a launcher of this tree; Nodepool's marks have no tree."""
    metadata = server["metadata"]
    return META_LAUNCH in metadata or (cloud not in PROVIDERS and metadata.get("nodepool_provider_name") == cloud)


def write(path: Path, text: str) -> None:
    """Write a file at once, as an editor or a deployment does."""
    fresh = path.with_suffix(".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)


def dumped(items: list[dict[str, Any]], port: int, chroot: str) -> str:
    """nodepool.yaml as text; JSON is YAML."""
    return json.dumps(document(items, port, chroot), indent=1)
