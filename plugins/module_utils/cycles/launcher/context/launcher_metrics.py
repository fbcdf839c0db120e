# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metrics of a launcher cycle. statsd gets them under Nodepool's names, so that dashboards continue to work."""

from __future__ import annotations

import math
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from ....clients.statsd import Sink
from ....model.counters import LAUNCHES, LEAKS_REMOVED
from ....model.node import Node, NodeState
from ....model.request import RequestState
from ....sweeping.candidate import Kind
from ...frame.counts import CycleCounts
from .context import Context

EVERY = 5.0
"""Minimum seconds between two readings of the gauges."""
SHARE = 0.01
"""Largest share of one core that the readings may take: with many nodes there are fewer readings."""
OPEN = frozenset({RequestState.REQUESTED, RequestState.PENDING})

READY, FAILED = "ready", "failed"
TAKEN_BACK = "taken back"
"""Outcome of an attempt that was given up because its request was taken back from the pool."""
RESULTS = {
    READY: "ready",
    "quota": "error.quota",
    "no capacity": "error.capacity",
    "fault": "error.status",
    "timeout": "error.servercreatetimeout",
    "unreachable": "error.keyscan",
}
"""Outcome of an attempt → Nodepool's word for it; ``error.unknown`` for any other."""
LEAKED = {Kind.SERVER: "instances", Kind.PORT: "ports", Kind.FLOATING_IP: "floatingips"}
"""Kind → Nodepool's word for it. A kind that Nodepool does not sweep has its own name in the plural."""


def count_attempt(cycle_counts: CycleCounts, node: Node, outcome: str, seconds: float) -> None:
    """Count an attempt to launch a node after the attempt has ended.

    :param outcome: ``ready``, or the class of its failure.
    """
    word = RESULTS.get(outcome, "error.unknown")
    names = ["nodepool.launch", f"nodepool.launch.provider.{node.provider}"]
    if node.az:
        names.append(f"nodepool.launch.provider.{node.provider}.{node.az}")
    if node.requestor:
        requestor = node.requestor.replace(".", "_").replace(":", "_")
        names.append(f"nodepool.launch.requestor.{requestor}")
    for name in names:
        cycle_counts.sink.incr(f"{name}.{word}")
        cycle_counts.sink.timing(f"{name}.{word}", seconds)
    result, reason = (READY, "") if outcome == READY else (FAILED, failure_label(outcome))
    cycle_counts.counters.add(LAUNCHES, node.provider or "", node.pool or "", result, reason)


def failure_label(outcome: str) -> str:
    """Return the class of a failure as the value of a label."""
    return outcome.replace(" ", "-")


def count_sweep(cycle_counts: CycleCounts, where: str, kind: str, counts: Mapping[str, int]) -> None:
    """Count the findings and deletions of sweeps of one kind.

    :param where: the provider, "" for the tree.
    :param counts: *deleted* and *failed* since the last call; *leaked* and *foreign* as they are now.
    """
    place = f"nodepool.provider.{where}" if where else "nodepool.zk"
    word = LEAKED.get(kind, f"{kind.replace('-', '_')}s")
    for result, name in (("deleted", "leaked"), ("failed", "leaked_kept")):
        if counts.get(result):
            cycle_counts.sink.incr(f"{place}.{name}.{word}", counts[result])
            cycle_counts.counters.add(LEAKS_REMOVED, where, kind, result, amount=counts[result])
    for standing in ("leaked", "foreign"):
        if standing in counts:
            cycle_counts.sink.gauge(f"{place}.seen_{standing}.{word}", counts[standing])


class Metrics:
    """Counts the results of sweeps, and sends the gauges.

    :param sink: takes the gauges; None if no statsd is configured.
    :param timer: seconds, to measure the time of a reading.
    """

    def __init__(self, context: Context, sink: Sink | None, timer: Callable[[], float] = time.perf_counter) -> None:
        self._context = context
        self._sink = sink
        self._timer = timer
        self._hostname = socket.gethostname()
        self._next = 0.0
        self._swept: dict[tuple[str, str], dict[str, int]] = {}

    def step(self, now: float, *, leads: bool) -> None:
        """Count sweeps and send the gauges if they are due; called once per pass.

        :param leads: this cycle reports for the whole tree.
        """
        if now < self._next:
            return
        began = self._timer()
        self.sweeps()
        if self._sink is not None:
            self._limits(self._sink)
            for name, length in self._context.store.queues().items():
                self._sink.gauge(f"nodepool.launcher.{self._hostname}.zk.{name}", length)
            if leads:
                self._nodes(self._sink)
                self._requests(self._sink)
        self._next = now + max(EVERY, (self._timer() - began) / SHARE)

    def sweeps(self) -> None:
        """Count the results of sweeps since the previous call."""
        for where, kinds in self._context.account.sweeps.counts.items():
            for kind, counts in kinds.items():
                before = self._swept.get((where, kind))
                if counts == before:
                    continue
                past = before or {}
                news = {name: counts[name] - past.get(name, 0) for name in ("deleted", "failed")}
                count_sweep(self._context.account.cycle_counts, where, kind, {**counts, **news})
                self._swept[where, kind] = dict(counts)

    def _limits(self, sink: Sink) -> None:
        context = self._context
        for name, actor in context.actors.items():
            most = sum(pool.max_servers for pool in actor.provider.pools.values())
            if math.isfinite(most):
                sink.gauge(f"nodepool.provider.{name}.max_servers", most)
        for tenant, limits in context.config.tenant_limits.items():
            for resource in limits:
                if math.isfinite(limits[resource]):
                    sink.gauge(f"nodepool.tenant_limits.{tenant}.{resource}", limits[resource])

    def _nodes(self, sink: Sink) -> None:
        """Send the number of nodes by state: all, by provider, by label. States without nodes are sent as 0."""
        store = self._context.store
        everywhere: Counter[str] = Counter()
        by_name: dict[str, Counter[str]] = {}
        for pool in store.components.pools():
            by_name.setdefault(f"provider.{pool.provider_name}", Counter())
            for label in pool.supported_labels:
                by_name.setdefault(f"label.{label}", Counter())
        for node in store.nodes.list():
            everywhere[node.state] += 1
            for name in (f"provider.{node.provider}", *(f"label.{label}" for label in node.type)):
                by_name.setdefault(name, Counter())[node.state] += 1
        _send_gauges(sink, "nodepool.nodes", NodeState.ALL, everywhere)
        for name, counts in by_name.items():
            _send_gauges(sink, f"nodepool.{name}.nodes", NodeState.ALL, counts)

    def _requests(self, sink: Sink) -> None:
        store = self._context.store
        wanted = [frozenset(request.node_types) for request in store.requests.list() if request.state in OPEN]
        for pool in store.components.pools():
            labels = set(pool.supported_labels)
            count = sum(1 for labels_wanted in wanted if labels_wanted <= labels)
            name = f"nodepool.provider.{pool.provider_name}.pool.{pool.name}.addressable_requests"
            sink.gauge(name, count)


def _send_gauges(sink: Sink, name: str, states: Iterable[str], counts: Counter[str]) -> None:
    for state in states:
        sink.gauge(f"{name}.{state}", counts[state])
