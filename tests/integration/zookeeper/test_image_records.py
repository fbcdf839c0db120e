# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What builders write of images, looked at through a bare client as Nodepool would."""

from __future__ import annotations

import json
import uuid

import pytest
from kazoo.recipe.lock import Lock

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreConflict, StoreError, StoreGone
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import (
    Build,
    BuildState,
    Upload,
    UploadState,
)
from tests.support.fixtures_zookeeper import eventually, expire_session, new_store

ROOT = "/nodepool/images"


def new_build(store, image="debian", **values):
    build = Build(id=uuid.uuid4().hex, image=image, builder="host.example.org", builder_id="b-1", **values)
    build.set_state(values.get("state", BuildState.BUILDING), 100.0)
    store.images.create_build(build)
    return build


def new_upload(store, build, provider="cloud1", **values):
    upload = Upload(image=build.image, build_id=build.id, provider=provider, **values)
    upload.set_state(values.get("state", UploadState.UPLOADING), 200.0)
    store.images.create_upload(upload)
    return upload


def document(zk_client, path):
    return json.loads(zk_client.get(path)[0])


def test_a_build_from_its_creation_to_its_end(store, zk_client):
    build = new_build(store, formats=["qcow2", "raw"])
    path = f"{ROOT}/debian/builds/{build.id}"
    assert (build.path, build.version) == (path, 0)
    assert zk_client.get(f"{ROOT}/debian")[0] == b""
    assert document(zk_client, path)["formats"] == "qcow2,raw"
    assert store.images.build("debian", build.id) == build
    build.set_state(BuildState.READY, 300.0)
    build.username = "zuul"
    store.images.write_build(build)
    assert document(zk_client, path)["state"] == "ready"
    assert store.images.read_build("debian", build.id) == build
    new_upload(store, build)
    store.images.delete_build("debian", build.id)
    store.images.delete_build("debian", build.id)
    assert zk_client.exists(path) is None
    assert store.images.read_build("debian", build.id) is None
    eventually(lambda: store.images.builds("debian") == [] and store.images.uploads("debian") == [])


def test_builds_are_born_in_the_order_in_which_they_were_created(store):
    first, second = new_build(store), new_build(store)
    assert 0 < first.born < second.born
    first.set_state(BuildState.READY, 1.0)
    store.images.write_build(first)
    assert {build.id: build.born for build in store.images.builds("debian")} == {
        first.id: first.born,
        second.id: second.born,
    }


def test_what_is_no_build_is_refused(store):
    with pytest.raises(StoreError, match="'lock' is not a valid build id for 'debian'"):
        store.images.create_build(Build(id="lock", image="debian"))
    build = new_build(store)
    with pytest.raises(StoreConflict):
        store.images.create_build(Build(id=build.id, image="debian"))


def test_keys_of_others_survive_and_a_write_can_insist_on_what_was_read(store, zk_client):
    build = new_build(store)
    zk_client.set(build.path, json.dumps({"state": "ready", "state_time": 1.0, "theirs": [1]}).encode())
    with pytest.raises(StoreConflict):
        store.images.write_build(build, if_unchanged=True)
    read = store.images.read_build("debian", build.id)
    read.set_state(BuildState.DELETING, 2.0)
    store.images.write_build(read, if_unchanged=True)
    assert document(zk_client, build.path)["theirs"] == [1]


def test_an_upload_from_its_creation_to_its_end(store, zk_client):
    build = new_build(store, image="lock", state=BuildState.READY)
    held = store.images.lock_provider("lock", build.id, "lock")
    upload = new_upload(store, build, provider="lock")
    assert upload.id == "0000000001"  # as at Nodepool: the lock was there first
    assert upload.path == f"{ROOT}/lock/builds/{build.id}/providers/lock/images/0000000001"
    assert store.images.is_provider_locked("lock", build.id, "lock")
    upload.set_state(UploadState.READY, 300.0)
    upload.external_id, upload.format = "c0ffee", "raw"
    store.images.write_upload(upload, held=held)
    held.release()
    eventually(lambda: not store.images.is_provider_locked("lock", build.id, "lock"))
    assert document(zk_client, upload.path)["external_id"] == "c0ffee"
    upload.username = "ci"
    store.images.write_upload(upload)
    assert document(zk_client, upload.path)["state_time"] == 300.0, "another write makes it no younger"
    assert store.images.read_upload(upload) == upload
    assert store.images.uploads("lock") == [upload]
    assert store.images.newest_ready("lock", "lock") == upload
    store.images.delete_upload(upload)
    assert store.images.read_upload(upload) is None
    assert zk_client.get_children(f"{ROOT}/lock/builds/{build.id}/providers/lock/images") == ["lock"]
    assert new_upload(store, build, provider="lock").id == "0000000002"


def test_nothing_comes_back_to_life(store, zk_client):
    build = new_build(store)
    upload = new_upload(store, build)
    zk_client.delete(build.path, recursive=True)  # the cache may still believe in it
    with pytest.raises(StoreGone):
        store.images.write_build(build)
    with pytest.raises(StoreGone):
        store.images.write_upload(upload)
    with pytest.raises(StoreGone):
        new_upload(store, build)
    with pytest.raises(StoreGone):
        new_upload(store, build, provider="cloud2")
    assert store.images.lock_build("debian", build.id) is None
    assert store.images.lock_provider("debian", build.id, "cloud1") is None
    assert store.images.lock_provider("debian", build.id, "cloud3") is None
    assert store.images.lock_upload(upload) is None
    assert zk_client.exists(build.path) is None


def test_flags(store, zk_client):
    images = store.images
    assert (images.requested("debian"), images.is_paused("debian")) == (None, False)
    images.drop_request("debian")
    images.unpause("debian")
    images.request_build("debian")
    images.pause("debian")
    assert sorted(zk_client.get_children(f"{ROOT}/debian")) == ["pause", "request-build"]
    assert images.is_paused("debian")
    assert images.names() == ["debian"]
    requested, paused = images.requested("debian"), images.paused("debian")
    assert requested < paused
    images.request_build("debian")  # renewed
    images.pause("debian")  # left as it is
    assert images.paused("debian") == paused < images.requested("debian")
    build = new_build(store)
    assert images.requested("debian") < build.born
    images.drop_request("debian")
    images.unpause("debian")
    assert zk_client.get_children(f"{ROOT}/debian") == ["builds"]


def test_flags_of_nodepools_command_line(store, zk_client):
    build = new_build(store)
    zk_client.create(f"{ROOT}/debian/request-build")
    zk_client.create(f"{ROOT}/debian/pause")
    eventually(lambda: store.images.is_paused("debian"))
    assert build.born < store.images.requested("debian") < store.images.paused("debian")
    zk_client.delete(f"{ROOT}/debian/pause")
    eventually(lambda: not store.images.is_paused("debian"))


@pytest.mark.parametrize("which", ["image", "build", "provider", "upload"])
def test_each_lock_excludes_nodepool_and_is_excluded_by_it(store, zk_client, which):
    build = new_build(store)
    upload = new_upload(store, build)
    images = store.images
    take, path, is_locked = {
        "image": (
            lambda: images.lock_image("debian"),
            f"{ROOT}/debian/builds/lock",
            lambda: images.is_build_locked("debian"),
        ),
        "build": (lambda: images.lock_build("debian", build.id), f"{build.path}/lock", None),
        "provider": (
            lambda: images.lock_provider("debian", build.id, "cloud1"),
            f"{build.path}/providers/cloud1/images/lock",
            lambda: images.is_provider_locked("debian", build.id, "cloud1"),
        ),
        "upload": (
            lambda: images.lock_upload(upload),
            f"{upload.path}/lock",
            lambda: images._session.tree.is_locked(f"{upload.path}/lock"),
        ),
    }[which]
    theirs = Lock(zk_client, path)
    assert theirs.acquire(blocking=False)
    assert take() is None
    theirs.release()
    held = take()
    assert held.path == path
    if is_locked is not None:
        eventually(is_locked)
    assert Lock(zk_client, path).acquire(blocking=False) is False
    held.release()
    if is_locked is not None:
        eventually(lambda: not is_locked())
    assert theirs.acquire(blocking=False)
    assert [build.id for build in images.builds("debian")] == [build.id]
    assert [upload.id for upload in images.uploads("debian")] == [upload.id]


def test_an_image_can_be_locked_before_its_first_build(store, zk_client):
    held = store.images.lock_image("new")
    assert held is not None
    assert zk_client.get_children(f"{ROOT}/new/builds") == ["lock"]


def test_a_write_under_a_lock_of_a_session_that_is_gone_does_not_happen(zookeeper, zk_chroot, zk_client):
    with new_store(zk_chroot) as store:
        build = new_build(store)
        held = store.images.lock_image("debian")
        generation = store.generation
        expire_session(zookeeper, store)
        eventually(lambda: store.generation > generation and store.state == "connected")
        build.set_state(BuildState.READY, 5.0)
        with pytest.raises(StoreError, match="held its lock is gone"):
            store.images.write_build(build, held=held)
        upload = Upload(image="debian", build_id=build.id, provider="p")
        with pytest.raises(StoreError, match="held its lock is gone"):
            store.images.create_upload(upload, held=held)
        assert document(zk_client, build.path)["state"] == "building"
        store.images.write_build(build)
        assert document(zk_client, build.path)["state"] == "ready"


def test_reading_once_sees_records_flags_and_locks_and_changes_nothing(store, zk_chroot):
    build = new_build(store)
    upload = new_upload(store, build)
    store.images.request_build("debian")
    assert store.images.lock_image("debian")
    reader = new_store(zk_chroot)
    reader.open(watch=False)
    try:
        assert reader.images.builds("debian") == [build]
        assert reader.images.uploads("debian") == [upload]
        assert reader.images.requested("debian") is not None
        assert reader.images.is_build_locked("debian")
        with pytest.raises(StoreError, match="reading only"):
            reader.images.pause("debian")
    finally:
        reader.close()
