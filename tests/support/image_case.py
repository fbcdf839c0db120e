# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A builder's host: images-dir with files made directly, their records, and cycles of uploads."""

from __future__ import annotations

import hashlib
import itertools
import os
import threading
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.store import Store
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.context.builder_options import (
    UploadOptions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.upload_cycle import run_uploads
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.stop import STOPPED, Stop
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Build, BuildState, Upload
from tests.support.fixtures_zookeeper import settings_for
from tests.support.launcher_case import STAY_SECONDS, Cloud, Site, label, pool, provider

IMAGE = "tiny"
MEGABYTE = 1 << 20
CYCLE_SECONDS = 60.0


def taker(name: str, *images: str, **options: Any) -> dict[str, Any]:
    """A provider that takes disk images, with a label made from the first."""
    chosen = [{"name": image} for image in images or (IMAGE,)]
    one = pool("main", label("small", diskimage=chosen[0]["name"]))
    return provider(name, one, diskimages=options.pop("diskimages", chosen), **options)


class Builder:
    """The host of a builder, in a Site's world.

    :ivar store: somebody else's view of ZooKeeper, by which tests write and look.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self.images_dir = site.folder / "images"
        self.images_dir.mkdir()
        self.builder_id = str(uuid.uuid4())
        (self.images_dir / "builder_id.txt").write_text(self.builder_id)
        self.store = Store(settings_for(site.zookeeper, site.chroot))
        self.store.open()
        self._ages = itertools.count()
        self._born = time.time() - 1000.0

    def close(self) -> None:
        self.store.close()

    def cloud(self, name: str = "one", image_format: str = "raw", **entry: Any) -> Cloud:
        """A fresh cloud that takes images of that format."""
        return self.site.add_cloud(name, image_format=image_format, **entry)

    def configure(self, *takers: dict[str, Any], images: tuple[str, ...] = (IMAGE,), **top: Any) -> None:
        """Write nodepool.yaml."""
        for item in takers or (taker("one"),):
            if item["cloud"] not in self.site.clouds:
                self.cloud(item["cloud"])
        options = {"images_dir": str(self.images_dir), "build_log_dir": str(self.site.folder / "logs"), **top}
        options.setdefault("diskimages", [{"name": name, "elements": ["x"], "rebuild-age": 10**9} for name in images])
        self.site.configure(*(takers or (taker("one"),)), **options)

    def build(
        self,
        image: str = IMAGE,
        *,
        size: int = MEGABYTE,
        formats: tuple[str, ...] = ("raw",),
        content: bytes | None = None,
        checksums: bool = True,
        sparse: int | None = None,
        digests: Mapping[str, str] | None = None,
        username: str = "zuul",
    ) -> Build:
        """A ready build with its files, newer than all before it.

        :param sparse: bytes of files that take no room and have no checksums but *digests* beside them.
        """
        build = Build(id=uuid.uuid4().hex, image=image)
        build.set_state(BuildState.READY, self._born + next(self._ages))
        build.builder, build.builder_id, build.formats = "builder.example", self.builder_id, list(formats)
        build.username, build.python_path, build.shell_type = username, "auto", None
        for name in formats if sparse is None else ():
            data = content if content is not None else os.urandom(size)
            path = self.file(build, name)
            path.write_bytes(data)
            for algorithm in ("md5", "sha256") if checksums else ():
                digest = hashlib.new(algorithm, data).hexdigest()
                Path(f"{path}.{algorithm}").write_text(f"{digest}  {path}\n")
        for name in formats if sparse is not None else ():
            path = self.file(build, name)
            path.touch()
            os.truncate(path, sparse or 0)
            for algorithm, digits in (digests or {}).items():
                Path(f"{path}.{algorithm}").write_text(f"{digits}  {path}\n")
        (self.images_dir / f"{image}-{build.id}.d").mkdir()
        self.store.images.create_build(build)
        return build

    def file(self, build: Build, image_format: str = "raw") -> Path:
        return self.images_dir / f"{build.image}-{build.id}.{image_format}"

    def uploads(self, name: str = "one", image: str = IMAGE) -> list[Upload]:
        """The records of a provider's uploads, oldest build first."""
        order = {build.id: build.born for build in self.store.images.builds(image)}
        found = self.store.images.uploads(image, name)
        return sorted(found, key=lambda upload: (order.get(upload.build_id, 0), upload.id))

    def states(self, name: str = "one", image: str = IMAGE) -> list[str]:
        return [upload.state for upload in self.uploads(name, image)]

    def in_cloud(self, name: str = "one") -> dict[str, dict[str, Any]]:
        """The images in a cloud that are not its own: id → what is known."""
        stock = ("debian-12", "ubuntu")
        images = self.site.clouds[name].state()["images"]
        return {ident: image for ident, image in images.items() if image["name"] not in stock}

    def options(self, **changes: Any) -> UploadOptions:
        values: dict[str, Any] = {
            "config": str(self.site.config),
            "clouds_config": str(self.site.clouds_yaml),
            "duration": CYCLE_SECONDS,
            "api_timeout": 5.0,
            **changes,
        }
        return UploadOptions(**values)

    def run(self, **changes: Any) -> dict[str, Any]:
        """One cycle until it is settled."""
        result = run_uploads(self.options(**changes))
        if "duration" not in changes:
            assert result["ended"] == "settled", result
        return result

    def stay(self, **changes: Any) -> Uploading:
        """A cycle that stays: ``with builder.stay() as cycle``."""
        return Uploading(self.options(**{"until": "deadline", "duration": STAY_SECONDS, **changes}))


class Uploading:
    """A cycle in a thread of its own. *lines*: what it told people."""

    def __init__(self, options: UploadOptions) -> None:
        self._options = options
        self.stop = Stop()
        self.lines: list[str] = []
        self.result: dict[str, Any] = {}
        self._problem: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Uploading:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop.ask(STOPPED)
        self._thread.join(40)
        assert not self._thread.is_alive(), "the cycle does not end"
        if kind is None and self._problem is not None:
            raise self._problem

    def told(self, text: str) -> bool:
        """True when a line with *text* was told."""
        return any(text in line for line in self.lines)

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            self.result = run_uploads(self._options, progress=self.lines.append, stop=self.stop)
        except BaseException as problem:
            self._problem = problem
