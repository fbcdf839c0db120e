# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clouds that answer creates late: constantly slow, busy with a long tail, and a control plane of fixed capacity."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.bench.figures import Findings, ratio
from tests.bench.launcher import BenchError, LauncherRun
from tests.bench.world import Scene, World
from tests.simcloud.config import LATENCIES
from tests.simcloud.plane import COLLAPSE, ControlPlane

CONSTANT, QUICK_CONSTANT = (45.0, 90.0, 150.0), (45.0,)
TOGETHER = 50
BUSY, QUICK_BUSY = 200, 60
BUILT, QUICK_BUILT = 100, 40
PLANES: Mapping[str, Mapping[str, float]] = {"of fixed capacity": {}, "that collapses": {"thrash": COLLAPSE}}
BESIDE = "well"
WARM = 2.0
BOOT = 20.0


@dataclass(frozen=True)
class Slow(Scene):
    """A slow cloud; *beside*: a quick one that must not feel it."""

    providers: tuple[str, ...] = ("slow",)
    latency: Mapping[str, Any] = field(default_factory=dict)
    boot: Mapping[str, Any] | float = BOOT
    guests: bool = False
    quota: int = 400
    plane: Mapping[str, float] | None = None
    max_concurrency: int = 0

    def clouds(self) -> dict[str, dict[str, Any]]:
        """The clouds' configuration."""
        clouds = super().clouds()
        clouds["slow"]["latency"] = {"default": self.small, **self.latency}
        clouds["slow"]["plane"] = self.plane
        if BESIDE in clouds:
            clouds[BESIDE]["latency"] = {"default": self.small, "POST /servers": 0.3}
        return clouds

    def nodepool_yaml(self, zookeeper_port: int, ssh_port: Any) -> str:
        """The launcher's configuration: each provider has a label of its own."""
        text = super().nodepool_yaml(zookeeper_port, ssh_port)
        labels = "".join(f"  - {{name: {name}}}\n" for name in self.providers)
        text = text.replace("  - {name: small, min-ready: 0}\n", labels)
        for name in self.providers:
            text = text.replace("{name: small, cloud-image", f"{{name: {name}, cloud-image", 1)
        most = f"    max-concurrency: {self.max_concurrency}\n" if self.max_concurrency else ""
        return text.replace(f"    rate: {self.rate}\n", f"    rate: {self.rate}\n{most}")


@dataclass(frozen=True)
class Run:
    """What a burst at a slow cloud came to."""

    makespan: float
    wanted: int
    created: int
    calls: int
    beside: float

    @property
    def thrown_away(self) -> float:
        """Per cent of the servers that were wanted."""
        return 100 * ratio(self.created - self.wanted, self.wanted)


class SlowCloud:
    """A room."""

    name = "slow-cloud"
    title = "creates are answered late"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        for seconds in QUICK_CONSTANT if quick else CONSTANT:
            run = _burst(Slow(providers=("slow", BESIDE), latency={"POST /servers": seconds}), TOGETHER, seconds * 6)
            least = seconds + BOOT + TOGETHER * Scene.rate
            findings.add(f"{TOGETHER} at once, creates take {seconds:g} s: makespan", run.makespan)
            findings.add("  as a multiple of the least possible", run.makespan / least, "", at_most=1.3)
            findings.add("  thrown away", run.thrown_away, "%", at_most=5.0)
            findings.add("  5 requests at a quick provider beside it", run.beside, at_most=BOOT + 5.0)
        number = QUICK_BUSY if quick else BUSY
        run = _burst(Slow(latency=LATENCIES["busy"]), number, 900.0)
        findings.add(f"{number} at once, profile busy: makespan", run.makespan)
        findings.add("  thrown away", run.thrown_away, "%", at_most=2.0)
        findings.add("  API calls per node", ratio(run.calls, number), "calls", at_most=3.0)
        number, best = QUICK_BUILT if quick else BUILT, ControlPlane().knee
        for what, plane in PLANES.items():
            fixed = _burst(Slow(plane=plane, max_concurrency=best), number, 600.0)
            free = _burst(Slow(plane=plane), number, 600.0)
            findings.add(f"{number} at once, a control plane {what}, {best} in flight: makespan", fixed.makespan)
            findings.add("  left to the launcher", free.makespan)
            findings.add("  its part of that throughput", 100 * fixed.makespan / free.makespan, "%", at_least=80.0)
            findings.add("  thrown away", free.thrown_away, "%", at_most=0.0)
        return findings


def _burst(scene: Slow, number: int, seconds: float) -> Run:
    """Ask for so many at once, and wait until all are served; nobody uses them."""
    with World(scene) as world, LauncherRun(world, seconds + 60.0) as launcher:
        time.sleep(WARM)
        began = time.time()
        requests = world.requestor.ask(number, ["slow"])
        beside = world.requestor.ask(5, [BESIDE]) if BESIDE in scene.providers else []
        if not world.requestor.await_fulfilled([*requests, *beside], seconds) or world.requestor.failed:
            done = sum(1 for request in requests if request in world.requestor.fulfilled)
            raise BenchError(f"{done} of {number} are served within {seconds:g} s: {launcher.tail()}")
        fulfilled = world.requestor.fulfilled
        return Run(
            max(fulfilled[request] for request in requests) - began,
            len(requests) + len(beside),
            world.made(),
            sum(world.calls().values()),
            max((fulfilled[request] for request in beside), default=began) - began,
        )
