# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loads. Each is run on one launcher, in a world of its own, and returns figures."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tests.bench.figures import ratio
from tests.bench.launcher import BenchError
from tests.bench.peer.measuring import Figures, Meter, slowest_boot
from tests.bench.peer.sides import Side, settle
from tests.bench.rooms.pressure_fairness import BOOT, DELETE, HELD, QUOTA, inversions, least, use_up
from tests.bench.world import Scene, World, until

SERVED_SECONDS = 300.0
GONE_SECONDS = 180.0


@dataclass(frozen=True)
class Room:
    """A load. *work*: (side, number of requests, quick) → figures.

    :param number: requests; *few*: with ``--quick``.
    """

    name: str
    title: str
    number: int
    few: int
    work: Callable[[Side, int, bool], Figures]

    def run(self, side: Side, quick: bool) -> Figures:
        """Measure one side."""
        return self.work(side, self.few if quick else self.number, quick)


def _scene(quota: int, boot: float | None = None, delete: float = 3.0, **more: object) -> Scene:
    chosen = {"boot": boot} if boot is not None else {}
    return Scene(quota=quota, delete=delete, guests=False, rate=0.0, tls=True, **chosen, **more)  # type: ignore[arg-type]


def _burst(side: Side, number: int, _quick: bool) -> Figures:
    with World(_scene(2 * number)) as world, side.start(world) as launcher:
        settle()
        meter = Meter(world, launcher)
        requests = world.requestor.ask(number)
        world.requestor.await_fulfilled(requests, SERVED_SECONDS)
        meter.look()
        bound = slowest_boot(world, meter.servers)
        _give_all_back(world, requests)
        return {**meter.figures(requests), "bound": bound, "thrown_away": world.creates() - number}


def _give_all_back(world: World, requests: list[str]) -> None:
    requestor = world.requestor
    nodes = [node for name in requests if name in requestor.fulfilled for node in requestor.accept(name)]
    for node in nodes:
        requestor.give_back(node)
    requestor.await_gone(nodes, GONE_SECONDS)


def _quota(side: Side, number: int, _quick: bool) -> Figures:
    scene = _scene(QUOTA, BOOT, DELETE)
    ideal = least(scene, number)
    with World(scene) as world, side.start(world) as launcher:
        settle()
        meter = Meter(world, launcher)
        requests = world.requestor.ask(number)
        use_up(world, requests, 5 * ideal + 60.0, launcher)
        order = inversions(requests, world.requestor.fulfilled)
        return {**meter.figures(requests), "bound": ideal, "out_of_order": order}


def _lies(side: Side, number: int, quick: bool) -> Figures:
    seconds = 20.0 if quick else 120.0
    with World(_scene(100, 2.0)) as world, side.start(world) as launcher:
        settle()
        meter = Meter(world, launcher)
        world.cloud.fault("sim", "POST /servers", "quota", lasts=seconds)
        lifted = time.time() + seconds
        requests = world.requestor.ask(number)
        world.requestor.await_fulfilled(requests, 3 * seconds + SERVED_SECONDS)
        return {**meter.figures(requests), "recovered": _recovered(world, requests, lifted)}


def _recovered(world: World, requests: list[str], since: float) -> float:
    """Seconds from *since* until the last was fulfilled; NaN when one is not."""
    done = world.requestor.fulfilled
    return max(done[name] for name in requests) - since if all(name in done for name in requests) else math.nan


def _silent(side: Side, number: int, quick: bool) -> Figures:
    seconds, patience = (15.0, 60.0) if quick else (60.0, 140.0)
    with World(_scene(100, 5.0)) as world, side.start(world) as launcher:
        settle()
        meter = Meter(world, launcher)
        rule = world.cloud.fault("sim", "GET /servers/detail", "hang")
        requests = world.requestor.ask(number)
        time.sleep(seconds)
        world.cloud.remove_fault("sim", rule)
        back = time.time()
        world.requestor.await_fulfilled(requests, patience)
        return {**meter.figures(requests), "recovered": _recovered(world, requests, back)}


def _crash(side: Side, number: int, _quick: bool) -> Figures:
    with World(_scene(100, 20.0)) as world:
        with side.start(world) as first:
            settle()
            requests = world.requestor.ask(number)
            if not until(lambda: world.creates() >= number, 60.0):
                raise BenchError(f"{world.creates()} of {number} servers were made: {first.tail()}")
            first.kill()
        time.sleep(5.0)
        began = time.time()
        with side.start(world) as second:
            meter = Meter(world, second)
            world.requestor.await_fulfilled(requests, SERVED_SECONDS)
            meter.look()
            figures = meter.figures(requests)
            del figures["calls_per_node"]  # the calls of the first one were not counted
            return {
                **figures,
                "recovered": _recovered(world, requests, began),
                "thrown_away": world.creates() - number,
            }


def _thousand(side: Side, number: int, quick: bool) -> Figures:
    with World(_scene(number)) as world, side.start(world) as launcher:
        settle()
        meter = Meter(world, launcher)
        requests = world.requestor.ask(number)
        world.requestor.await_fulfilled(requests, SERVED_SECONDS)
        meter.look()
        figures = {**meter.figures(requests), "bound": slowest_boot(world, meter.servers)}
        for name in requests:
            if name in world.requestor.fulfilled:
                world.requestor.accept(name)
        settle(5.0)
        return {**figures, **meter.rest(time.sleep, 20.0 if quick else 60.0)}


def _idle(side: Side, number: int, quick: bool) -> Figures:
    with World(_scene(20, 1.0)) as world, side.start(world) as launcher:
        settle()
        requests = world.requestor.ask(number)
        world.requestor.await_fulfilled(requests, SERVED_SECONDS)
        for name in requests:
            world.requestor.accept(name)
        settle(10.0)
        meter = Meter(world, launcher)
        rest = meter.rest(time.sleep, 20.0 if quick else 60.0)
        known = meter.figures([])
        return {**rest, **{name: known[name] for name in ("pss_module", "pss_tree")}}


IN_FLIGHT = (10, 20, 40, 80, 160, 320, 640)
FULL = 0.95
"""Cores; more than this of the launcher's one interpreter cannot be had."""
GROWTH = 1.05


def _sustained(side: Side, number: int, quick: bool) -> Figures:
    """More and more requests in flight, each node given back at once, until one core is full or no more comes out."""
    settling, seconds = (5.0, 10.0) if quick else (20.0, 60.0)
    best: Figures = {"nodes_per_minute": 0.0}
    with World(_scene(4 * max(IN_FLIGHT), 5.0, 1.0)) as world, side.start(world) as launcher:
        settle()
        stream = _Stream(world)
        for flight in [one for one in IN_FLIGHT if one <= number]:
            stream.keep(flight, settling)
            cpu, began, done = launcher.tree.cpu(), time.monotonic(), stream.done
            stream.keep(flight, seconds)
            took, lives = time.monotonic() - began, stream.done - done
            cpu = launcher.tree.cpu() - cpu
            per_minute = 60.0 * lives / took
            grows = per_minute > best["nodes_per_minute"] * GROWTH
            if per_minute > best["nodes_per_minute"]:
                best = {"nodes_per_minute": per_minute, "cores": cpu / took, "cpu_per_node": ratio(cpu, lives)}
            if cpu / took >= FULL or not grows:
                break
        known = Meter(world, launcher).figures([])
        return {**best, "refused": known["refused"], "pss_module": known["pss_module"], "pss_tree": known["pss_tree"]}


class _Stream:
    """Keeps requests in flight; each node is given back as soon as it is fulfilled. *done*: how many were."""

    def __init__(self, world: World) -> None:
        self._requestor = world.requestor
        self._waiting: set[str] = set()
        self.done = 0

    def keep(self, flight: int, seconds: float) -> None:
        """For so long."""
        requestor, end = self._requestor, time.monotonic() + seconds
        while time.monotonic() < end:
            served = [name for name in self._waiting if name in requestor.fulfilled]
            for name in served:
                self._waiting.discard(name)
                for node in requestor.accept(name):
                    requestor.give_back(node)
                self.done += 1
            if len(self._waiting) < flight:
                self._waiting |= set(requestor.ask(flight - len(self._waiting)))
            if not served:
                known = len(requestor.fulfilled)
                requestor.await_all(partial(_more_than, requestor.fulfilled, known), 0.2)


def _more_than(found: dict[str, float], known: int) -> bool:
    return len(found) > known


ROOMS = (
    Room("burst-100", "requests at once, plenty of quota", 100, 10, _burst),
    Room("burst-500", "requests at once, plenty of quota", 500, 20, _burst),
    Room("quota-20", f"requests, quota 20 (boot {BOOT:g} s, held {HELD:g} s, delete {DELETE:g} s)", 200, 30, _quota),
    Room("lies", "requests; limits claim room for 120 s while every create is refused", 30, 5, _lies),
    Room("silent", "requests; the server list is not answered for 60 s", 50, 5, _silent),
    Room("crash", "servers boot when the launcher is killed; it starts again after 5 s", 27, 5, _crash),
    Room("thousand", "live nodes", 1000, 30, _thousand),
    Room("idle", "nodes in use, no request", 10, 2, _idle),
    Room("sustained", "requests in flight at most: nodes per minute until one core is full", 640, 20, _sustained),
)
