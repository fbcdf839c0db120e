# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host of a whole builder in a Site's world, and the playbooks that an operator runs on it."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from tests.support.ansible_run import BIN, ROOT, command, environment
from tests.support.builder_case import ELEMENTS
from tests.support.launcher_case import Cloud, Site, label, pool, provider

PLAYBOOKS = ROOT / "playbooks"
STOCK = ("debian-12", "ubuntu")
"""Images that a simulated cloud has of its own."""
PLAY_SECONDS = 280.0


class BuilderHost:
    """Runs playbooks, and looks at ZooKeeper, at the clouds and at its own disk as somebody else does."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.images_dir = site.folder / "images"

    def cloud(self, name: str, image_format: str) -> Cloud:
        """A fresh cloud that takes images of that format."""
        return self.site.add_cloud(name, image_format=image_format)

    def configure(self, *images: dict[str, Any], takers: tuple[str, ...] = ("one", "two")) -> None:
        """Write nodepool.yaml; each provider in *takers* lists all images."""
        names = [str(image["name"]) for image in images]
        one_pool = pool("main", label("small", diskimage=names[0]))
        self.site.configure(
            *(provider(name, one_pool, diskimages=[{"name": image} for image in names]) for name in takers),
            diskimages=[{"rebuild-age": 10**6, **image} for image in images],
            images_dir=str(self.images_dir),
            build_log_dir=str(self.site.folder / "logs"),
            elements_dir=str(ELEMENTS),
        )

    # -- playbooks ------------------------------------------------------------------------------------------------

    def play(self, name: str, *words: str, **variables: Any) -> subprocess.CompletedProcess[str]:
        """Run a playbook by its file name in playbooks/ or by its full name, from the site's own folder."""
        ran = command(*self._words(name, *words, **variables), folder=self.site.folder, timeout=PLAY_SECONDS)
        print(ran.stdout, ran.stderr)  # shown when the test fails
        return ran

    def start(self, name: str, **variables: Any) -> subprocess.Popen[str]:
        """Start one in a process group of its own; what it says goes to ``screen`` in the site's folder."""
        program, *words = self._words(name, **variables)
        with (self.site.folder / "screen").open("w") as screen:
            return subprocess.Popen(
                [str(BIN / program), *words],
                cwd=self.site.folder,
                env=environment(self.site.folder),
                stdin=subprocess.DEVNULL,
                stdout=screen,
                stderr=screen,
                text=True,
                start_new_session=True,
            )

    def _words(self, name: str, *words: str, **variables: Any) -> list[str]:
        playbook = PLAYBOOKS / name if name.endswith(".yml") else name
        return ["ansible-playbook", str(playbook), "-e", self.site.variables(**variables), *words]

    # -- what there is ----------------------------------------------------------------------------------------------

    def builds(self, image: str) -> dict[str, dict[str, Any]]:
        """Build id → record, oldest first."""
        root = f"/nodepool/images/{image}/builds"
        ids = [one for one in self.site.requestor.children(root) if one != "lock"]
        records = {one: self.site.requestor.read(f"{root}/{one}") or {} for one in ids}
        return dict(sorted(records.items(), key=lambda item: item[1].get("state_time", 0.0)))

    def uploads(self, image: str, name: str) -> dict[str, list[dict[str, Any]]]:
        """Build id → records of its uploads to a provider; oldest build first, those without any left out."""
        found: dict[str, list[dict[str, Any]]] = {}
        for build_id in self.builds(image):
            root = f"/nodepool/images/{image}/builds/{build_id}/providers/{name}/images"
            records = [
                self.site.requestor.read(f"{root}/{one}") for one in self.site.requestor.children(root) if one != "lock"
            ]
            if records:
                found[build_id] = [record for record in records if record is not None]
        return found

    def in_cloud(self, name: str) -> dict[str, dict[str, Any]]:
        """The builder's images in a cloud: id → what is known."""
        images = self.site.clouds[name].state()["images"]
        return {ident: image for ident, image in images.items() if image["name"] not in STOCK}

    def files(self) -> list[str]:
        """Names of image files on this host."""
        if not self.images_dir.exists():
            return []
        return sorted(path.name for path in self.images_dir.iterdir() if path.suffix in (".qcow2", ".raw", ".vhd"))

    def everything(self, tree: str = "/nodepool") -> str:
        """All of ZooKeeper below *tree*, of the clouds' images and of the disk, to see that nothing was written."""
        clouds = {name: sorted(self.in_cloud(name)) for name in self.site.clouds}
        disk = sorted(str(path) for path in self.images_dir.rglob("*")) if self.images_dir.exists() else None
        return json.dumps([self.site.requestor.tree(tree), clouds, disk], sort_keys=True, default=str)
