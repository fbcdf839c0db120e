# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The world in which the examples of the modules run: what they name exists."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import subprocess
import time
import uuid
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kazoo.client import KazooClient

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.folder_notes import Notes
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.prepare import private_zookeeper
from tests.support.ansible_run import ModuleProcess
from tests.support.fixtures_zookeeper import eventually
from tests.support.simcloud_process import SimCloud, default_cloud
from tests.support.zookeeper_server import HOST, ZooKeeperServer, free_port

ROOT = Path(__file__).resolve().parents[2]
CLOUDS = ("cloud1", "west", "east", "mycloud")
PROVIDERS = CLOUDS[:-1]
LABELS = ("debian-small", "debian-large", "debian-12")
BUILDS = {
    "debian-bookworm": "0d5ba3b1e4c84e6d9d5bbd9c1e5ae3ba",
    "debian": "5d2ff0b4d6a74c0b8f0b1f6e1a2b3c4d",
    "debian-12": "62ee55d4b3414869b6b292a38d9f6cf0",
}
"""Image → id of a build that the examples name."""
UPLOAD = "0000000001"


class ExampleWorld:
    """A tree, clouds whose servers answer ssh, a configuration, and the files of the person who runs the examples.

    :ivar home: HOME of the person; the examples' absolute paths are below it.
    :ivar key: private key of the person, which the nodes have from the beginning.
    """

    def __init__(self, home: Path, zookeeper: ZooKeeperServer) -> None:
        self.home = home
        self.config = home / "nodepool.yaml"
        self.secure = home / "secure.conf"
        chroot = f"/{uuid.uuid4().hex}"
        self._server = {"host": HOST, "port": zookeeper.port, "chroot": chroot}
        self._client = KazooClient(hosts=zookeeper.hosts)
        self._client.start(10)
        self._client.ensure_path(chroot)
        self._client.chroot = chroot
        self.key = home / ".ssh" / "id_ed25519"
        self._make_keys()
        images = [{"name": "debian-12", "properties": {"os_admin_user": getpass.getuser()}}]
        networks = [{"name": "public", "external": True, "shared": True}]
        guests = {"mode": "each", "authorized_keys": f"{self.key}.pub"}
        more: dict[str, Any] = {"guests": guests, "images": images, "networks": networks, "boot": 0.3, "delete": 0.1}
        clouds: dict[str, Any] = {}
        for name in CLOUDS:
            clouds |= default_cloud(name, **more)
        self.cloud = SimCloud(clouds)
        self._launcher: ModuleProcess | None = None

    def __enter__(self) -> Self:
        self.cloud.start()
        shutil.copy(self.cloud.clouds_yaml, self.home / "clouds.yaml")
        for folder in ("images", "logs", "elements"):
            (self.home / folder).mkdir()
        dib = self.home / "disk-image-create"
        shutil.copy(ROOT / "tests" / "support" / "fake_dib.sh", dib)
        dib.chmod(0o755)
        self.config.write_text(json.dumps(self._document()), "utf-8")
        self.secure.write_text("{}\n", "utf-8")
        self.secure.chmod(0o600)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._launcher is not None:
            self._launcher.kill()
        started = Notes.read(str(self.home / "nodepool-quickstart"))
        if started.port:
            private_zookeeper(started).remove()
        self.cloud.stop()
        self._client.stop()
        self._client.close()

    def put(self, path: str, document: object) -> None:
        """Write a document of ZooKeeper."""
        self._client.ensure_path(path)
        self._client.set(path, json.dumps(document).encode() if document != "" else b"")

    def launcher(self) -> None:
        """Have a launcher at work."""
        options = {"config": str(self.config), "clouds_config": str(self.home / "clouds.yaml")}
        self._launcher = ModuleProcess(
            "node_launch", {**options, "duration": 300, "until": "deadline"}, self.home, "launcher.json"
        )
        eventually(lambda: self._registered() == len(PROVIDERS))

    def _registered(self) -> int:
        pools = "/nodepool/components/pool"
        return len(self._client.get_children(pools)) if self._client.exists(pools) else 0

    def register(self) -> None:
        """Have the pools of a launcher that is not at work: it changes nothing."""
        for name in PROVIDERS:
            document = {
                "id": name,
                "provider_name": name,
                "name": "main",
                "supported_labels": LABELS,
                "state": "running",
            }
            data = json.dumps(document).encode()
            self._client.create("/nodepool/components/pool/host", data, makepath=True, ephemeral=True, sequence=True)

    def forget(self, name: str) -> None:
        """Have a provider in the tree that is not in the configuration any more."""
        self.put(f"/nodepool/stackci/providers/{name}", {})
        document = self._document()
        document["providers"] = [one for one in document["providers"] if one["name"] != name]
        self.config.write_text(json.dumps(document), "utf-8")

    def nodes(self, *numbers: int) -> None:
        """Have ready nodes with these ids; no server belongs to them."""
        for number in numbers:
            document = {
                "state": "ready", "state_time": time.time(), "created_time": time.time(), "type": ["debian-small"],
                "provider": "cloud1", "pool": "main", "interface_ip": "127.0.0.9", "connection_port": 22,
                "connection_type": "ssh", "username": "zuul", "host_keys": ["ssh-ed25519 AAAA"], "external_id": "x",
            }  # fmt: skip
            self.put(f"/nodepool/nodes/{number:010d}", document)

    def request(self, ident: str) -> None:
        """Have a request that waits."""
        now = time.time()
        document = {
            "state": "requested", "state_time": now, "node_types": ["debian-small"], "requestor": "zuul", "nodes": [],
            "created_time": now, "declined_by": [], "reuse": True, "requestor_data": None,
        }  # fmt: skip
        self.put(f"/nodepool/requests/{ident}", document)

    def build(self, image: str, *, uploaded: bool = False) -> None:
        """Have the build that the examples name, and an upload of it at cloud1."""
        root, now = f"/nodepool/images/{image}/builds", time.time()
        build = {"state": "ready", "state_time": now - 60, "builder": "b", "builder_id": "b", "formats": "qcow2"}
        self.put(f"{root}/{BUILDS[image]}", build)
        if uploaded:
            upload = {"state": "ready", "state_time": now - 50, "external_id": "i-1", "external_name": "debian-1"}
            self.put(f"{root}/{BUILDS[image]}/providers/cloud1/images/{UPLOAD}", upload)

    def _make_keys(self) -> None:
        self.key.parent.mkdir(mode=0o700)
        for path in (self.key, self.home / "alice"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
            subprocess.run(command, check=True, timeout=60, stdin=subprocess.DEVNULL)

    def _document(self) -> dict[str, Any]:
        images = [
            {"name": name, "elements": ["vm"], "dib-cmd": str(self.home / "disk-image-create"), "rebuild-age": 10**7}
            for name in BUILDS
        ]
        return {
            "zookeeper-servers": [self._server],
            "images-dir": str(self.home / "images"),
            "build-log-dir": str(self.home / "logs"),
            "elements-dir": str(self.home / "elements"),
            "webapp": {"port": free_port()},
            "labels": [{"name": name} for name in LABELS],
            "diskimages": images,
            "providers": [self._provider(name) for name in PROVIDERS],
        }

    def _provider(self, name: str) -> dict[str, Any]:
        image = {
            "name": "debian-12", "connection-port": self.cloud.ssh_port(name), "username": getpass.getuser(),
            "python-path": "/usr/bin/python3",
        }  # fmt: skip
        labels = [{"name": one, "cloud-image": "debian-12", "flavor-name": "small"} for one in LABELS]
        pool = {"name": "main", "max-servers": 12, "networks": ["public"], "auto-floating-ip": False, "labels": labels}
        images = [{"name": one} for one in BUILDS]
        return {
            "name": name,
            "cloud": name,
            "rate": 0.02,
            "cloud-images": [image],
            "diskimages": images,
            "pools": [pool],
        }


def settled(world: ExampleWorld) -> dict[str, str]:
    """Return the texts of the examples that are replaced, each with its text in this world."""
    for folder in ("acceptance", "built", "backups", "zuul.d"):
        (world.home / folder).mkdir(exist_ok=True)
    return {
        "/etc/nodepool/nodepool.yaml": str(world.config),
        "/etc/nodepool/secure.conf": str(world.secure),
        "/tmp/acceptance": str(world.home / "acceptance"),
        "/tmp/images": str(world.home / "built"),
        "/var/backups": str(world.home / "backups"),
        "/var/lib/nodepool/": f"{world.home / 'backups'}/",
        os.devnull: os.devnull,
    }
