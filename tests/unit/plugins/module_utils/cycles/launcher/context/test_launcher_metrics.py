# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cycle tells statsd: Nodepool's names, the right figures, each event once."""

from __future__ import annotations

from collections import Counter

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.counts import CycleCounts
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context import (
    launcher_metrics,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.account import Account
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.launcher_metrics import (
    count_attempt,
    count_sweep,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from tests.support.virtual_cloud import Fate
from tests.support.world import Habit, World, one_provider


class Noted:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.gauges: dict[str, float] = {}
        self.times: dict[str, list[float]] = {}
        self.told = 0

    def incr(self, name: str, count: int = 1) -> None:
        self.counts[name] += count

    def gauge(self, name: str, value: float) -> None:
        self.told += 1
        self.gauges[name] = value

    def timing(self, name: str, seconds: float) -> None:
        self.times.setdefault(name, []).append(seconds)


def test_launches_nodes_limits_and_requests_of_a_cycle():
    document = one_provider(max_servers=4) | {"tenant-resource-limits": [{"tenant-name": "acme", "max-servers": 3}]}
    with World(document, quota={"east": {"instances": 9}}) as world:
        noted = world.sink = Noted()
        world.clouds["east"].fate = lambda machine: (
            Fate("ERROR", "No valid host was found", 1.0) if machine.id == "server-000001" else Fate()
        )
        world.start()
        done = [world.request("small") for _unused in range(4)]
        left = world.request("large")
        assert world.run(120, until=lambda: len(world.fulfilled) == 4)
        world.run(10)
        assert world.state(left) == "requested" and len(done) == 4
    zone = [name for name in noted.counts if name.startswith("nodepool.launch.provider.east.az")]
    assert zone, noted.counts
    assert noted.counts["nodepool.launch.ready"] == 4
    assert noted.counts["nodepool.launch.error.capacity"] == 1
    assert noted.counts["nodepool.launch.provider.east.ready"] == 4
    assert noted.counts["nodepool.launch.requestor.world.ready"] == 4
    assert all(15 < seconds < 40 for seconds in noted.times["nodepool.launch.provider.east.ready"])
    assert noted.gauges["nodepool.nodes.ready"] == 4
    assert noted.gauges["nodepool.provider.east.nodes.ready"] == 4
    assert noted.gauges["nodepool.label.small.nodes.ready"] == 4
    assert noted.gauges["nodepool.label.large.nodes.ready"] == 0
    assert {name for name in noted.gauges if name.startswith("nodepool.nodes.")} == {
        f"nodepool.nodes.{state}" for state in NodeState.ALL
    }
    assert noted.gauges["nodepool.provider.east.max_servers"] == 4
    assert noted.gauges["nodepool.provider.east.pool.main.addressable_requests"] == 1
    assert noted.gauges["nodepool.tenant_limits.acme.instances"] == 3


def test_what_is_gone_is_shown_with_0_and_standing_by_is_silent():
    with World(one_provider()) as world:
        noted = world.sink = Noted()
        world.start()
        world.run(1)
        request = world.request("small", habit=Habit(work=lambda chance: 5.0))
        assert world.run(60, until=lambda: request in world.fulfilled)
        world.run(60, until=lambda: not world.nodes())
        world.run(10)
        assert {noted.gauges[f"nodepool.nodes.{state}"] for state in NodeState.ALL} == {0}
        silent = world.sink = Noted()
        world.start()
        world.run(20)
    assert silent.told == 0 and not silent.counts


def test_reading_takes_no_more_than_its_share():
    with World(one_provider()) as world:
        noted = world.sink = Noted()
        cycle = world.start()
        world.run(1)
        ticks = iter(range(0, 1000, 2))
        cycle.launcher._metrics._timer = lambda: next(ticks)  # a reading takes two seconds
        world.run(10)
        before = noted.told
        world.run(150)
        assert noted.told == before
        world.run(100)
        assert noted.told > before


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        ("ready", "ready"),
        ("quota", "error.quota"),
        ("no capacity", "error.capacity"),
        ("fault", "error.status"),
        ("timeout", "error.servercreatetimeout"),
        ("unreachable", "error.keyscan"),
        ("api", "error.unknown"),
        ("refused", "error.unknown"),
    ],
)
def test_the_words_for_an_attempt_are_nodepool_s(outcome, word):
    noted = Noted()
    cycle_counts = CycleCounts(noted)
    node = Node(id="1", provider="east", pool="main", requestor="zuul.example:9000")
    count_attempt(cycle_counts, node, outcome, 3.0)
    assert set(noted.counts) == {
        f"nodepool.launch.{word}",
        f"nodepool.launch.provider.east.{word}",
        f"nodepool.launch.requestor.zuul_example_9000.{word}",
    }
    assert set(noted.times) == set(noted.counts)
    result = ("ready", "") if outcome == "ready" else ("failed", outcome.replace(" ", "-"))
    assert cycle_counts.counters.document() == {"launches": [[["east", "main", *result], [1]]]}


def test_the_words_for_leaks_are_nodepool_s():
    noted = Noted()
    cycle_counts = CycleCounts(noted)
    count_sweep(cycle_counts, "east", "server", {"deleted": 2, "failed": 0, "leaked": 3, "foreign": 1})
    count_sweep(cycle_counts, "east", "port", {"deleted": 1, "failed": 1, "leaked": 1, "foreign": 0})
    count_sweep(cycle_counts, "east", "floating-ip", {"deleted": 4, "failed": 0, "leaked": 0, "foreign": 7})
    count_sweep(cycle_counts, "", "request-lock", {"deleted": 5, "failed": 0, "leaked": 0, "foreign": 0})
    assert noted.counts == {
        "nodepool.provider.east.leaked.instances": 2,
        "nodepool.provider.east.leaked.ports": 1,
        "nodepool.provider.east.leaked_kept.ports": 1,
        "nodepool.provider.east.leaked.floatingips": 4,
        "nodepool.zk.leaked.request_locks": 5,
    }
    assert noted.gauges["nodepool.provider.east.seen_foreign.floatingips"] == 7
    assert {tuple(labels): numbers for labels, numbers in cycle_counts.counters.document()["leaks_removed"]} == {
        ("", "request-lock", "deleted"): [5],
        ("east", "floating-ip", "deleted"): [4],
        ("east", "port", "deleted"): [1],
        ("east", "port", "failed"): [1],
        ("east", "server", "deleted"): [2],
    }


def test_deletions_of_sweeping_are_sent_once_each():
    with World(one_provider()) as world:
        noted = world.sink = Noted()
        cycle = world.start()
        world.run(1)
        account: Account = cycle.account
        account.sweeps.deleted("east", "server")
        world.run(10)
        account.sweeps.deleted("east", "server")
        account.sweeps.deleted("east", "server")
        world.run(10)
        assert noted.counts["nodepool.provider.east.leaked.instances"] == 3
        assert launcher_metrics.EVERY <= 10
