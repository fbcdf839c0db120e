# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read access to disk images in ZooKeeper: builds, uploads, flags and locks."""

from __future__ import annotations

from collections.abc import Container, Sequence

from ...model.documents import why_unreadable
from ...model.image import (
    Build,
    BuildState,
    Upload,
    UploadState,
    is_build_id,
    is_upload_id,
    upload_order,
)
from .link import paths
from .link.session import Session
from .link.tree import Entry, Tree

PAUSE = "pause"
REQUEST = "request-build"


class ImageView:
    """The records in ``/nodepool/images``, from the cache unless a method says otherwise.

    The caller may change the records that it gets, unless a method says otherwise.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._ready: dict[tuple[str, str], tuple[Tree, int, Sequence[Upload]]] = {}
        """(image, provider) → the tree and the number of its changes of which the ready uploads were made."""

    def names(self) -> list[str]:
        """Return all images that ever had a build or a request for one, or were paused."""
        return self._session.tree.names(paths.IMAGES)

    # -- builds -------------------------------------------------------------------------------------------------

    def builds(self, image: str) -> list[Build]:
        """Return all builds of *image*, by id."""
        found = []
        for build_id, entry in self._session.tree.documents(paths.builds(image)):
            if not is_build_id(build_id):
                continue
            build = _as_build(image, build_id, entry)
            self._note_odd(paths.build(image, build_id), build, entry)
            if build is not None:
                found.append(build)
        return found

    def build(self, image: str, build_id: str) -> Build | None:
        """Return one build."""
        entry = self._session.tree.entry(paths.build(image, build_id))
        return _as_build(image, build_id, entry) if entry is not None and is_build_id(build_id) else None

    def read_build(self, image: str, build_id: str) -> Build | None:
        """Return one build fresh from ZooKeeper; None when it is gone or holds no JSON object.

        :raises StoreError: ZooKeeper did not answer.
        """
        entry = self._session.read_entry(paths.build(image, build_id))
        return _as_build(image, build_id, entry) if entry is not None else None

    def is_building(self, image: str) -> bool:
        """Return True when a build is in state building, or an upload to any provider is in state uploading."""
        return any(build.state == BuildState.BUILDING for build in self.builds(image)) or any(
            upload.state == UploadState.UPLOADING for upload in self.uploads(image)
        )

    def without_document(self, image: str) -> tuple[list[str], list[str]]:
        """Return two lists of build ids: empty znodes (a deleted build was locked), and znodes without JSON object."""
        documents = self._session.tree.documents(paths.builds(image))
        odd = [
            (name, entry) for name, entry in documents if is_build_id(name) and _as_build(image, name, entry) is None
        ]
        return [name for name, entry in odd if not entry.data], [name for name, entry in odd if entry.data]

    # -- uploads ------------------------------------------------------------------------------------------------

    def uploads(self, image: str, provider: str | None = None) -> list[Upload]:
        """Return all uploads of *image*, to *provider* or to all providers, sorted by build, provider and number.

        An upload whose znode holds no JSON object is included, as broken: its build and its image in the cloud must not
        be deleted as if there were no upload.
        """
        tree = self._session.tree
        found = []
        for build_id in filter(is_build_id, tree.names(paths.builds(image))):
            everywhere = f"{paths.build(image, build_id)}/providers"
            for name in [provider] if provider is not None else tree.names(everywhere):
                folder = paths.uploads(image, build_id, name)
                for upload_id, entry in tree.documents(folder):
                    if is_upload_id(upload_id) and entry.data:
                        path = f"{folder}/{upload_id}"
                        upload = _as_upload(image, build_id, name, path, entry)
                        self._note_odd(path, upload, entry)
                        found.append(upload or _broken(image, build_id, name, upload_id))
        return found

    def _note_odd(self, path: str, record: Build | Upload | None, entry: Entry) -> None:
        if record is None and entry.data:
            self._session.unusable.add(path, why_unreadable(entry.data) or "it cannot be read")
        elif record is not None and record.broken:
            self._session.unusable.add(path, record.lack())

    def uploading(self, image: str) -> set[tuple[str, str]]:
        """Return the build id and provider of all uploads whose lock is held."""
        return {
            (build_id, provider)
            for build_id in filter(is_build_id, self._session.tree.names(paths.builds(image)))
            for provider in self._session.tree.names(f"{paths.build(image, build_id)}/providers")
            if self.is_provider_locked(image, build_id, provider)
        }

    def read_upload(self, upload: Upload) -> Upload | None:
        """Return the same upload fresh from ZooKeeper; None when it is gone or holds no JSON object.

        :raises StoreError: ZooKeeper did not answer.
        """
        entry = self._session.read_entry(upload.path)
        if entry is None:
            return None
        return _as_upload(upload.image, upload.build_id, upload.provider, upload.path, entry)

    def newest_ready(
        self, image: str, provider: str, without: Container[str] = (), unused: Container[str] = ()
    ) -> Upload | None:
        """Return the ready upload of the newest build.

        Its ``path`` is the full znode path, its ``external_id`` the cloud's id. Uploads of a build that is marked for
        deletion do not count: an operator who deletes a bad build does not want servers to boot from it until its
        uploads are gone. Nobody may change the record, see :meth:`ready_uploads`.

        :param without: ids of images in the cloud that do not count.
        :param unused: ids of builds that do not count.
        """
        return next(iter(self.ready_uploads(image, provider, without, unused)), None)

    def ready_uploads(
        self, image: str, provider: str, without: Container[str] = (), unused: Container[str] = ()
    ) -> list[Upload]:
        """Return the latest ready upload of each build, as :meth:`newest_ready` chooses it, the newest build first.

        The records are the same objects until something of the image changes. Unlike others, nobody may change them.
        """
        newest: dict[str, Upload] = {}
        for upload in self._all_ready(image, provider):
            if upload.external_id not in without and upload.build_id not in unused:
                newest.setdefault(upload.build_id, upload)
        return list(newest.values())

    def _all_ready(self, image: str, provider: str) -> Sequence[Upload]:
        """Return the ready uploads of builds that are not marked for deletion, the newest build first."""
        tree = self._session.tree
        # Before the records are read: if one of them changes meanwhile, they are read again the next time.
        changes = tree.changes(paths.IMAGES, image)
        known = self._ready.get((image, provider))
        if known is not None and known[0] is tree and known[1] == changes:
            return known[2]
        ready = [
            (upload, self._cached_build(image, upload.build_id))
            for upload in self.uploads(image, provider)
            if upload.state == UploadState.READY and upload.external_id
        ]
        ready = [(upload, build) for upload, build in ready if build is None or build.state != BuildState.DELETING]
        ready.sort(key=lambda pair: upload_order(*pair), reverse=True)
        found = tuple(upload for upload, _build in ready)
        self._ready[image, provider] = tree, changes, found
        return found

    def _cached_build(self, image: str, build_id: str) -> Build | None:
        entry = self._session.tree.entry(paths.build(image, build_id))
        return _as_build(image, build_id, entry) if entry is not None and entry.data else None

    # -- is the cache up to date? --------------------------------------------------------------------------------

    def knows_builds(self, image: str) -> bool:
        """Return True when the cache has all builds of *image* as they are in ZooKeeper now.

        Only the holder of a lock may rely on the result.

        :raises StoreError: ZooKeeper did not answer.
        """
        return self._knows(paths.builds(image))

    def knows_uploads(self, image: str, build_id: str, provider: str) -> bool:
        """Return True when the cache has a build and its uploads to a provider as they are; see knows_builds."""
        path = paths.build(image, build_id)
        return self._is_current(path) and self._knows(paths.uploads(image, build_id, provider))

    def providers_of(self, image: str, build_id: str) -> list[str]:
        """Return the providers to which the build was ever uploaded, fresh from ZooKeeper."""
        return self._session.children(f"{paths.build(image, build_id)}/providers")

    def _knows(self, root: str) -> bool:
        there = [f"{root}/{name}" for name in self._session.children(root)]
        return all(self._is_current(path) for path in there if not paths.is_lock(path))

    def _is_current(self, path: str) -> bool:
        found, known = self._session.read(path), self._session.tree.entry(path)
        if found is None or known is None:
            return found is None and known is None
        return found[1].mzxid == known.stat.mzxid

    # -- flags --------------------------------------------------------------------------------------------------

    def requested(self, image: str) -> int | None:
        """Return the number of the transaction that requested a build (compare ``Build.born``); None without one."""
        return self._written(image, REQUEST)

    def requested_at(self, image: str) -> float | None:
        """Return the UNIX time of the request for a build; None without a request."""
        entry = self._session.tree.entry(f"{paths.image(image)}/{REQUEST}")
        return entry.stat.mtime / 1000.0 if entry is not None else None

    def paused(self, image: str) -> int | None:
        """Return the number of the transaction that set the pause flag; None when it is not set."""
        return self._written(image, PAUSE)

    def is_paused(self, image: str) -> bool:
        """Return True when the pause flag is set; ``pause`` in the configuration does not set it."""
        return self.paused(image) is not None

    def _written(self, image: str, flag: str) -> int | None:
        entry = self._session.tree.entry(f"{paths.image(image)}/{flag}")
        return entry.stat.mzxid if entry is not None else None

    # -- locks --------------------------------------------------------------------------------------------------

    def is_build_locked(self, image: str) -> bool:
        """Return True while a builder builds the image."""
        return self._session.tree.is_locked(f"{paths.builds(image)}/{paths.LOCK}")

    def is_provider_locked(self, image: str, build_id: str, provider: str) -> bool:
        """Return True while a builder uploads the build to the provider."""
        return self._session.tree.is_locked(f"{paths.uploads(image, build_id, provider)}/{paths.LOCK}")


def _as_build(image: str, build_id: str, entry: Entry) -> Build | None:
    parsed = entry.parsed(Build.from_bytes, build_id)
    if parsed is None:
        return None
    build: Build = parsed.clone()
    build.image, build.path, build.born = image, paths.build(image, build_id), entry.stat.czxid
    return build


def _broken(image: str, build_id: str, provider: str, upload_id: str) -> Upload:
    path = f"{paths.uploads(image, build_id, provider)}/{upload_id}"
    return Upload(id=upload_id, image=image, build_id=build_id, provider=provider, path=path, state="", broken=True)


def _as_upload(image: str, build_id: str, provider: str, path: str, entry: Entry) -> Upload | None:
    parsed = entry.parsed(Upload.from_bytes, paths.split(path)[1])
    if parsed is None:
        return None
    upload: Upload = parsed.clone()
    upload.image, upload.build_id, upload.provider = image, build_id, provider
    upload.path = path
    return upload
