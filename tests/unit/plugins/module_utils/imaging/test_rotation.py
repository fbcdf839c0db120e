# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plans carried out for months in a world where anything may fail at any time."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.due_builds import due_builds
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.due_uploads import judge_uploads, missing_first
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.image_snapshot import ImageState
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.retention import (
    DeleteBuild,
    DeleteFiles,
    DeleteUpload,
    MarkBuild,
    abandoned_builds,
    plan_deletions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import BuildState, UploadState
from tests.support.effort import examples
from tests.support.image_views import NOW, build, build_id, config, files, judge_builds, upload, view

PROVIDERS = ("a", "b")
STEP = 30000.0


class World:
    """One builder, one image, two clouds.

    *clouds* holds what is really there: (provider, build number, serial). *disk*: the builds with files.
    """

    def __init__(self, seed, trouble):
        self.chance = random.Random(seed)
        self.trouble = trouble
        self.config = config(["debian"], {name: ["debian"] for name in PROVIDERS})
        self.now = NOW
        self.number = 0
        self.builds, self.uploads, self.disk, self.clouds = {}, {}, set(), set()
        self.dead = set()

    def fails(self):
        return self.chance.random() < self.trouble

    def view(self):
        on_disk = [file for number in sorted(self.disk) for file in files(number, "qcow2")]
        state = ImageState("debian", builds=list(self.builds.values()), uploads=list(self.uploads.values()))
        return replace(view(self.config, state, files=on_disk), now=self.now)

    def step(self):
        """One look of each cycle, everything that was planned attempted once."""
        self.now += STEP
        self.dead = {name for name in PROVIDERS if self.fails()}
        for made in abandoned_builds(self.view()):
            self.builds[made.id].set_state(BuildState.FAILED, self.now)
        for _case in due_builds(judge_builds(self.view())):
            self.build()
        for case in (case for case in missing_first(judge_uploads(self.view())) if case.due):
            self.upload(case)
        for deletion in plan_deletions(self.view()):
            if not self.fails():
                self.carry_out(deletion)

    def build(self):
        self.number += 1
        made = build(self.number, BuildState.BUILDING, age=NOW - self.now)
        self.builds[made.id] = made
        if self.fails():
            return  # killed: the record stays
        self.disk.add(self.number)
        if not self.fails():
            made.set_state(BuildState.READY, self.now)

    def upload(self, case):
        number = int(case.build.id, 16)
        serial = 1 + max((int(each.id) for each in self.uploads.values() if each.build_id == case.build.id), default=0)
        made = upload(number, case.provider, UploadState.UPLOADING, age=NOW - self.now, serial=serial)
        self.uploads[made.path] = made
        if self.fails():
            return
        assert number in self.disk
        self.clouds.add((case.provider, number, serial))
        if case.provider in self.dead or self.fails():
            return
        made.set_state(UploadState.READY, self.now)

    def carry_out(self, deletion):
        if isinstance(deletion, DeleteUpload):
            stored = self.uploads[deletion.upload.path]
            stored.set_state(UploadState.DELETING, self.now)
            if stored.provider in self.dead or self.fails():
                return
            self.clouds.discard((stored.provider, int(stored.build_id, 16), int(stored.id)))
            if not self.fails():
                del self.uploads[stored.path]
        elif isinstance(deletion, MarkBuild):
            self.builds[deletion.build.id].set_state(BuildState.DELETING, self.now)
        elif isinstance(deletion, DeleteFiles):
            number = int(deletion.build_id, 16)
            assert not any(each.build_id == deletion.build_id for each in self.uploads.values())
            assert not any(there == number for _provider, there, _serial in self.clouds)
            self.disk.discard(number)
        else:
            assert isinstance(deletion, DeleteBuild)
            del self.builds[deletion.build_id]

    def newest(self):
        """The two newest ready builds."""
        return sorted(each.id for each in self.builds.values() if each.state == BuildState.READY)[-2:]

    def in_use(self):
        """Provider → the two newest builds that are ready there."""
        ready = {each.id: each.state_time for each in self.builds.values() if each.state == BuildState.READY}
        return {
            provider: sorted(
                {
                    each.build_id
                    for each in self.uploads.values()
                    if each.provider == provider and each.state == UploadState.READY and each.build_id in ready
                },
                key=ready.__getitem__,
            )[-2:]
            for provider in PROVIDERS
        }


def only_newer(before, after):
    """True when nothing was lost but what made way for something newer."""
    return len(after) >= len(before) and all(build > max(before, default="") for build in set(after) - set(before))


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.05, 0.3, 0.7]))
def test_current_and_previous_survive_months_of_trouble_and_nothing_else_stays(seed, trouble):
    world = World(seed, trouble)
    for _step in range(60):
        before, ready_before = world.in_use(), world.newest()
        world.step()
        after, ready_after = world.in_use(), world.newest()
        assert only_newer(ready_before, ready_after)
        assert {int(build, 16) for build in ready_after} <= world.disk
        for provider in PROVIDERS:
            assert only_newer(before[provider], after[provider])
            there = {number for name, number, _serial in world.clouds if name == provider}
            assert {int(build, 16) for build in after[provider]} <= there
    world.trouble = 0.0
    for _step in range(12):
        world.step()
    ready = sorted(world.builds)[-2:]
    assert world.in_use() == dict.fromkeys(PROVIDERS, ready)
    # A step may end with the oldest still on its way out.
    assert len(world.builds) <= 3
    assert world.disk <= {int(build, 16) for build in world.builds}
    assert {there for _name, there, _serial in world.clouds} <= {int(build, 16) for build in world.builds}
    assert len(world.clouds) == len(world.uploads)


def test_the_world_rotates():
    world = World(1, 0.0)
    for _step in range(30):
        world.step()
    assert world.number >= 9
    assert build_id(1) not in world.builds
    assert 1 not in world.disk
