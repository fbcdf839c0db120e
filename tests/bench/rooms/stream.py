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
            servers = _serve(world, asking)
            world.requestor.await_gone([*world.requestor.used], DRAIN_SECONDS)
            writes = world.store_counts()[0] - writes_before - (world.requestor.writes - own_before)
            lives = world.creates()
            result = launcher.finish()
            known = stages(world, servers, result)
            add_calls(findings, world, lives, at_start, 4.0, published.ALONE_CALLS)
            findings.add("lives", lives, "")
            findings.add("ACTIVE → fulfilled, P50", known.overhead.p50, at_most=1.0)
            findings.add("ACTIVE → fulfilled, P99", known.overhead.p99, at_most=3.0)
            findings.add("ZooKeeper writes per node life", ratio(writes, lives), "writes")
            add_memory(findings, launcher.tree)
            findings.details["overhead"] = known.overhead.document()
        return findings


def _serve(world: World, seconds: float) -> dict[str, dict[str, object]]:
    """Play requestors for *seconds*, then until all that was asked for was used; returns the servers seen."""
    requestor = world.requestor
    servers: dict[str, dict[str, object]] = {}
    waiting = set(requestor.ask(IN_FLIGHT))
    holding: dict[str, float] = {}
    end = time.monotonic() + seconds
    limit = end + DRAIN_SECONDS
    while (waiting or holding) and time.monotonic() < limit:
        served = [request for request in waiting if request in requestor.fulfilled]
        if served:
            servers |= world.servers()
        for request in served:
            waiting.discard(request)
            holding |= dict.fromkeys(requestor.accept(request), time.monotonic() + HELD_SECONDS)
            if time.monotonic() < end:
                waiting |= set(requestor.ask(1))
        for node in [node for node, over in holding.items() if over <= time.monotonic()]:
            del holding[node]
            requestor.give_back(node)
        time.sleep(0.02)
    return servers
