# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One build of a disk image: what it costs beside disk-image-create."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.figures import Findings, Spread
from tests.bench.launcher import BenchError
from tests.support.ansible_run import BIN, ROOT, command
from tests.support.builder_case import BuilderSite, Module, real_image
from tests.support.fixtures_zookeeper import eventually
from tests.support.zookeeper_server import ZooKeeperServer

ROUNDS = 3
CLOCKED = """#!/bin/bash
# Runs disk-image-create and notes when it began and when it ended.
date +%s.%N >>"$BENCH_TIMES"
"{program}" -n "$@"
code=$?
date +%s.%N >>"$BENCH_TIMES"
exit $code
"""


@dataclass(frozen=True)
class BuilderRoom:
    """diskimage-builder with the element ``tiny``, in two formats."""

    name: str = "builder"
    title: str = "one build of a disk image in two formats, beside disk-image-create"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        if os.geteuid() != 0:
            raise BenchError("disk-image-create needs root")
        findings = Findings()
        rounds = 1 if quick else ROUNDS
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-builder-")))
            server = stack.enter_context(ZooKeeperServer(tick_ms=100))
            site = BuilderSite(folder, server)
            stack.callback(site.close)
            workshop = Workshop(site)
            module = [workshop.by_module() for _round in range(rounds)]
            playbook = [workshop.by_playbook() for _round in range(rounds)]
        findings.add("disk-image-create, P50", Spread.of(inside for inside, _around in module).p50)
        around = Spread.of(around for _inside, around in module).p50
        findings.add("the whole module around it, P50", around, at_most=2.0)
        findings.add("ansible-playbook builds.yml around it, P50", Spread.of(around for _in, around in playbook).p50)
        findings.details = {"module": module, "playbook": playbook}
        return findings


class Workshop:
    """Builds the image again and again."""

    def __init__(self, site: BuilderSite) -> None:
        self._site = site
        self._times = site.folder / "times"
        clocked = site.folder / "clocked"
        clocked.write_text(CLOCKED.format(program=BIN / "disk-image-create"), encoding="utf-8")
        clocked.chmod(0o700)
        tiny = real_image(env_vars={"BENCH_TIMES": str(self._times)}, dib_cmd=str(clocked))
        site.configure(tiny, providers={"one": "qcow2", "two": "raw"})

    def by_module(self) -> tuple[float, float]:
        """Seconds of disk-image-create, and of the module around it."""

        def build() -> None:
            with Module(self._site, name="tiny", force=True) as module:
                result = module.result(300)
            if result["failed"]:
                raise BenchError(f"the build failed: {result['msg']}")

        return self._measure(build)

    def by_playbook(self) -> tuple[float, float]:
        """Seconds of disk-image-create, and of the whole command around it."""
        site = self._site
        variables = {"nodepool_config": site.config, "nodepool_clouds_config": site.clouds_yaml}
        words: list[Any] = ["ansible-playbook", ROOT / "playbooks" / "builds.yml"]
        for name, value in variables.items():
            words += ["-e", f"{name}={value}"]

        def build() -> None:
            site.request("tiny")
            done = command(*words, folder=site.folder, timeout=300)
            if done.returncode:
                raise BenchError(f"builds.yml failed: {done.stdout[-2000:]}{done.stderr[-1000:]}")

        return self._measure(build)

    def _measure(self, build: Callable[[], None]) -> tuple[float, float]:
        self._times.unlink(missing_ok=True)
        eventually(lambda: not self._site.leftovers()["processes"], 30)
        began = time.time()
        build()
        whole = time.time() - began
        first, last = (float(text) for text in self._times.read_text(encoding="ascii").split())
        return last - first, whole - (last - first)
