# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing to do: what a launcher costs that only stays."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tests.bench import published
from tests.bench.figures import Findings
from tests.bench.launcher import BenchError, LauncherRun
from tests.bench.lives import add_memory
from tests.bench.world import Scene, World

PROVIDERS = ("sim", "sim2")
IN_USE = 10
MINUTE = 60.0


@dataclass(frozen=True)
class Idle:
    """Some nodes are in use, nobody asks for anything."""

    name: str = "idle"
    title: str = f"two providers, {IN_USE} nodes in use, nobody asks for anything"

    def run(self, quick: bool) -> Findings:
        """Measure; quick: for a third of a minute, given per minute."""
        findings = Findings()
        seconds = MINUTE / 3 if quick else MINUTE
        scene = Scene(providers=PROVIDERS, boot=1.0)
        with World(scene) as world, LauncherRun(world, seconds + 25.0) as launcher:
            requests = world.requestor.ask(IN_USE)
            if not world.requestor.await_fulfilled(requests, 12.0):
                raise BenchError(f"the nodes did not become ready: {launcher.tail()}")
            for request in requests:
                world.requestor.accept(request)
            time.sleep(3.0)
            calls, cpu, began = world.calls(), launcher.tree.cpu(), time.monotonic()
            module_cpu, (writes, reads) = launcher.tree.module_cpu(), world.store_counts()
            time.sleep(seconds)
            per_minute = MINUTE / (time.monotonic() - began)
            cpu, module_cpu = launcher.tree.cpu() - cpu, launcher.tree.module_cpu() - module_cpu
            later, (writes_later, reads_later) = world.calls(), world.store_counts()
            made = sum(later.values()) - sum(calls.values())
            launcher.finish()
            findings.add(
                "API calls per minute and provider",
                made * per_minute / len(PROVIDERS),
                "calls",
                at_most=1.0,
                published=published.IDLE_CALLS,
            )
            findings.add("CPU per minute, module", module_cpu * per_minute, "s", published=published.IDLE_CPU)
            findings.add("CPU per minute, whole process tree", cpu * per_minute, at_most=0.4)
            findings.add("ZooKeeper writes per minute", (writes_later - writes) * per_minute, "writes")
            findings.add("ZooKeeper reads per minute", (reads_later - reads) * per_minute, "reads")
            add_memory(findings, launcher.tree)
            findings.details = {"calls_before": calls, "calls_after": later}
        return findings
