# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaked things among those of others, and servers whose deletion does nothing."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.leaks.by_hand import run_sweep
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.leaks.sweep_options import SweepOptions
from tests.bench.figures import Findings
from tests.bench.launcher import BenchError, LauncherRun
from tests.bench.world import Scene, World
from tests.support.leftovers import GONE, Leftovers

SERVERS, QUICK_SERVERS = 40, 8
FLOATING_IPS = 10
STUCK = 6
SECONDS, QUICK_SECONDS = 90.0, 40.0


class Leaks:
    """A room."""

    name = "pressure-leaks"
    title = f"{SERVERS} leaked servers and {FLOATING_IPS} floating IPs among as many of others"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        number = QUICK_SERVERS if quick else SERVERS
        with World(Scene(boot=0.1, delete=0.5, guests=False)) as world:
            somebody = _Somebody(world)
            mark = f"stackci_launch={GONE}-1-a nodepool_provider_name=sim"
            ours = {somebody.server("sim") for _unused in range(number)}
            ours |= {somebody.floating_ip(mark) for _unused in range(FLOATING_IPS)}
            theirs = {somebody.server(None) for _unused in range(number)}
            theirs |= {somebody.floating_ip("of the bastion") for _unused in range(FLOATING_IPS)}
            theirs |= {somebody.port() for _unused in range(FLOATING_IPS)}
            calls, began = sum(world.calls().values()), time.monotonic()
            result = _sweep(world, max_deletions=10 * number)
            took, calls = time.monotonic() - began, sum(world.calls().values()) - calls
            deadline = time.monotonic() + 20.0
            while ours & somebody.left() and time.monotonic() < deadline:
                time.sleep(0.2)
            left = somebody.left()
            somebody.close()
        findings.add("leaked things that are left", len(ours & left), "", at_most=0)
        findings.add("things of others that are gone", len(theirs - left), "", at_most=0)
        listed = {row["id"] for row in result["things"] if row["verdict"] == "foreign"}
        findings.add("things of others that are not listed", len(theirs - listed), "", at_most=0)
        findings.add("the sweep", took)
        findings.add("API calls beyond one for each deletion", calls - len(ours), "calls", at_most=25)
        return findings


class Stuck:
    """A room."""

    name = "pressure-stuck"
    title = f"{STUCK} servers whose delete is accepted and does nothing, at a quota of {STUCK + 2}"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        seconds = QUICK_SECONDS if quick else SECONDS
        scene = Scene(quota=STUCK + 2, boot=0.5, delete=0.5, guests=False)
        with World(scene) as world, LauncherRun(world, seconds + 40.0) as launcher:
            requestor = world.requestor
            held = requestor.ask(STUCK)
            if not requestor.await_fulfilled(held, 20.0):
                raise BenchError(f"the nodes did not become ready: {launcher.tail()}")
            world.cloud.fault("sim", None, "lost_delete")
            for request in held:
                for node in requestor.accept(request):
                    requestor.give_back(node)
            began = time.monotonic()
            waiting = requestor.ask(STUCK)
            time.sleep(seconds)
            deletes = world.calls().get("DELETE /servers/{id}", 0)
            served, refused = (
                len([name for name in waiting if name in requestor.fulfilled]),
                world.refused_creates(),
            )
            elapsed = time.monotonic() - began
            result = launcher.finish()
        findings.add(f"deletes of each in {elapsed:.0f} s", deletes / STUCK, "calls", at_most=4.0)
        findings.add("served from what is left free", served, "", at_least=2)
        findings.add("  beyond it: taken for free although it is not", max(0, served - 2), "", at_most=0)
        findings.add("refused creates", refused, "", at_most=0)
        findings.add("failed requests", len(requestor.failed), "", at_most=0)
        if elapsed > 60:
            findings.add("reported as stuck", len(result["stuck_deletions"]), "", at_least=STUCK)
        return findings


class _Somebody(Leftovers):
    """Works in the scenario's project; its only network is the public one."""

    def __init__(self, world: World) -> None:
        place: Any = SimpleNamespace(clouds={"sim": None}, clouds_yaml=world.cloud.clouds_yaml)
        super().__init__(place, "sim")

    def network(self, name: str = "public") -> str:
        return super().network("public")


def _sweep(world: World, **more: Any) -> dict[str, Any]:
    options = SweepOptions(
        config=str(world.config), clouds_config=str(world.cloud.clouds_yaml), min_age=0.0, wait=1.0, **more
    )
    return run_sweep(options)
