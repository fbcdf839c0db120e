# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of images: builds, and the uploads to each provider, the current and the previous one marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import TreeReading
from ...imaging.notes import COMPARED, build_notes_path, upload_notes_path
from ...model import own_tree
from ...model.config.types import NodepoolConfig
from ...model.image import STALE_AFTER, Build, BuildState, Upload, UploadState
from . import build_figures
from .build_figures import counts_at, trouble_with, unused_builds, verdict_on
from .fields import age
from .gate_rows import gate_row
from .image_reading import (
    builds_of,
    changes_of,
    failures_of,
    image_names,
    is_paused,
    is_requested,
    takers,
    uploads_of,
)

ROOTS = (paths.IMAGES, paths.own(own_tree.BUILD_NOTES), paths.own(own_tree.UPLOAD_NOTES), *build_figures.ROOTS)
CURRENT, PREVIOUS, UNUSED = "current", "previous", "not used"
MOST_BUILDS = 20
"""Most builds of an image that are shown, the newest first."""


def image_rows(config: NodepoolConfig, reading: TreeReading, now: float) -> list[dict[str, Any]]:
    """Return all images of the configuration and of the tree, by name. Ages are seconds, null when unknown."""
    return [_image_row(name, config, reading, now) for name in image_names(reading, config)]


def _image_row(name: str, config: NodepoolConfig, reading: TreeReading, now: float) -> dict[str, Any]:
    settings = config.diskimages.get(name)
    builds = sorted(_builds(reading, name, now), key=lambda row: (row["age"] is None, row["age"], row["id"]))
    ready = [row for row in builds if row["state"] == BuildState.READY]
    newest = ready[0]["age"] if ready else None
    providers = _providers(name, config, builds)
    rows = [_provider_row(name, provider, builds, reading, now) for provider in providers]
    used = [row for row in ready if not _is_unused(row, reading, name, now)]
    for row, mark in zip(used, (CURRENT, PREVIOUS), strict=False):
        row["mark"] = mark
    gates = {provider: gate_row(reading, provider, name, now) for provider in providers}
    longest = STALE_AFTER * settings.rebuild_age if settings else None
    return {
        "image": name,
        "configured": settings is not None,
        "paused": is_paused(reading, config, name),
        "requested": is_requested(reading, name),
        "building": any(row["state"] == BuildState.BUILDING for row in builds),
        "age": newest,
        "stale": newest is not None and longest is not None and newest > longest,
        "builds": builds[:MOST_BUILDS],
        "builds_count": len(builds),
        "changes": None if not ready or _tells(gates, ready[0]["id"]) else changes_of(reading, name, ready[0]["id"]),
        "providers": [{**row, "gate": gates[row["provider"]]} for row in rows],
        **_failures(reading, build_notes_path(name), now),
    }


def _is_unused(build: dict[str, Any], reading: TreeReading, image: str, now: float) -> bool:
    """Return True for a build that is used nowhere; mark it."""
    there = [upload for upload in build["uploads"] if upload["state"] == UploadState.READY]
    unused = not verdict_on(reading, image, build["id"]).is_used(now)
    unused = unused or (bool(there) and all(upload["mark"] == UNUSED for upload in there))
    build["mark"] = UNUSED if unused else ""
    return unused


def _tells(gates: Mapping[str, dict[str, Any] | None], build_id: str) -> bool:
    """Return True if the test of a build at some provider says what differs, too."""
    return any(
        gate is not None and gate["build_id"] == build_id and COMPARED in gate["text"] for gate in gates.values()
    )


def _builds(reading: TreeReading, image: str, now: float) -> Iterator[dict[str, Any]]:
    for build in builds_of(reading, image):
        yield {
            "id": build.id,
            "state": build.state or "unknown",
            "age": age(build.state_time, now),
            "builder": build.builder,
            "formats": ",".join(build.formats),
            "mark": "",
            "uploads": [
                _upload(upload, provider, build, now)
                | {"launches": counts_at(reading, provider).of(image, build.id).text()}
                for provider, upload in uploads_of(reading, image, build.id)
            ],
        }


def _upload(upload: Upload, provider: str, build: Build, now: float) -> dict[str, Any]:
    return {
        "id": upload.id,
        "build_id": build.id,
        "provider": provider,
        "state": upload.state or "unknown",
        "age": age(upload.state_time, now),
        "build_age": age(build.state_time, now),
        "external_id": upload.external_id,
        "external_name": upload.external_name,
        "mark": "",
    }


def _providers(image: str, config: NodepoolConfig, builds: list[dict[str, Any]]) -> list[str]:
    """Return the providers that list the image, and those that have an upload of it."""
    return sorted(takers(config, image) | {upload["provider"] for row in builds for upload in row["uploads"]})


def _provider_row(
    image: str, provider: str, builds: list[dict[str, Any]], reading: TreeReading, now: float
) -> dict[str, Any]:
    """Return the uploads to a provider. Launchers boot the current one; the previous one is kept in case it is bad."""
    uploads = [upload for row in builds for upload in row["uploads"] if upload["provider"] == provider]
    order = [row["id"] for row in builds]
    usable = [upload for upload in uploads if upload["state"] == UploadState.READY and upload["external_id"]]
    usable.sort(key=lambda upload: (upload["age"] is None, upload["age"], upload["id"]))
    usable.sort(key=lambda upload: order.index(upload["build_id"]))  # the newest build first
    there = list(dict.fromkeys(upload["build_id"] for upload in usable))
    unused = set(unused_builds(reading, image, provider, there, now))
    told = [trouble_with(reading, image, build_id, provider, now) for build_id in there]
    for upload in usable:
        upload["mark"] = UNUSED if upload["build_id"] in unused else ""
    usable = [upload for upload in usable if upload["build_id"] not in unused]
    for upload, mark in zip(usable, (CURRENT, PREVIOUS), strict=False):
        upload["mark"] = mark
    return {
        "provider": provider,
        "current": usable[0] if usable else None,
        "previous": usable[1] if len(usable) > 1 else None,
        "unused": [build_id for build_id in there if build_id in unused],
        "troubles": [text for text in told if text],
        "uploading": sum(1 for upload in uploads if upload["state"] == UploadState.UPLOADING),
        **_failures(reading, upload_notes_path(provider, image), now),
    }


def _failures(reading: TreeReading, path: str, now: float) -> Mapping[str, Any]:
    """Return the failures in a row that a builder has stored."""
    known = failures_of(reading, path)
    hold = known.hold(now)
    return {
        "failures": known.count,
        "last_error": known.error if known.count else None,
        "failed_age": age(known.last, now) if known.count and known.last else None,
        "next_try_in": round(hold[1] - now, 1) if hold is not None else None,
    }
