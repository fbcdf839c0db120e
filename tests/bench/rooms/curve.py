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
BOOT = 20.0
"""Of every server: what is above it and the create is the launcher's own time."""
DURATION = 240.0
RUNS = 3
SMALL, LARGE = 100, 2000
GROWTH_AT_MOST = 1.2
"""CPU per node of the LARGE burst, as a multiple of that of the SMALL one."""


@dataclass(frozen=True)
class Run:
    """One burst.

    :param seconds: from the first request until the last was fulfilled; *half*: until half of them were; *sent*: until
        the last create was sent.
    :param calls: of the API, for each node; *cpu* (seconds) and *writes* (of ZooKeeper) likewise.
    :param loop: CPU seconds of the fixed loop just before, to tell a slow machine from a slow launcher.
    """

    seconds: float
    half: float
    sent: float
    calls: float
    cpu: float
    writes: float
    loop: float


@dataclass(frozen=True)
class Goal:
    """At most so many seconds from the first request until all are there, half of them are, the last create was sent.

    :param cpu: seconds of CPU that all of them may cost.
    """

    all_there: float | None = None
    half: float | None = None
    sent: float | None = None
    cpu: float | None = None


@dataclass(frozen=True)
class Curve:
    """A room.

    :param sizes: of the bursts, with their goals.
    """

    sizes: Mapping[int, Goal] = field(
        default_factory=lambda: {
            10: Goal(),
            SMALL: Goal(22.0, 21.5, 1.0),
            500: Goal(27.0, 24.0, cpu=9.0),
            1000: Goal(32.0),
            LARGE: Goal(),
        }
    )
    name: str = "curve"
    title: str = f"bursts of 10 to {LARGE:,} by cycles that know the provider, each node without a scan, {RUNS} runs"

    def run(self, quick: bool) -> Findings:
        """Measure; quick: one run each, up to 500."""
        findings = Findings()
        costs: dict[int, float] = {}
        first: list[float] = []
        for size, goal in self.sizes.items():
            if quick and size > 500:
                continue
            with World(Scene(quota=max(size, SMALL) + 10, guests=False, rate=0.0, boot=BOOT)) as world:
                # What a cycle learns of a provider is where the next one begins.
                first.append(_burst(world, SMALL).seconds)
                runs = [_burst(world, size) for _unused in range(1 if quick else RUNS)]
            costs[size] = median(run.cpu / run.loop for run in runs)
            seconds = median(run.seconds for run in runs)
            findings.add(f"{size}: first request → last fulfilled", seconds, at_most=goal.all_there)
            findings.add(
                "  first request → half of them fulfilled", median(run.half for run in runs), at_most=goal.half
            )
            findings.add("  first request → last create sent", median(run.sent for run in runs), at_most=goal.sent)
            calls = median(run.calls for run in runs)
            # Of a small burst each node bears more of the lists; the room burst-10 has the same bound.
            findings.add("  API calls per node life", calls, "calls", at_most=4.0 if size < SMALL else 2.5)
            findings.add("  CPU of all", size * median(run.cpu for run in runs), at_most=goal.cpu)
            findings.add("  CPU per node", 1000 * median(run.cpu for run in runs), "ms")
            findings.add("  CPU per node, in fixed loops", costs[size], "")
            findings.add("  ZooKeeper writes per node life", median(run.writes for run in runs), "writes")
            findings.details[str(size)] = [vars(run) for run in runs]
        largest = max(costs)
        growth = ratio(costs[largest], costs[SMALL])
        findings.add(f"CPU per node, {largest:,} against {SMALL}", growth, "", at_most=GROWTH_AT_MOST)
        findings.add(f"{SMALL} at a provider that no cycle knew: first request → last fulfilled", median(first))
        return findings


def _burst(world: World, size: int) -> Run:
    """One burst by a cycle of its own, used and given back."""
    loop = machine.fixed_loop()
    with LauncherRun(world, DURATION) as launcher:
        time.sleep(WARM)
        requestor = world.requestor
        calls, cpu, writes = sum(world.calls().values()), launcher.tree.cpu(), world.store_counts()[0]
        own_writes = requestor.writes
        requests = requestor.ask(size)
        if not requestor.await_fulfilled(requests, DURATION / 2):
            done = sum(1 for request in requests if request in requestor.fulfilled)
            raise BenchError(f"{done} of {size} were fulfilled in time: {launcher.tail()}")
        began = min(requestor.submitted[request] for request in requests)
        seconds = sorted(requestor.fulfilled[request] - began for request in requests)
        nodes = [node for request in requests for node in requestor.nodes_of[request]]
        for request in requests:
            requestor.accept(request)
        for node in nodes:
            requestor.give_back(node)
        requestor.await_gone(nodes, launcher.left())
        own_writes = requestor.writes - own_writes
        # Before the end, where the cycle writes down what it has learned.
        cpu, writes = launcher.tree.cpu() - cpu, world.store_counts()[0] - writes - own_writes
        calls = sum(world.calls().values()) - calls
        launcher.end()
    return Run(
        seconds=seconds[-1],
        half=median(seconds),
        sent=max(world.creates_sent(since=began)) - began,
        calls=ratio(calls, size),
        cpu=ratio(cpu, size),
        writes=ratio(writes, size),
        loop=loop,
    )
