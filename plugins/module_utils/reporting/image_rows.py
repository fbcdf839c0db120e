# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows about disk images: builds, uploads, and what is due and why."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from ..imaging.due_builds import (
    judge_build,
    open_request,
    unknown_formats,
)
from ..imaging.due_uploads import judge_uploads
from ..imaging.image_snapshot import ImageState, ImagesView, SeenImages
from ..imaging.notes import Failures
from ..imaging.retention import (
    DeleteBuild,
    DeleteFiles,
    DeleteUpload,
    Deletion,
    MarkBuild,
    holders,
    is_being_uploaded,
    plan_deletions,
)
from ..launching.resolver import upload_problem
from ..model.image import (
    STALE_AFTER,
    Build,
    BuildState,
    Upload,
    UploadState,
    upload_order,
)
from ..model.launch_counts import LaunchCounts, sentence_with_words
from .info.build_figures import figures_of
from .info.fields import age, age_text

MOST_SHOWN = 10_000
"""Largest number of uploads, of builds and of deletions that are returned; all are counted."""
REMOVED = "removed"
GONE = "gone"
NOTHING_SEEN: SeenImages = MappingProxyType({})


def images_result(
    view: ImagesView,
    images: Collection[str],
    providers: Collection[str],
    seen: SeenImages = NOTHING_SEEN,
    counts: Mapping[str, LaunchCounts] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the result of image_info.

    :param images, providers: show only these; empty for all.
    :param seen: the images of the uploads in the clouds, as far as they were asked.
    :param counts: provider → how launches from its builds ended.
    """

    def wanted(image: str, provider: str) -> bool:
        return (not images or image in images) and (not providers or provider in providers)

    deletions = [
        deletion
        for deletion in plan_deletions(view)
        if isinstance(deletion, DeleteUpload) and wanted(deletion.upload.image, deletion.upload.provider)
    ]
    doomed = {deletion.upload.path: deletion for deletion in deletions}
    current = {upload.path for state in view.images.values() for upload in _current(state, seen, view.now)}
    uploads = [
        _upload_row(view, state, upload, current, doomed.get(upload.path), seen)
        | _of_launches(view, state, upload, counts)
        for state in view.images.values()
        for upload in state.uploads
        if wanted(upload.image, upload.provider)
    ]
    return {
        "uploads": _shown(uploads),
        "left_out": max(0, len(uploads) - MOST_SHOWN),
        "due": [
            {
                "provider": case.provider,
                "image": case.image,
                "due": case.due,
                "code": case.code,
                "reason": case.reason,
                "at": case.at,
                "build_id": case.build.id if case.build is not None else None,
                "format": case.format or None,
                **_failures(view.image(case.image).upload_failures.get(case.provider)),
            }
            for case in judge_uploads(view)
            if wanted(case.image, case.provider)
        ],
        "deletions": [deletion_row(deletion) for deletion in deletions[:MOST_SHOWN]],
        "stale": sorted(f"{row['provider']}/{row['image']}" for row in uploads if row["current"] and row["stale"]),
    }


def builds_result(view: ImagesView, images: Collection[str]) -> dict[str, Any]:
    """Return the result of dib_image_info.

    :param images: show only these; empty for all.
    """
    deletions = [
        deletion
        for deletion in plan_deletions(view)
        if not isinstance(deletion, DeleteUpload) and (not images or _image_of(deletion) in images)
    ]
    doomed = {
        deletion.build.id if isinstance(deletion, MarkBuild) else deletion.build_id: deletion
        for deletion in deletions
        if isinstance(deletion, (MarkBuild, DeleteBuild))
    }
    states = [state for state in view.images.values() if not images or state.name in images]
    rows = [image_row(view, state) for state in states]
    builds = [
        build_row(view, state, build, doomed.get(build.id))
        for state in states
        for build in sorted(state.builds, key=lambda build: (build.born, build.id))
    ]
    return {
        "builder_id": view.builder_id or None,
        "images": rows,
        "builds": _shown(builds),
        "left_out": max(0, len(builds) - MOST_SHOWN),
        "deletions": [deletion_row(deletion) for deletion in deletions[:MOST_SHOWN]],
        "stale": [row["image"] for row in rows if row["stale"]],
    }


def _shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows in their order; of too many those that are used, and of the others the youngest."""
    if len(rows) <= MOST_SHOWN:
        return rows
    unknown = float("inf")
    places = sorted(
        range(len(rows)),
        key=lambda place: (
            not rows[place].get("current"),
            unknown if rows[place]["age"] is None else rows[place]["age"],
        ),
    )
    return [rows[place] for place in sorted(places[:MOST_SHOWN])]


def image_row(view: ImagesView, state: ImageState) -> dict[str, Any]:
    """Return the row of an image: whether a build is due, and why or why not."""
    known = state.name in view.config.diskimages
    case = judge_build(view, state.name) if known else None
    ready = state.ready_builds
    notes = state.notes
    return {
        "image": state.name,
        "due": case.due if case is not None else False,
        "code": case.code if case is not None else REMOVED,
        "reason": case.reason if case is not None else "it is not, or no longer, in the configuration",
        "at": case.at if case is not None else None,
        "formats": list(case.formats) if case is not None else [],
        "formats_unknown": unknown_formats(view, state.name) if known else [],
        "age": age(ready[0].state_time, view.now) if ready else None,
        "stale": bool(ready) and _is_stale(view, ready[0]),
        "paused": state.paused is not None,
        "paused_in_config": known and view.config.diskimages[state.name].pause,
        "requested": open_request(state) is not None,
        "request_age": (waited := age(state.requested_at if open_request(state) is not None else None, view.now)),
        "request_age_text": age_text(waited),
        "building": state.locked,
        "sizes": dict(notes.sizes),
        "seconds": notes.seconds,
        **_failures(notes.failures),
    }


def build_row(view: ImagesView, state: ImageState, build: Build, deletion: Deletion | None = None) -> dict[str, Any]:
    """Return the row of a build, with its files on this disk."""
    return {
        "image": state.name,
        "build_id": build.id,
        "state": build.state,
        "age": (passed := age(build.state_time, view.now)),
        "age_text": age_text(passed),
        "stale": _is_stale(view, build),
        "builder": build.builder,
        "builder_id": build.builder_id,
        "here": view.is_ours(build),
        "formats": list(build.formats),
        "changes": state.notes.changes_of(build.id),
        "files": [{"name": file.name, "size": file.size} for file in view.files_of(build.id)],
        "providers": sorted(
            {upload.provider for upload in state.uploads_of(build.id) if upload.state == UploadState.READY}
        ),
        "kept": holders(view, state, build) or None,
        "deletion": deletion.reason if deletion is not None else None,
    }


def _of_launches(
    view: ImagesView, state: ImageState, upload: Upload, counts: Mapping[str, LaunchCounts]
) -> dict[str, Any]:
    """Return what is decided about the build of an upload, and how launches from it ended."""
    known, verdict = counts.get(upload.provider) or LaunchCounts(), state.verdict(upload.build_id)
    figures = sentence_with_words(upload.image, upload.build_id, upload.provider, known)
    return {
        "changes": state.notes.changes_of(upload.build_id),
        "used": verdict.is_used(view.now, upload.provider),
        "verdict": verdict.text(view.now, upload.provider, figures) or None,
        "launches": figures_of(known, upload.image, upload.build_id, upload.provider),
    }


def _current(state: ImageState, seen: SeenImages, now: float) -> Iterator[Upload]:
    """Yield the ready upload of the newest build at each provider, of those that the launcher may take."""
    for uploads in state.uploads_by_provider.values():
        bootable = (
            upload
            for upload in uploads
            if _can_boot(state, upload, seen) and state.verdict(upload.build_id).is_used(now, upload.provider)
        )
        newest = max(bootable, key=lambda each: upload_order(each, state.build(each.build_id)), default=None)
        if newest is not None:
            yield newest


def _upload_row(
    view: ImagesView,
    state: ImageState,
    upload: Upload,
    current: Container[str],
    deletion: Deletion | None,
    seen: SeenImages,
) -> dict[str, Any]:
    """Return the row of an upload; *stale* and *build_age* refer to the build, not to the time of the upload."""
    build = state.build(upload.build_id)
    return {
        "image": upload.image,
        "build_id": upload.build_id,
        "upload_id": upload.id,
        "provider": upload.provider,
        "name": upload.external_name,
        "external_id": upload.external_id,
        "format": upload.format,
        "state": upload.state,
        "age": (passed := age(upload.state_time, view.now)),
        "age_text": age_text(passed),
        "build_age": age(build.state_time, view.now) if build is not None else None,
        "stale": build is not None and _is_stale(view, build),
        "current": upload.path in current,
        "under_way": is_being_uploaded(view, upload),
        **_in_cloud(upload, seen),
        "deletion": deletion.reason if deletion is not None else None,
    }


def deletion_row(deletion: Deletion) -> dict[str, Any]:
    """Return the row of a deletion that is due. *what*: upload, build (to be marked), files or record."""
    told = {"code": deletion.code, "reason": deletion.reason}
    if isinstance(deletion, DeleteUpload):
        upload = deletion.upload
        where = {"provider": upload.provider, "upload_id": upload.id}
        return {"what": "upload", "image": upload.image, "build_id": upload.build_id, **where, **told}
    if isinstance(deletion, MarkBuild):
        build = deletion.build
        return {"what": "build", "image": build.image, "build_id": build.id, "names": [], **told}
    names = list(deletion.names) if isinstance(deletion, DeleteFiles) else []
    what = "files" if isinstance(deletion, DeleteFiles) else "record"
    return {"what": what, "image": deletion.image, "build_id": deletion.build_id, "names": names, **told}


def _image_of(deletion: Deletion) -> str:
    return str(deletion_row(deletion)["image"])


def _can_boot(state: ImageState, upload: Upload, seen: SeenImages) -> bool:
    """Return True if the launcher may take the upload: as far as it is known, the cloud can make servers of it."""
    build = state.build(upload.build_id)
    doomed = build is not None and build.state == BuildState.DELETING
    ready = upload.state == UploadState.READY and bool(upload.external_id)
    return ready and not doomed and _in_cloud(upload, seen)["unusable"] is None


def _in_cloud(upload: Upload, seen: SeenImages) -> dict[str, str | None]:
    key = (upload.provider, upload.external_id or "")
    if key not in seen:
        return {"cloud_status": None, "unusable": None}
    image = seen[key]
    return {"cloud_status": GONE if image is None else image.status, "unusable": upload_problem(image)}


def _is_stale(view: ImagesView, build: Build) -> bool:
    image = view.config.diskimages.get(build.image)
    return image is not None and view.now - (build.state_time or 0.0) > STALE_AFTER * image.rebuild_age


def _failures(failures: Failures | None) -> Mapping[str, Any]:
    known = failures or Failures()
    return {"failures": known.count, "last_error": known.error or None}
