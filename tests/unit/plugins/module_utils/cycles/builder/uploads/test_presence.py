# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What counts as lost of what was uploaded: only what glance does not know when it is asked for it, twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.cloud_client import CloudClient
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.presence import (
    AFTER_ERROR,
    APART,
    EVERY,
    Presence,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.upload_workers import (
    UploadWorkers,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.image_snapshot import ImageState, ImagesView
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Image
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudUnavailable
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Upload, UploadState
from tests.support.image_views import build, config, upload, view


class Glance:
    """Images, what the list leaves out of them, and the calls; *down*: every call fails."""

    def __init__(self, *ids: str | None) -> None:
        self.ids = set(ids)
        self.unlisted: set[str | None] = set()
        self.down = False
        self.status: dict[str | None, str] = {}
        self.calls: list[str] = []
        self.images = SimpleNamespace(get=self._get)

    def list_own_images(self) -> list[Image]:
        self._call("list")
        return [self._image(image) for image in self.ids - self.unlisted]

    def _image(self, image: str | None) -> Image:
        return Image(str(image), "debian", self.status.get(image, "active"))

    def _get(self, image_id: str) -> Image | None:
        self._call(image_id)
        return self._image(image_id) if image_id in self.ids else None

    def _call(self, what: str) -> None:
        self.calls.append(what)
        if self.down:
            raise CloudUnavailable("down")


class AtOnce:
    """Lanes in which everything is done at once."""

    keys: frozenset[tuple[str, str]] = frozenset()

    def __init__(self) -> None:
        self.raised: list[Exception] = []
        """What the workers take for a defect, and log with a traceback."""

    def start(self, _kind: str, _key: Any, work: Callable[[], Any], take: Callable[[Any], None]) -> None:
        try:
            outcome = work()
        except Exception as problem:
            self.raised.append(problem)
            outcome = problem
        take(outcome)


class World:
    """A provider with two uploads."""

    def __init__(self) -> None:
        self.uploads = [upload(1, age=20), upload(2, age=10)]
        self.old, self.new = self.uploads
        self.glance = Glance(self.old.external_id, self.new.external_id)
        self.lines: list[str] = []
        self.now = 0.0
        self.workers = AtOnce()
        client, workers = cast(CloudClient, self.glance), cast(UploadWorkers, self.workers)
        self.presence = Presence(workers, lambda name: client, lambda: self.now, self.lines.append)

    def view(self) -> ImagesView:
        return view(config(), ImageState("debian", builds=[build(1), build(2)], uploads=self.uploads))

    def look(self, seconds: float = 0.0, concerns: Callable[[str, str], bool] = lambda image, name: True) -> set[str]:
        """Look after so many seconds: what is lost."""
        self.now += seconds
        self.presence.step(self.view(), concerns, self.now)
        return set(self.presence.lost)

    def lose(self, gone: Upload) -> None:
        self.glance.ids.discard(gone.external_id)


@pytest.fixture
def world() -> World:
    return World()


def test_one_list_now_and_then_is_all_that_is_asked_of_a_cloud_that_has_everything(world):
    for _number in range(10):
        assert world.look(EVERY / 10) == set()
    assert world.glance.calls == ["list"]
    assert world.look(EVERY) == set() and world.glance.calls == ["list", "list"]
    assert not world.presence.doubts and world.lines == []


@pytest.mark.parametrize("listed", [True, False])
def test_an_image_that_cannot_be_used_is_named_once_with_the_remedy_and_is_not_lost(world, listed):
    ident = world.new.external_id
    world.glance.unlisted = set() if listed else {ident}
    world.glance.status[ident] = "deactivated"
    for _number in range(3):
        assert world.look(EVERY) == set() and not world.presence.doubts
    (line,) = world.lines
    assert f"is deactivated ({ident}): reactivate it (openstack image set --activate {ident})" in line
    del world.glance.status[ident]
    assert world.look(EVERY) == set()
    assert "is usable again" in world.lines[-1] and len(world.lines) == 2


def test_what_is_denied_twice_is_lost(world):
    world.lose(world.new)
    assert world.look() == set() and world.presence.doubts
    assert world.look(APART / 2) == set()
    assert world.look(APART / 2) == {world.new.path} and not world.presence.doubts
    assert world.glance.calls == ["list", world.new.external_id, world.new.external_id]
    (line,) = world.lines
    assert str(world.new.external_id) in line and "is not in the cloud" in line
    assert world.look(APART) == {world.new.path}


def test_a_list_that_lacks_images_for_a_moment_loses_nothing(world):
    world.glance.unlisted = set(world.glance.ids)
    assert world.look() == set() and not world.presence.doubts
    assert world.look(EVERY) == set() and not world.presence.doubts


def test_images_that_are_denied_for_a_moment_are_not_lost(world):
    there, world.glance.ids = world.glance.ids, set()
    assert world.look() == set() and world.presence.doubts
    world.glance.ids = there
    assert world.look(APART) == set() and not world.presence.doubts
    assert world.look(EVERY) == set()


@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
def test_an_error_says_nothing(world, first):
    world.lose(world.new)
    if not first:
        assert world.look() == set()
    world.glance.down = True
    assert world.look(APART) == set() and not world.presence.doubts
    world.glance.down = False
    assert world.look(AFTER_ERROR) == set() and world.presence.doubts, "it begins anew"
    assert world.look(APART) == {world.new.path}
    assert world.workers.raised == [], "a cloud that is down is no defect of the builder, and leaves no traceback"


def test_a_record_that_has_changed_is_neither_doubted_nor_lost(world):
    world.lose(world.new)
    world.look()
    world.uploads[1] = replace(world.new, version=world.new.version + 1)
    assert world.look(APART) == set()
    assert world.look(APART) == {world.new.path}, "the changed one was doubted a moment ago, and again now"
    world.uploads[1] = replace(world.uploads[1], state=UploadState.DELETING)
    assert world.look() == set()


def test_only_what_is_ready_and_chosen_is_looked_for(world):
    world.lose(world.new)
    assert world.look(concerns=lambda image, name: False) == set() and world.glance.calls == []
    world.uploads[:] = [replace(each, state=UploadState.UPLOADING) for each in world.uploads]
    assert world.look() == set() and world.glance.calls == []
