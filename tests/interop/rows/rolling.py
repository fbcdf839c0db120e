# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree that one side has written is served by the other: nodes ready, in use, held, building at that moment."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.interop.filling import build_directly, configure
from tests.interop.lab import Lab, World, row
from tests.support.ansible_run import ModuleProcess
from tests.support.builder_case import image
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import label, pool, provider
from tests.support.launcher_process import LauncherProcess

PATIENCE = 300.0
"""Nodepool looks for lost requests once a minute."""
SLOW_BOOT = 3600.0
FAKE = "fake"
Working = Callable[[World], Any]


@contextmanager
def ours(world: World) -> Iterator[LauncherProcess]:
    """Our launcher's playbook; killed at the end."""
    with LauncherProcess(world.site, launcher_duration=1800, launcher_until="deadline") as process:
        yield process


@contextmanager
def theirs(world: World) -> Iterator[Any]:
    """Nodepool's launcher; killed at the end."""
    with world.stock.launcher("--no-webapp") as process:
        yield process


@dataclass
class Left:
    """What the first launcher leaves: one node of each kind, and a request whose node boots."""

    ready: str
    used: str
    held: str
    building: str
    open_request: str

    def servers(self) -> set[str]:
        """Names of the servers that must not be touched."""
        return {f"np{node}" for node in (self.ready, self.used, self.held)}


def _fill(world: World) -> Left:
    """Have the launcher that works make it all."""
    requestor = world.site.requestor
    asked = [requestor.ask("small") for _number in range(2)]
    for request in asked:
        requestor.wait_for(request, "fulfilled", PATIENCE)
    (used,), (held,) = (requestor.accept(request) for request in asked)
    requestor.hold_at_once(held)
    eventually(lambda: _free(world), PATIENCE)
    (ready,) = _free(world)
    world.site.cloud.settings(boot=SLOW_BOOT)
    known = set(requestor.nodes())
    open_request = requestor.ask("medium")
    eventually(lambda: _booting(world, known), PATIENCE)
    (building,) = _booting(world, known)
    return Left(ready, used, held, building, open_request)


def _free(world: World) -> list[str]:
    nodes = world.site.requestor.nodes().items()
    return [node for node, found in nodes if found["state"] == "ready" and found["allocated_to"] is None]


def _booting(world: World, known: set[str]) -> list[str]:
    """New nodes for the request, not spares, whose records name their servers."""
    nodes = world.site.requestor.nodes().items()
    return [node for node, found in nodes if node not in known and found["type"] == ["medium"] and found["external_id"]]


def roll(lab: Lab, first: Working, second: Working) -> str:
    """Kill the first launcher with everything under way; the second one serves the tree to its end."""
    world = lab.world()
    world.site.configure(
        provider("one", pool("main", label("small"), label("medium"))), labels={"small": {"min-ready": 1}}
    )
    requestor = world.site.requestor
    with first(world):
        left = _fill(world)
    world.site.cloud.settings(boot=0.2)
    # The locks of the killed launcher end with its session.
    eventually(lambda: not requestor.is_locked(left.building), 120)
    with second(world):
        requestor.wait_for(left.open_request, "fulfilled", PATIENCE)
        (served,) = requestor.nodes_of(left.open_request)
        states = {node: found["state"] for node, found in requestor.nodes().items()}
        assert (states[left.used], states[left.held]) == ("in-use", "hold"), states
        assert left.servers() <= {server["name"] for server in world.site.cloud.servers()}
        taken = requestor.ask("small")
        requestor.wait_for(taken, "fulfilled", PATIENCE)
        assert requestor.nodes_of(taken) == [left.ready], "the ready node was not given to the next request"
        nodes = [*requestor.accept(left.open_request), *requestor.accept(taken)]
        requestor.give_back(*nodes, left.used)
        requestor.write_node(left.held, state="used")
        requestor.wait_gone([*nodes, left.used, left.held], PATIENCE)
        eventually(lambda: _only_ready(world), PATIENCE)
    how = "adopted" if served == left.building else "launched again"
    return f"ready, in use, held lived on; the node that booted was {how}; all were deleted in the end"


def _only_ready(world: World) -> bool:
    """Whether the one ready node of min-ready, and its server, is all that is left."""
    nodes = world.site.requestor.nodes()
    names = {server["name"] for server in world.site.cloud.servers()}
    return [node["state"] for node in nodes.values()] == ["ready"] and names == {f"np{node}" for node in nodes}


@row("roll-to-theirs", "our launcher is killed, Nodepool's takes over")
def roll_to_theirs(lab: Lab) -> str:
    """Back."""
    return roll(lab, ours, theirs)


@row("roll-to-ours", "Nodepool's launcher is killed, ours takes over")
def roll_to_ours(lab: Lab) -> str:
    """Over."""
    return roll(lab, theirs, ours)


@row("roll-builder", "our builder's images go on under Nodepool's builder, and the other way round")
def roll_builder(lab: Lab) -> str:
    """A build of each, in turns, with one images-dir; the third takes the place of the first."""
    world = lab.world()
    configure(world, min_ready=0, images=(image(FAKE),))
    build_directly(world)
    (first,) = world.host.builds(FAKE)
    with world.stock.builder():
        second = _another(world, {first})
        eventually(lambda: _is_uploaded(world, second), PATIENCE)
        assert first in world.host.builds(FAKE), "Nodepool's builder deleted the build before"
    world.stock.say("image-build", FAKE)
    build_directly(world)
    (third,) = world.host.builds(FAKE).keys() - {first, second}
    build_directly(world)
    assert set(world.host.builds(FAKE)) == {second, third}, world.host.builds(FAKE)
    with world.stock.builder():
        fourth = _another(world, {first, second, third})
        eventually(lambda: set(world.host.builds(FAKE)) == {third, fourth}, PATIENCE)
        eventually(lambda: _is_uploaded(world, fourth), PATIENCE)
    left = {name for name in world.host.files() if FAKE in name}
    assert left == {f"{FAKE}-{one}.{form}" for one in (third, fourth) for form in ("raw", "qcow2")}, left
    assert [len(world.host.in_cloud(name)) for name in ("one", "two")] == [2, 2]
    return "four builds in turns: each kept the two newest, and deleted files, images and records of the others"


def _another(world: World, known: set[str]) -> str:
    """Have the builder that works make one more; its id."""
    world.stock.say("image-build", FAKE)
    eventually(lambda: [one for one in _ready(world) if one not in known], PATIENCE)
    (found,) = set(_ready(world)) - known
    return found


def _ready(world: World) -> list[str]:
    return [one for one, record in world.host.builds(FAKE).items() if record["state"] == "ready"]


def _is_uploaded(world: World, build: str) -> bool:
    uploads = [world.host.uploads(FAKE, name).get(build, []) for name in ("one", "two")]
    return [[one["state"] for one in found] for found in uploads] == [["ready"], ["ready"]]


@row("roll-killed-builders", "each builder is killed in the middle of a build; the other one clears up and builds")
def roll_killed_builders(lab: Lab) -> str:
    """building and uploading records of the dead."""
    world = lab.world()
    hold = world.site.folder / "hold"
    hold.touch()
    configure(world, min_ready=0, images=(image(FAKE, env_vars={"FAKE_HOLD": str(hold)}),))
    with world.stock.builder() as builder:
        eventually(lambda: world.host.builds(FAKE), PATIENCE)
        builder.stop(signal.SIGKILL)
    (dead,) = world.host.builds(FAKE)
    hold.unlink()
    eventually(lambda: not world.site.requestor.children(f"/nodepool/images/{FAKE}/builds/lock"), 120)
    build_directly(world)
    build_directly(world)
    (made,) = world.host.builds(FAKE)
    assert made != dead and _is_uploaded(world, made)
    assert not [name for name in world.host.files() if dead in name], world.host.files()
    hold.touch()
    world.stock.say("image-build", FAKE)
    options = {**world.site.files(), "first_build_room": 0, "state_dir": str(world.site.folder / "state")}
    with ModuleProcess("dib_build", options, world.site.folder, "killed.json"):
        eventually(lambda: len(world.host.builds(FAKE)) == 2, PATIENCE)
    (ours_dead,) = world.host.builds(FAKE).keys() - {made}
    hold.unlink()
    eventually(lambda: not world.site.requestor.children(f"/nodepool/images/{FAKE}/builds/lock"), 120)
    with world.stock.builder():
        eventually(lambda: ours_dead not in world.host.builds(FAKE), PATIENCE)
        eventually(lambda: len(_ready(world)) == 2, PATIENCE)
        (again,) = set(_ready(world)) - {made}
        eventually(lambda: _is_uploaded(world, again), PATIENCE)
    return "the abandoned builds are gone, and those of the other builder are uploaded"
