# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What killed builds left behind, on the machine and in ZooKeeper."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.reaper import Reaped
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.scratch import scratch_claim
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.builds.clearing import (
    clear_machine,
    fail_abandoned,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.image_snapshot import ImageState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import BuildState
from tests.support.image_views import NOW, build, build_id, view
from tests.support.memory_zookeeper import MemoryZooKeeper
from tests.support.virtual_time import Agenda


class World:
    """A machine on which build 1 was killed, and its tree."""

    def __init__(self, folder, state):
        self.folder = str(folder)
        self.store = MemoryZooKeeper(Agenda()).store()
        self.made = build(1, state)
        self.store.images.create_build(self.made)
        with scratch_claim(self.folder, "debian", build_id(1)):
            pass
        self.file = folder / f"debian-{build_id(1)}.qcow2"
        self.file.write_bytes(b"x")
        self.lines: list[str] = []
        self.reaped: list[str] = []

    def reap(self, leftover):
        self.reaped.append(leftover.build_id)
        return Reaped(leftover.build_id, processes=2)

    def clear(self, store="own"):
        return clear_machine(self.store if store == "own" else None, self.folder, self.lines.append, self.reap)

    def fail(self):
        images = self.store.images
        seen = view(None, ImageState("debian", builds=tuple(images.builds("debian"))))
        return fail_abandoned(self.store, seen, NOW, self.lines.append)

    @property
    def state(self):
        return self.store.images.read_build("debian", build_id(1)).state


@pytest.mark.parametrize(("state", "stays"), [(BuildState.READY, True), (BuildState.BUILDING, False)])
def test_files_stay_only_when_the_record_is_ready(tmp_path, state, stays):
    world = World(tmp_path, state)
    (text,) = world.clear()
    assert text == f"removed what build {build_id(1)} of debian had left: 2 processes"
    assert (world.reaped, world.lines) == ([build_id(1)], [text])
    assert world.file.exists() == stays


def test_without_zookeeper_the_files_go(tmp_path):
    world = World(tmp_path, BuildState.READY)
    world.clear(store=None)
    assert not world.file.exists()


def test_a_living_build_is_left_alone(tmp_path):
    world = World(tmp_path, BuildState.BUILDING)
    with scratch_claim(world.folder, "debian", build_id(2)):
        world.clear()
    assert build_id(2) not in world.reaped


def test_an_abandoned_record_is_marked_as_failed(tmp_path):
    world = World(tmp_path, BuildState.BUILDING)
    assert world.fail() == [build_id(1)]
    assert world.state == BuildState.FAILED
    assert world.fail() == []


def test_a_record_whose_lock_is_held_is_left_alone(tmp_path):
    world = World(tmp_path, BuildState.BUILDING)
    held = world.store.images.lock_build("debian", build_id(1))
    assert world.fail() == []
    assert world.state == BuildState.BUILDING
    held.release()
