# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits that claim room while every create is refused, with thirty requests waiting."""

from __future__ import annotations

import math
import time

from tests.bench.figures import Findings, ratio
from tests.bench.launcher import BenchError, LauncherRun
from tests.bench.world import Scene, World

WAITING = 30
LIE, QUICK_LIE = 120.0, 20.0
BOOT = 2.0
PUBLISHED = "761 creates, 751 refused, 58 % of all calls"


class Lies:
    """A room."""

    name = "pressure-lies"
    title = f"limits lie for {LIE:.0f} s, {WAITING} requests wait"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        seconds = QUICK_LIE if quick else LIE
        scene = Scene(quota=100, boot=BOOT, guests=False)
        with World(scene) as world:
            # The next probe may be another LIE away: a freeze is as long as what came before it, and more.
            with LauncherRun(world, 2.5 * seconds + 40.0) as launcher:
                time.sleep(2.0)
                world.cloud.fault("sim", "POST /servers", "quota", lasts=seconds)
                lifted = time.time() + seconds
                requests = world.requestor.ask(WAITING)
                if not world.requestor.await_fulfilled(requests, 2.5 * seconds + 30.0):
                    done = len(world.requestor.fulfilled)
                    raise BenchError(f"{done} of {WAITING} were fulfilled in time: {launcher.tail()}")
            creates = [call for call in world.cloud.calls("sim") if call["kind"] == "POST /servers"]
            kinds = world.calls()
        refused = sum(1 for call in creates if call["status"] == 403)
        probe = min((call["start"] for call in creates if call["start"] >= lifted), default=math.nan)
        last = max(world.requestor.fulfilled.values())
        findings.add("refused creates", refused, "", at_most=6, published=PUBLISHED)
        findings.add("  of all calls", 100 * ratio(refused, sum(kinds.values())), "%")
        findings.add("failed requests", len(world.requestor.failed), "", at_most=0)
        findings.add("lift → next probe", probe - lifted, at_most=20.0)
        findings.add("probe → all served, without the boot", last - probe - BOOT, at_most=10.0)
        findings.details |= {"calls": kinds}
        return findings
