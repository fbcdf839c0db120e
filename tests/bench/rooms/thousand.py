# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A thousand live nodes: how fast they come up, what they cost at rest and with a queue, how fast they go."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from tests.bench import published
from tests.bench.figures import Findings, Spread, ratio
from tests.bench.in_process import Passes, run_cycle
from tests.bench.launcher import BenchError, LauncherRun
from tests.bench.lives import add_memory, record_endings, stages
from tests.bench.world import Scene, World

UP_SECONDS = 240.0
REST_SECONDS = 30.0
PASSES_SECONDS = 20.0
GONE_SECONDS = 110.0
MODULE_AT_MOST, TREE_AT_MOST = 100.0, 150.0
"""MiB."""
PASS_AT_MOST = 0.5
"""Seconds of CPU that a pass may take with a thousand live nodes and a queue."""


@dataclass(frozen=True)
class Thousand:
    """Servers are not scanned here, as in the published measurement."""

    name: str = "thousand"
    title: str = "1,000 live nodes, then 200 requests that must wait, then all given back"

    def run(self, quick: bool) -> Findings:
        """Measure; quick: a quarter of it all."""
        nodes, queue = (250, 50) if quick else (1000, 200)
        findings = Findings()
        scene = Scene(quota=nodes, guests=False)
        with World(scene) as world:
            self._up(findings, world, nodes)
            self._queue(findings, world, queue)
            self._down(findings, world, nodes)
            findings.add("refused creates", world.refused_creates(), "", at_most=0)
            calls = world.calls()
            findings.add("API calls per node life", ratio(sum(calls.values()), nodes), "calls", at_most=2.5)
            findings.details["calls"] = calls
        return findings

    def _up(self, findings: Findings, world: World, nodes: int) -> None:
        requestor = world.requestor
        with LauncherRun(world, UP_SECONDS + REST_SECONDS) as launcher:
            time.sleep(2.0)
            began, cpu = time.monotonic(), launcher.tree.cpu()
            requests = requestor.ask(nodes)
            if not requestor.await_fulfilled(requests, UP_SECONDS - 20):
                raise BenchError(f"{len(requestor.fulfilled)} of {nodes} were fulfilled: {launcher.tail()}")
            findings.add("until all are up", time.monotonic() - began, published=published.THOUSAND_UP)
            findings.add("CPU of the launcher for that", launcher.tree.cpu() - cpu)
            servers = world.servers()
            for request in requests:
                requestor.accept(request)
            time.sleep(3.0)
            calls, cpu, began = sum(world.calls().values()), launcher.tree.cpu(), time.monotonic()
            module_cpu = launcher.tree.module_cpu()
            time.sleep(REST_SECONDS)
            per_minute = 60.0 / (time.monotonic() - began)
            cpu, module_cpu = launcher.tree.cpu() - cpu, launcher.tree.module_cpu() - module_cpu
            calls = sum(world.calls().values()) - calls
            result = launcher.finish()
        known = stages(world, servers, result)
        findings.add("ACTIVE → fulfilled, P50", known.overhead.p50, at_most=1.0, published=published.THOUSAND_OVERHEAD)
        findings.add("ACTIVE → fulfilled, P99", known.overhead.p99, at_most=3.0)
        findings.add("total, P50", known.total.p50)
        findings.add("at rest: API calls per minute", calls * per_minute, "calls", at_most=1.0)
        findings.add("at rest: CPU per minute, module", module_cpu * per_minute, "s", at_most=0.6)
        findings.add("  whole process tree", cpu * per_minute, "s", published=published.THOUSAND_REST_CPU)
        goals = {"module_at_most": MODULE_AT_MOST, "tree_at_most": TREE_AT_MOST}
        add_memory(findings, launcher.tree, published.THOUSAND_MEMORY, **goals)
        findings.details["overhead"] = known.overhead.document()

    def _queue(self, findings: Findings, world: World, queue: int) -> None:
        """A cycle in this process: its first pass finds the queue, each further one a request more or less."""
        waiting = world.requestor.ask(queue)
        calls = sum(world.calls().values())

        def stir(over: threading.Event) -> None:
            while not over.wait(0.5):
                world.requestor.withdraw(world.requestor.ask(1))

        passes: Passes = run_cycle(world, PASSES_SECONDS, stir, self.name)
        calls = sum(world.calls().values()) - calls
        world.requestor.withdraw(waiting)
        later = passes.seconds[1:]
        findings.add(f"a pass with {queue} waiting, P50", 1000 * Spread.of(later).p50, "ms")
        findings.add("  its CPU, P50", 1000 * Spread.of(passes.busy[1:]).p50, "ms", at_most=1000 * PASS_AT_MOST)
        findings.add("  the longest pass", 1000 * Spread.of(passes.seconds).most, "ms")
        findings.add("  passes per second, two events a second", ratio(len(later), PASSES_SECONDS), "")
        findings.add("  CPU per minute", passes.cpu * 60 / PASSES_SECONDS)
        findings.details["passes"] = {
            "seconds": [round(value, 4) for value in passes.seconds],
            "cpu": [round(value, 4) for value in passes.busy],
            "api_calls": calls,
        }

    def _down(self, findings: Findings, world: World, nodes: int) -> None:
        requestor = world.requestor
        with LauncherRun(world, GONE_SECONDS + 10) as launcher:
            time.sleep(2.0)
            began, started = time.monotonic(), time.time()
            for taken in list(requestor.nodes_of.values()):
                for node in taken:
                    requestor.give_back(node)
            findings.details["given_back_in"] = round(time.monotonic() - began, 2)
            requestor.await_gone(requestor.used, launcher.left())
            seconds = time.monotonic() - began
            findings.details["gone_after_45_s"] = sum(1 for at in requestor.gone.values() if at - started <= 45.0)
            launcher.finish()
        if len(requestor.gone) < nodes:
            findings.notes.append(f"{len(requestor.gone)} of {nodes} nodes were gone after {seconds:.0f} s")
        findings.add("all given back → all gone", seconds, published=published.THOUSAND_GONE)
        findings.add("used → record gone, P50", record_endings(world).p50)
