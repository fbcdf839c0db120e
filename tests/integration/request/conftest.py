# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A ZooKeeper, a configuration that names it, and a launcher played by hand with bare kazoo."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from tests.support.ansible_run import Ran, run_alone, run_module
from tests.support.simcloud_process import SimCloud, default_cloud
from tests.support.zookeeper_server import ZooKeeperServer

NETWORK = {"name": "public", "external": True, "shared": True}


class Launcher:
    """Fulfils requests with nodes that exist on paper only."""

    def __init__(self, client: KazooClient) -> None:
        self.client = client
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def documents(self, folder: str) -> dict[str, dict[str, Any]]:
        path = f"/nodepool/{folder}"
        if not self.client.exists(path):
            return {}
        found = {}
        for name in sorted(self.client.get_children(path)):
            try:
                data, _stat = self.client.get(f"{path}/{name}")
            except NoNodeError:
                continue
            if data:
                found[name] = json.loads(data)
        return found

    def put(self, path: str, document: dict[str, Any]) -> None:
        self.client.ensure_path(path)
        self.client.set(path, json.dumps(document).encode())

    def register(self, *labels: str) -> None:
        document = {
            "id": "p",
            "provider_name": "cloud1",
            "name": "main",
            "supported_labels": labels,
            "state": "running",
        }
        self.client.create(
            "/nodepool/components/pool/host",
            json.dumps(document).encode(),
            makepath=True,
            ephemeral=True,
            sequence=True,
        )

    def node(self, label: str, request: str | None, **more: Any) -> str:
        document = {
            "state": "ready",
            "state_time": time.time(),
            "created_time": time.time(),
            "type": [label],
            "provider": "cloud1",
            "pool": "main",
            "allocated_to": request,
            "interface_ip": "127.0.0.9",
            "public_ipv4": "127.0.0.9",
            "connection_port": 2222,
            "connection_type": "ssh",
            "username": "zuul",
            "python_path": "auto",
            "host_keys": ["ssh-ed25519 AAAA"],
            "external_id": "server-1",
            "az": "nova",
            "foreign_key": {"kept": True},
            **more,
        }
        path = self.client.create("/nodepool/nodes/", json.dumps(document).encode(), makepath=True, sequence=True)
        return str(path.rsplit("/", 1)[1])

    def fulfil(self) -> None:
        """As a launcher does: nodes first, then the request."""
        for request_id, request in self.documents("requests").items():
            if request["state"] == "requested":
                request["nodes"] = [self.node(label, request_id) for label in request["node_types"]]
                request.update(state="fulfilled", state_time=time.time())
                self.put(f"/nodepool/requests/{request_id}", request)

    def work(self, until: Callable[[], bool] = lambda: False) -> None:
        """Fulfil requests in the background as they come."""
        self._thread = threading.Thread(target=self._loop, args=(until,), daemon=True)
        self._thread.start()

    def _loop(self, until: Callable[[], bool]) -> None:
        while not self._over.wait(0.05) and not until():
            self.fulfil()

    def close(self) -> None:
        self._over.set()
        if self._thread:
            self._thread.join(5)
        self.client.stop()
        self.client.close()


class Site:
    """One user's world: a tree of its own, a configuration, and the module."""

    def __init__(self, folder: Path, launcher: Launcher, config: Path) -> None:
        self.folder = folder
        self.launcher = launcher
        self.config = config

    def request(self, *, check: bool = False, diff: bool = False, **options: Any) -> Ran:
        """Run the module."""
        return run_alone("nodepool_request", self._given(options), self.folder, check=check, diff=diff)

    def play(self, *, check: bool = False, diff: bool = False, **options: Any) -> Ran:
        """Run it by ansible-playbook, which shows how far it is."""
        return run_module("nodepool_request", self._given(options), self.folder, check=check, diff=diff)

    def _given(self, options: dict[str, Any]) -> dict[str, Any]:
        return {"name": "web", "config": str(self.config), **options}


@pytest.fixture
def site(zookeeper: ZooKeeperServer, tmp_path: Path) -> Iterator[Site]:
    chroot = f"/{uuid.uuid4().hex}"
    client = KazooClient(hosts=zookeeper.hosts)
    client.start(10)
    client.ensure_path(chroot)
    client.chroot = chroot
    config = tmp_path / "nodepool.yaml"
    config.write_text(
        f"zookeeper-servers: [{{host: 127.0.0.1, port: {zookeeper.port}, chroot: {chroot}}}]\n"
        "labels: [{name: small}, {name: large}]\n"
        "providers: []\n"
    )
    launcher = Launcher(client)
    try:
        yield Site(tmp_path, launcher, config)
    finally:
        launcher.close()


@pytest.fixture
def cloud(site: Site) -> Iterator[SimCloud]:
    boot = {"kind": "fixed", "value": 0.3}
    with SimCloud(default_cloud("east", guests=True, boot=boot, networks=[NETWORK])) as running:
        with site.config.open("r+") as file:
            text = file.read().replace("providers: []\n", _provider(running.ssh_port("east")))
            file.seek(0)
            file.write(text)
        yield running


def _provider(port: int) -> str:
    return (
        "providers:\n"
        "  - name: east\n"
        "    cloud: east\n"
        "    rate: 0.02\n"
        "    cloud-images:\n"
        f"      - {{name: debian-12, connection-port: {port}}}\n"
        "    pools:\n"
        "      - name: main\n"
        "        max-servers: 2\n"
        "        networks: [public]\n"
        "        auto-floating-ip: false\n"
        "        labels:\n"
        "          - {name: small, cloud-image: debian-12, flavor-name: small}\n"
    )


def launching(cloud: SimCloud, **more: Any) -> dict[str, Any]:
    """Options of a module that launches by itself."""
    return {"launch": True, "clouds_config": str(cloud.clouds_yaml), "timeout": 60, **more}
