# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two hundred requests at once on a quota of twenty: how long it takes, and in which order they are served."""

from __future__ import annotations

import time
from functools import partial
from typing import Protocol

from tests.bench.figures import Findings
from tests.bench.launcher import BenchError, LauncherRun
from tests.bench.requestor import Requestor
from tests.bench.world import Scene, World

NUMBER, QUICK_NUMBER = 200, 60
QUOTA = 20
BOOT, HELD, DELETE = 5.0, 5.0, 3.0
ROUND = BOOT + HELD + DELETE


class Fairness:
    """A room."""

    name = "pressure-fairness"
    title = f"{NUMBER} requests at once on a quota of {QUOTA} (boot {BOOT:g}, held {HELD:g}, delete {DELETE:g})"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        number = QUICK_NUMBER if quick else NUMBER
        ideal = ROUND * (number / QUOTA) - HELD
        scene = Scene(quota=QUOTA, boot=BOOT, delete=DELETE, guests=False)
        with World(scene) as world, LauncherRun(world, 1.6 * ideal + 10.0) as launcher:
            time.sleep(2.0)
            requests = world.requestor.ask(number)
            use_up(world, requests, 1.6 * ideal, launcher)
            began = min(world.requestor.submitted.values())
            done = world.requestor.fulfilled
            makespan = max(done.values()) - began
            findings.add("makespan", makespan, at_most=1.2 * ideal, published="292 s")
            findings.add("  the ideal", ideal)
            findings.add("pairs served out of order", inversions(requests, done), "%", at_most=2.0, published="42 %")
            findings.add("refused creates", world.refused_creates(), "", at_most=0)
            findings.add("failed requests", len(world.requestor.failed), "", at_most=0)
            findings.details |= {"calls": world.calls()}
        return findings


class Telling(Protocol):
    """A launcher of which the end of its log is wanted."""

    def tail(self) -> str:
        """The end of what it has written."""


def use_up(world: World, requests: list[str], seconds: float, launcher: Telling) -> None:
    """Take what is fulfilled, hold it for HELD seconds and give it back, until all have been served.

    :raises BenchError: that takes longer than *seconds*.
    """
    requestor = world.requestor
    limit = time.time() + seconds
    waiting, held = list(requests), list[tuple[float, str]]()
    while waiting:
        if time.time() > limit:
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
