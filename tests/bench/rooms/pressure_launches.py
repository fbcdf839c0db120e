# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each way in which a launch fails, one after the other, and creates whose answer does not come."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.machine import SETTLE_SECONDS
from tests.bench.figures import Findings
from tests.bench.gate import Gate
from tests.bench.launcher import BenchError, LauncherRun
from tests.bench.world import Scene, World, until

BOOT = 1.0
BOOT_TIMEOUT, LAUNCH_TIMEOUT = 3, 6
API_TIMEOUT = 3.0
LOST = 9
MUCH_LATER = 18.0
"""Seconds after which a create is done that was given up and sent anew long before."""
CASES: tuple[tuple[str, str, dict[str, Any], float], ...] = (
    ("No valid host was found", "error", {"seconds": 0.2}, 0.0),
    ("a fault of the hypervisor", "error", {"seconds": 0.2, "message": "libvirt exploded"}, 0.0),
    ("stuck in BUILD", "stuck_build", {}, LAUNCH_TIMEOUT),
    ("no address", "no_address", {}, BOOT_TIMEOUT),
    ("its guest never answers", "unreachable", {}, BOOT_TIMEOUT),
    # It is looked for ten seconds long in the listing before another one is made: docs/designs/002.
    ("the create is answered with 500", "status", {"status": 500}, 10.0),
    ("the quota's race", "error_quota", {"resources": ["instances"]}, 35.0),
)
"""What it is called, the fault, its options, and the seconds that noticing it takes by itself."""
SPARE = 10.0
"""Seconds for everything else: seeing it, deleting the server, another boot, the scan."""


SCANNED, FLOATING = "scanned", "floating"


class Ways(Scene):
    """Besides: a label whose guests are asked for keys at a gate, and one whose nodes get floating IPs."""

    def clouds(self) -> dict[str, dict[str, Any]]:
        """The clouds' configuration."""
        clouds = super().clouds()
        for cloud in clouds.values():
            cloud["networks"].append({"name": "private"})
        return clouds

    def nodepool_yaml(self, zookeeper_port: int, ssh_port: Callable[[str], int], gate: int = 0) -> str:
        """The launcher's configuration; *gate*: the port at which guests are asked."""
        text = super().nodepool_yaml(zookeeper_port, ssh_port)
        image = {"name": SCANNED, "image-name": "debian-12", "username": "root", "connection-port": gate}
        label = {"name": SCANNED, "cloud-image": SCANNED, "flavor-name": "small", "console-log": True}
        floating = {"name": FLOATING, "cloud-image": "debian-12", "flavor-name": "small"}
        pool = {"name": FLOATING, "networks": ["private"], "host-key-checking": True, "labels": [floating]}
        pool["auto-floating-ip"] = True
        limits = f"    boot-timeout: {BOOT_TIMEOUT}\n    launch-timeout: {LAUNCH_TIMEOUT}\n    rate:"
        # JSON is YAML too.
        text = text.replace("    rate:", limits)
        text = text.replace("labels:\n", f"labels:\n  - {{name: {SCANNED}}}\n  - {{name: {FLOATING}}}\n", 1)
        text = text.replace("    cloud-images:\n", f"    cloud-images:\n      - {json.dumps(image)}\n")
        return f"{text}          - {json.dumps(label)}\n      - {json.dumps(pool)}\n"


class Launches:
    """A room."""

    name = "pressure-launches"
    title = "each way to fail once; served by the next attempt"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        scene = Ways(boot=BOOT, delete=0.5)
        with World(scene) as world, Gate(world.cloud.ssh_port("sim")) as gate:
            text = scene.nodepool_yaml(world.zookeeper.port, world.cloud.ssh_port, gate.port)
            world.config.write_text(text, encoding="utf-8")
            with LauncherRun(world, 300.0, launcher_api_timeout=API_TIMEOUT) as launcher:
                time.sleep(2.0)
                for name, fault, options, noticing in CASES[:-1] if quick else CASES:
                    rule = world.cloud.fault("sim", "POST /servers", fault, count=1, **options)
                    took = _served(world, launcher, 1, noticing + 4 * SPARE)
                    world.cloud.remove_fault("sim", rule)
                    findings.add(f"{name}: request → served", took, at_most=noticing + SPARE)
                self._later(findings, world, launcher, gate)
                self._much_later(findings, world, launcher)
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

    @staticmethod
    def _much_later(findings: Findings, world: World, launcher: LauncherRun) -> None:
        """The create that was given up is done when another server stands for the node: one of the two goes."""
        rule = world.cloud.fault("sim", "POST /servers", "slow", seconds=MUCH_LATER, count=1)
        took = _served(world, launcher, 1, 6 * SPARE)
        world.cloud.remove_fault("sim", rule)
        within = API_TIMEOUT + SETTLE_SECONDS + SPARE
        findings.add(f"a create is done {MUCH_LATER:g} s after it was sent", took, at_most=within)
        # It is there when those that come next are counted.
        time.sleep(max(0.0, MUCH_LATER + 1.0 - took))

    @staticmethod
    def _later(findings: Findings, world: World, launcher: LauncherRun, gate: Gate) -> None:
        """What fails when the server is up."""
        gate.break_next()
        took = _served(world, launcher, 1, BOOT_TIMEOUT + 4 * SPARE, SCANNED)
        if not gate.refused:
            raise BenchError(f"nobody was asked for keys at the gate: {launcher.tail()}")
        findings.add("its guest shows no host key: request → served", took, at_most=BOOT_TIMEOUT + SPARE)
        _served(world, launcher, 1, 4 * SPARE, FLOATING)
        rule = world.cloud.fault("sim", "POST /floatingips", "status", status=400, message="bad network", count=1)
        took = _served(world, launcher, 1, 4 * SPARE, FLOATING)
        struck = sum(int(row["struck"]) for row in world.cloud.faults("sim") if row["id"] == rule)
        if not struck:
            raise BenchError(f"no floating IP was asked for: {launcher.tail()}")
        findings.add("its floating IP cannot be made: request → served", took, at_most=SPARE)
        addresses = int(world.cloud.state("sim")["floating_ips"])
        findings.add("  floating IPs beyond one for each node", addresses - 2, "", at_most=0)


def _servers(world: World) -> int:
    return len(world.cloud.servers("sim"))


def _served(world: World, launcher: LauncherRun, number: int, seconds: float, label: str = "small") -> float:
    began = time.time()
    requests = world.requestor.ask(number, [label])
    if not world.requestor.await_fulfilled(requests, seconds):
        raise BenchError(f"not served within {seconds:g} s: {launcher.tail()}")
    return max(world.requestor.fulfilled.get(name, time.time()) for name in requests) - began
