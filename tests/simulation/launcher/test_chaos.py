# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A long random run: hundreds of requests, cycles that die, sessions that are lost, clouds that fail.

With more effort there are more and longer runs.
"""

from __future__ import annotations

import random
from functools import partial

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import RequestState
from tests.support.effort import EFFORT
from tests.support.kill_points import (
    ChaosWorld,
    Strike,
    Victim,
    break_connection,
    kill,
    lose_session,
    swap_session,
)
from tests.support.virtual_cloud import Fate, Machine
from tests.support.world import Habit, label, provider_document, site

SLOW = EFFORT > 1
REQUESTS = 400 if SLOW else 60
SEEDS = range(20 if SLOW else 1)
CREATE, REMOVE, LIST = "POST /servers", "DELETE /servers/{id}", "GET /servers/detail"


class Chaos:
    """The run of one seed."""

    def __init__(self, world: ChaosWorld, seed: int) -> None:
        self.world = world
        self.chance = random.Random(seed)
        self.strikes = 0
        self.permanent = 0
        self.quiet = False
        strikes: list[Strike] = [kill, partial(kill, at_once=False), swap_session, lose_session, break_connection]
        self._strikes = strikes
        self._next = 0.0

    def choose(self, _number: int, what: str) -> Strike | None:
        """Now and then something happens, some seconds after the last."""
        now = self.world.agenda.now
        starting = what.endswith(("/stackci", "/site"))
        if self.quiet or starting or now < self._next or self.chance.random() > 0.1:
            return None
        self._next = now + self.chance.expovariate(1 / 15)
        self.strikes += 1
        return self.chance.choice(self._strikes)

    def fate(self, _machine: Machine) -> Fate:
        """Most servers boot."""
        draw = 1.0 if self.quiet else self.chance.random()
        if draw < 0.05:
            return Fate("ERROR", "No valid host was found", 1.0)
        if draw < 0.07:
            return Fate("GONE", boot=5.0)
        if draw < 0.08:
            return Fate("BUILD")
        if draw < 0.10:
            return Fate(reachable=False)
        return Fate()

    def ask(self, left: int) -> None:
        """One request after the other."""
        labels = self.chance.choices(["small", "medium"], k=self.chance.choice([1, 1, 1, 2, 3]))
        habit = Habit(work=lambda chance: chance.uniform(3, 40))
        self.world.request(*labels, priority=self.chance.choice([100, 200]), habit=habit)
        if left > 1:
            self.world.agenda.after(self.chance.expovariate(1 / 4), lambda: self.ask(left - 1))

    def keep_alive(self) -> None:
        """Two cycles, of which one acts; whoever died gets a successor after a while."""
        living = [cycle for cycle in self.world.cycles if not cycle.ended and not cycle.store.session.killed]
        for _turn in range(2 - len(living)):
            self.world.hunt(self.choose)
        self.world.agenda.after(self.chance.uniform(0.5, 5), self.keep_alive)

    def collect_failed(self) -> None:
        """What a requestor does with a failed request."""
        for request in self.world.store.requests.list():
            if request.state == RequestState.FAILED:
                document = self.world.store.own.get(f"waits/{request.id}")
                assert document is not None and document["code"] == "failed", request
                self.permanent += 1
                self.world.fulfilled[request.id] = self.world.agenda.now
                self.world.store.requests.delete(request.id)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_long_random_run_loses_nothing_and_leaves_nothing(seed):
    pools = [
        provider_document(
            name,
            {"name": "main", "max-servers": 10, "labels": [label("small"), label("medium", "medium")]},
            **{"launch-timeout": 120, "boot-timeout": 60},
        )
        for name in ("east", "west")
    ]
    document = site(*pools, min_ready={"small": 2})
    quota = {"east": {"instances": 8, "cores": 14}, "west": {"instances": 12, "floating-ips": 12}}
    with ChaosWorld(document, quota=quota, clouds={"west": {"direct": False}}, seed=seed, lag=0.01) as world:
        chaos = Chaos(world, seed)
        for cloud in world.clouds.values():
            cloud.fate = chaos.fate
        faults = [
            world.fault(name, kind, chance=0.03, works=works)
            for name in world.clouds
            for kind in (CREATE, REMOVE, LIST, "POST /floatingips")
            for works in (False, True)
        ]
        chaos.ask(REQUESTS)
        chaos.keep_alive()

        def over() -> bool:
            chaos.collect_failed()
            return len(world.asked) == REQUESTS and world.calm() and len(world.nodes()) >= 2

        def pass_time(seconds: float) -> bool:
            for _turn in range(int(seconds / 5)):
                world.run(5)
                if over():
                    return True
            return False

        for _turn in range(int(REQUESTS * 8 / 5)):
            world.run(5)
            chaos.collect_failed()
        chaos.quiet = True
        for fault in faults:
            fault.left = 0
        assert pass_time(3600), (world.nodes(), world.store.requests.list())
        world.run(600)
        assert over()
        world.check()
        assert chaos.strikes > REQUESTS / 8
        assert chaos.permanent <= REQUESTS * 0.1


def test_a_strike_is_a_strike():
    """The run above could not fail if its strikes did nothing."""
    with ChaosWorld(site(provider_document("east", {"name": "main", "labels": [label("small")]}))) as world:
        struck: list[Victim] = []

        def note(victim: Victim) -> None:
            struck.append(victim)
            kill(victim)

        world.hunt(lambda number, what: note if number == 40 else None)
        world.request("small")
        world.run(60)
        assert struck and world.cycles[0].ended
        assert not world.fulfilled
