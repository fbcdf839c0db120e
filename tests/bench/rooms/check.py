# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check mode: how long it takes to learn what would be done."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass

from tests.bench.figures import Findings, Spread
from tests.bench.launcher import BenchError, command, environment, result_of
from tests.bench.world import Scene, World

TIMES = 3
WAITING = 20


@dataclass(frozen=True)
class Check:
    """``ansible-playbook playbooks/launcher.yml --check --diff``, several times."""

    name: str = "check"
    title: str = f"check mode with {WAITING} requests and two providers"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        with World(Scene(providers=("sim", "sim2"), guests=False)) as world:
            world.requestor.ask(WAITING)
            writes_before = world.store_counts()[0]
            whole, inside = [], []
            for _unused in range(TIMES):
                began = time.monotonic()
                done = subprocess.run(
                    command(world, "--check", "--diff"),
                    cwd=world.folder,
                    env=environment(world),
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    timeout=90,
                    check=False,
                )
                whole.append(time.monotonic() - began)
                if done.returncode:
                    raise BenchError(f"check mode failed: {done.stdout[-2000:]}{done.stderr[-1000:]}")
                result = result_of(done.stdout)
                inside.append(float(result["seconds"]))
            calls = world.calls()
            writes = world.store_counts()[0] - writes_before
            changing = sum(n for kind, n in calls.items() if not kind.startswith("GET") and "tokens" not in kind)
        findings.add("the whole command, P50", Spread.of(whole).p50)
        findings.add("  of this the observation and plan, P50", Spread.of(inside).p50)
        findings.add("API calls per run and provider", sum(calls.values()) / TIMES / 2, "calls")
        findings.add("calls that change something", changing, "", at_most=0)
        # A session's beginning and its end are writes, too.
        findings.add("ZooKeeper writes beyond those of the session", writes - 2 * TIMES, "", at_most=0)
        findings.add("requests that would be served", len(result["plan"]["admit"]), "")
        findings.details = {"calls": calls, "whole": whole, "inside": inside}
        return findings
