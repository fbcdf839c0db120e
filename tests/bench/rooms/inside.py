# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A burst seen from inside: what the passes of a cycle take, and how much of it is waiting for ZooKeeper."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from tests.bench.figures import Findings, Spread, ratio
from tests.bench.in_process import run_cycle
from tests.bench.launcher import BenchError
from tests.bench.world import Scene, World

NUMBER = 100
DURATION = 24.0


@dataclass(frozen=True)
class Inside:
    """The cycle runs in this process; with ``--profile`` its thread is profiled."""

    name: str = "inside"
    title: str = f"a burst of {NUMBER} from inside, servers boot in 8 s"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        with World(Scene(boot={"kind": "normal", "mean": 8.0, "sd": 1.0})) as world:

            def ask(over: threading.Event) -> None:
                over.wait(2.0)
                world.requestor.await_fulfilled(world.requestor.ask(NUMBER), DURATION)

            passes = run_cycle(world, DURATION, ask, self.name)
            fulfilled = len(world.requestor.fulfilled)
            if fulfilled < NUMBER:
                raise BenchError(f"{fulfilled} of {NUMBER} requests were fulfilled in {DURATION:g} s: a busy machine?")
            began = min(world.requestor.submitted.values())
            creates = sorted(float(server["created"]) - began for server in world.servers().values())
            ping = _round_trip(world)
        findings.add("passes", len(passes.seconds), "")
        findings.add("seconds in passes", sum(passes.seconds))
        findings.add("  of these CPU of the cycle's thread", sum(passes.busy))
        findings.add("seconds in passes per node", 1000 * ratio(sum(passes.seconds), NUMBER), "ms")
        findings.add("longest pass", 1000 * Spread.of(passes.seconds).most, "ms")
        findings.add("request → create accepted, last", creates[-1])
        findings.add("a round trip to ZooKeeper, P50", 1000 * ping.p50, "ms")
        findings.details = {"passes": [round(value, 4) for value in passes.seconds], "round_trip": ping.document()}
        return findings


def _round_trip(world: World) -> Spread:
    """How long a write takes when nobody else writes."""
    seconds = []
    for _unused in range(100):
        began = time.perf_counter()
        world.requestor.touch()
        seconds.append(time.perf_counter() - began)
    return Spread.of(seconds)
