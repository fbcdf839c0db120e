# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write access to disk images in ZooKeeper, and the four locks that protect them.

Nothing here re-creates a record that was deleted meanwhile: a write below such a record raises :class:`StoreGone`, and
its lock cannot be taken.
"""

from __future__ import annotations

import contextlib

from ...model.errors import StoreConflict, StoreError, StoreGone
from ...model.image import Build, Upload, is_build_id
from .image_view import (
    PAUSE,
    REQUEST,
    ImageView,
)
from .link import paths
from .locks import Held, acquire

_ROUNDS = 5


class Images(ImageView):
    """The builds, uploads, flags and locks. Every call is bounded in time and raises :class:`StoreError`."""

    # -- builds -------------------------------------------------------------------------------------------------

    def create_build(self, build: Build, *, held: Held | None = None) -> None:
        """Store a new build; *build* has image and id. Sets path, born and version, and updates the cache.

        :param held: the image's lock; the build is stored in the session that took it, or not at all.
        :raises StoreConflict: a build with that id exists.
        """
        if not is_build_id(build.id):
            raise StoreError(f"{build.id!r} is not a valid build id for {build.image!r}: use 32 hexadecimal digits")
        client = held.client if held else None
        path, stat = self._session.create(
            paths.build(build.image, build.id), build.to_bytes(), parents=True, client=client
        )
        build.path, build.born, build.version = path, stat.czxid, stat.version

    def write_build(self, build: Build, *, held: Held | None = None, if_unchanged: bool = False) -> None:
        """Replace the whole document, including unknown keys. Sets version, and updates the cache.

        :param held: the lock that allows the write; it happens in the session that took the lock, or not at all.
        :param if_unchanged: write only when the znode still has ``build.version``.
        :raises StoreGone: the build was deleted.
        :raises StoreConflict: another client has written it since (with *if_unchanged*).
        """
        path = paths.build(build.image, build.id)
        version = build.version if if_unchanged else -1
        client = held.client if held else None
        build.version = self._session.write(path, build.to_bytes(), version, client=client).version

    def delete_build(self, image: str, build_id: str) -> None:
        """Delete a build and every record below it. It is not an error when the build does not exist."""
        self._session.delete(paths.build(image, build_id))

    # -- uploads ------------------------------------------------------------------------------------------------

    def create_upload(self, upload: Upload, *, held: Held | None = None) -> None:
        """Store a new upload; *upload* has image, build_id and provider. Sets id, path and version.

        :param held: the lock of the build at the provider; the upload is stored in the session that took the lock, or
            not at all.
        :raises StoreGone: the build does not exist (any more).
        """
        client = held.client if held else None
        root = self._uploads_directory(upload.image, upload.build_id, upload.provider)
        path, stat = self._session.create(f"{root}/", upload.to_bytes(), sequence=True, client=client)
        upload.id, upload.path, upload.version = paths.split(path)[1], path, stat.version

    def write_upload(self, upload: Upload, *, held: Held | None = None, if_unchanged: bool = False) -> None:
        """Replace the whole document, including unknown keys; parameters and errors are as in :meth:`write_build`."""
        version = upload.version if if_unchanged else -1
        client = held.client if held else None
        upload.version = self._session.write(upload.path, upload.to_bytes(), version, client=client).version

    def delete_upload(self, upload: Upload) -> None:
        """Delete the upload's record. It is not an error when the record does not exist."""
        self._session.delete(upload.path)

    # -- flags --------------------------------------------------------------------------------------------------

    def request_build(self, image: str) -> None:
        """Request a build. An existing request is renewed: it counts as made now."""
        self._flag(image, REQUEST)

    def drop_request(self, image: str) -> None:
        """Delete the request for a build, if there is one."""
        self._session.remove([f"{paths.image(image)}/{REQUEST}"])

    def pause(self, image: str) -> None:
        """Set the pause flag, unless it is set already."""
        if not self.is_paused(image):
            self._flag(image, PAUSE)

    def unpause(self, image: str) -> None:
        """Remove the pause flag, if it is set."""
        self._session.remove([f"{paths.image(image)}/{PAUSE}"])

    def _flag(self, image: str, name: str) -> None:
        path = f"{paths.image(image)}/{name}"
        for _round in range(_ROUNDS):
            try:
                self._session.write(path, b"")
                return
            except StoreGone:
                pass
            try:
                self._session.create(path, parents=True)
                return
            except StoreConflict:
                continue
        raise StoreError(f"{path} could not be stored: other clients keep creating and deleting it")

    # -- locks: taken without waiting; None when the lock is held, or the record that it protects is gone ----------

    def lock_image(self, image: str) -> Held | None:
        """Take the lock for building the image: only one builder builds it at a time."""
        return acquire(self._session, f"{paths.builds(image)}/{paths.LOCK}", parents=True)

    def lock_build(self, image: str, build_id: str) -> Held | None:
        """Take the lock for marking a build for deletion."""
        return acquire(self._session, f"{paths.build(image, build_id)}/{paths.LOCK}")

    def lock_provider(self, image: str, build_id: str, provider: str) -> Held | None:
        """Take the lock for uploading the build to the provider."""
        try:
            root = self._uploads_directory(image, build_id, provider)
        except StoreGone:
            return None
        return acquire(self._session, f"{root}/{paths.LOCK}")

    def lock_upload(self, upload: Upload) -> Held | None:
        """Take the lock for marking and deleting an upload."""
        return acquire(self._session, f"{upload.path}/{paths.LOCK}")

    def _uploads_directory(self, image: str, build_id: str, provider: str) -> str:
        """Make the directory of a build's uploads to *provider* and return its path.

        :raises StoreGone: the build is gone.
        """
        root = paths.uploads(image, build_id, provider)
        if not self._session.tree.exists(root):
            missing = [paths.split(paths.split(root)[0])[0], paths.split(root)[0], root]
            for path in missing:
                with contextlib.suppress(StoreConflict):
                    self._session.create(path)
        return root
