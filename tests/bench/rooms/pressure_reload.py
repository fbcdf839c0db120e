# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nodepool.yaml changes while the launcher runs: how soon it is taken, and what a broken one spoils."""

from __future__ import annotations

import time

from tests.bench.figures import Findings
from tests.bench.launcher import BenchError, LauncherRun
from tests.bench.world import Scene, World, until

TAKEN = 5.0
"""Seconds within which a change is in force."""
BOOT = 0.5
SERVING = 2.0
"""Seconds from a request to its node, the boot apart, on a busy machine."""
LABEL = "          - {name: small, cloud-image: debian-12, flavor-name: small}\n"


class Reload:
    """A room."""

    name = "pressure-reload"
    title = "nodepool.yaml is changed, broken, mended; a pool is switched off"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        with World(Scene(boot=BOOT, delete=0.5, guests=False)) as world, LauncherRun(world, 120.0) as launcher:
            requestor = world.requestor
            held = [node for name in _served(world, launcher, "small", 30.0)[1] for node in requestor.accept(name)]
            text = world.config.read_text(encoding="utf-8")
            more = text.replace("labels:\n  - {name: small", "labels:\n  - {name: extra}\n  - {name: small", 1)
            more = more.replace(LABEL, LABEL + LABEL.replace("small,", "extra,", 1))
            # Somebody has to offer the label, or the request fails at once: it is asked for when that is so.
            before = world.requestor.registrations()
            world.config.write_text(more, encoding="utf-8")
            began = time.monotonic()
            if not until(lambda: "extra" in requestor.labels(), 30.0, 0.02):
                raise BenchError(f"the new label is not taken: {launcher.tail()}")
            findings.add("written → a new label is offered", time.monotonic() - began, at_most=TAKEN)
            took, _unused = _served(world, launcher, "extra", 30.0)
            findings.add("  and served", took, at_most=BOOT + SERVING)
            world.config.write_text("providers: {broken\n", encoding="utf-8")
            time.sleep(2 * TAKEN)
            took, _unused = _served(world, launcher, "small", 30.0)
            findings.add("served while the file is broken", took, at_most=BOOT + SERVING)
            findings.add("  registrations given up for it", len(before - requestor.registrations()), "", at_most=0)
            world.config.write_text(
                text.replace(f"max-servers: {world.scene.quota}", "max-servers: 0"), encoding="utf-8"
            )
            time.sleep(2 * TAKEN)
            alive = [node for node in held if node in requestor.nodes()]
            findings.add("nodes in use that a pool switched off has lost", len(held) - len(alive), "", at_most=0)
            world.config.write_text(text, encoding="utf-8")
            time.sleep(TAKEN)
            took, _unused = _served(world, launcher, "small", 30.0)
            findings.add(f"served {TAKEN:g} s after it is switched on again", took, at_most=BOOT + SERVING)
            findings.add("failed requests", len(requestor.failed), "", at_most=0)
        return findings


def _served(world: World, launcher: LauncherRun, label: str, seconds: float) -> tuple[float, list[str]]:
    began = time.time()
    requests = world.requestor.ask(1, [label])
    if not world.requestor.await_fulfilled(requests, seconds):
        raise BenchError(f"{label} is not served within {seconds:g} s: {launcher.tail()}")
    return max(world.requestor.fulfilled.get(name, time.time()) for name in requests) - began, requests
