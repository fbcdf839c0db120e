# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two simulated clouds with nodes, a ZooKeeper for their records, and a folder to write inventories in."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.cloud_client import CloudClient
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import ServerSpec
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Provider
from tests.support.ansible_run import command
from tests.support.fixtures_zookeeper import eventually
from tests.support.simcloud_process import SimCloud, default_cloud
from tests.support.zookeeper_server import ZooKeeperServer

TREE = "0123456789abcdef0123456789abcdef"
"""The id of the tree, which its launcher has written into its servers."""
EVIL = "{{ lookup('ansible.builtin.pipe', 'touch evil') }}"


class Site:
    """Two clouds with nodes, and a folder to write inventories in."""

    def __init__(self, folder: Path, clouds: SimCloud, zookeeper: ZooKeeperServer) -> None:
        self.folder = folder
        self.clouds = clouds
        self.zookeeper = zookeeper
        self.servers: dict[str, str] = {}
        config = (
            f"zookeeper-servers: [{{host: 127.0.0.1, port: {zookeeper.port}}}]\nlabels: [{{name: small}}]\nproviders:\n"
        )
        for cloud in ("east", "west"):
            config += (
                f"  - name: {cloud}\n    cloud: {cloud}\n    cloud-images: [{{name: debian-12}}]\n    pools:\n"
                "      - name: main\n        labels: [{name: small, cloud-image: debian-12, flavor-name: small}]\n"
            )
        (folder / "nodepool.yaml").write_text(config)

    def fill(self) -> None:
        """Nodes 1 to 3 in the east, node 4 in the west, one server of somebody else."""
        self.put("/nodepool/stackci/site", {"id": TREE})
        for number, cloud in ((1, "east"), (2, "east"), (3, "east"), (4, "west")):
            label = EVIL if number == 3 else "small"
            self.servers[f"{number:010d}"] = self.create(cloud, number, label)
        self.clouds.outsiders("east", 1)
        for cloud in ("east", "west"):
            self.end_boots(cloud)

    def end_boots(self, cloud: str) -> None:
        """Have all servers be active; nova writes down a new one a moment after it has answered."""

        def ended() -> bool:
            self.clouds.end_boots(cloud)
            return all(server["status"] == "ACTIVE" for server in self.clouds.servers(cloud))

        eventually(ended)

    def create(self, cloud: str, number: int, label: str, *, tree: str = TREE, name: str = "") -> str:
        """Create a server of a node; *tree* "" for one of Nodepool."""
        client = CloudClient(Provider(cloud, cloud, rate=0.0), clouds_config=str(self.clouds.clouds_yaml))
        image = next(iter(client.images_named("debian-12")), None)
        assert image is not None
        flavor = next(flavor for flavor in client.list_flavors() if flavor.name == "small")
        network = next(network for network in client.list_networks() if network.name == "private")
        metadata = {
            "nodepool_node_id": f"{number:010d}",
            "nodepool_provider_name": cloud,
            "nodepool_pool_name": "main",
            "nodepool_image_name": "debian-12",
            "nodepool_node_label": label,
            "groups": f"of_metadata,{cloud}" if label == "small" else EVIL,
        }
        if tree:
            metadata["stackci_site"] = tree
        spec = ServerSpec(name or f"np{number:010d}", image.id, flavor.id, metadata, network_ids=(network.id,))
        return client.create_server(spec)

    def put_record(self, number: int, **values: Any) -> None:
        node = f"{number:010d}"
        record = {
            "state": "hold",
            "state_time": time.time(),
            "type": ["small"],
            "provider": "east",
            "external_id": self.servers.get(node),
            "interface_ip": "127.0.0.77",
            "connection_port": 2222,
            "connection_type": "ssh",
            "username": "zuul",
            "host_keys": ["ssh-ed25519 AAAA"],
            "allocated_to": "100-0000000001",
            **values,
        }
        self.put(f"/nodepool/nodes/{node}", record)

    def put(self, path: str, document: dict[str, Any]) -> None:
        client = KazooClient(self.zookeeper.hosts)
        client.start(10)
        try:
            client.ensure_path(path)
            client.set(path, json.dumps(document).encode())
        finally:
            client.stop()
            client.close()

    def write(self, name: str = "test.nodepool.yml", **options: Any) -> Path:
        if "clouds" not in options:
            options.setdefault("nodepool_config", "nodepool.yaml")
        document = {
            "plugin": "stackci.nodepool.nodepool",
            "clouds_config": str(self.clouds.clouds_yaml),
            **options,
        }
        path = self.folder / name
        path.write_text(json.dumps({key: value for key, value in document.items() if value is not None}))
        return path

    def delete(self, cloud: str, ident: str) -> None:
        """Delete a server, and wait until no list has it."""
        client = CloudClient(Provider(cloud, cloud, rate=0.0), clouds_config=str(self.clouds.clouds_yaml))
        client.delete_server(ident)
        eventually(lambda: all(server["id"] != ident for server in self.clouds.servers(cloud)))

    def listed(self, *, fails: bool = False, **options: Any) -> tuple[dict[str, Any], str]:
        """What ansible-inventory --list says, and its warnings; with *fails* its errors."""
        path = self.write(**options)
        done = command(
            *("ansible-inventory", "-i", path, "--list"),
            folder=self.folder,
            ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED="true",
        )
        said = " ".join(done.stderr.split())
        assert (done.returncode != 0) is fails, done.stdout + done.stderr
        return ({} if fails else json.loads(done.stdout, object_hook=plain)), said

    def variables(self, **options: Any) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = self.listed(**options)[0]["_meta"]["hostvars"]
        return found


def plain(value: dict[str, Any]) -> Any:
    """--list marks a text that could be a template."""
    return value["__ansible_unsafe"] if set(value) == {"__ansible_unsafe"} else value


@contextmanager
def made(folder: Path) -> Iterator[Site]:
    """The site, filled."""
    clouds: dict[str, Any] = {}
    for name in ("east", "west"):
        clouds |= default_cloud(name, boot={"kind": "fixed", "value": 0.1})
    with ZooKeeperServer() as zookeeper, SimCloud(clouds) as running:
        site = Site(folder, running, zookeeper)
        site.fill()
        yield site
