# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""That a lock is gone is known sooner than what was written under it: nothing is built, sent or deleted by that."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.images_dir import ImagesDir
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.cloud_client import CloudClient
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.builds.build_cycle import BuildsCycle
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.deletion import (
    delete_build,
    delete_upload,
    mark_build,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.upload import (
    Ended,
    UploadJob,
    UploadRun,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.upload_resources import (
    UploadResources,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.due_builds import BuildCase
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.due_uploads import UploadCase, UploadCode
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.image_snapshot import ImageState, ImagesView
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.retention import (
    DeleteBuild,
    DeleteUpload,
    DeletionCode,
    MarkBuild,
    plan_deletions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import (
    Build,
    BuildState,
    Upload,
    UploadState,
)
from tests.support.image_views import NOW, build, build_id, config, view
from tests.support.memory_zookeeper import LOCKS, MemoryZooKeeper
from tests.support.virtual_time import Agenda

LATE = 5.0


class World:
    """A builder that knows of locks at once, and of everything else late; somebody else, who is always first."""

    def __init__(self, folder: Any) -> None:
        self.agenda = Agenda()
        self.keeper = MemoryZooKeeper(self.agenda)
        self.other = self.keeper.store()
        self.mine = self.keeper.store()
        self.deleted: list[str] = []
        images = SimpleNamespace(
            uses_tasks=False, offers_tasks=lambda: False, delete=self.deleted.append, find=lambda marks: []
        )
        self.client = cast(CloudClient, SimpleNamespace(images=images))
        self.resources = UploadResources(
            store=self.mine,
            images_dir=ImagesDir(str(folder)),
            site="a" * 32,
            view=lambda key: self.view(),
            config=lambda: self.view().config,
            say=lambda line: None,
            store_patience=1.0,
            hook_timeout=1.0,
            clock=lambda: NOW,
        )

    def late(self) -> None:
        """From now on."""
        self.keeper.lag = lambda kind: 0.0 if kind == LOCKS else LATE

    def catch_up(self) -> None:
        """The news is there."""
        self.agenda.run(2 * LATE)

    def view(self) -> ImagesView:
        """As the builder knows the world."""
        images = self.mine.images
        return view(None, ImageState("debian", builds=images.builds("debian"), uploads=images.uploads("debian")))

    def build(self, number: int = 1, state: str = BuildState.READY) -> Build:
        """One that somebody has made."""
        made = build(number, state)
        self.other.images.create_build(made)
        return made

    def upload(self, number: int = 1, state: str = UploadState.UPLOADING) -> Upload:
        """One that somebody has made or is making."""
        made = Upload(image="debian", build_id=build_id(number), provider="cloud1", external_id="id-1")
        made.set_state(state, NOW)
        self.other.images.create_upload(made)
        return made

    def finish(self, upload: Upload) -> None:
        """It is ready."""
        upload.set_state(UploadState.READY, NOW)
        self.other.images.write_upload(upload)

    def planned(self, kind: type) -> Any:
        """What the builder wants to do of that kind."""
        (found,) = [each for each in plan_deletions(self.view()) if isinstance(each, kind)]
        return found

    def send(self) -> str:
        """Upload the first build, which seems to be missing."""
        job = UploadJob(
            case=UploadCase("cloud1", "debian", True, UploadCode.MISSING, "missing", build=build(1)),
            build=build(1),
            provider=config().providers["cloud1"],
            diskimage=config().diskimages["debian"],
            judge=lambda seen: UploadCase("cloud1", "debian", False, UploadCode.CURRENT, "judged"),
        )
        result = UploadRun(job, self.client, self.resources).run()
        assert result.ended == Ended.SKIPPED
        return result.why


@pytest.fixture
def world(tmp_path) -> World:
    return World(tmp_path)


def test_an_upload_that_is_ready_after_all_is_not_deleted(world):
    world.build()
    made = world.upload()
    planned = world.planned(DeleteUpload)
    assert planned.code == DeletionCode.ABANDONED
    world.late()
    world.finish(made)
    result = delete_upload(planned, world.client, world.resources)
    assert (result.done, result.skipped, world.deleted) == (False, True, [])
    there = world.other.images.read_upload(made)
    assert there is not None and there.state == UploadState.READY


def test_an_upload_that_nobody_makes_any_more_is_deleted(world):
    world.build()
    made = world.upload()
    result = delete_upload(world.planned(DeleteUpload), world.client, world.resources)
    assert (result.done, world.deleted) == (True, ["id-1"])
    assert world.other.images.read_upload(made) is None


@pytest.mark.parametrize("change", [World.upload, lambda world: world.finish(world.upload())])
def test_what_somebody_has_sent_a_moment_ago_is_not_sent_again(world, change: Callable[[World], Any]):
    world.build()
    assert world.send() == "judged"
    world.late()
    change(world)
    assert world.send() == "something has just changed"
    world.catch_up()
    assert world.send() == "judged"


def test_what_is_on_its_way_out_is_not_sent(world):
    made = world.build()
    world.late()
    made.set_state(BuildState.DELETING, NOW)
    world.other.images.write_build(made)
    assert world.send() == "something has just changed"


def test_a_build_that_has_changed_is_not_marked_for_deletion(world):
    made = world.build(state=BuildState.FAILED)
    planned = world.planned(MarkBuild)
    world.late()
    made.set_state(BuildState.READY, NOW)
    world.other.images.write_build(made)
    assert not mark_build(planned, world.resources)
    there = world.other.images.read_build("debian", made.id)
    assert there is not None and there.state == BuildState.READY


def test_a_build_goes_only_when_no_upload_of_it_is_left(world):
    made = world.build(state=BuildState.DELETING)
    planned = world.planned(DeleteBuild)
    world.late()
    world.upload()
    assert not delete_build(planned, world.resources)
    assert world.other.images.read_build("debian", made.id) is not None


def test_what_somebody_has_built_a_moment_ago_is_not_built_again(world):
    """The image's lock is free, and the build that was made under it is not known yet."""
    world.build(1)
    judged: list[str] = []

    def judge(_seen: ImagesView, name: str, *, holding: bool) -> Any:
        assert holding
        judged.append(name)
        return SimpleNamespace(due=False)

    cycle = cast(
        BuildsCycle,
        SimpleNamespace(
            _context=SimpleNamespace(store=world.mine),
            _judge=judge,
            _view=world.view,
        ),
    )
    case = cast(BuildCase, SimpleNamespace(image="debian"))
    world.late()
    world.build(2)
    assert not BuildsCycle._build(cycle, case)
    assert judged == []
    world.catch_up()
    assert not BuildsCycle._build(cycle, case)
    assert judged == ["debian"]
