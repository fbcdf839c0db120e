# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each way in which a launch fails, one after the other, and creates whose answer does not come."""

from __future__ import annotations

import time
from typing import Any

from tests.bench.figures import Findings
from tests.bench.launcher import BenchError, LauncherRun
from tests.bench.world import Scene, World, until

BOOT = 1.0
BOOT_TIMEOUT, LAUNCH_TIMEOUT = 3, 6
API_TIMEOUT = 3.0
LOST = 9
CASES: tuple[tuple[str, str, dict[str, Any], float], ...] = (
    ("No valid host was found", "error", {"seconds": 0.2}, 0.0),
    ("a fault of the hypervisor", "error", {"seconds": 0.2, "message": "libvirt exploded"}, 0.0),
    ("stuck in BUILD", "stuck_build", {}, LAUNCH_TIMEOUT),
    ("no address", "no_address", {}, BOOT_TIMEOUT),
    ("its guest never answers", "unreachable", {}, BOOT_TIMEOUT),
    ("the create is answered with 500", "status", {"status": 500}, 4.0),
    ("the quota's race", "error_quota", {"resources": ["instances"]}, 35.0),
)
"""What it is called, the fault, its options, and the seconds that noticing it takes by itself."""
SPARE = 10.0
"""Seconds for everything else: seeing it, deleting the server, another boot, the scan."""


class Launches:
    """A room."""

    name = "pressure-launches"
    title = "each way to fail once; served by the next attempt"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        with World(Scene(boot=BOOT, delete=0.5)) as world:
            text = world.config.read_text(encoding="utf-8")
            limits = f"    boot-timeout: {BOOT_TIMEOUT}\n    launch-timeout: {LAUNCH_TIMEOUT}\n    rate:"
            world.config.write_text(text.replace("    rate:", limits), encoding="utf-8")
            with LauncherRun(world, 300.0, launcher_api_timeout=API_TIMEOUT) as launcher:
                time.sleep(2.0)
                for name, fault, options, noticing in CASES[:-1] if quick else CASES:
                    rule = world.cloud.fault("sim", "POST /servers", fault, count=1, **options)
                    took = _served(world, launcher, 1, noticing + 4 * SPARE)
                    world.cloud.remove_fault("sim", rule)
                    findings.add(f"{name}: request → served", took, at_most=noticing + SPARE)
                before, made = world.calls()["POST /servers"], LOST // 3
                for fault in ("status_after", "reset_after", "hang_after"):
                    world.cloud.fault("sim", "POST /servers", fault, status=504, count=made)
                    took = _served(world, launcher, made, 60.0)
                    findings.add(f"creates done without an answer ({fault})", took, at_most=API_TIMEOUT + SPARE)
                findings.add("  made twice", world.calls()["POST /servers"] - before - LOST, "", at_most=0)
                nodes = world.requestor.nodes()
                until(lambda: _servers(world) <= len(world.requestor.nodes()), 20.0)
                findings.add("servers beyond one for each node", _servers(world) - len(nodes), "", at_most=0)
                findings.add("failed requests", len(world.requestor.failed), "", at_most=0)
        return findings


def _servers(world: World) -> int:
    return len(world.cloud.servers("sim"))


def _served(world: World, launcher: LauncherRun, number: int, seconds: float) -> float:
    began = time.time()
    requests = world.requestor.ask(number)
    if not world.requestor.await_fulfilled(requests, seconds):
        raise BenchError(f"not served within {seconds:g} s: {launcher.tail()}")
    return max(world.requestor.fulfilled.get(name, time.time()) for name in requests) - began
