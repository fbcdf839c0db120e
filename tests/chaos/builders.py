# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two builders that upload: one lists all images, the other one fewer. Their builds are made by the run itself."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException

from tests.chaos import site
from tests.chaos.history import document
from tests.chaos.hosts import LauncherHost
from tests.chaos.schedule import BUILDERS, PROVIDERS

IMAGES = "/nodepool/images"
FORMAT = "qcow2"
SIZE = 2 << 20


class BuilderHost(LauncherHost):
    """A host with the uploads cycle of a builder."""

    MODULE = "image_upload"

    def __init__(self, name: str, folder: Path, *rest: Any) -> None:
        super().__init__(name, folder, *rest)
        self.images = BUILDERS[name]
        self.builder_id = str(uuid.uuid4())
        self._images_dir = folder / "images"
        self._images_dir.mkdir()
        (self._images_dir / "builder_id.txt").write_text(self.builder_id, encoding="ascii")

    def configure(self, chroot: str) -> None:
        """Write its nodepool.yaml."""
        listed = [{"name": image} for image in self.images]
        whole = {
            "zookeeper-servers": [{"host": "127.0.0.1", "port": self.proxy.port, "chroot": chroot}],
            "zookeeper-timeout": 6.0,
            "images-dir": str(self._images_dir),
            "build-log-dir": str(self.folder / "logs"),
            "labels": [],
            "diskimages": [{"name": image, "elements": ["x"], "rebuild-age": 10**9} for image in self.images],
            "providers": [
                {"name": name, "cloud": name, "image-upload-timeout": 20, "diskimages": listed, "pools": []}
                for name in PROVIDERS
            ],
        }
        site.write(self.config, json.dumps(whole, indent=1))

    def build(self, client: KazooClient, image: str) -> str:
        """A ready build of an image, newer than all before it; its id."""
        build = uuid.uuid4().hex
        record = {
            "state": "ready",
            "state_time": time.time(),
            "builder": self.name,
            "builder_id": self.builder_id,
            "formats": FORMAT,
            "username": "zuul",
            "python_path": "auto",
            "shell_type": None,
        }
        client.create(f"{IMAGES}/{image}/builds/{build}", json.dumps(record).encode(), makepath=True)
        coming = self._images_dir / f"{build}.coming"
        coming.write_bytes(os.urandom(SIZE))
        coming.rename(self._images_dir / f"{image}-{build}.{FORMAT}")
        return build


def uploads(client: KazooClient) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """(image, build, provider, record) of each upload."""
    for image in _children(client, IMAGES):
        for build in _children(client, f"{IMAGES}/{image}/builds"):
            for provider in _children(client, f"{IMAGES}/{image}/builds/{build}/providers"):
                path = f"{IMAGES}/{image}/builds/{build}/providers/{provider}/images"
                for number in _children(client, path):
                    found = document(client.get(f"{path}/{number}")[0])
                    if found is not None:
                        yield image, build, provider, found


def unfinished(client: KazooClient, newest: dict[str, str], in_clouds: set[tuple[str, str]]) -> str:
    """What of the images is not as it is at rest; "" when all is.

    :param newest: image → its newest build.
    :param in_clouds: (provider, id) of the images with the marks of an upload.
    """
    try:
        there = list(uploads(client))
    except KazooException as problem:
        return repr(problem)
    moving = [(image, provider, record.get("state")) for image, _build, provider, record in there]
    moving = [item for item in moving if item[2] != "ready"]
    if moving:
        return f"uploads {moving}"
    has = {(image, build, provider) for image, build, provider, _record in there}
    lacking = [(image, at) for image, build in newest.items() for at in PROVIDERS if (image, build, at) not in has]
    if lacking:
        return f"not uploaded: {lacking}"
    known = {(provider, str(record.get("external_id"))) for _image, _build, provider, record in there}
    return f"images without a record or the reverse: {sorted(in_clouds ^ known)}" if in_clouds != known else ""


def _children(client: KazooClient, path: str) -> list[str]:
    names = client.get_children(path) if client.exists(path) else []
    return sorted(name for name in names if name != "lock")
