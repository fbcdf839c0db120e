# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A random run on virtual time, from a seed: the same seed is the same run.

Some minutes of random load, faults, kills and changed configuration; then everything is well again, and the site
settles. The checker judges the whole history.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.clock import SteadyClock
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Image
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits
from tests.chaos.checker import judge
from tests.chaos.history import CREATE, NODES, Change, Event, History, Typo, record_of
from tests.chaos.virtual_crowd import LABELS, Crowd
from tests.chaos.virtual_recorder import VirtualRecorder
from tests.chaos.virtual_strangers import Strangers
from tests.support.kill_points import (
    ChaosWorld,
    Strike,
    Victim,
    break_connection,
    cut_answer,
    kill,
    lose_session,
    swap_session,
)
from tests.support.virtual_cloud import Fate, Machine, Timing, busy
from tests.support.virtual_time import Killed
from tests.support.world import label, provider_document, site

CALLS = (
    "POST /servers",
    "DELETE /servers/{id}",
    "GET /servers/detail",
    "GET /servers/{id}",
    "POST /floatingips",
    "DELETE /floatingips/{id}",
    "GET /limits",
    "GET /images",
    "",
)
SETTLE = 4 * 3600.0
ROOMY_AFTER = 10
"""Minutes after which the limits of all clouds and tenants are raised: until then requests may wait for them."""


@dataclass(frozen=True)
class Outcome:
    """What came of a run."""

    seed: int
    wrong: list[str]
    log: list[str]
    events: list[Event]
    figures: dict[str, int]


def freeze(victim: Victim, seconds: float) -> None:
    """SIGSTOP and SIGCONT: the process does nothing for a while, and its session ends when that is long."""
    session, agenda = victim.session, victim.world.agenda
    if agenda.current is not victim.cycle.fiber or session.state != "connected":
        return
    at, generation = victim.struck[-1], session.generation
    if seconds > 11:
        agenda.after(11.0, lambda: None if session.killed else swap(victim))
    agenda.sleep(seconds)
    if session.killed:
        raise Killed
    if session.generation != generation and at.startswith("before"):
        cut_answer(at)  # what was to be sent in the old session is not sent in the new one


def swap(victim: Victim) -> None:
    """The session has ended while the process was stopped."""
    session = victim.session
    if session.state == "connected":
        session._end()
        session.keeper.end_session(session.owner)
        session._connect_anew()


class VirtualRun:
    """The run of one seed.

    :param seconds: virtual seconds of load.
    """

    def __init__(self, seed: int, seconds: float = 600.0) -> None:
        self.seed = seed
        self.seconds = seconds
        self.chance = random.Random(seed)
        self.log: list[str] = []
        self.strikes = 0
        self.quiet = False
        self._next_strike = self._troubled_until = self._calm_until = 0.0
        chance = self.chance
        self.skew = chance.choice([0.0, 0.0, 5.0, 300.0])
        self.names = ["east", "west", "south"][: chance.choice([1, 2, 2, 3])]
        self.pools: dict[str, dict[str, dict[str, Any]]] = {
            name: {
                pool: {
                    "labels": sorted(set(chance.choices(LABELS, k=chance.randint(2, 5)))),
                    "max-servers": chance.choice([None, 4, 8, 15]),
                }
                for pool in ["main", "spare"][: chance.choice([1, 1, 2])]
            }
            for name in self.names
        }
        self.options: dict[str, dict[str, Any]] = {
            name: {
                "launch-timeout": chance.choice([60, 120, 600]),
                "boot-timeout": chance.choice([30, 60]),
                "launch-retries": chance.choice([1, 3, 3]),
                **({"max-concurrency": 3} if chance.random() < 0.2 else {}),
            }
            for name in self.names
        }
        self.top: dict[str, Any] = {
            "min_ready": {"small": chance.choice([0, 0, 1, 3]), "medium": chance.choice([0, 0, 1])},
            **({"tenant-resource-limits": [{"tenant-name": "one", "max-servers": 6}]} if chance.random() < 0.3 else {}),
        }
        self.whole = self.document()
        most = chance.choice([0.0, 0.01, 0.2])
        self.world = ChaosWorld(
            self.whole,
            quota={name: self._quota() for name in self.names},
            clouds={name: self._cloud() for name in self.names},
            lag=(lambda _kind: chance.uniform(0, most)) if most else 0.0,
            seed=seed,
        )
        self.world.keeper.travel = chance.choice([0.0, 0.001, 0.01])
        self.recorder = VirtualRecorder(self.world)
        self.crowd = Crowd(self.world, chance, self.note)
        self.strangers = Strangers(self.world, chance, self.note)
        strikes: list[Strike] = [kill, partial(kill, at_once=False), swap_session, lose_session, break_connection]
        strikes += [partial(freeze, seconds=5.0), partial(freeze, seconds=25.0)]
        self._strikes = strikes

    def note(self, text: str) -> None:
        """Write down what is about to happen."""
        self.log.append(f"{self.world.agenda.now:.3f} {text}")

    def run(self) -> Outcome:
        """Carry the run out."""
        with self.world as world:
            try:
                return self._run()
            finally:
                for cycle in world.cycles:
                    self.log += [f"{at:.3f} cycle {world.cycles.index(cycle)}: {line}" for at, line in cycle.lines]
                self.log.sort(key=lambda line: float(line.split(" ", 1)[0]))

    def _run(self) -> Outcome:
        world = self.world
        began = world.agenda.now
        self.recorder.plant()
        for cloud in world.clouds.values():
            cloud.fate = self._fate
        self._keep_alive()
        self._load()
        self._trouble()
        world.run(self.seconds)
        self._mend()
        calm = self._settle()
        if calm:
            world.run(400)
            calm = self._settle()  # idle nodes may just be going
        history = History(self.recorder.events, self.recorder.remains(), self.skew, frozenset(self.strangers.planted))
        wrong = judge(history)
        wrong += [f"limit: end: a request of {text} ends the connection" for text in world.keeper.too_large]
        if not calm:
            left = [(request.id, request.state) for request in world.store.requests.list()]
            wrong.append(f"settled: end: still at work after {SETTLE:g} s: {left}, crowd: {sorted(self.crowd.open)}")
        nodes = sum(1 for event in history.events if _makes_node(event))
        crowd = self.crowd
        return Outcome(
            self.seed,
            wrong,
            self.log,
            self.recorder.events,
            {
                "asked": crowd.asked,
                "served": crowd.served,
                "failed": crowd.failed,
                "nodes": nodes,
                "strikes": self.strikes,
                "virtual seconds": int(world.agenda.now - began),
            },
        )

    # -- the site ------------------------------------------------------------------------------------------------

    def document(self, *, without: str | None = None, change: Callable[[dict[str, Any]], None] | None = None) -> Any:
        """nodepool.yaml, with all providers or without one."""
        providers = []
        for name in self.names:
            pools = []
            for pool, item in self.pools[name].items():
                bound = {} if item["max-servers"] is None else {"max-servers": item["max-servers"]}
                pools.append({"name": pool, "labels": [label(one, one) for one in item["labels"]], **bound})
            if change is not None:
                change(pools[0])
            if name != without:
                providers.append(provider_document(name, *pools, **self.options[name]))
        made = site(*providers, **self.top)
        known = {item["name"] for item in made["labels"]}
        made["labels"] += [{"name": name} for name in LABELS if name not in known]
        return made

    def _quota(self) -> dict[str, float]:
        chance = self.chance
        return {
            "instances": chance.choice([5, 10, 20, 40]),
            "cores": chance.choice([12, 30, 80]),
            **({"floating-ips": 12} if chance.random() < 0.5 else {}),
        }

    def _cloud(self) -> dict[str, Any]:
        chance = self.chance
        timing = busy() if chance.random() < 0.25 else Timing(spread=0.5)
        return {
            "direct": chance.random() < 0.6,
            "timing": timing,
            "list_lag": chance.choice([0.0, 0.0, 0.0, 1.0, 4.0]),
            "faults_listed": chance.random() < 0.3,
            "double_addresses": chance.random() < 0.2,
            "yielding": chance.choice([None, None, False, True]),
        }

    def _fate(self, _machine: Machine) -> Fate:
        draw = 1.0 if self.quiet else self.chance.random()
        for bound, fate in (
            (0.04, Fate("ERROR", "No valid host was found", 1.0)),
            (0.06, Fate("GONE", boot=5.0)),
            (0.07, Fate("BUILD")),
            (0.09, Fate(reachable=False)),
            (0.10, Fate("ERROR", "Quota exceeded for instances: Requested 1", 0.5)),
        ):
            if draw < bound:
                return fate
        return Fate()

    # -- load and trouble ----------------------------------------------------------------------------------------

    def _keep_alive(self) -> None:
        """Two cycles on two hosts, of which one acts for each provider; each dies or ends and has a successor."""
        world, chance = self.world, self.chance
        living = [cycle for cycle in world.cycles if not cycle.ended and not cycle.store.session.killed]
        for _turn in range(2 - len(living)):
            victim = world.hunt(self._choose)
            ahead = chance.choice([0.0, self.skew, -self.skew])
            agenda = world.agenda
            if not self.quiet and ahead:
                self.note(f"a cycle starts whose clock is {ahead:+g} s")
                victim.cycle.inbox.clock = SteadyClock(partial(_skewed, agenda, ahead), agenda.clock)
            else:
                self.note("a cycle starts")
        world.agenda.after(chance.uniform(0.5, 5), self._keep_alive)

    def _choose(self, _number: int, what: str) -> Strike | None:
        now = self.world.agenda.now
        if self.quiet or what.endswith(("/stackci", "/site")) or now < self._next_strike or self.chance.random() > 0.1:
            return None
        self._next_strike = now + self.chance.expovariate(1 / 20)
        self.strikes += 1
        strike = self.chance.choice(self._strikes)
        self.note(f"strike {getattr(strike, '__name__', strike)} {what}")
        return strike

    def _load(self) -> None:
        if self.quiet:
            return
        for _turn in range(self.chance.choices([1, 2, 10], [80, 15, 5])[0]):
            self.crowd.ask()
        self.world.agenda.after(self.chance.expovariate(1 / 6), self._load)

    def _trouble(self) -> None:
        """One trouble after the other; each is over after a while."""
        if self.quiet:
            return
        chance = self.chance
        trouble = chance.choice(
            [
                self._failing_calls,
                self._failing_calls,
                self._hanging_calls,
                self._late_effects,
                self._less_quota,
                self._lying_limits,
                self._others_come,
                self._image_vanishes,
                self._cell_away,
                self._undying,
                self._pool_changes,
                self._provider_leaves,
                self._broken_config,
                self._typo_in_config,
                self._hostile_records,
                self._hostile_records,
            ]
        )
        name, seconds, now = chance.choice(self.names), chance.expovariate(1 / 30) + 1, self.world.agenda.now
        if now >= self._calm_until:
            if trouble != self._typo_in_config:
                self._troubled_until = max(self._troubled_until, now + seconds)
            trouble(name, seconds)
        self.world.agenda.after(chance.expovariate(1 / 15), self._trouble)

    def _failing_calls(self, name: str, seconds: float) -> None:
        kind, works, share = self.chance.choice(CALLS), self.chance.random() < 0.5, self.chance.choice([0.1, 0.5, 1.0])
        self.note(f"{name}: {share:.0%} of {kind or 'all calls'} fail for {seconds:.1f} s, done: {works}")
        self.world.fault(name, kind, chance=share, works=works, until=self.world.agenda.now + seconds)

    def _hanging_calls(self, name: str, seconds: float) -> None:
        kind, works = self.chance.choice(CALLS), self.chance.random() < 0.5
        self.note(f"{name}: {kind or 'all calls'} hang for {seconds:.1f} s, done: {works}")
        self.world.fault(name, kind, chance=0.7, works=works, hang=True, until=self.world.agenda.now + seconds)

    def _late_effects(self, name: str, seconds: float) -> None:
        kind = self.chance.choice(CALLS[:2])
        lands = self.chance.choice([1.0, 20.0, 70.0])
        self.note(f"{name}: {kind} without an answer, done {lands:g} s later, for {seconds:.1f} s")
        until = self.world.agenda.now + seconds
        self.world.fault(name, kind, chance=0.5, lands=lands, hang=self.chance.random() < 0.5, until=until)

    def _less_quota(self, name: str, seconds: float) -> None:
        cloud = self.world.clouds[name]
        before = cloud.limits
        self.note(f"{name}: a quota of 2 instances for {seconds:.1f} s")
        cloud.limits = Limits({**dict(before), "instances": 2})
        self._afterwards(seconds, lambda: setattr(cloud, "limits", before))

    def _lying_limits(self, name: str, seconds: float) -> None:
        cloud = self.world.clouds[name]
        self.note(f"{name}: limits that lie for {seconds:.1f} s")
        cloud.shown = Limits({"instances": 100, "cores": 800})
        self._afterwards(seconds, lambda: setattr(cloud, "shown", None))

    def _others_come(self, name: str, seconds: float) -> None:
        cloud = self.world.clouds[name]
        self.note(f"{name}: servers of others for {seconds:.1f} s")
        machines = cloud.add_foreign(self.chance.randint(1, 8))

        def leave() -> None:
            for machine in machines:
                cloud.remove(machine)

        self._afterwards(seconds, leave)

    def _image_vanishes(self, name: str, seconds: float) -> None:
        cloud = self.world.clouds[name]
        self.note(f"{name}: the image is gone for {seconds:.1f} s, then there is one of another id")
        cloud.images = ()
        number = self.chance.randint(2, 999)
        self._afterwards(seconds, lambda: setattr(cloud, "images", (Image(f"img-{number}", "debian", "active"),)))

    def _cell_away(self, name: str, seconds: float) -> None:
        cloud = self.world.clouds[name]
        self.note(f"{name}: a cell is away for {seconds:.1f} s")
        cloud.away = lambda machine: int(machine.id[-1]) % 2 == 0
        cloud.cells_down = self.chance.random() < 0.3

        def back() -> None:
            cloud.away, cloud.cells_down = (lambda machine: False), False

        self._afterwards(seconds, back)

    def _undying(self, name: str, seconds: float) -> None:
        cloud = self.world.clouds[name]
        self.note(f"{name}: deletes are accepted and do nothing for {seconds:.1f} s")
        cloud.undying = lambda machine: int(machine.id[-1]) % 3 == 0
        self._afterwards(seconds, lambda: setattr(cloud, "undying", lambda machine: False))

    def _pool_changes(self, _name: str, seconds: float) -> None:
        change: Callable[[dict[str, Any]], None] = self.chance.choice([_no_servers, _few_servers, _fewer_labels])
        self.note(f"configuration: {change.__name__} for {seconds:.1f} s")
        self._configure(self.document(change=change))
        self._afterwards(seconds, lambda: self._configure(self.whole))

    def _provider_leaves(self, name: str, seconds: float) -> None:
        if len(self.names) > 1:
            self.note(f"configuration: without {name} for {seconds:.1f} s")
            self._configure(self.document(without=name))
            self._afterwards(seconds, lambda: self._configure(self.whole))

    def _broken_config(self, _name: str, seconds: float) -> None:
        self.note(f"configuration: broken for {seconds:.1f} s")
        self.world.spoil("nodepool.yaml: line 1: not a mapping")
        self._afterwards(seconds, lambda: self._configure(self.whole))

    def _typo_in_config(self, _name: str, seconds: float) -> None:
        """Longer than cycles live: those that begin meanwhile have nothing but what was valid before."""
        now, seconds = self.world.agenda.now, seconds + 60.0
        if now < self._troubled_until:
            self._afterwards(self._troubled_until - now, partial(self._typo_in_config, _name, seconds - 60.0))
            return
        if self.quiet or now < self._calm_until:
            return
        self._calm_until = now + seconds
        self.note(f"configuration: a typo for {seconds:.1f} s")
        self.recorder.events.append(Typo(now, now + seconds))
        self.world.spoil("nodepool.yaml: line 14: mapping values are not allowed here")
        self._afterwards(seconds, lambda: self._configure(self.whole))

    def _hostile_records(self, name: str, seconds: float) -> None:
        for path in self.strangers.plant(name, seconds):
            self._afterwards(seconds, partial(self.strangers.remove, path))

    def _afterwards(self, seconds: float, mend: Callable[[], Any]) -> None:
        self.world.agenda.after(seconds, mend)

    def _configure(self, document: Any) -> None:
        self.world.configure(document)
        self.recorder.configured()

    # -- the end -------------------------------------------------------------------------------------------------

    def _mend(self) -> None:
        """No more trouble; what is under way is over within minutes."""
        self.note("everything is well from now on")
        self.quiet = self.crowd.quiet = True
        for faults in self.world.faults.values():
            for fault in faults:
                fault.left = 0
        self.strangers.remove_all()

    def _settle(self) -> bool:
        world = self.world

        def calm() -> bool:
            remains, nodes = self.recorder.remains(), world.nodes()
            known = {(node.provider, node.external_id) for node in nodes}
            return (
                remains.servers == known
                and {(name, server) for (name, _ident), server in remains.addresses.items()} <= known
                and not self.crowd.open
                and not self.crowd.held
                and all(node.state == "ready" and not node.allocated_to for node in nodes)
            )

        for turn in range(int(SETTLE / 60)):
            world.run(60)
            if turn == ROOMY_AFTER:
                self._raise_limits()
            if calm():
                return True
        return False

    def _raise_limits(self) -> None:
        """What waits for room that others use, or for more than its tenant may ever have, is served now."""
        self.top.pop("tenant-resource-limits", None)
        self.whole = self.document()
        self._configure(self.whole)
        for cloud in self.world.clouds.values():
            cloud.limits = Limits({name: bound + 100 for name, bound in dict(cloud.limits).items()})


def _skewed(agenda: Any, ahead: float) -> float:
    return float(agenda.now + ahead)


def _no_servers(pool: dict[str, Any]) -> None:
    pool["max-servers"] = 0


def _few_servers(pool: dict[str, Any]) -> None:
    pool["max-servers"] = 1


def _fewer_labels(pool: dict[str, Any]) -> None:
    pool["labels"] = pool["labels"][:1]


def _makes_node(event: Event) -> bool:
    return isinstance(event, Change) and event.kind == CREATE and record_of(event.path, NODES) is not None


def run_virtual(seed: int, seconds: float = 600.0) -> Outcome:
    """Carry out the run of a seed."""
    return VirtualRun(seed, seconds).run()
