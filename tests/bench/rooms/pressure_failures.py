# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mixed sets of one, two and five nodes while two servers in a hundred go to ERROR."""

from __future__ import annotations

import time

from tests.bench.figures import Findings, Spread, ratio
from tests.bench.launcher import BenchError, LauncherRun
from tests.bench.world import Scene, World

SETS = (1, 1, 1, 2, 5)
ROUNDS, QUICK_ROUNDS = 12, 4
ERROR_SHARE = 0.02
SECONDS = 120.0


class Failures:
    """A room."""

    name = "pressure-failures"
    title = "requests of 1, 2 and 5 nodes, 2 % of the servers go to ERROR"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        with World(Scene(quota=200, guests=False)) as world, LauncherRun(world, SECONDS + 20.0) as launcher:
            time.sleep(2.0)
            rule = world.cloud.fault("sim", "POST /servers", "error", probability=ERROR_SHARE, seconds=2.0)
            sets = SETS * (QUICK_ROUNDS if quick else ROUNDS)
            requests = [name for size in sets for name in world.requestor.ask(1, ["small"] * size)]
            if not world.requestor.await_fulfilled(requests, SECONDS):
                raise BenchError(f"not all were fulfilled in time: {launcher.tail()}")
            servers = world.servers()
            failed = next(row["struck"] for row in world.cloud.faults("sim") if row["id"] == rule)
            kinds = world.calls()
        done = world.requestor.fulfilled
        overhead = [
            done[name] - max(float(servers[node]["launched"]) for node in world.requestor.nodes_of[name])
            for name in done
        ]
        known = Spread.of(overhead)
        findings.add("requests fulfilled", 100 * ratio(len(done), len(requests)), "%")
        findings.add("requests failed", len(world.requestor.failed), "", at_most=0)
        findings.add("ACTIVE → fulfilled, P50", known.p50, at_most=1.0, published="3.0")
        findings.add("ACTIVE → fulfilled, P99", known.p99, published="4.5")
        findings.add("servers that went to ERROR", failed, "")
        findings.add("API calls per node", ratio(sum(kinds.values()), sum(sets)), "calls", published="8.8")
        findings.details |= {"overhead": known.document(), "calls": kinds}
        return findings
