# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is measured of either launcher: from outside, by the requestor, the cloud's own log and /proc."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.bench.figures import Spread, ratio
from tests.bench.peer.sides import Running
from tests.bench.requestor import Requestor
from tests.bench.world import World

Figures = dict[str, float]

TITLES = {
    "asked": ("requests", ""),
    "served": ("  of these served", ""),
    "failed": ("  of these failed", ""),
    "total_p50": ("request → fulfilled, P50", "s"),
    "total_p99": ("request → fulfilled, P99", "s"),
    "overhead_p50": ("ACTIVE → fulfilled, P50", "s"),
    "overhead_p99": ("ACTIVE → fulfilled, P99", "s"),
    "makespan": ("first request → last fulfilled", "s"),
    "bound": ("  the least possible", "s"),
    "recovered": ("trouble over → all fulfilled", "s"),
    "out_of_order": ("pairs served out of order", "%"),
    "used_gone_p50": ("used → record gone, P50", "s"),
    "calls_per_node": ("API calls per server", ""),
    "store_per_node": ("requests to ZooKeeper per server", ""),
    "calls_per_minute": ("at rest: API calls per minute", ""),
    "refused": ("refused creates", ""),
    "thrown_away": ("servers thrown away", ""),
    "cpu": ("CPU of the process tree", "s"),
    "cpu_per_minute": ("at rest: CPU per minute", "s"),
    "cpu_per_node": ("CPU per node", "s"),
    "nodes_per_minute": ("nodes per minute, most", ""),
    "cores": ("  cores used then", ""),
    "pss_module": ("memory of the launcher's process (PSS)", "MiB"),
    "pss_tree": ("memory of the process tree (PSS)", "MiB"),
}
"""Figure → its line in the table, and its unit; in this order."""


@dataclass
class Meter:
    """Looks at one launcher from now on.

    :ivar servers: node → the cloud's own record of its server, of those that :meth:`look` has seen.
    """

    world: World
    launcher: Running
    servers: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._cpu = self.launcher.tree.cpu()
        self._calls, self._store = self.calls(), self.store()

    def store(self) -> int:
        """Requests that ZooKeeper has answered so far, without those of the requestor."""
        return sum(self.world.store_counts()) - self.world.requestor.requests

    def calls(self) -> int:
        """API calls so far."""
        return sum(self.world.calls().values())

    def look(self) -> None:
        """Note the servers that exist."""
        self.servers.update(self.world.servers())

    def figures(self, asked: Iterable[str]) -> Figures:
        """What every room tells: who was served when, and what it cost."""
        requestor, wanted = self.world.requestor, list(asked)
        served = [name for name in wanted if name in requestor.fulfilled]
        total = Spread.of(requestor.fulfilled[name] - requestor.submitted[name] for name in served)
        overhead = Spread.of(_overheads(requestor, self.servers, served))
        last = max((requestor.fulfilled[name] for name in served), default=math.nan)
        lives = self.world.creates()
        gone = Spread.of(requestor.gone[node] - requestor.used[node] for node in requestor.gone)
        return {
            "asked": len(wanted),
            "served": len(served),
            "failed": len(requestor.failed),
            "total_p50": total.p50,
            "total_p99": total.p99,
            "overhead_p50": overhead.p50,
            "overhead_p99": overhead.p99,
            "makespan": last - min((requestor.submitted[name] for name in wanted), default=math.nan),
            "used_gone_p50": gone.p50,
            "calls_per_node": ratio(self.calls() - self._calls, lives),
            "store_per_node": ratio(self.store() - self._store, lives),
            "refused": self.world.refused_creates(),
            "cpu": self.launcher.tree.cpu() - self._cpu,
            "pss_module": self.launcher.tree.module_share,
            "pss_tree": self.launcher.tree.together,
        }

    def rest(self, pause: Callable[[float], None], seconds: float) -> Figures:
        """What *seconds* without work cost, per minute."""
        cpu, calls = self.launcher.tree.cpu(), self.calls()
        pause(seconds)
        factor = 60.0 / seconds
        return {
            "cpu_per_minute": (self.launcher.tree.cpu() - cpu) * factor,
            "calls_per_minute": (self.calls() - calls) * factor,
        }


def _overheads(requestor: Requestor, servers: dict[str, dict[str, Any]], served: Iterable[str]) -> Iterable[float]:
    for name in served:
        active = [float(servers[node]["launched"]) for node in requestor.nodes_of[name] if node in servers]
        if active:
            yield requestor.fulfilled[name] - max(active)


def slowest_boot(world: World, servers: dict[str, dict[str, Any]]) -> float:
    """Seconds until the last server is up if every create is sent at once."""
    boots = [float(server["launched"]) - float(server["created"]) for server in servers.values()]
    return max(boots, default=math.nan) + world.scene.latency["POST /servers"]
