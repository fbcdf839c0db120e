# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is adopted of uploads that were left behind, and what is not."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.images_dir import ImagesDir
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.cloud_client import CloudClient
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.cloud_images import (
    MD5_KEY,
    SHA256_KEY,
    CloudImages,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.store import Store
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.adopt_upload import adopt_upload
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.upload import marks_of
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.upload_resources import (
    UploadResources,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.image_snapshot import ImageState, ImagesView
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Image
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import UploadState
from tests.support.image_views import NOW, build, build_id, config, upload, view

CONTENT = b"abc"
SITE = "a" * 32
MD5 = hashlib.md5(CONTENT).hexdigest()


class Cloud(CloudImages):
    """Images as they are; what is compared is compared by the real thing."""

    def __init__(self, *images: Image) -> None:
        self._provider = "cloud1"
        self._converts = self.uses_tasks = self._offers_tasks = False
        self.there = list(images)

    def find(self, marks: Any) -> list[Image]:
        return [image for image in self.there if marks.items() <= image.properties.items()]


class World:
    """An upload that was left behind by somebody who was ended, in state uploading."""

    def __init__(self, folder) -> None:
        (folder / f"debian-{build_id(1)}.qcow2").write_bytes(CONTENT)
        self.upload = upload(1, state=UploadState.UPLOADING)
        self.view: ImagesView = view(None, ImageState("debian", builds=[build(1)], uploads=[self.upload]))
        properties = {**marks_of(self.upload, SITE), "checksum": MD5, "disk_format": "qcow2"}
        self.image = Image("id-1", "debian-1", "active", properties, size=len(CONTENT))
        self.written: list[str] = []
        self.locked = False
        self.converts = False
        images = SimpleNamespace(lock_provider=self._lock, write_upload=self._write)
        self.resources = UploadResources(
            store=cast(Store, SimpleNamespace(images=images)),
            images_dir=ImagesDir(str(folder)),
            site=SITE,
            view=lambda key: self.view,
            config=lambda: self.view.config,
            say=lambda line: None,
            store_patience=1.0,
            hook_timeout=1.0,
            clock=lambda: NOW,
        )

    def _lock(self, *_place: str) -> Any:
        return None if self.locked else SimpleNamespace(release=lambda: None)

    def _write(self, written, *, held, if_unchanged) -> None:
        assert held is not None and if_unchanged
        self.written.append(written.state)

    def adopt(self, *images: Image) -> bool:
        cloud = Cloud(*images)
        cloud._converts = self.converts
        client = cast(CloudClient, SimpleNamespace(images=cloud))
        adopted = adopt_upload(self.upload, client, self.resources)
        assert self.written == (["ready"] if adopted else [])
        assert (self.upload.state == UploadState.READY) is adopted
        return adopted


@pytest.fixture
def world(tmp_path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("known", [None, "id-1"])
def test_what_is_whole_is_adopted(world, known):
    world.upload.external_id = known
    assert world.adopt(world.image)
    found = world.upload
    assert (found.external_id, found.external_name, found.format) == ("id-1", "debian-1", "qcow2")
    assert found.state_time == NOW


def of(image, **properties):
    return replace(image, properties={**image.properties, **properties})


@pytest.mark.parametrize(
    "change",
    [
        lambda image: replace(image, status="saving"),
        lambda image: replace(image, size=None),
        lambda image: replace(image, size=2),
        lambda image: of(image, checksum="0" * 32),
        lambda image: of(image, checksum=""),
        lambda image: of(image, disk_format="raw"),
        lambda image: of(image, nodepool_upload_id="0000000009"),
        lambda image: of(image, nodepool_build_id=build_id(2)),
        lambda image: of(image, nodepool_provider_name="cloud2"),
        lambda image: of(image, stackci_site="b" * 32),
        lambda image: of(image, instance_uuid="1234"),
        lambda image: of(image, base_image_ref="1234"),
    ],
    ids=[
        *("status", "no size", "size", "checksum", "no checksum", "format", "upload", "build", "provider"),
        *("another tree", "snapshot", "snapshot of a volume"),
    ],
)
def test_anything_less_is_not(world, change):
    assert not world.adopt(change(world.image))


def converted(image, **properties):
    """The image after a cloud has made other data of it."""
    return of(replace(image, size=900), checksum="0" * 32, **properties)


def test_a_converted_image_that_was_created_for_the_file_is_adopted(world):
    assert world.adopt(converted(world.image, disk_format="raw", **{MD5_KEY: MD5}))
    assert world.upload.format == "qcow2", "what was sent, as after an upload"


def test_an_image_written_anew_in_its_format_needs_the_option_of_the_cloud(world):
    image = converted(world.image, **{MD5_KEY: MD5})
    assert not world.adopt(image)
    world.converts = True
    assert world.adopt(image)


@pytest.mark.parametrize(
    "change",
    [
        lambda image: of(image, **{MD5_KEY: "0" * 32}),
        lambda image: of(image, **{MD5_KEY: ""}),
        lambda image: of(image, **{SHA256_KEY: "0" * 64}),
        lambda image: replace(image, status="importing"),
        lambda image: replace(image, size=0),
        lambda image: replace(image, size=None),
    ],
    ids=["of another file", "of unknown data", "other sha256", "under way", "empty", "no size"],
)
@pytest.mark.parametrize("disk_format", ["raw", "qcow2"])
def test_a_converted_image_that_may_be_of_another_file_is_not(world, change, disk_format):
    world.converts = True
    assert not world.adopt(change(converted(world.image, disk_format=disk_format, **{MD5_KEY: MD5})))


def test_a_snapshot_or_another_trees_image_beside_it_says_nothing(world):
    others = [of(world.image, instance_uuid="1234"), of(world.image, stackci_site="b" * 32)]
    assert world.adopt(world.image, *(replace(other, id=f"other-{n}") for n, other in enumerate(others)))


def test_what_an_earlier_version_uploaded_bears_no_tree(world):
    earlier = {key: value for key, value in world.image.properties.items() if key != "stackci_site"}
    assert world.adopt(replace(world.image, properties=earlier))


def test_what_is_not_one_image_is_not(world):
    assert not world.adopt()
    assert not world.adopt(world.image, replace(world.image, id="id-2"))
    world.upload.external_id = "id-3"
    assert not world.adopt(world.image)


def test_what_would_not_be_uploaded_now_is_not(world):
    state = world.view.images["debian"]
    newer = replace(state, builds=[*state.builds, build(2, age=-1)])
    world.view = replace(world.view, images={"debian": newer})
    assert not world.adopt(world.image)
    world.view = view(config(paused=[("cloud1", "debian")]), state)
    assert not world.adopt(world.image)


def test_a_hook_of_which_nobody_knows_speaks_against_it(world):
    provider = replace(world.view.config.providers["cloud1"], post_upload_hook="/usr/bin/true")
    world.view = replace(world.view, config=replace(world.view.config, providers={"cloud1": provider}))
    assert not world.adopt(world.image)


def test_who_uploads_meanwhile_is_not_disturbed(world):
    world.locked = True
    assert not world.adopt(world.image)


def test_a_file_that_is_gone_cannot_be_compared_with(world, tmp_path):
    (tmp_path / f"debian-{build_id(1)}.qcow2").unlink()
    assert not world.adopt(world.image)
