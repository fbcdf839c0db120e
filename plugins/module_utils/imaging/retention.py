# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide what is deleted, each with a reason: uploads first, then the build, its files, and its record.

For each configured image the two newest ready builds are kept, whatever fails, and for each provider that lists the
image a ready upload of each of the two newest builds that the provider has. A build or upload that an operator has
marked as deleting is deleted in spite of this.

* An upload whose image is not in the cloud any more does not count, and its record is deleted.
* When a provider has several ready uploads of one build, only the one that became ready last stays: launchers use it.
* Builds that must not be used (revoked, rejected, held, or given up by a launcher) do not count among the two, so that
  the good ones stay. The newest one, those that are held, and the newest revoked one while no newer one is good are
  kept in addition: they may be restored.
* Of an image with a gate, builds that were not tested do not count among the two; the newest one is kept in addition.
* Uploads at providers that are not in this configuration are left to other builders. A build stays as long as it has
  uploads.
* What no configuration lists any more is deleted. Other builders' lists count as the own one; a live builder that does
  not tell what it lists (Nodepool's) deletes its own builds by itself.
* A build becomes deleting when nothing needs it any more. Its files are deleted when its uploads are gone, and then its
  record.
* Work in progress is left alone. An upload is in progress while its lock is taken, as with Nodepool's builder: sending
  the bytes again is cheap. A build of another builder counts as in progress until its time-out and GRACE have passed,
  even when its lock is free: that builder may only have lost its session, and a build takes hours.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..model.build_verdict import BuildVerdict
from ..model.config.gate_labels import gate_of
from ..model.image import (
    Build,
    BuildState,
    Upload,
    UploadState,
    age_order,
)
from ..model.lines import joined, span, word_for
from .gating import kept_besides, kept_with_gate
from .image_snapshot import (
    ImageState,
    ImagesView,
    LocalFile,
)

KEPT = 2
"""Number of ready builds of an image that are kept, and of builds in a provider's cloud."""
GRACE = 600.0
"""Seconds beyond its time-out during which another builder's build counts as in progress."""
FILE_GRACE = 60.0
"""Age in seconds below which a file without a record is left alone."""
DEFAULT_BUILD_TIMEOUT = 28800.0


class DeletionCode:
    """Why something is deleted."""

    REMOVED = "removed"
    OLD = "old"
    SURPLUS = "surplus"
    LOST = "lost"
    ASKED = "asked"
    FAILED = "failed"
    ABANDONED = "abandoned"
    UPLOADED = "uploaded"
    LEFT_OVER = "left-over"

    ALL = (REMOVED, OLD, SURPLUS, LOST, ASKED, FAILED, ABANDONED, UPLOADED, LEFT_OVER)


@dataclass(frozen=True)
class DeleteUpload:
    """Mark the upload as deleting, delete its cloud image (by its marks when no id is stored), then the record."""

    upload: Upload
    code: str
    reason: str


@dataclass(frozen=True)
class MarkBuild:
    """Mark a build as deleting, under its lock. The builder that has its files then removes them."""

    build: Build
    code: str
    reason: str


@dataclass(frozen=True)
class DeleteFiles:
    """Remove the files and directories *names* from images-dir."""

    image: str
    build_id: str
    names: tuple[str, ...]
    code: str
    reason: str


@dataclass(frozen=True)
class DeleteBuild:
    """Remove the record of a build and all znodes below it."""

    image: str
    build_id: str
    code: str
    reason: str


Deletion: TypeAlias = "DeleteUpload | MarkBuild | DeleteFiles | DeleteBuild"


def plan_deletions(view: ImagesView) -> list[Deletion]:
    """Return what is deleted now, in this order. Deletions that depend on these are planned with the next view."""
    uploads: list[Deletion] = []
    marks: list[Deletion] = []
    files: list[Deletion] = []
    records: list[Deletion] = []
    for name in sorted(view.images):
        state = view.images[name]
        for build in sorted(state.builds, key=lambda build: (build.born, build.id)):
            uploads += _uploads_of(view, state, build)
            mark = _mark(view, state, build)
            marks += [mark] if mark else []
            if build.state == BuildState.DELETING:
                files += _files_of_deleting(view, state, build)
                if not state.uploads_of(build.id):
                    why = "it is marked for deletion and has no uploads"
                    records.append(DeleteBuild(name, build.id, DeletionCode.ASKED, why))
            elif build.state == BuildState.READY:
                files += _uploaded_formats(view, state, build)
        records += [
            DeleteBuild(name, build_id, DeletionCode.LEFT_OVER, "its record is empty: a client locked a deleted build")
            for build_id in sorted(state.empty)
            if not state.uploads_of(build_id)
        ]
    return [*uploads, *marks, *files, *_orphans(view), *records]


def abandoned_builds(view: ImagesView) -> list[Build]:
    """Return this builder's builds in state building that no cycle works on any more.

    The caller removes what is left of them and marks them failed.
    """
    return [
        build
        for name in sorted(view.images)
        for build in view.images[name].builds
        if build.state == BuildState.BUILDING and view.is_ours(build) and not is_being_built(view, build)
    ]


# -- what is kept -----------------------------------------------------------------------------------------------------


def kept_builds(view: ImagesView, state: ImageState) -> Sequence[Build]:
    """Return the current and the previous build of an image; none when no builder lists the image."""
    if not view.lists(state.name):
        return ()
    if gate_of(view.config, state.name) is not None:
        return kept_with_gate(view, state, KEPT)
    bad = {build_id for build_id, verdict in state.verdicts.items() if not _counts(verdict, view.now)}
    good = [build.id for build in state.ready_builds if build.id not in bad]
    kept = {*good[:KEPT], *kept_besides(state, good)}
    return [build for build in state.ready_builds if build.id in kept]


def _counts(verdict: BuildVerdict, now: float) -> bool:
    return verdict.is_used(now) and not verdict.fallen_back


def kept_uploads(state: ImageState, provider: str, lost: Container[str] = (), now: float = 0.0) -> list[Upload]:
    """Return the ready uploads that *provider* keeps: of its two newest builds and of the two uploaded last.

    Of each build only one upload is kept. Builds that must not be used there do not count; of these some are kept in
    addition, see :func:`.gating.kept_besides`.

    :param lost: paths of uploads whose image is gone; they do not count.
    """
    bad = {build_id for build_id, verdict in state.verdicts.items() if not verdict.is_used(now, provider)}
    kept = _two_kept(state, provider, lost, bad)
    if bad:
        others = kept_besides(state, {upload.build_id for upload in kept})
        known = {upload.path for upload in kept}
        more = _two_kept(state, provider, lost, {build.id for build in state.ready_builds if build.id not in others})
        kept += [upload for upload in more if upload.path not in known]
    return kept


def _two_kept(state: ImageState, provider: str, lost: Container[str], without: Container[str]) -> list[Upload]:
    ready = {build.id: build for build in state.ready_builds if build.id not in without}
    there = [
        upload
        for upload in state.uploads_by_provider.get(provider, ())
        if upload.state == UploadState.READY and upload.build_id in ready and upload.path not in lost
    ]
    # A launcher takes the upload that became ready last and has an image: of each build only that one counts.
    by_time = sorted(there, key=lambda upload: (bool(upload.external_id), upload.state_time or 0.0, upload.path))
    used = {upload.build_id: upload for upload in by_time}
    builds = sorted(used, key=lambda build_id: age_order(ready[build_id]))[-KEPT:]
    newest = [upload.build_id for upload in by_time if upload is used[upload.build_id]][-KEPT:]
    return [used[build_id] for build_id in used if build_id in builds or build_id in newest]


def _kept(view: ImagesView, state: ImageState, provider: str) -> list[Upload]:
    key = (state.name, provider)
    known = view.kept.get(key)
    if known is None:
        known = view.kept[key] = kept_uploads(state, provider, view.lost, view.now)
    return known


def is_being_built(view: ImagesView, build: Build) -> bool:
    """True when a builder may be making the build."""
    if build.state != BuildState.BUILDING:
        return False
    if build.id in view.building:
        return True
    state = view.image(build.image)
    youngest = state.youngest_building or build
    if state.locked and youngest.id == build.id:  # one build at a time, and its record comes after the lock
        return True
    if view.is_ours(build):
        return False
    image = view.config.diskimages.get(build.image)
    timeout = image.build_timeout if image is not None else DEFAULT_BUILD_TIMEOUT
    return view.now - (build.state_time or 0.0) < timeout + GRACE


def is_being_uploaded(view: ImagesView, upload: Upload) -> bool:
    """True when a builder works on the upload: it has the lock, or this process does."""
    key = (upload.build_id, upload.provider)
    if key in view.uploading:
        return True
    if upload.state != UploadState.UPLOADING:
        return False
    state = view.image(upload.image)
    under_way = [each.id for each in state.uploads_of(*key) if each.state == UploadState.UPLOADING]
    return key in state.uploading and max(under_way, default="") == upload.id


def holders(view: ImagesView, state: ImageState, build: Build) -> str:
    """Return why a build is kept, for people; "" when nothing keeps it."""
    kept = [each.id for each in kept_builds(view, state)]
    if build.id in kept:
        return "current" if build.id == kept[0] else "previous"
    if is_being_built(view, build):
        return "being built"
    if build.state == BuildState.BUILDING and view.is_ours(build):
        return "abandoned: the builder on this host marks it failed at its next pass"
    held = sorted({upload.provider for upload in state.uploads_of(build.id) if upload.state != UploadState.DELETING})
    strangers = [name for name in held if name not in view.config.providers]
    if strangers:
        return f"it has uploads at {', '.join(strangers)}, not in this configuration"
    return f"it has uploads at {', '.join(held)}" if held else ""


# -- uploads ----------------------------------------------------------------------------------------------------------


def _uploads_of(view: ImagesView, state: ImageState, build: Build) -> Iterator[DeleteUpload]:
    for upload in sorted(state.uploads_of(build.id), key=lambda upload: (upload.provider, upload.id)):
        if upload.provider not in view.config.providers or is_being_uploaded(view, upload):
            continue
        verdict = _upload_verdict(view, state, build, upload)
        if verdict is not None:
            yield DeleteUpload(upload, *verdict)


def _upload_verdict(view: ImagesView, state: ImageState, build: Build, upload: Upload) -> tuple[str, str] | None:
    """Return code and sentence, or None to keep the upload."""
    if upload.broken or upload.state not in UploadState.ALL:
        return None
    if upload.state == UploadState.DELETING:
        return DeletionCode.ASKED, "it is marked for deletion"
    if not view.lists_at(upload.provider, state.name):
        if view.may_be_listed_elsewhere(build):
            return None
        if not view.lists(state.name):
            return DeletionCode.REMOVED, f"image {state.name} is no longer in the configuration"
        return DeletionCode.REMOVED, f"provider {upload.provider} no longer lists image {state.name}"
    if upload.state == UploadState.FAILED:
        return DeletionCode.FAILED, "the upload failed"
    if upload.state == UploadState.UPLOADING:
        return DeletionCode.ABANDONED, "its builder ended during the upload"
    if build.state == BuildState.DELETING:
        return DeletionCode.ASKED, f"build {build.id} is marked for deletion"
    if upload.path in view.lost:
        return DeletionCode.LOST, "its image is no longer in the cloud"
    kept = _kept(view, state, upload.provider)
    if any(upload.path == each.path for each in kept):
        return None
    twin = next((each for each in kept if each.build_id == build.id), None)
    if twin is not None:
        return DeletionCode.SURPLUS, f"provider {upload.provider} has this build twice; upload {twin.id} is in use"
    if build.state == BuildState.READY or not is_being_built(view, build):
        return DeletionCode.OLD, f"provider {upload.provider} has two newer uploads"
    return None


# -- builds -----------------------------------------------------------------------------------------------------------


def _mark(view: ImagesView, state: ImageState, build: Build) -> MarkBuild | None:
    if build.state not in BuildState.ALL or build.state == BuildState.DELETING:
        return None
    if build.id in {each.id for each in kept_builds(view, state)} or is_being_built(view, build):
        return None
    if build.state == BuildState.BUILDING and view.is_ours(build):
        return None  # this builder first removes what is left of it and marks it failed
    if any(upload.state != UploadState.DELETING for upload in state.uploads_of(build.id)):
        return None
    if not view.lists(state.name):
        if view.may_be_listed_elsewhere(build):
            return None
        return MarkBuild(build, DeletionCode.REMOVED, f"image {state.name} is no longer in the configuration")
    if build.state == BuildState.FAILED:
        return MarkBuild(build, DeletionCode.FAILED, "the build failed")
    if build.state == BuildState.BUILDING:
        age = span(view.now - (build.state_time or 0.0))
        return MarkBuild(build, DeletionCode.ABANDONED, f"it was begun {age} ago and no builder is working on it")
    return MarkBuild(build, DeletionCode.OLD, "there are two newer ready builds, and no provider needs it")


# -- files ------------------------------------------------------------------------------------------------------------


def _files_of_deleting(view: ImagesView, state: ImageState, build: Build) -> list[Deletion]:
    left = state.uploads_of(build.id)
    if any(upload.provider in view.config.providers or is_being_uploaded(view, upload) for upload in left):
        return []
    return _deletion(view.files_of(build.id), DeletionCode.ASKED, f"build {build.id} is marked for deletion")


def _orphans(view: ImagesView) -> list[Deletion]:
    """Return deletions of the files in images-dir that belong to no record."""
    known = {build.id for state in view.images.values() for build in state.builds} | view.building
    known |= {build_id for state in view.images.values() for build_id in (*state.empty, *state.unreadable)}
    lost: dict[str, list[LocalFile]] = {}
    for file in view.files or ():
        # Ten digits may be anything, for instance a date. A young file may belong to a record that is not read yet.
        if len(file.build_id) == 32 and file.build_id not in known:
            lost.setdefault(file.build_id, []).append(file)
    return [
        deletion
        for build_id in sorted(lost)
        if all(view.now - file.modified >= FILE_GRACE for file in lost[build_id])
        for deletion in _deletion(lost[build_id], DeletionCode.LEFT_OVER, f"there is no record of build {build_id}")
    ]


def _uploaded_formats(view: ImagesView, state: ImageState, build: Build) -> list[Deletion]:
    """Return deletions that delete-after-upload allows: every provider that takes the format has the build."""
    image = view.config.diskimages.get(state.name)
    users = [provider.name for provider in view.providers_of(state.name)]
    if image is None or not image.delete_after_upload or not users:
        return []
    if any(name not in view.provider_formats for name in users):
        return []
    if any(upload.path in view.lost for upload in state.uploads_of(build.id)):
        return []  # the build is uploaded again
    found: list[Deletion] = []
    here = view.files_of(build.id)
    for name in sorted({file.format for file in here if file.format} - set(image.keep_formats)):
        takers = [user for user in users if view.provider_formats[user] == name] or users
        if all(state.has_ready_upload(build.id, user) for user in takers):
            files = [file for file in here if file.format == name]
            have = word_for(len(takers), "has", "have")
            found += _deletion(
                files, DeletionCode.UPLOADED, f"{joined(takers)} {have} it, and delete-after-upload is set"
            )
    return found


def _deletion(files: list[LocalFile], code: str, reason: str) -> list[Deletion]:
    names = tuple(sorted(file.name for file in files))
    return [DeleteFiles(files[0].image, files[0].build_id, names, code, reason)] if names else []
