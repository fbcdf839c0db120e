# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodepool's launcher and ours at work on one tree at the same time, each on its providers."""

from __future__ import annotations

import os
import random
import signal
import time

from kazoo.exceptions import NoNodeError

from tests.interop.beside import (
    OURS,
    PATIENCE,
    Ours,
    all_at_work,
    both,
    configure,
    failures,
    judge,
    own_provider,
    provider_of,
    ready_and_free,
    registered,
    stock_for,
    story,
    trespasses,
    wait_for_all,
)
from tests.interop.kubernetes import KubernetesApi, cluster_provider
from tests.interop.lab import Lab, World, row
from tests.interop.machines import machines, sshd
from tests.interop.stock import Daemon
from tests.support.fixtures_zookeeper import eventually

SLOW_BOOT = 3600.0


@row("beside-requests", "both launchers on one tree: labels of each and of both, sets, tenants, holds, min-ready")
def beside_requests(lab: Lab) -> str:
    """Each request is served by who can, and nobody touches what is the other's."""
    world = lab.world()
    port, key = lab.stack.enter_context(sshd(world.site.folder))
    stock = configure(
        world,
        own_provider("theirs", "theirs", "both"),
        machines(port, key),
        min_ready={"theirs": 1},
        labels={"small": {"min-ready": 1}},
        tenant_resource_limits=[{"tenant-name": "t", "max-servers": 2}],
    )
    requestor = world.site.requestor
    with both(world, stock):
        all_at_work(world, *OURS, "theirs", "machines")
        asked = {
            "ours": requestor.ask("small"),
            "theirs": requestor.ask("theirs"),
            "machine": requestor.ask("machine"),
            "both at theirs": requestor.ask("both", provider="theirs"),
            "both at ours": requestor.ask("both", provider="one"),
            "our set": requestor.ask("small", "both"),
            "their set": requestor.ask("theirs", "both"),
            "urgent": requestor.ask("both", priority=50),
        }
        asked |= {f"both {number}": requestor.ask("both") for number in range(6)}
        asked |= {f"tenant {number}": requestor.ask("both", tenant="t") for number in range(2)}
        nobody = requestor.ask("small", "theirs")
        wait_for_all(world, asked)
        requestor.wait_for(nobody, "failed", PATIENCE)
        where = {name: provider_of(world, request) for name, request in asked.items()}
        expected = {"ours": {"one"}, "theirs": {"theirs"}, "machine": {"machines"}, "both at theirs": {"theirs"}}
        expected |= {"both at ours": {"one"}, "our set": {"one"}, "their set": {"theirs"}}
        assert {name: where[name] for name in expected} == expected, where
        (held,), (kept,) = requestor.accept(asked["ours"]), requestor.accept(asked["theirs"])
        requestor.hold_at_once(held, kept)
        others = [name for name in asked if name not in ("ours", "theirs")]
        used = [node for name in others for node in requestor.accept(asked[name])]
        requestor.give_back(*used)
        requestor.wait_gone(used, PATIENCE)
        eventually(lambda: ready_and_free(world, "small") == 1 and ready_and_free(world, "theirs") == 1, PATIENCE)
        eventually(lambda: ready_and_free(world, "machine") == 2, PATIENCE)
        states = {requestor.node(one)["state"] for one in (held, kept)}
        assert states == {"hold"}, states
    judge(world, nobody)
    split = [next(iter(where[name])) for name in others if name.startswith(("both", "urgent", "tenant"))]
    return (
        f"{len(asked)} requests served; of those that both could serve ours took {split.count('one')} of {len(split)}"
    )


@row("beside-down", "our launcher is killed while nodes boot, and stays away: nothing of it is lost or fails")
def beside_down(lab: Lab) -> str:
    """Nodepool's launcher resets the lost request after a minute; it must neither fail it nor delete the node."""
    world = lab.world()
    stock = configure(world, own_provider("theirs", "theirs", "both"))
    requestor = world.site.requestor
    with both(world, stock) as (ours, _theirs):
        all_at_work(world, *OURS, "theirs")
        world.site.cloud.settings(boot=SLOW_BOOT)
        booting = requestor.ask("small", "small")
        eventually(lambda: sum(bool(one["external_id"]) for one in requestor.nodes().values()) == 2, PATIENCE)
        nodes = set(requestor.nodes())
        ours.kill()
        eventually(lambda: not any(requestor.is_locked(one) for one in nodes), 120)
        late = requestor.ask("small")
        world.site.cloud.settings(boot=0.2)
        served = requestor.ask("theirs")
        requestor.wait_for(served, "fulfilled", PATIENCE)
        eventually(lambda: requestor.state(booting) == "requested", PATIENCE)
        reset = requestor.request(booting)
        assert (requestor.state(late), requestor.state(booting)) == ("requested", "requested")
        assert reset["nodes"] == [] and nodes <= set(requestor.nodes()), "Nodepool's launcher deleted our nodes"
        assert {f"np{one}" for one in nodes} <= {server["name"] for server in world.site.cloud.servers()}
        world.site.cloud.end_boots()
        ours.start()
        requestor.wait_for(booting, "fulfilled", PATIENCE)
        requestor.wait_for(late, "fulfilled", PATIENCE)
        again = nodes & set(requestor.nodes_of(booting) + requestor.nodes_of(late))
        used = [node for one in (booting, late, served) for node in requestor.accept(one)]
        requestor.give_back(*used)
        requestor.wait_gone(used, PATIENCE)
    judge(world)
    return (
        f"reset after a minute, served by the next cycle with {len(again)} of the 2 nodes that booted; nothing failed"
    )


@row("beside-stops", "each side is killed, stopped by SIGSTOP, and started again; the other one harms nothing of it")
def beside_stops(lab: Lab) -> str:
    """Requests of all kinds come all the time."""
    world = lab.world()
    port, key = lab.stack.enter_context(sshd(world.site.folder))
    stock = configure(world, own_provider("theirs", "theirs", "both"), machines(port, key))
    requestor = world.site.requestor
    asked: dict[str, str] = {}
    world.site.cloud.settings(boot=2.0)

    def ask(when: str) -> None:
        for labels in (("small",), ("theirs",), ("machine",), ("both",), ("both", "small"), ("both", "theirs")):
            asked[f"{when}: {' '.join(labels)}"] = requestor.ask(*labels)

    with both(world, stock) as (ours, theirs):
        all_at_work(world, *OURS, "theirs", "machines")
        for name in ("kill", "pause"):
            for side in (ours, theirs):
                when = f"{name} {'ours' if side is ours else 'theirs'}"
                ask(when)
                eventually(lambda: any(one["state"] == "building" for one in requestor.nodes().values()), PATIENCE)
                if name == "kill":
                    side.kill()
                else:
                    _signal(side, signal.SIGSTOP)
                ask(f"after {when}")
                # Longer than both sessions live.
                time.sleep(20)
                if name == "kill":
                    side.start()
                else:
                    _wake(side)
                _give_back_as_they_come(world, asked, when)
    judge(world)
    return f"{len(asked)} requests through two kills and two stops of 20 s: none failed that could be served"


def _signal(side: Ours | Daemon, number: int) -> None:
    if isinstance(side, Ours):
        side.signal(number)
    else:
        os.kill(side.pid, number)


def _wake(side: Ours | Daemon) -> None:
    """End a stop. Nodepool's launcher is restarted then.

    After a stop for longer than its session lives it may keep a request pending for ever, without a lock: its handler
    waits for a node that it has deleted itself, and its clean-up does not touch a request that a handler has.
    """
    _signal(side, signal.SIGCONT)
    if isinstance(side, Daemon):
        time.sleep(5)
        side.kill()
        side.start()


def _give_back_as_they_come(world: World, asked: dict[str, str], when: str) -> None:
    """Take and return the nodes of all requests; the machines serve one after the other. Failures are judged later."""
    requestor = world.site.requestor
    waiting = {name: request for name, request in asked.items() if when in name}

    def served() -> bool:
        for name, request in list(waiting.items()):
            state = requestor.state(request)
            if state == "fulfilled":
                requestor.give_back(*requestor.accept(request))
            if state in ("fulfilled", "failed"):
                del waiting[name]
        return not waiting

    try:
        eventually(served, PATIENCE)
    except AssertionError:
        left = {name: requestor.state(request) for name, request in waiting.items()}
        raise AssertionError(f"{when}: not served: {left}") from None


@row("beside-change", "a provider moves from Nodepool's launcher to ours and back, with nodes in use, held and ready")
def beside_change(lab: Lab) -> str:
    """Nothing that runs is lost, and no request fails; machines and namespaces are Nodepool's business all the time."""
    world = lab.world()
    api = lab.stack.enter_context(KubernetesApi(world.site.folder))
    api.write_kubeconfig(world.site.folder)
    shared = own_provider("theirs", "theirs", "both")
    stay = (
        own_provider("rest", "rest"),
        machines(*lab.stack.enter_context(sshd(world.site.folder))),
        cluster_provider(),
    )
    stock = configure(world, shared, *stay, min_ready={"theirs": 1})
    requestor = world.site.requestor
    with both(world, stock):
        all_at_work(world, *OURS, "theirs", "rest", "machines", "cluster")
        others = _served_by_the_rest(world)
        used, held = requestor.ask("theirs"), requestor.ask("theirs")
        for one in (used, held):
            requestor.wait_for(one, "fulfilled", PATIENCE)
        (job,), (kept,) = requestor.accept(used), requestor.accept(held)
        requestor.hold_at_once(kept)
        eventually(lambda: ready_and_free(world, "theirs") == 1, PATIENCE)
        alive = {*requestor.nodes()}
        # First ours gets the provider, then Nodepool's launcher loses it: in between, ours leaves it alone.
        own = [own_provider("one", "small", "both"), own_provider("two", "medium")]
        world.site.configure(*own, shared)
        stock_for(world, *stay)
        eventually(lambda: _acts_ours(world, "theirs"), PATIENCE)
        served = requestor.ask("theirs")
        requestor.wait_for(served, "fulfilled", PATIENCE)
        assert set(requestor.nodes_of(served)) <= alive, "the ready node was not taken over"
        others += _served_by_the_rest(world)
        # And back: Nodepool's launcher gets it again, ours leaves it at once, then its file does not name it any more.
        stock_for(world, shared, *stay, min_ready={"theirs": 1})
        eventually(lambda: not _acts_ours(world, "theirs"), PATIENCE)
        world.site.configure(*own)
        again = requestor.ask("theirs")
        requestor.wait_for(again, "fulfilled", PATIENCE)
        assert {requestor.node(one)["state"] for one in (job, kept)} == {"in-use", "hold"}
        states = {requestor.node(one)["state"] for one in others}
        assert states == {"in-use"}, states
        requestor.give_back(*others)
        nodes = [job, kept, *requestor.accept(served), *requestor.accept(again)]
        requestor.write_node(kept, state="used")
        requestor.give_back(*(one for one in nodes if one != kept))
        requestor.wait_gone(nodes, PATIENCE)
    failed = failures(world)
    assert failed == {}, failed
    lived = f"nodes in use, held and ready lived on, and {len(others)} of the drivers static and kubernetes"
    return f"over and back: {lived}; all requests were served, none failed"


def _served_by_the_rest(world: World) -> list[str]:
    """Nodes in use that Nodepool's launcher gives of the drivers that it keeps."""
    requestor = world.site.requestor
    asked = {name: requestor.ask(name) for name in ("machine", "namespace")}
    wait_for_all(world, asked)
    return [node for one in asked.values() for node in requestor.accept(one)]


def _acts_ours(world: World, name: str) -> bool:
    return bool(world.site.requestor.children(f"/nodepool/stackci/providers/{name}/lock"))


@row("beside-shared", "machines of Nodepool's driver static and a provider of ours offer the same label")
def beside_shared(lab: Lab) -> str:
    """The driver static takes requests by the ready nodes of others, and leaves them pending without a lock."""
    world = lab.world()
    port, key = lab.stack.enter_context(sshd(world.site.folder))
    stock = configure(world, machines(port, key, "both"), labels={"both": {"min-ready": 4}})
    requestor = world.site.requestor
    with both(world, stock):
        all_at_work(world, *OURS, "machines")
        eventually(lambda: ready_and_free(world, "both") >= 4, PATIENCE)
        asked = {str(number): requestor.ask("both") for number in range(12)}
        wait_for_all(world, asked)
        where = [next(iter(provider_of(world, one))) for one in asked.values()]
        used = [node for one in asked.values() for node in requestor.accept(one)]
        requestor.give_back(*used)
        requestor.wait_gone(used, PATIENCE)
    judge(world)
    return f"12 requests: {where.count('machines')} got a machine, {where.count('one')} a node of ours"


@row(
    "beside-metastatic",
    "Nodepool's driver metastatic takes its backing nodes from our provider, also when it is killed",
)
def beside_metastatic(lab: Lab) -> str:
    """Its locks on backing nodes outlive it; we delete these when it has given them back, and not before."""
    world = lab.world()
    labels = [{"name": "slice", "backing-label": "small", "max-parallel-jobs": 2, "grace-time": 1}]
    slices = {
        "name": "slices",
        "driver": "metastatic",
        "pools": [{"name": "main", "max-servers": 10, "labels": labels}],
    }
    stock = configure(world, slices)
    requestor = world.site.requestor
    with both(world, stock) as (_ours, theirs):
        all_at_work(world, *OURS, "slices")
        asked = [requestor.ask("slice") for _number in range(3)]
        for one in asked:
            requestor.wait_for(one, "fulfilled", PATIENCE)
        backing = {name for name, one in requestor.nodes().items() if one["type"] == ["small"]}
        assert len(backing) == 2, requestor.nodes()
        used = [node for one in asked for node in requestor.accept(one)]
        theirs.kill()
        eventually(lambda: not registered(world, "slices"), PATIENCE)
        time.sleep(10)
        states = {name: requestor.node(name)["state"] for name in backing}
        assert set(states.values()) == {"in-use"}, states
        theirs.start()
        all_at_work(world, "slices")
        requestor.give_back(*used)
        requestor.wait_gone([*used, *backing], PATIENCE)
        eventually(lambda: world.site.cloud.servers() == [], PATIENCE)
    crossed = [text for text in trespasses(world) if ": ours: " in text]
    assert not crossed and not failures(world), (crossed, failures(world))
    return "3 slices on 2 of our nodes, which stayed while Nodepool's launcher was dead, and were deleted at the end"


@row("beside-soak", "random requests, kills and stops of both sides; INTEROP_LIVES says how many lives")
def beside_soak(lab: Lab) -> str:
    """Every request is served, none fails, nobody touches what is the other's, and nothing is left."""
    lives, seed = int(os.environ.get("INTEROP_LIVES", "60")), int(os.environ.get("INTEROP_SEED", "1"))
    chance = random.Random(seed)
    world = lab.world()
    port, key = lab.stack.enter_context(sshd(world.site.folder))
    stock = configure(world, own_provider("theirs", "theirs", "both"), machines(port, key))
    world.site.cloud.settings(boot=1.0)
    kinds = (("small",), ("medium",), ("theirs",), ("machine",), ("both",), ("both", "small"), ("both", "theirs"))
    with both(world, stock) as (ours, theirs):
        all_at_work(world, *OURS, "theirs", "machines")
        soak = _Soak(world, ours, theirs, chance)
        asked = 0
        while asked < lives or soak.waiting:
            while asked < lives and len(soak.waiting) < 12:
                soak.ask(*chance.choice(kinds))
                asked += 1
            soak.turn(strikes=asked < lives)
        requestor = world.site.requestor
        eventually(lambda: all(one["provider"] == "machines" for one in requestor.nodes().values()), PATIENCE)
        eventually(lambda: world.site.cloud.servers() == [], PATIENCE)
    judge(world)
    lost = f"{soak.failed} of them lost by Nodepool's launcher alone after a stop, which had them"
    return f"{lives} requests through {soak.strikes} kills and stops (seed {seed}), {lost}; nothing was left"


class _Soak:
    """Requestors who take nodes as they come, and somebody who kills or stops one of the launchers now and then."""

    def __init__(self, world: World, ours: Ours, theirs: Daemon, chance: random.Random) -> None:
        self._world = world
        self._requestor = world.site.requestor
        self._sides = (ours, theirs)
        self._chance = chance
        self.waiting: dict[str, float] = {}
        self.strikes = 0
        self.failed = 0
        self._struck: tuple[Ours | Daemon, str] | None = None
        self._next = time.monotonic() + 5

    def ask(self, *labels: str) -> None:
        """Request nodes."""
        self.waiting[self._requestor.ask(*labels)] = time.monotonic()

    def turn(self, *, strikes: bool) -> None:
        """Take and return what is there; strike, or end the last strike, when it is time."""
        now = time.monotonic()
        for request, since in list(self.waiting.items()):
            state = self._requestor.state(request)
            assert now - since < 2 * PATIENCE, f"request {request} is {state} after {now - since:.0f} s"
            if state == "failed":
                # The judge looks at it in the end: Nodepool's launcher declines what it was stopped with.
                self._requestor.cancel(request)
                self.failed += 1
            if state == "fulfilled":
                self._use(request)
            if state in ("failed", "fulfilled"):
                del self.waiting[request]
        if now >= self._next and (self._struck is not None or strikes):
            self._strike()
        time.sleep(0.1)

    def _use(self, request: str) -> None:
        """Take the nodes, and give them back at once.

        A launcher of Nodepool that was stopped for longer than its session lives deletes its nodes that boot, and still
        fulfils their request with them, also when it is alone in the tree. Zuul then requests nodes again.
        """
        try:
            self._requestor.give_back(*self._requestor.accept(request))
        except (AssertionError, NoNodeError, TypeError) as problem:
            told = story(self._world, request)
            # A request that it left pending without a lock is ours to set back; the judge looks at locks in the end.
            if any(" ours: " in line and "/nodes/" in line for line in told):
                raise AssertionError("\n".join(told)) from problem
            self.failed += 1
            for node in list(self._requestor.locks):
                self._requestor.unlock(node)
            if self._requestor.state(request) is not None:
                self._requestor.cancel(request)

    def _strike(self) -> None:
        if self._struck is None:
            side, how = self._chance.choice(self._sides), self._chance.choice(("kill", "stop"))
            self._struck, self.strikes = (side, how), self.strikes + 1
            _signal(side, signal.SIGSTOP) if how == "stop" else side.kill()
            self._next = time.monotonic() + self._chance.choice((1, 5, 15, 25))
        else:
            side, how = self._struck
            self._struck = None
            _wake(side) if how == "stop" else side.start()
            self._next = time.monotonic() + self._chance.uniform(5, 15)
