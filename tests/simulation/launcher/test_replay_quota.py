# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The first complaint, replayed: an hour at the quota, demand far above it, servers of others coming and going."""

from __future__ import annotations

import json
from collections import deque
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.actor import (
    LIMITS_AGE_WHEN_FULL,
)
from tests.support.effort import EFFORT
from tests.support.world import Habit, World, one_provider

STORM = json.loads((Path(__file__).parents[2] / "replays" / "quota_storm.json").read_text(encoding="utf-8"))
HOUR = 3600
PLAYED = HOUR if EFFORT > 1 else HOUR // 3
MOST_REFUSED = 6
MOST_SHARE = 0.01
POLL_AND_CREATE = LIMITS_AGE_WHEN_FULL + 5.0
"""A look at what others use, the call itself, and the create."""


class Outsiders:
    """Servers of others; they take no more than what is free."""

    def __init__(self, world: World, name: str) -> None:
        self._world, self._cloud = world, world.clouds[name]
        self._coming = deque(sorted(STORM["outsiders"]))
        self._going: list[tuple[float, list[Any]]] = []

    def move(self, now: float) -> None:
        while self._coming and self._coming[0][0] <= now:
            _at, count, stay = self._coming.popleft()
            free = int(self._cloud.limits["instances"] - self._cloud.used()["instances"])
            self._going.append((now + stay, self._cloud.add_foreign(min(count, free)) if free > 0 else []))
        for entry in [entry for entry in self._going if entry[0] <= now]:
            self._going.remove(entry)
            for machine in entry[1]:
                self._cloud.remove(machine)


def replay(world: World) -> tuple[int, float]:
    """Play the hour, or its beginning; returns (jobs done, longest time for which visible room was left idle)."""
    cloud = world.clouds["east"]
    jobs, outsiders = deque(sorted(STORM["jobs"])), Outsiders(world, "east")
    start = world.agenda.now
    idle_since: float | None = None
    longest = 0.0
    while (now := world.agenda.now - start) < PLAYED:
        while jobs and jobs[0][0] <= now:
            work = jobs.popleft()[1]
            world.request("small", habit=Habit(work=partial(lambda seconds, chance: seconds, work)))
        outsiders.move(now)
        world.run(1.0)
        waiting = any(request.state == "requested" for request in world.store.requests.list())
        room = cloud.limits["instances"] - cloud.used()["instances"] > 0
        idle_since = (idle_since if idle_since is not None else now) if waiting and room else None
        longest = max(longest, now - idle_since if idle_since is not None else 0.0)
    return len(world.fulfilled), longest


def test_a_storm_at_the_quota_is_spent_without_hammering_and_without_idling():
    with World(one_provider(), quota={"east": STORM["quota"]}, seed=STORM["seed"]) as world:
        cycle = world.start()
        done, longest_idle = replay(world)
        calls = [kind for client in cycle.clients for _at, kind in client.calls]
        refused = cycle.account.refused
    assert refused <= MOST_REFUSED, f"{refused} creates were refused"
    assert refused <= MOST_SHARE * len(calls), f"{refused} of {len(calls)} calls were refused"
    assert longest_idle <= POLL_AND_CREATE, f"room was left idle for {longest_idle:.0f} s"
    # Ten servers, a mean of six minutes of work and half a minute around it: what others leave must be used.
    assert done >= PLAYED / 60
    assert not list(cycle.account.failed)


def test_the_storm_is_what_it_says():
    """Demand really is far above the quota, and others really take part of it."""
    work = sum(seconds for _at, seconds in STORM["jobs"])
    assert work > 2 * STORM["quota"]["instances"] * HOUR
    assert sum(count * stay for _at, count, stay in STORM["outsiders"]) > HOUR
