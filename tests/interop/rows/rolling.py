# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images of one side's builder go on under the other's."""

from __future__ import annotations

import signal

from tests.interop.filling import build_directly, configure
from tests.interop.lab import Lab, World, row
from tests.support.builder_case import image
from tests.support.fixtures_zookeeper import eventually

PATIENCE = 300.0
FAKE = "fake"


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


@row("roll-killed-builders", "Nodepool's builder is killed in the middle of a build; ours clears up and builds")
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
    return "the abandoned build of Nodepool's builder is gone, ours is uploaded"
