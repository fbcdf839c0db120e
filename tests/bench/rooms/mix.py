# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests of different sizes that come one by one, for servers whose boots take differently long."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.bench.figures import Findings
from tests.bench.launcher import BenchError, LauncherRun
from tests.bench.lives import add_calls, stages
from tests.bench.users import Users
from tests.bench.world import SEED, Scene, World

SIZES = 1, 1, 1, 2, 2, 5
PER_SECOND = 1.0
BOOT = {"kind": "normal", "mean": 20.0, "sd": 5.0}
HELD_SECONDS = 5.0
DRAIN_SECONDS = 70.0
"""How long the last requests take to be served, used and deleted."""


@dataclass(frozen=True)
class Mix:
    """A room."""

    name: str = "mix"
    title: str = f"{PER_SECOND:g} request a second (Poisson) for one, two or five nodes, boots of 20 ± 5 s, no scan"

    def run(self, quick: bool) -> Findings:
        """Measure; quick: half of the requests."""
        findings = Findings()
        plan = _plan(30 if quick else 60)
        lasts = plan[-1][0]
        with (
            World(Scene(boot=BOOT, guests=False)) as world,
            LauncherRun(world, lasts + DRAIN_SECONDS + 10) as launcher,
        ):
            time.sleep(2.0)
            at_start = sum(world.calls().values())
            users = Users(world, HELD_SECONDS)
            _play(users, plan)
            if users.busy:
                raise BenchError(f"{len(world.requestor.fulfilled)} of {len(plan)} were served: {launcher.tail()}")
            world.requestor.await_gone([*world.requestor.used], DRAIN_SECONDS)
            known = stages(world, users.servers, launcher.end())
            lives = world.creates()
            add_calls(findings, world, lives, at_start, 2.6, "8.8")
            findings.add("nodes", lives, "")
            findings.add("ACTIVE → fulfilled, P50", known.overhead.p50, at_most=1.0, published="3.0")
            findings.add("ACTIVE → fulfilled, P99", known.overhead.p99, at_most=3.0, published="4.5")
            findings.add("failed requests", len(world.requestor.failed), "", at_most=0)
            findings.details["overhead"] = known.overhead.document()
        return findings


def _plan(number: int) -> Sequence[tuple[float, int]]:
    """Requests: seconds after the first, and how many nodes; the same in each run."""
    chance, at, plan = random.Random(SEED), 0.0, []
    for _unused in range(number):
        plan.append((at, chance.choice(SIZES)))
        at += chance.expovariate(PER_SECOND)
    return plan


def _play(users: Users, plan: Sequence[tuple[float, int]]) -> None:
    began, coming = time.monotonic(), list(plan)
    limit = began + plan[-1][0] + DRAIN_SECONDS
    while (coming or users.busy) and time.monotonic() < limit:
        while coming and coming[0][0] <= time.monotonic() - began:
            users.ask(1, coming.pop(0)[1])
        users.step()
