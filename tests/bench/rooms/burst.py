# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A burst of single-node requests, used and given back: latency, calls, refusals, endings, memory, writes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from tests.bench import published
from tests.bench.figures import Findings, ratio
from tests.bench.launcher import BenchError, LauncherRun
from tests.bench.lives import add_calls, add_memory, record_endings, server_endings, stages
from tests.bench.world import Scene, World

Servers = dict[str, dict[str, Any]]
"""By the node's id, as the cloud tells of them."""

WARM = 2.0
"""Seconds after the registration in which a cycle has read what does not change."""
FULFILLED_SECONDS = 90.0
FEW = 10
"""So few do not carry the start of a cycle; the room "stream" has as many in flight, all the time."""


@dataclass(frozen=True)
class Burst:
    """A room.

    :param number: requests at once.
    :param small: seconds that the API's small calls take.
    :param calls_at_most: API calls per life.
    :param duration: seconds of the launcher's cycle; the burst, its use and its end must fit.
    """

    name: str
    title: str
    number: int
    small: float
    calls_at_most: float
    duration: float = 75.0
    quota: int = 200
    overhead_at_most: float = 1.0
    total_at_most: float | None = 23.0
    makespan_at_most: float | None = None
    """From the first request to the last one fulfilled, as a multiple of what rate, boots and scan take in any case."""

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        with World(Scene(small=self.small, quota=self.quota)) as world:
            with LauncherRun(world, self.duration) as launcher:
                time.sleep(WARM)
                at_start = sum(world.calls().values())
                writes_before, reads_before = world.store_counts()
                own_before = world.requestor.writes
                cpu_before = launcher.tree.cpu()
                requests = world.requestor.ask(self.number)
                if not world.requestor.await_fulfilled(requests, FULFILLED_SECONDS):
                    done = len(world.requestor.fulfilled)
                    raise BenchError(f"{done} of {self.number} requests were fulfilled in time: {launcher.tail()}")
                servers = world.servers()
                began = time.monotonic()
                for request in requests:
                    world.requestor.accept(request)
                for nodes in world.requestor.nodes_of.values():
                    world.requestor.give_back(nodes[0])
                used_in = time.monotonic() - began
                if not world.requestor.await_gone(world.requestor.used, launcher.left()):
                    findings.notes.append(f"{len(world.requestor.gone)} of {self.number} nodes were gone in time")
                writes, reads = world.store_counts()
                cpu = launcher.tree.cpu() - cpu_before
                result = launcher.finish()
            self._add(findings, world, servers, result)
            lives = world.creates()
            of_burst = self._published(published.BURST_CALLS)
            add_calls(findings, world, lives, at_start, self.calls_at_most, of_burst, start_apart=self.number <= FEW)
            own = world.requestor.writes - own_before
            findings.add("ZooKeeper writes per node life", ratio(writes - writes_before - own, lives), "writes")
            findings.add("ZooKeeper reads per node life (all clients)", ratio(reads - reads_before, lives), "reads")
            findings.add("CPU of the launcher for all", cpu, "s", published=self._published(published.BURST_CPU))
            findings.add("start until its pools are registered", launcher.started_in)
            add_memory(findings, launcher.tree, self._published(published.BURST_MEMORY))
            findings.details["taken_and_given_back_in"] = round(used_in, 2)
            findings.details["result"] = {key: result[key] for key in ("ended", "seconds", "api_calls")}
        return findings

    def _add(self, findings: Findings, world: World, servers: Servers, result: dict[str, Any]) -> None:
        known = stages(world, servers, result)
        slow = self.small > 0.05
        of_total = published.SLOW_TOTAL if slow else published.BURST_TOTAL
        of_overhead = published.SLOW_OVERHEAD if slow else published.BURST_OVERHEAD
        findings.add(
            "ACTIVE → fulfilled, P50",
            known.overhead.p50,
            at_most=self.overhead_at_most,
            published=self._published(of_overhead),
        )
        findings.add("ACTIVE → fulfilled, P99", known.overhead.p99, at_most=3.0)
        findings.add("  without the scan, P50", known.beyond_scan.p50)
        findings.add("  ACTIVE → seen by the cycle, P50", known.noticed.p50)
        findings.add("  scan of host keys, P50", known.scanned.p50)
        findings.add("  scanned → fulfilled, P50", known.handed_over.p50)
        creates = _creates(world, servers)
        findings.add("request → create accepted, first", creates["first"])
        findings.add("request → create accepted, last", creates["last"])
        findings.add("total, P50", known.total.p50, at_most=self.total_at_most, published=self._published(of_total))
        findings.add("total, max", known.total.most)
        if self.makespan_at_most is not None:
            makespan = max(world.requestor.fulfilled.values()) - min(world.requestor.submitted.values())
            bound = _lower_bound(world, servers) + known.scanned.p50
            findings.add("first request → last fulfilled", makespan)
            findings.add("  as a multiple of the least possible", makespan / bound, "", at_most=self.makespan_at_most)
            findings.details["least_possible"] = round(bound, 3)
        ids = {node: str(server["id"]) for node, server in servers.items()}
        gone = server_endings(world, ids)
        findings.add("used → server gone, P50", gone.p50, published=self._published(published.BURST_GONE))
        findings.add("used → server gone, max", gone.most)
        findings.add("used → record gone, P50", record_endings(world).p50)
        findings.details |= {name: getattr(known, name).document() for name in known.__dataclass_fields__}
        findings.details |= {"server_gone": gone.document(), "record_gone": record_endings(world).document()}
        findings.details["creates"] = creates
        findings.details["listings"] = world.listings(min(world.requestor.submitted.values()))
        findings.details["boot_seconds"] = sorted(
            round(float(server["launched"]) - float(server["created"]), 2) for server in servers.values()
        )

    def _published(self, text: str) -> str:
        return text if self.number == 100 else ""


def _lower_bound(world: World, servers: Servers) -> float:
    """When the last server would be up if each create were sent as soon as the rate allows."""
    ordered = sorted(servers.values(), key=lambda server: float(server["created"]))
    boots = [float(server["launched"]) - float(server["created"]) for server in ordered]
    post = world.scene.latency["POST /servers"]
    return max(place * world.scene.rate + post + boot for place, boot in enumerate(boots))


def _creates(world: World, servers: Servers) -> dict[str, float]:
    """When the cloud accepted the first, the middle and the last create, in seconds since the first request."""
    began = min(world.requestor.submitted.values())
    moments = sorted(float(server["created"]) - began for server in servers.values())
    named = {"first": moments[0], "middle": moments[len(moments) // 2], "last": moments[-1]}
    return {name: round(value, 3) for name, value in named.items()}
