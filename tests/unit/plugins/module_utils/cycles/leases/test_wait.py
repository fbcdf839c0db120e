# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for a lease, on a clock of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.store import Store
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.leases.lease_cycle import LeaseStatus, Leasing
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.leases.wait import PACE, wait_for


class World:
    """A lease whose statuses are given, in a tree that changes after each look."""

    def __init__(self, *statuses: LeaseStatus) -> None:
        self.statuses = list(statuses)
        self.now = 100.0
        self.changed: Callable[[str], None] = lambda path: None
        self.seen: list[LeaseStatus] = []
        self.slept: list[float] = []

    def on_change(self, call: Callable[[str], None]) -> None:
        self.changed = call

    def advance(self) -> LeaseStatus:
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        self.changed("/nodepool/requests")
        return status

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def wait(self, timeout: float) -> LeaseStatus:
        more: dict[str, Any] = {"progress": self.seen.append, "clock": lambda: self.now, "sleep": self.sleep}
        return wait_for(cast(Leasing, self), cast(Store, self), timeout=timeout, **more)


WAITING, DONE = LeaseStatus(wanted=1), LeaseStatus(done=True, wanted=1, ready=1)


def test_it_looks_at_each_change_until_the_lease_is_complete():
    world = World(WAITING, WAITING, DONE)
    assert world.wait(60.0) is DONE
    assert world.seen == [WAITING, WAITING, DONE]


def test_a_busy_tree_is_looked_at_no_faster_than_the_pace():
    world = World(WAITING, WAITING, DONE)
    world.wait(60.0)
    assert world.slept == [PACE, PACE]


def test_it_looks_once_more_when_the_time_is_over_and_returns_what_it_saw():
    world = World(WAITING)
    assert world.wait(2.5 * PACE) is WAITING
    assert len(world.seen) == 4
    assert world.now <= 100.0 + 2.5 * PACE + 1e-9


def test_without_time_there_is_one_look():
    world = World(WAITING)
    assert world.wait(0.0) is WAITING
    assert (len(world.seen), world.slept) == (1, [])
