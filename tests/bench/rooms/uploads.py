# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Uploads of disk images: as fast as openstacksdk by itself, side by side, and with flat memory.

The other side takes bytes as fast as they come and keeps none, so that what is measured is ours.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openstack

from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Build
from tests.bench.figures import Findings
from tests.bench.launcher import BenchError
from tests.support.byte_sink import ByteSink
from tests.support.image_case import IMAGE, Builder, taker
from tests.support.image_process import UploadProcess
from tests.support.launcher_case import CloudBank, Site
from tests.support.process_memory import Memory
from tests.support.zookeeper_server import ZooKeeperServer

PROVIDERS = ("one", "two", "three", "four")
GIB = 1 << 30
ROUNDS = 3
DIGESTS = {"md5": "0" * 32, "sha256": "0" * 64}
"""Nobody compares them here: the other side tells none."""


@dataclass(frozen=True)
class Uploads:
    """Files are sparse: they are read as fast as memory allows."""

    name: str = "uploads"
    title: str = "disk images to one and to four providers side by side, openstacksdk doing the same"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        size = GIB // 4 if quick else GIB
        rounds = 1 if quick else ROUNDS
        with Workshop() as workshop:
            for names in (PROVIDERS[:1], PROVIDERS):
                pairs = []
                for _round in range(rounds):
                    theirs = workshop.by_sdk(names, size)
                    ours = workshop.by_cycle(names, size)
                    pairs.append((size * len(names) / theirs, size * len(names) / ours))
                share = statistics.median(ours / theirs for theirs, ours in pairs)
                speed = statistics.median(ours for _theirs, ours in pairs)
                label = f"{len(names)} provider{'s' if len(names) > 1 else ''}"
                findings.add(f"{label}: throughput", speed / (1 << 20), "MiB/s")
                findings.add(f"{label}: share of openstacksdk's", 100 * share, "%", at_least=90.0)
                findings.details[label] = [{"sdk": theirs, "ours": ours} for theirs, ours in pairs]
            large = GIB if quick else 10 * GIB
            grown = workshop.memory(large)
            findings.add(f"growth of memory, {large // GIB} GiB", grown / (1 << 20), "MiB", at_most=20.0)
        return findings


class Workshop:
    """A builder's host, and clouds whose images go into sinks."""

    def __enter__(self) -> Workshop:
        self._stack = ExitStack()
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-uploads-")))
        server = self._stack.enter_context(ZooKeeperServer(tick_ms=100))
        site = Site(folder, server, "/bench", self._stack.enter_context(CloudBank()))
        self._stack.callback(site.close)
        self.builder = Builder(site)
        self._stack.callback(self.builder.close)
        for name in PROVIDERS:
            sink = self._stack.enter_context(ByteSink())
            self.builder.cloud(name, image_endpoint_override=sink.url)
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self._stack.close()

    def build(self, size: int) -> Build:
        """A ready build with a sparse file."""
        return self.builder.build(sparse=size, digests=DIGESTS)

    def forget(self, build: Build) -> None:
        """Take a build and its uploads away."""
        self.builder.store.images.delete_build(IMAGE, build.id)
        for path in self.builder.images_dir.glob(f"{IMAGE}-{build.id}*"):
            path.rmdir() if path.is_dir() else path.unlink()

    def by_cycle(self, names: tuple[str, ...], size: int) -> float:
        """Seconds from the first lock to the last record, by the cycle's own account."""
        self.builder.configure(*(taker(name) for name in names))
        build = self.build(size)
        try:
            result = self.builder.run()
        finally:
            self.forget(build)
        rows = result["uploads"]["done"]
        if len(rows) != len(names):
            raise BenchError(f"{len(rows)} of {len(names)} uploads were done: {result['uploads']['failed']}")
        return float(max(row["seconds"] for row in rows))

    def by_sdk(self, names: tuple[str, ...], size: int) -> float:
        """Seconds of openstacksdk's create_image, one thread for each provider."""
        build = self.build(size)
        path = str(self.builder.file(build))
        config = openstack.config.OpenStackConfig(config_files=[str(self.builder.site.clouds_yaml)], load_envvars=False)
        connections = [openstack.connection.Connection(config=config.get_one(name)) for name in names]
        for connection in connections:
            connection.authorize()
        problems: list[BaseException] = []

        def upload(connection: Any) -> None:
            try:
                connection.create_image(
                    "bench", filename=path, wait=True, allow_duplicates=True, disk_format="raw", **DIGESTS
                )
            except Exception as problem:
                problems.append(problem)

        threads = [threading.Thread(target=upload, args=(connection,)) for connection in connections]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.monotonic() - began
        self.forget(build)
        if problems:
            raise BenchError(f"openstacksdk could not do it: {problems[0]}")
        return seconds

    def memory(self, size: int) -> int:
        """Bytes by which the module grows while it uploads one file."""
        self.builder.configure(taker("one"))
        with UploadProcess(self.builder, until="deadline", duration=600) as process:
            small = self.build(1 << 20)
            _wait(lambda: self.builder.states() == ["ready"], 60)
            memory = Memory(process.pid)
            large = self.build(size)
            _wait(lambda: self.builder.states() == ["ready", "ready"], 600)
            grown = memory.growth()
        self.forget(small)
        self.forget(large)
        return grown


def _wait(check: Any, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            raise BenchError(f"it did not happen within {seconds:g} s")
        time.sleep(0.05)
