# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two slow providers that offer the same label, on a quiet machine and beside six busy loops."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.bench.figures import Findings, ratio
from tests.bench.launcher import LauncherRun
from tests.bench.world import Scene, World

EAST, WEST = "east", "west"
TOGETHER = 20
WARM = 2.0
BOOT = 20.0
LOOPS = 6
LIMIT = 900.0
MOST_WASTED = 5.0
"""Servers per hundred requests that may be made or deleted in vain."""
LONGER = 1.3
"""The two providers may take this many times as long as the slower of them alone takes for its half."""
PAIRS: tuple[tuple[str, tuple[float, float], tuple[float, float]], ...] = (
    ("45/13 s twice", (45.0, 13.0), (45.0, 13.0)),
    ("15/11 s twice", (15.0, 11.0), (15.0, 11.0)),
    ("quick beside 45/13 s", (0.3, 0.3), (45.0, 13.0)),
    ("90/30 s twice", (90.0, 30.0), (90.0, 30.0)),
)
READINGS = ("GET /servers/detail", "GET /limits", "DELETE /servers/{id}")


@dataclass(frozen=True)
class Two(Scene):
    """Two clouds; *pace*: provider → seconds of a create, and of a list, a reading of the limits and a delete."""

    pace: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    boot: float = BOOT
    guests: bool = False
    quota: int = TOGETHER

    def clouds(self) -> dict[str, dict[str, Any]]:
        """The clouds' configuration."""
        clouds = super().clouds()
        for name, (create, other) in self.pace.items():
            clouds[name]["latency"] = {
                "default": self.small,
                "POST /servers": create,
                **dict.fromkeys(READINGS, other),
            }
        return clouds


class PingPong:
    """A room."""

    name = "pingpong"
    title = "two slow providers, quiet and beside six busy loops"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        for what, east, west in PAIRS[:1] if quick else PAIRS:
            for loops in (0, LOOPS):
                _served, half, _created, _deleted = _serve(_scene({EAST: max(east, west)}), loops, TOGETHER // 2)
                served, makespan, created, deleted = _serve(_scene({EAST: east, WEST: west}), loops, TOGETHER)
                beside = f", beside {loops} busy loops" if loops else ""
                findings.add(f"{what}{beside}: served", served, f"of {TOGETHER}", at_least=TOGETHER)
                findings.add("  makespan", makespan, published="10 of 20 in 405 s" if loops else "")
                findings.add("  the slower one alone, half of them", half)
                findings.add("  ratio", ratio(makespan, half), "", at_most=LONGER)
                wasted = 100 * ratio(max(created - TOGETHER, deleted), TOGETHER)
                findings.add("  thrown away", wasted, "%", at_most=MOST_WASTED)
        return findings


def _scene(pace: Mapping[str, tuple[float, float]]) -> Two:
    return Two(pace=pace, providers=tuple(pace))


def _serve(scene: Two, loops: int, number: int) -> tuple[int, float, int, int]:
    """Return the requests served, the seconds until the last one was, and the creates and deletes."""
    with World(scene) as world, LauncherRun(world, LIMIT + 60.0) as launcher, _busy(loops):
        del launcher
        time.sleep(WARM)
        began = time.time()
        requests = world.requestor.ask(number)
        world.requestor.await_fulfilled(requests, LIMIT)
        fulfilled = [world.requestor.fulfilled[one] for one in requests if one in world.requestor.fulfilled]
        calls = world.calls()
        deletes = sum(count for kind, count in calls.items() if kind.startswith("DELETE /servers"))
        return len(fulfilled), max(fulfilled, default=began) - began, world.made(), deletes


@contextmanager
def _busy(loops: int) -> Iterator[None]:
    """Have so many processes take all the processor time they get."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _unused in range(loops)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
