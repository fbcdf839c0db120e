# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Nodepool 11's builder does to the uploads of a tree that it shares, on virtual time.

Its rules, as its clean-up worker has them:

* It keeps the two newest ready builds, and for each provider the two ready uploads that became ready last.
* Of a kept build it drops the record of an upload that is ``uploading`` while nobody has the lock of the build at the
  provider, without looking at the cloud, unless the record has another state by then. Failed and deleting uploads go
  with their image.
* Of any other build it deletes all uploads but those of the two, each with its image, unless the lock is taken; then
  the build.

Between what it reads and what it writes others go on. Its host has none of the files, so it uploads nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreError, StoreGone
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import (
    Build,
    BuildState,
    Upload,
    UploadState,
)
from tests.support.virtual_time import Fiber, Killed
from tests.support.world import World

KEPT = 2
SLOW = 0.4
"""Most seconds between what it reads and what it does."""


class StockCleaner:
    """The clean-up worker.

    :param every: seconds between two rounds.
    :ivar dropped: the records of uploads under way that it took; *deleted*: its deletions of ready uploads.
    """

    def __init__(self, world: World, image: str, providers: Iterable[str], every: float = 60.0) -> None:
        self.world, self.image, self.every = world, image, every
        self.providers = tuple(providers)
        self.rounds, self.dropped = 0, 0
        self.deleted: list[str] = []
        self.store = world.keeper.store()
        self.fiber = Fiber(world.agenda, self._run)

    def _run(self) -> None:
        while True:
            try:
                self._clean()
                self.rounds += 1
            except StoreError:
                pass
            except Killed:
                return
            self.world.agenda.sleep(self.every)

    def _pause(self) -> None:
        self.world.agenda.sleep(self.world.random.uniform(0.0, SLOW))

    def _clean(self) -> None:
        images = self.store.images
        builds = images.builds(self.image)
        ready = sorted((one for one in builds if one.state == BuildState.READY), key=_age, reverse=True)
        recent = {name: self._recent(ready, name) for name in self.providers}
        kept = {build.id for build in ready[:KEPT]}
        for build in builds:
            self._pause()
            for name in self.providers if build.id in kept else ():
                self._tidy(build, name)
            if build.id in kept or build.state == BuildState.BUILDING:
                continue
            for name in self.providers:
                for upload in self._uploads(build, name):
                    if upload.path not in recent[name]:
                        self._delete(upload)
            left = [one for name in self.providers for one in self._uploads(build, name)]
            if all(one.state == UploadState.DELETING for one in left):
                self._end(build, marked_only=bool(left))

    def _recent(self, ready: list[Build], provider: str) -> set[str]:
        """The paths of the uploads that became ready last."""
        there = [one for build in ready for one in self._uploads(build, provider) if one.state == UploadState.READY]
        return {one.path for one in sorted(there, key=lambda one: one.state_time or 0.0, reverse=True)[:KEPT]}

    def _uploads(self, build: Build, provider: str) -> list[Upload]:
        return [one for one in self.store.images.uploads(self.image, provider) if one.build_id == build.id]

    def _tidy(self, build: Build, provider: str) -> None:
        """Of a build that it keeps."""
        for upload in self._uploads(build, provider):
            self._pause()
            if upload.state == UploadState.UPLOADING and not self._is_under_way(upload):
                there = self.store.images.read_upload(upload)
                if there is not None and there.state == upload.state:
                    self._pause()
                    self.store.images.delete_upload(upload)
                    self.dropped += 1
            elif upload.state in (UploadState.DELETING, UploadState.FAILED):
                self._delete(upload)

    def _is_under_way(self, upload: Upload) -> bool:
        """True while somebody has the lock; it takes it for a moment to find out."""
        if upload.state != UploadState.UPLOADING:
            return False
        held = self.store.images.lock_provider(self.image, upload.build_id, upload.provider)
        if held is None:
            return True
        held.release()
        return False

    def _delete(self, upload: Upload) -> None:
        images = self.store.images
        try:
            if upload.state != UploadState.DELETING:
                if self._is_under_way(upload) or (held := images.lock_upload(upload)) is None:
                    return
                self._pause()
                if upload.state == UploadState.READY:
                    self.deleted.append(upload.build_id)
                upload.set_state(UploadState.DELETING, self.world.agenda.now)
                images.write_upload(upload)
                held.release()
            self._pause()
            self.world.clouds[upload.provider].own_images.pop(upload.external_id or "", None)
            if (held := images.lock_upload(upload)) is not None:
                images.delete_upload(upload)
                held.release()
        except StoreGone:
            return

    def _end(self, build: Build, *, marked_only: bool) -> None:
        images = self.store.images
        self._pause()
        if build.state != BuildState.DELETING:
            held = images.lock_build(self.image, build.id)
            if held is None:
                return
            build.set_state(BuildState.DELETING, self.world.agenda.now)
            images.write_build(build, held=held)
            held.release()
        if not marked_only and not any(self._uploads(build, name) for name in self.providers):
            images.delete_build(self.image, build.id)


def _age(build: Build) -> float:
    return build.state_time or 0.0
