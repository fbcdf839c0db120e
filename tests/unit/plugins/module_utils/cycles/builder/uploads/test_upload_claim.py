# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of an upload, and what may become of it while ZooKeeper is away."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.context.record_lock import RecordLost
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.upload_claim import UploadClaim
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    StoreConflict,
    StoreError,
    StoreGone,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Upload, UploadState

PATIENCE = 30.0


class Lock:
    def __init__(self) -> None:
        self.valid = True
        self.released = False

    def release(self) -> None:
        self.released = True


class Images:
    """One record, one lock; *away*: for so many calls there is no connection."""

    def __init__(self) -> None:
        self.stored: tuple[bytes, int] | None = None
        self.away = 0
        self.lose_answer = False
        self.lock: Lock | None = None
        self.free = True

    def _call(self) -> None:
        if self.away > 0:
            self.away -= 1
            raise StoreError("no connection")

    def create_upload(self, upload: Upload, held: Any) -> None:
        upload.id, upload.version, upload.path = "0000000001", 0, "/u/0000000001"
        self.stored = (upload.to_bytes(), 0)

    def write_upload(self, upload: Upload, held: Any, if_unchanged: bool) -> None:
        assert if_unchanged and held is self.lock and held.valid
        self._call()
        if self.stored is None:
            raise StoreGone("gone")
        if self.stored[1] != upload.version:
            raise StoreConflict("changed")
        self.stored = (upload.to_bytes(), upload.version + 1)
        if self.lose_answer:
            self.lose_answer = False
            raise StoreError("it may have been done anyway")
        upload.version += 1

    def read_upload(self, upload: Upload) -> Upload | None:
        self._call()
        if self.stored is None:
            return None
        return Upload.from_bytes(upload.id, *self.stored)

    def lock_provider(self, *_names: str) -> Lock | None:
        self._call()
        self.lock = Lock() if self.free else None
        return self.lock

    def delete_upload(self, upload: Upload) -> None:
        self._call()
        self.stored = None


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def images() -> Images:
    return Images()


@pytest.fixture
def claim(images: Images) -> UploadClaim:
    images.lock = Lock()
    clock = Clock()
    upload = Upload(image="tiny", build_id="b", provider="one", state=UploadState.UPLOADING, state_time=1.0)
    store: Any = SimpleNamespace(images=images)
    held: Any = images.lock
    made = UploadClaim(store, upload, held, patience=PATIENCE, clock=clock, sleeper=clock.sleep)
    made.create()
    return made


def ready(claim: UploadClaim) -> None:
    claim.upload.set_state(UploadState.READY, 2.0)


def test_it_is_written_under_its_lock(claim: UploadClaim, images: Images) -> None:
    ready(claim)
    claim.write()
    claim.write()
    assert images.stored == (claim.upload.to_bytes(), 2)
    claim.release()
    assert images.lock.released


def test_a_connection_that_comes_back(claim: UploadClaim, images: Images) -> None:
    images.away = 10
    ready(claim)
    claim.write()
    assert images.stored == (claim.upload.to_bytes(), 1)


def test_a_connection_that_does_not(claim: UploadClaim, images: Images) -> None:
    images.away = 10**6
    ready(claim)
    with pytest.raises(StoreError, match="no connection"):
        claim.write()


def test_a_write_whose_answer_is_lost(claim: UploadClaim, images: Images) -> None:
    images.lose_answer = True
    ready(claim)
    claim.write()
    assert images.stored == (claim.upload.to_bytes(), 1)
    assert claim.upload.version == 1


@pytest.mark.parametrize("answer_lost", [False, True])
def test_a_new_session_takes_the_lock_again(claim: UploadClaim, images: Images, answer_lost: bool) -> None:
    ready(claim)
    if answer_lost:
        images.stored = (claim.upload.to_bytes(), 1)
    images.lock.valid = False
    claim.write()
    assert images.stored[0] == claim.upload.to_bytes()
    claim.release()
    assert images.lock.released


def test_somebody_else_has_the_lock(claim: UploadClaim, images: Images) -> None:
    images.lock.valid, images.free = False, False
    with pytest.raises(RecordLost, match="another client now has the lock"):
        claim.write()
    claim.release()


@pytest.mark.parametrize("new_session", [False, True])
@pytest.mark.parametrize("what", ["changed", "gone"])
def test_somebody_else_has_had_the_record(claim: UploadClaim, images: Images, what: str, new_session: bool) -> None:
    other = claim.upload.clone()
    other.set_state(UploadState.DELETING, 5.0)
    images.stored = (other.to_bytes(), 1) if what == "changed" else None
    images.lock.valid = not new_session
    ready(claim)
    with pytest.raises(RecordLost):
        claim.write()
    assert images.stored == ((other.to_bytes(), 1) if what == "changed" else None)


def test_it_is_deleted(claim: UploadClaim, images: Images) -> None:
    images.away = 1
    claim.delete()
    assert images.stored is None
