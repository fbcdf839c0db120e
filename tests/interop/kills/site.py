# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The site that is struck: two images with gates, and two clouds whose servers run sshd."""

from __future__ import annotations

import getpass
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.interop.lab import World
from tests.interop.stock import Daemon
from tests.support.builder_case import FAKE
from tests.support.image_case import Builder
from tests.support.launcher_case import Cloud, label, pool, provider
from tests.support.simcloud_process import SimCloud, default_cloud

PROVIDERS = ("one", "two")
TESTING = {"alpha": ("one",), "beta": ("two", "one")}
"""Image → the providers that test it, while they are there. What has passed at one is distributed to the other."""
ROOM = 8
"""Servers that each cloud has room for."""
SIZE = 1 << 18
UPLOAD_SECONDS = 0.3
CLEAN_EVERY = 7.0
LOOK = "it looks at what to clean up"
SESSION = 4.0
"""Seconds after which the locks of a program that was killed are free, unless its successor is there before."""
BROKEN = 3
"""Every so many builds of an image one is broken."""
SMOKE = """
- hosts: all
  gather_facts: false
  tasks:
    - name: It is not broken
      ansible.builtin.raw: test ! -e FOLDER/broken-{{ nodepool_gate.build }}
    - name: What was tested
      ansible.builtin.raw: >-
        echo "{{ nodepool_gate.kind }} {{ nodepool_gate.provider }} {{ inventory_hostname }} $(date +%s.%N)"
        >> FOLDER/tested
"""


def clouds(key: Path) -> SimCloud:
    """The clouds; their servers let the owner of *key* in."""
    guests = {"mode": "each", "authorized_keys": f"{key}.pub"}
    made: dict[str, Any] = {}
    for name in PROVIDERS:
        made |= default_cloud(name, boot=0.3, delete=0.1, quota_race=0.05, quota={"instances": ROOM}, guests=guests)
    return SimCloud(made)


class KillSite:
    """The site.

    :ivar checksums: build → MD5 checksum of its file, by which its images in the clouds are known.
    :ivar broken: the builds on whose canaries the playbook fails.
    """

    def __init__(self, world: World, sim: SimCloud, key: Path) -> None:
        self.world, self.sim = world, sim
        self.site = world.site
        self.folder = Path(world.site.folder)
        self.builder = Builder(world.site)
        self.store = self.builder.store
        self.checksums: dict[str, str] = {}
        self.broken: set[str] = set()
        self._made: Counter[str] = Counter()
        for name in PROVIDERS:
            world.site.use_cloud(Cloud(sim, name), name, image_format="raw")
            sim.fault(name, "PUT /images/{id}/file", "slow", seconds=UPLOAD_SECONDS)
        (self.folder / "smoke.yml").write_text(SMOKE.replace("FOLDER", str(self.folder)), encoding="utf-8")
        self._gate = {"playbook": "smoke.yml", "private-key": str(key), "timeout": 60}
        self._listed: set[str] = set()
        self.configure(*PROVIDERS)

    def close(self) -> None:
        """End what belongs to it."""
        self.builder.close()

    def configure(self, *names: str) -> None:
        """Write the files with these providers. A gate may name no other ones: nodepool.yaml has them before."""
        if set(names) == self._listed:
            return
        if not self._listed <= set(names):
            self._write_gates(names)
        self._write_nodepool(names)
        self._write_gates(names)
        self._listed = set(names)

    def _write_gates(self, names: Sequence[str]) -> None:
        testing = {image: [name for name in wanted if name in names] for image, wanted in TESTING.items()}
        gates = [{"name": image, "gate": {**self._gate, "providers": found}} for image, found in testing.items()]
        fresh = self.folder / "nodepool-settings.new"
        fresh.write_text(json.dumps({"diskimages": gates}), encoding="utf-8")
        fresh.replace(self.folder / "nodepool-settings.yaml")

    def _write_nodepool(self, names: Sequence[str]) -> None:
        images = [{"name": one, "elements": ["x"], "dib-cmd": str(FAKE), "rebuild-age": 10**9} for one in TESTING]
        self.site.configure(
            *map(self._provider, names),
            labels={f"{image}-node": {"min-ready": 1} for image in TESTING},
            images_dir=str(self.builder.images_dir),
            build_log_dir=str(self.folder / "logs"),
            diskimages=images,
            zookeeper_timeout=SESSION,
        )

    def _provider(self, name: str) -> dict[str, Any]:
        port = self.site.clouds[name].ssh_port()
        listed = [{"name": image, "connection-port": port} for image in TESTING]
        offered = [label(f"{image}-node", diskimage=image, flavor_name="small") for image in TESTING]
        return provider(name, pool("main", *offered, host_key_checking=True), diskimages=listed, boot_timeout=20)

    def bake(self, image: str) -> str:
        """Make a build of an image, of which every third one is broken; the first one is not."""
        self._made[image] += 1
        build = self.builder.build(image, size=SIZE, username=getpass.getuser())
        checksum = Path(f"{self.builder.file(build)}.md5").read_text("utf-8").split()[0]
        self.checksums[build.id] = checksum
        if self._made[image] % BROKEN == 0:
            self.broken.add(build.id)
            (self.folder / f"broken-{build.id}").touch()
        return build.id

    def stock_builder(self) -> Daemon:
        """Nodepool's builder on another host: the same tree and configuration, its own images-dir."""
        folder = self.folder / "other-host"
        (folder / "images").mkdir(parents=True)
        document = json.loads(self.site.config.read_text("utf-8"))
        document["images-dir"] = str(folder / "images")
        config = folder / "nodepool.yaml"
        config.write_text(json.dumps(document), encoding="utf-8")
        return self.world.stock.beside(config).quick_builder(CLEAN_EVERY, LOOK)
