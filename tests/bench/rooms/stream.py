# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A steady stream with a fixed number of requests in flight: calls per life where bulk listings serve few nodes."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tests.bench import published
from tests.bench.figures import Findings, ratio
from tests.bench.launcher import LauncherRun
from tests.bench.lives import add_calls, add_memory, stages
from tests.bench.users import Users
from tests.bench.world import Scene, World

IN_FLIGHT = 10
HELD_SECONDS = 2.0
DRAIN_SECONDS = 45.0
"""How long the last requests take to be served, used and deleted."""


@dataclass(frozen=True)
class Stream:
    """Keeps requests in flight: each that is served is used for a moment and replaced."""

    name: str = "stream"
    title: str = f"{IN_FLIGHT} requests in flight all the time, each node used for {HELD_SECONDS:g} s"

    def run(self, quick: bool) -> Findings:
        """Measure; quick: one minute instead of two."""
        findings = Findings()
        asking = 60.0 if quick else 120.0
        with World(Scene()) as world, LauncherRun(world, asking + DRAIN_SECONDS + 10) as launcher:
            time.sleep(2.0)
            at_start = sum(world.calls().values())
            writes_before, own_before = world.store_counts()[0], world.requestor.writes
            users = Users(world, HELD_SECONDS)
            _serve(users, asking)
            world.requestor.await_gone([*world.requestor.used], DRAIN_SECONDS)
            writes = world.store_counts()[0] - writes_before - (world.requestor.writes - own_before)
            lives = world.creates()
            result = launcher.finish()
            known = stages(world, users.servers, result)
            add_calls(findings, world, lives, at_start, 4.0, published.ALONE_CALLS)
            findings.add("lives", lives, "")
            findings.add("ACTIVE → fulfilled, P50", known.overhead.p50, at_most=1.0)
            findings.add("ACTIVE → fulfilled, P99", known.overhead.p99, at_most=3.0)
            findings.add("ZooKeeper writes per node life", ratio(writes, lives), "writes")
            add_memory(findings, launcher.tree)
            findings.details["overhead"] = known.overhead.document()
        return findings


def _serve(users: Users, seconds: float) -> None:
    """Keep requests in flight for *seconds*, then see to it that all that was asked for is used."""
    end = time.monotonic() + seconds
    limit = end + DRAIN_SECONDS
    users.ask(IN_FLIGHT)
    while users.busy and time.monotonic() < limit:
        served = users.step()
        if served and time.monotonic() < end:
            users.ask(served)
