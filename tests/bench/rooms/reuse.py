# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A ready node is there already: how long until the requestor has it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.bench.figures import Findings, Spread
from tests.bench.launcher import BenchError, LauncherRun
from tests.bench.world import Scene, World, until

READY = 10


@dataclass(frozen=True)
class Reuse:
    """Requests one after another for nodes of min-ready, then several at once."""

    name: str = "reuse"
    title: str = f"{READY} ready nodes (min-ready), requested one by one"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        scene = Scene(boot=3.0, min_ready=READY)
        with World(scene) as world, LauncherRun(world, 30.0) as launcher:
            if not until(lambda: _ready(world) >= READY, 20.0):
                raise BenchError(f"{_ready(world)} of {READY} nodes became ready: {launcher.tail()}")
            requestor = world.requestor
            for _unused in range(READY):
                requestor.await_fulfilled(requestor.ask(1), 10.0)
            taken = Spread.of(seen - requestor.submitted[request] for request, seen in requestor.fulfilled.items())
            result = launcher.finish()
        findings.add("request → fulfilled, P50", taken.p50, at_most=0.3)
        findings.add("request → fulfilled, max", taken.most)
        findings.add("requests fulfilled", len(result["requests"]["fulfilled"]), "")
        findings.details["taken"] = taken.document()
        return findings


def _ready(world: World) -> int:
    return sum(1 for node in world.requestor.nodes().values() if node["state"] == "ready")
