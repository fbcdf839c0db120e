# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lives of nodes took, put together from the requestor, the cloud and the cycle's own account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.bench.figures import Findings, Spread, ratio
from tests.bench.process_tree import ProcessTree
from tests.bench.world import World

LIFE_KINDS = frozenset({"POST /servers", "GET /servers/detail", "DELETE /servers/{id}"})
MEMORY_AT_MOST = 150.0


@dataclass(frozen=True)
class Stages:
    """Where the time between the cloud's own ACTIVE and ``fulfilled`` went, in seconds per node."""

    overhead: Spread
    total: Spread
    noticed: Spread
    """ACTIVE until the cycle had seen it in a listing."""
    scanned: Spread
    """Seen until the host keys were known."""
    handed_over: Spread
    """Host keys known until the requestor saw ``fulfilled``."""
    beyond_scan: Spread
    """The overhead without the scan."""


def stages(world: World, servers: Mapping[str, Mapping[str, Any]], result: Mapping[str, Any]) -> Stages:
    """From the servers as they were when all was fulfilled, and from the cycle's result."""
    requestor, timings = world.requestor, result["nodes"]["timings"]
    overhead, noticed, scanned, handed, beyond = [], [], [], [], []
    for request, fulfilled in requestor.fulfilled.items():
        nodes = [node for node in requestor.nodes_of[request] if node in servers and node in timings]
        if not nodes:
            continue
        last = max(nodes, key=lambda node: float(servers[node]["launched"]))
        active, steps = float(servers[last]["launched"]), timings[last]
        overhead.append(fulfilled - active)
        if "active" in steps:
            noticed.append(steps["active"] - active)
        if "active" in steps and "scanned" in steps:
            scanned.append(steps["scanned"] - steps["active"])
            handed.append(fulfilled - steps["scanned"])
            beyond.append(fulfilled - active - scanned[-1])
    total = [seen - requestor.submitted[request] for request, seen in requestor.fulfilled.items()]
    return Stages(*map(Spread.of, (overhead, total, noticed, scanned, handed, beyond)))


def server_endings(world: World, server_of: Mapping[str, str]) -> Spread:
    """Seconds from ``used`` until the server was gone: its delete was accepted, and then what the cloud takes."""
    deletes = world.deletes()
    return Spread.of(
        deletes[server] + world.scene.delete - world.requestor.used[node]
        for node, server in server_of.items()
        if server in deletes and node in world.requestor.used
    )


def record_endings(world: World) -> Spread:
    """Seconds from ``used`` until the record was gone, as the requestor saw it."""
    requestor = world.requestor
    return Spread.of(requestor.gone[node] - requestor.used[node] for node in requestor.gone)


def add_calls(
    findings: Findings,
    world: World,
    lives: int,
    at_start: int,
    at_most: float,
    published: str,
    *,
    start_apart: bool = False,
) -> None:
    """Calls per life, all kinds together, and the part of them that is the start of a cycle.

    :param start_apart: the target is for the rest: few lives that follow the start of a cycle would mostly pay for it.
    """
    calls = world.calls()
    every = sum(calls.values())
    others = sum(number for kind, number in calls.items() if kind not in LIFE_KINDS)
    of_all, of_rest = (None, at_most) if start_apart else (at_most, None)
    findings.add("API calls per node life", ratio(every, lives), "calls", at_most=of_all, published=published)
    findings.add("  of these token, discovery, facts", ratio(others, lives), "calls")
    findings.add("  the rest: creates, deletes, listings", ratio(every - others, lives), "calls", at_most=of_rest)
    findings.details |= {"calls": calls, "calls_at_start": at_start, "lives": lives}
    findings.add("refused creates", world.refused_creates(), "", at_most=0)


def add_memory(
    findings: Findings,
    tree: ProcessTree,
    published: str = "",
    *,
    module_at_most: float = MEMORY_AT_MOST,
    tree_at_most: float | None = None,
) -> None:
    """Peak memory of the module and of everything around it."""
    findings.add("peak memory of the module", tree.module_peak, "MiB", at_most=module_at_most, published=published)
    findings.add("peak memory of the process tree", tree.together, "MiB", at_most=tree_at_most)
