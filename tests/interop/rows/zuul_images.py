# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our uploads in Zuul 14.3.0: its own command imports them, its launcher chooses among them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.interop.filling import PROVIDERS, build, configure
from tests.interop.lab import ZUUL, Lab, World, row
from tests.interop.zuul_client import ZuulClient
from tests.support.zookeeper_server import HOST

PROJECT = "opendev.org/org/project-config"
CANONICAL = "opendev.org%2Forg%2Fproject-config"
COMMAND_SECONDS = 120.0


class ZuulAdmin:
    """The command ``zuul-admin`` on the tree of a world."""

    def __init__(self, lab: Lab, world: World) -> None:
        tls = world.site.zookeeper.certificates
        assert tls is not None
        self._program = lab.environments[ZUUL].program("zuul-admin")
        self._folder = world.site.folder
        self._config = world.site.folder / "zuul.conf"
        hosts = f"{HOST}:{world.site.zookeeper.tls_port}{world.site.chroot}"
        self._config.write_text(
            f"[zookeeper]\nhosts={hosts}\ntls_cert={tls.client_cert}\ntls_key={tls.client_key}\ntls_ca={tls.ca}\n"
        )

    def run(self, *words: str) -> None:
        """Run it.

        :raises AssertionError: it fails.
        """
        done = subprocess.run(
            [str(self._program), "-c", str(self._config), *words],
            cwd=self._folder,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]

    def images(self) -> dict[str, list[dict[str, Any]]]:
        """What Zuul has now, by its own export, in the order of ids."""
        path = self._folder / "exported-by-zuul.json"
        path.unlink(missing_ok=True)
        self.run("export-images", str(path))
        return in_order(json.loads(path.read_text()))


def in_order(document: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The document with sorted lists."""
    return {name: sorted(part, key=lambda one: one["uuid"]) for name, part in document.items()}


def exported(world: World, path: Path) -> dict[str, list[dict[str, Any]]]:
    """Export for Zuul; the file's content."""
    world.site.module(
        "image_data",
        path=str(path),
        state="exported",
        form="zuul",
        zuul_project=PROJECT,
        zuul_tenant="org",
    )
    return in_order(json.loads(path.read_text()))


@row("zuul-images", "zuul-admin imports our uploads, again after a build; its launcher takes the newest", ZUUL)
def zuul_images(lab: Lab) -> str:
    """Two builds of two images at two providers."""
    world = lab.world()
    configure(world)
    build(world)
    path = world.site.folder / "zuul-images.json"
    first = exported(world, path)
    assert (len(first["artifacts"]), len(first["uploads"])) == (4, 4), first
    admin = ZuulAdmin(lab, world)
    admin.run("import-images", str(path))
    assert admin.images() == first
    world.site.requestor.put("/nodepool/images/fake/request-build", b"")
    build(world)
    second = exported(world, path)
    admin.run("import-images", str(path))
    assert admin.images() == second and len(second["uploads"]) == 6, second
    known = [one["uuid"] for one in first["uploads"]]
    fresh = {one["external_id"]: one["providers"] for one in second["uploads"] if one["uuid"] not in known}
    with ZuulClient(lab, world) as zuul:
        for name in PROVIDERS:
            chosen = zuul.do("launches_from", image=f"{CANONICAL}/fake", provider=f"{CANONICAL}/{name}")
            assert fresh.get(chosen) == [f"{CANONICAL}/{name}"], (chosen, fresh)
    return "4, then 6 uploads, exported again unchanged; the launcher launches from the newest build at both providers"
