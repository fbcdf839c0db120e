# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cycle tells statsd, under Nodepool's names, so that dashboards made for it go on working.

Read off the account and the records at a pace of its own; nothing in the launcher waits for it.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from ....clients.statsd import Sink
from ....model.node import NodeState
from ....model.request import RequestState
from ....sweeping.candidate import Kind
from .account import Attempt
from .context import Context

EVERY = 5.0
"""Seconds between two readings of the gauges at least."""
SHARE = 0.01
"""A reading may take so much of one core: with many nodes there are fewer readings."""
OPEN = frozenset({RequestState.REQUESTED, RequestState.PENDING})

RESULTS = {
    "ready": "ready",
    "quota": "error.quota",
    "no capacity": "error.capacity",
    "fault": "error.status",
    "timeout": "error.servercreatetimeout",
    "unreachable": "error.keyscan",
}
"""Outcome of an attempt → Nodepool's word for it; ``error.unknown`` for any other."""
LEAKED = {Kind.SERVER: "instances", Kind.PORT: "ports", Kind.FLOATING_IP: "floatingips"}
"""Nodepool's words; the kinds that it does not sweep have ours, in the plural."""


def send_attempt(sink: Sink, attempt: Attempt) -> None:
    """An attempt to launch a node has ended."""
    result = RESULTS.get(attempt.outcome, "error.unknown")
    names = ["nodepool.launch", f"nodepool.launch.provider.{attempt.provider}"]
    if attempt.az:
        names.append(f"nodepool.launch.provider.{attempt.provider}.{attempt.az}")
    if attempt.requestor:
        requestor = attempt.requestor.replace(".", "_").replace(":", "_")
        names.append(f"nodepool.launch.requestor.{requestor}")
    for name in names:
        sink.incr(f"{name}.{result}")
        sink.timing(f"{name}.{result}", attempt.seconds)


def send_sweep(sink: Sink, where: str, kind: str, counts: Mapping[str, int]) -> None:
    """What a look at one kind has found and done.

    :param where: the provider, "" for the tree.
    :param counts: *deleted* and *failed* since the last call; *leaked* and *foreign* as they are now.
    """
    place = f"nodepool.provider.{where}" if where else "nodepool.zk"
    word = LEAKED.get(kind, f"{kind.replace('-', '_')}s")
    if counts.get("deleted"):
        sink.incr(f"{place}.leaked.{word}", counts["deleted"])
    if counts.get("failed"):
        sink.incr(f"{place}.leaked_kept.{word}", counts["failed"])
    for standing in ("leaked", "foreign"):
        if standing in counts:
            sink.gauge(f"{place}.seen_{standing}.{word}", counts[standing])


class Metrics:
    """The metrics of one cycle.

    :param timer: seconds, for what reading costs.
    """

    def __init__(self, context: Context, sink: Sink, timer: Callable[[], float] = time.perf_counter) -> None:
        self._context = context
        self._sink = sink
        self._timer = timer
        self._next = 0.0
        self._swept: dict[tuple[str, str], dict[str, int]] = {}

    def step(self, now: float, *, leads: bool) -> None:
        """Once per pass.

        :param leads: this cycle speaks for the whole tree.
        """
        attempts = self._context.account.attempts
        while attempts:
            send_attempt(self._sink, attempts.popleft())
        if now < self._next:
            return
        began = self._timer()
        self._sweeps()
        self._limits()
        if leads:
            self._nodes()
            self._requests()
        self._next = now + max(EVERY, (self._timer() - began) / SHARE)

    def close(self) -> None:
        """What came up since the last pass."""
        attempts = self._context.account.attempts
        while attempts:
            send_attempt(self._sink, attempts.popleft())
        self._sweeps()

    def _sweeps(self) -> None:
        for where, kinds in self._context.account.sweeps.counts.items():
            for kind, counts in kinds.items():
                before = self._swept.get((where, kind))
                if counts == before:
                    continue
                past = before or {}
                news = {name: counts[name] - past.get(name, 0) for name in ("deleted", "failed")}
                send_sweep(self._sink, where, kind, {**counts, **news})
                self._swept[where, kind] = dict(counts)

    def _limits(self) -> None:
        context, sink = self._context, self._sink
        for name, actor in context.actors.items():
            most = sum(pool.max_servers for pool in actor.provider.pools.values())
            if math.isfinite(most):
                sink.gauge(f"nodepool.provider.{name}.max_servers", most)
        for tenant, limits in context.config.tenant_limits.items():
            for resource in limits:
                if math.isfinite(limits[resource]):
                    sink.gauge(f"nodepool.tenant_limits.{tenant}.{resource}", limits[resource])

    def _nodes(self) -> None:
        """Nodes by state: all, by provider, by label. What was shown once is shown with 0 when it is gone."""
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
        self._gauges("nodepool.nodes", NodeState.ALL, everywhere)
        for name, counts in by_name.items():
            self._gauges(f"nodepool.{name}.nodes", NodeState.ALL, counts)

    def _requests(self) -> None:
        store = self._context.store
        wanted = [frozenset(request.node_types) for request in store.requests.list() if request.state in OPEN]
        for pool in store.components.pools():
            labels = set(pool.supported_labels)
            count = sum(1 for labels_wanted in wanted if labels_wanted <= labels)
            name = f"nodepool.provider.{pool.provider_name}.pool.{pool.name}.addressable_requests"
            self._sink.gauge(name, count)

    def _gauges(self, name: str, states: Iterable[str], counts: Counter[str]) -> None:
        for state in states:
            self._sink.gauge(f"{name}.{state}", counts[state])
