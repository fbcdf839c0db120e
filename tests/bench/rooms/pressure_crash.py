# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kill -9 in the middle of everything: what is lost, and how soon somebody else acts."""

from __future__ import annotations

import time
from pathlib import Path

from tests.bench.figures import Findings
from tests.bench.launcher import BenchError, LauncherRun
from tests.bench.world import Scene, World, until
from tests.simulation.launcher import test_chaos as chaos
from tests.simulation.launcher import test_kill_points as points

BUILDING, QUICK_BUILDING = 27, 8
AWAY = 5.0
"""Seconds between the death and the restart."""
BOOT = 20.0
SESSION = 10.0
STRIDE, QUICK_STRIDE = 1, 60


class Crash:
    """A room."""

    name = "pressure-crash"
    title = f"kill -9 with {BUILDING} building, restart after {AWAY:g} s; then a standby takes over"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        number = QUICK_BUILDING if quick else BUILDING
        with World(Scene(boot=BOOT, guests=False)) as world:
            state = world.folder / "state"
            with LauncherRun(world, 200.0, launcher_state_dir=str(state)) as first:
                time.sleep(2.0)
                requests = world.requestor.ask(number)
                if not until(lambda: len(world.servers()) == number, 30.0):
                    raise BenchError(f"{len(world.servers())} of {number} servers were made: {first.tail()}")
                first.kill()
            time.sleep(AWAY)
            began = time.time()
            with LauncherRun(world, 200.0, launcher_state_dir=str(state)) as second:
                if not world.requestor.await_fulfilled(requests, 170.0):
                    raise BenchError(f"not all were fulfilled after the restart: {second.tail()}")
                findings.add("restart → all fulfilled", time.time() - began, at_most=BOOT + 5.0, published="148 s")
                findings.add("servers thrown away", world.creates() - number, "", at_most=0, published="34 of 34")
                findings.add("failed requests", len(world.requestor.failed), "", at_most=0)
                took = _takeover(world, second, state, elsewhere=False)
                findings.add("death → the standby acts, same host", took, at_most=2.0)
            with LauncherRun(world, 200.0, launcher_state_dir=str(state)) as third:
                took = _takeover(world, third, state, elsewhere=True)
                findings.add("death → the standby acts, another host", took, at_most=SESSION + 1.0)
            with LauncherRun(world, 60.0):
                for request in requests:
                    for node in world.requestor.accept(request):
                        world.requestor.give_back(node)
                world.requestor.await_gone(world.requestor.used, 40.0)
                until(lambda: not world.servers(), 20.0)
            left = len(world.servers()) + len(world.requestor.nodes())
            findings.add("servers and records left at the end", left, "", at_most=0)
        return findings


def _takeover(world: World, acting: LauncherRun, state: Path, *, elsewhere: bool) -> float:
    """Seconds from the death of the acting cycle until the standby has registered its pools."""
    folder = world.folder / "elsewhere" if elsewhere else state
    known = len(list(folder.iterdir())) if folder.exists() else 0
    with LauncherRun(world, 60.0, stands_by=True, launcher_state_dir=str(folder)) as standby:
        if not until(lambda: folder.exists() and len(list(folder.iterdir())) > known, 30.0):
            raise BenchError(f"the standby does not start: {standby.tail()}")
        time.sleep(3.0)
        before = world.requestor.registrations()
        acting.kill()
        killed = time.monotonic()
        if not until(lambda: bool(world.requestor.registrations() - before), 30.0, 0.02):
            raise BenchError(f"the standby does not act: {standby.tail()}")
        return time.monotonic() - killed


class KillPoints:
    """A room."""

    name = "pressure-kills"
    title = "killed at every write and every call, and long random runs with kills, on virtual time"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        total = points.live(None, 0).points
        tried, lost = 0, []
        for at in range(1, total + 1, QUICK_STRIDE if quick else STRIDE):
            tried += 1
            try:
                points.live(points.kill, at)
            except AssertionError as problem:
                lost.append(f"point {at}: {problem}")
        runs, wrong = 0, []
        for seed in range(1 if quick else 6):
            runs += 1
            try:
                chaos.test_a_long_random_run_loses_nothing_and_leaves_nothing(seed)
            except AssertionError as problem:
                wrong.append(f"seed {seed}: {problem}")
        findings.add(f"kill points tried, of {total}", tried, "")
        findings.add("  at which something was lost, doubled or left", len(lost), "", at_most=0)
        findings.add("long random runs", runs, "")
        findings.add("  whose cloud was not what ZooKeeper says", len(wrong), "", at_most=0)
        findings.notes += [line[:300] for line in (*lost, *wrong)]
        return findings
