# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a scenario runs in: a ZooKeeper of its own, a simulated cloud, a configuration, and the clocks of both."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.bench.requestor import Requestor
from tests.support.simcloud_process import SimCloud, default_cloud
from tests.support.zookeeper_server import ZooKeeperServer

PLENTY = {"cores": 100_000, "ram": 100_000_000, "ports": 100_000, "floating_ips": 50}
LATENCY = {"POST /servers": 0.3, "GET /servers/detail": 0.3}
BOOT = {"kind": "normal", "mean": 20.0, "sd": 2.0}
DELETE_SECONDS = 3.0
SEED = 20


@dataclass(frozen=True)
class Scene:
    """How the world of a scenario is made.

    :param small: seconds that the API's small calls take.
    :param guests: whether servers answer on ssh and are scanned for host keys of one type.
    """

    providers: Sequence[str] = ("sim",)
    quota: int = 200
    small: float = 0.02
    latency: Mapping[str, float] = field(default_factory=lambda: dict(LATENCY))
    boot: Mapping[str, Any] | float = field(default_factory=lambda: dict(BOOT))
    delete: float = DELETE_SECONDS
    counted: float = 0.5
    """Seconds for which a server is shown as DELETED after its end, and counts."""
    guests: bool = True
    min_ready: int = 0
    rate: float = 0.02
    tls: bool = False
    """Whether the launcher reaches ZooKeeper over TLS, as Nodepool's own insists."""

    def clouds(self) -> dict[str, dict[str, Any]]:
        """The clouds' configuration."""
        clouds: dict[str, dict[str, Any]] = {}
        for name in self.providers:
            clouds |= default_cloud(
                name,
                quota={"instances": self.quota, **PLENTY},
                boot=self.boot,
                delete=self.delete,
                shown_deleted=self.counted,
                latency={**self.latency, "default": self.small},
                seed=SEED,
                networks=[{"name": "public", "external": True, "shared": True}],
                guests={"mode": "shared", "key_types": ["ed25519"]} if self.guests else None,
            )
        return clouds

    def nodepool_yaml(self, zookeeper_port: int, ssh_port: Callable[[str], int]) -> str:
        """The launcher's configuration."""
        text = (
            f"zookeeper-servers:\n  - {{host: 127.0.0.1, port: {zookeeper_port}}}\n"
            f"labels:\n  - {{name: small, min-ready: {self.min_ready}}}\n"
            "providers:\n"
        )
        for name in self.providers:
            port = f"        connection-port: {ssh_port(name)}\n" if self.guests else ""
            text += (
                f"  - name: {name}\n    cloud: {name}\n    rate: {self.rate}\n"
                f"    cloud-images:\n      - name: debian-12\n        username: root\n{port}"
                f"    pools:\n      - name: main\n        max-servers: {self.quota}\n"
                "        networks: [public]\n        auto-floating-ip: false\n"
                f"        host-key-checking: {str(self.guests).lower()}\n"
                "        labels:\n          - {name: small, cloud-image: debian-12, flavor-name: small}\n"
            )
        return text


class World:
    """A context manager: starts everything, ends everything.

    :ivar folder: where files of the scenario go; removed at the end.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._temporary = tempfile.TemporaryDirectory(prefix="nodepool-bench-")
        self.folder = Path(self._temporary.name)
        self.zookeeper = ZooKeeperServer(data_dir=self.folder / "zookeeper", heap_mib=256, tls=scene.tls)
        self.cloud = SimCloud(scene.clouds(), state_dir=self.folder / "cloud")
        self.requestor: Requestor

    def __enter__(self) -> World:
        try:
            self.zookeeper.start()
            self.cloud.start()
            self.requestor = Requestor(self.zookeeper.hosts)
            port = self.zookeeper.tls_port or self.zookeeper.port
            text = self._secrets() + self.scene.nodepool_yaml(port, self.cloud.ssh_port)
            self.config.write_text(text, encoding="utf-8")
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.requestor.close()
        self._end()

    def _secrets(self) -> str:
        tls = self.zookeeper.certificates
        if tls is None:
            return ""
        return f"zookeeper-tls: {{cert: {tls.client_cert}, key: {tls.client_key}, ca: {tls.ca}}}\n"

    def _end(self) -> None:
        self.cloud.stop()
        self.zookeeper.close()
        self._temporary.cleanup()

    @property
    def config(self) -> Path:
        """The nodepool.yaml."""
        return self.folder / "nodepool.yaml"

    def variables(self, **more: Any) -> Path:
        """A file with the playbook's variables."""
        path = self.folder / "variables.json"
        known = {"nodepool_config": str(self.config), "nodepool_clouds_config": str(self.cloud.clouds_yaml)}
        path.write_text(json.dumps({**known, **more}), encoding="utf-8")
        return path

    # -- the cloud's own view ------------------------------------------------------------------------------------

    def servers(self) -> dict[str, dict[str, Any]]:
        """Node id → the cloud's own record of its server."""
        found = {}
        for name in self.scene.providers:
            for server in self.cloud.servers(name):
                found[str(server["metadata"].get("nodepool_node_id"))] = server
        return found

    def calls(self) -> dict[str, int]:
        """Calls by kind, over all clouds."""
        kinds: dict[str, int] = {}
        for name in self.scene.providers:
            for kind, number in self.cloud.counts(name)["by_kind"].items():
                kinds[kind] = kinds.get(kind, 0) + number
        return kinds

    def made(self) -> int:
        """Servers that are there or were deleted, also those whose create has no answer yet."""
        there = {str(server["id"]) for name in self.scene.providers for server in self.cloud.servers(name)}
        return len(there | set(self.deletes()))

    def creates(self) -> int:
        """Creates that were answered with yes."""
        clouds = (self.cloud.counts(name)["by_status"].get("POST /servers", {}) for name in self.scene.providers)
        return sum(int(answers.get("202", 0)) for answers in clouds)

    def refused_creates(self) -> int:
        """Creates that were answered with anything but yes."""
        refused = 0
        for name in self.scene.providers:
            answers = self.cloud.counts(name)["by_status"].get("POST /servers", {})
            refused += sum(number for status, number in answers.items() if status not in ("202", "open"))
        return refused

    def deletes(self) -> dict[str, float]:
        """Server id → when its delete was accepted."""
        found: dict[str, float] = {}
        for name in self.scene.providers:
            for call in self.cloud.calls(name):
                if call["kind"] == "DELETE /servers/{id}" and call["status"] == 204:
                    found.setdefault(call["path"].rstrip("/").rsplit("/", 1)[1], call["end"])
        return found

    def creates_sent(self, since: float) -> list[float]:
        """When the clouds got creates from *since* on, UNIX seconds."""
        return [began for began in self._began("POST /servers") if began >= since]

    def listings(self, since: float) -> list[float]:
        """When the server lists were asked for, in seconds after *since*."""
        return [round(began - since, 2) for began in self._began("GET /servers/detail")]

    def _began(self, kind: str) -> list[float]:
        calls = (call for name in self.scene.providers for call in self.cloud.calls(name))
        return [float(call["start"]) for call in calls if call["kind"] == kind]

    # -- ZooKeeper's own view ------------------------------------------------------------------------------------

    def store_counts(self) -> tuple[int, int]:
        """(writes, reads) that ZooKeeper has answered to everybody so far."""
        return self.zookeeper.counts()


def until(check: Callable[[], bool], seconds: float, pause: float = 0.1) -> bool:
    """True as soon as *check* is; False when that takes longer than *seconds*."""
    limit = time.monotonic() + seconds
    while not check():
        if time.monotonic() > limit:
            return False
        time.sleep(pause)
    return True
