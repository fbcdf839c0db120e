# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two hundred requests at once on a quota of twenty: how long it takes, and in which order they are served.

The cycles that are measured know the provider, as in the room ``curve``: an earlier one has served two rounds.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Protocol

from tests.bench.figures import Findings
from tests.bench.launcher import BenchError, LauncherRun
from tests.bench.requestor import Requestor
from tests.bench.world import Scene, World

NUMBER, QUICK_NUMBER = 200, 60
QUOTA = 20
BOOT, HELD, DELETE = 5.0, 5.0, 3.0
WARM_UP = 60.0
RUNS = 3
SPARE = 6.0
"""Seconds beyond the least possible: 131 s where a server counts until its end, which makes 125 s possible."""


def least(scene: Scene, number: int) -> float:
    """Seconds until the last of *number* requests can be served: each place is used by one after the other."""
    rounds = math.ceil(number / QUOTA)
    return rounds * (scene.latency["POST /servers"] + BOOT) + (rounds - 1) * (HELD + DELETE + scene.counted)


class Fairness:
    """A room."""

    name = "pressure-fairness"
    title = (
        f"{NUMBER} requests at once on a quota of {QUOTA}"
        f" (boot {BOOT:g}, held {HELD:g}, delete {DELETE:g}), {RUNS} runs"
    )

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        number, times = (QUICK_NUMBER, 1) if quick else (NUMBER, RUNS)
        scene = Scene(quota=QUOTA, boot=BOOT, delete=DELETE, guests=False, rate=0.0)
        _measure(findings, scene, number, times, "makespan")
        _measure(findings, replace(scene, counted=0.0), number, times, "makespan, a server counts until its end only")
        return findings


def _measure(findings: Findings, scene: Scene, number: int, times: int, title: str) -> None:
    ideal = least(scene, number)
    with World(scene) as world:
        requestor = world.requestor
        with LauncherRun(world, 2 * WARM_UP) as launcher:
            use_up(world, requestor.ask(2 * QUOTA), WARM_UP, launcher)
            requestor.await_gone([*requestor.used], launcher.left())
            launcher.end()
        runs = [_run(world, number, 1.6 * ideal) for _unused in range(times)]
        findings.add(title, median(run.makespan for run in runs), at_most=ideal + SPARE, published="292 s")
        findings.add("  the least possible", ideal)
        wrong = max(run.out_of_order for run in runs)
        findings.add("  pairs served out of order, at most", wrong, "%", at_most=2.0, published="42 %")
        findings.add("  API calls per node", median(run.calls for run in runs), "calls")
        findings.add("  refused creates", world.refused_creates(), "", at_most=0)
        findings.add("  failed requests", len(requestor.failed), "", at_most=0)
        findings.details[title] = {"runs": [vars(run) for run in runs], "calls": world.calls()}


@dataclass(frozen=True)
class Run:
    """All requests once. *makespan*: seconds; *out_of_order*: per cent of pairs; *calls*: of the API, for each node."""

    makespan: float
    out_of_order: float
    calls: float


def _run(world: World, number: int, seconds: float) -> Run:
    requestor, calls = world.requestor, sum(world.calls().values())
    with LauncherRun(world, seconds + 30.0) as launcher:
        time.sleep(2.0)
        requests = requestor.ask(number)
        use_up(world, requests, seconds, launcher)
        requestor.await_gone([*requestor.used], launcher.left())
        launcher.end()
    began = min(requestor.submitted[name] for name in requests)
    makespan = max(requestor.fulfilled[name] for name in requests) - began
    out_of_order = inversions(requests, requestor.fulfilled)
    return Run(makespan, out_of_order, (sum(world.calls().values()) - calls) / number)


class Telling(Protocol):
    """A launcher of which the end of its log is wanted."""

    def tail(self) -> str:
        """The end of what it has written."""


def use_up(world: World, requests: list[str], seconds: float, launcher: Telling) -> None:
    """Take what is fulfilled, hold it for HELD seconds and give it back, until all have been served and given back.

    :raises BenchError: that takes longer than *seconds*.
    """
    requestor = world.requestor
    limit = time.time() + seconds
    waiting, held = list(requests), list[tuple[float, str]]()
    while waiting or held:
        if waiting and time.time() > limit:
            raise BenchError(f"{len(waiting)} of {len(requests)} are not served: {launcher.tail()}")
        for request in [name for name in waiting if name in requestor.fulfilled]:
            waiting.remove(request)
            held += [(requestor.fulfilled[request] + HELD, node) for node in requestor.accept(request)]
        for due, node in [item for item in held if item[0] <= time.time()]:
            requestor.give_back(node)
            held.remove((due, node))
        known = len(requestor.fulfilled)
        pause = min([due for due, _node in held], default=limit) - time.time()
        requestor.await_all(partial(_are_more_than, requestor, known), max(0.01, min(0.5, pause)))


def _are_more_than(requestor: Requestor, known: int) -> bool:
    return len(requestor.fulfilled) > known


def inversions(order: list[str], done: dict[str, float]) -> float:
    """Percentage of all pairs in which the later request was served first."""
    times = [done[name] for name in order]
    pairs = len(times) * (len(times) - 1) / 2
    wrong = sum(late < early for index, early in enumerate(times) for late in times[index + 1 :])
    return 100 * wrong / pairs
