# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two providers, one of which stops answering: what that costs the other, and whoever either could serve."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

from tests.bench.figures import Findings
from tests.bench.launcher import BenchError, LauncherRun
from tests.bench.world import Scene, World

PAIRS, QUICK_PAIRS = 5, 2
SILENT, WELL = "east", "west"
SET = 5
TOGETHER = 20
REST = 2.0
"""Seconds without anything to do before each round, so that all begin alike."""
OVER = 75.0
"""Seconds after which the last call that hung has ended and the provider is in use again."""


@dataclass(frozen=True)
class TwoProviders(Scene):
    """Each offers a label of its own, and both a common one."""

    providers: tuple[str, ...] = (SILENT, WELL)
    quota: int = 100
    boot: float = 2.0
    delete: float = 0.5
    guests: bool = False
    rate: float = 0.0
    priorities: dict[str, int] = field(default_factory=lambda: {SILENT: 1, WELL: 2})

    def nodepool_yaml(self, zookeeper_port: int, ssh_port: Callable[[str], int]) -> str:
        """The launcher's configuration."""
        text = super().nodepool_yaml(zookeeper_port, ssh_port)
        small = "          - {name: small, cloud-image: debian-12, flavor-name: small}\n"
        text = text.replace(
            "  - {name: small, min-ready: 0}\n", "".join(f"  - {{name: {n}}}\n" for n in ("small", *self.providers))
        )
        for name in self.providers:
            before, after = text.split(f"  - name: {name}\n", 1)
            own = small.replace("{name: small", f"{{name: {name}")
            after = after.replace(small, small + own, 1).replace(
                "        max-servers:", f"        priority: {self.priorities[name]}\n        max-servers:", 1
            )
            text = f"{before}  - name: {name}\n{after}"
        return text


class Silent:
    """A room."""

    name = "pressure-silent"
    title = "two providers, one stops answering"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        pairs = QUICK_PAIRS if quick else PAIRS
        with World(TwoProviders()) as world, LauncherRun(world, pairs * 100.0 + 150.0) as launcher:
            time.sleep(REST)
            _served(world, launcher, ["small"] * 2, 30.0)
            calm, beside, back = [], [], []
            for _unused in range(pairs):
                calm.append(_served(world, launcher, [WELL] * SET, 30.0))
                rule = world.cloud.fault(SILENT, "*", "hang")
                stuck = world.requestor.ask(SET, [SILENT])
                time.sleep(1.0)
                beside.append(_served(world, launcher, [WELL] * SET, 30.0))
                world.cloud.remove_fault(SILENT, rule)
                cured = time.time()
                if not world.requestor.await_fulfilled(stuck, OVER):
                    raise BenchError(f"the silent provider does not come back: {launcher.tail()}")
                back.append(time.time() - cured)
            world.cloud.fault(SILENT, "*", "hang")
            either = _served(world, launcher, ["small"] * TOGETHER, 60.0)
        findings.add("healthy provider beside a silent one, median", median(beside), published="unaffected")
        findings.add("  the same while both are well, median", median(calm))
        worse = median(after / before for before, after in zip(calm, beside, strict=True))
        findings.add("  paired", 100 * (worse - 1), "% worse", at_most=10.0)
        findings.add("well again → its waiting requests served", max(back), at_most=45.0)
        findings.add(f"{TOGETHER} requests that either can serve", either, at_most=25.0, published="0 of 20 served")
        findings.add("failed requests", len(world.requestor.failed), "", at_most=0)
        findings.details |= {"calm": calm, "beside": beside, "back": back}
        return findings


def _served(world: World, launcher: LauncherRun, labels: list[str], seconds: float) -> float:
    """Seconds until all are served; they are given back and gone afterwards."""
    time.sleep(REST)
    requestor = world.requestor
    began = time.time()
    requests = [name for label in labels for name in requestor.ask(1, [label])]
    if not requestor.await_fulfilled(requests, seconds):
        missing = [name for name in requests if name not in requestor.fulfilled]
        raise BenchError(f"{len(missing)} of {len(requests)} are not served within {seconds:g} s: {launcher.tail()}")
    took = max(requestor.fulfilled[name] for name in requests if name in requestor.fulfilled) - began
    nodes = [node for request in requests for node in requestor.accept(request)]
    for node in nodes:
        requestor.give_back(node)
    return took
