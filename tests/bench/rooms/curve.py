# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bursts of growing size: what a node costs must not depend on how many are asked for at once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

from tests.bench import machine
from tests.bench.figures import Findings, ratio
from tests.bench.launcher import BenchError, LauncherRun
from tests.bench.world import Scene, World

WARM = 2.0
"""Seconds after the registration in which a cycle has read what does not change."""
DURATION = 240.0
RUNS = 3
SMALL, LARGE = 100, 2000
GROWTH_AT_MOST = 1.2
"""CPU per node of the LARGE burst, as a multiple of that of the SMALL one."""


@dataclass(frozen=True)
class Run:
    """One burst. *loop*: CPU seconds of the fixed loop just before, to tell a slow machine from a slow launcher."""

    seconds: float
    calls: float
    cpu: float
    writes: float
    loop: float


@dataclass(frozen=True)
class Curve:
    """A room.

    :param sizes: of the bursts, and the most seconds until the last node is there, or None.
    """

    sizes: Mapping[int, float | None] = field(
        default_factory=lambda: {10: None, SMALL: 22.0, 500: 27.0, 1000: 32.0, LARGE: None}
    )
    name: str = "curve"
    title: str = f"bursts of 10 to {LARGE:,}, each node without a scan, medians of {RUNS} runs"

    def run(self, quick: bool) -> Findings:
        """Measure; quick: one run each, up to 500."""
        findings = Findings()
        costs: dict[int, float] = {}
        for size, seconds_at_most in self.sizes.items():
            if quick and size > 500:
                continue
            runs = [_burst(size) for _unused in range(1 if quick else RUNS)]
            costs[size] = median(run.cpu / run.loop for run in runs)
            seconds = median(run.seconds for run in runs)
            findings.add(f"{size}: first request → last fulfilled", seconds, at_most=seconds_at_most)
            calls = median(run.calls for run in runs)
            # Of a small burst each node bears more of the lists; the room burst-10 has the same bound.
            findings.add("  API calls per node life", calls, "calls", at_most=4.0 if size < SMALL else 2.5)
            findings.add("  CPU per node", 1000 * median(run.cpu for run in runs), "ms")
            findings.add("  CPU per node, in fixed loops", costs[size], "")
            findings.add("  ZooKeeper writes per node life", median(run.writes for run in runs), "writes")
            findings.details[str(size)] = [vars(run) for run in runs]
        largest = max(costs)
        growth = ratio(costs[largest], costs[SMALL])
        findings.add(f"CPU per node, {largest:,} against {SMALL}", growth, "", at_most=GROWTH_AT_MOST)
        return findings


def _burst(size: int) -> Run:
    """One burst in a world of its own, used and given back."""
    loop = machine.fixed_loop()
    with (
        World(Scene(quota=size + 10, guests=False, rate=0.0, boot=20.0)) as world,
        LauncherRun(world, DURATION) as launcher,
    ):
        time.sleep(WARM)
        requestor = world.requestor
        calls, cpu, writes = sum(world.calls().values()), launcher.tree.cpu(), world.store_counts()[0]
        own_writes = requestor.writes
        requests = requestor.ask(size)
        if not requestor.await_fulfilled(requests, DURATION / 2):
            raise BenchError(f"{len(requestor.fulfilled)} of {size} were fulfilled in time: {launcher.tail()}")
        seconds = max(requestor.fulfilled.values()) - min(requestor.submitted.values())
        for request in requests:
            requestor.accept(request)
        for nodes in requestor.nodes_of.values():
            requestor.give_back(nodes[0])
        requestor.await_gone(requestor.used, launcher.left())
        own_writes = requestor.writes - own_writes
        return Run(
            seconds,
            ratio(sum(world.calls().values()) - calls, size),
            ratio(launcher.tree.cpu() - cpu, size),
            ratio(world.store_counts()[0] - writes - own_writes, size),
            loop,
        )
