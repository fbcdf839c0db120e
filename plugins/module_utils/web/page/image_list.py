# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of images for the page: builds, and the uploads to each provider, the current and the previous one marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import Found, TreeReading
from ...imaging.notes import Failures, build_notes_path, upload_notes_path
from ...model.config.types import NodepoolConfig
from ...model.documents import seconds, text
from ...model.image import BuildState, UploadState, is_build_id, is_upload_id
from ...reporting.image_rows import STALE_AFTER
from ...reporting.info.fields import age

CURRENT, PREVIOUS = "current", "previous"
MOST_BUILDS = 20
"""Most builds of an image that are shown, the newest first."""


def image_rows(config: NodepoolConfig, reading: TreeReading, now: float) -> list[dict[str, Any]]:
    """Return all images of the configuration and of the tree, by name. Ages are seconds, null when unknown."""
    return [
        _image_row(name, config, reading, now) for name in sorted({*config.diskimages, *reading.names(paths.IMAGES)})
    ]


def _image_row(name: str, config: NodepoolConfig, reading: TreeReading, now: float) -> dict[str, Any]:
    settings, flags = config.diskimages.get(name), reading.names(paths.image(name))
    builds = sorted(_builds(reading, name, now), key=lambda row: (row["age"] is None, row["age"], row["id"]))
    ready = [row for row in builds if row["state"] == BuildState.READY]
    for row, mark in zip(ready, (CURRENT, PREVIOUS), strict=False):
        row["mark"] = mark
    newest = ready[0]["age"] if ready else None
    providers = _providers(name, config, builds)
    longest = STALE_AFTER * settings.rebuild_age if settings else None
    return {
        "image": name,
        "configured": settings is not None,
        "paused": "pause" in flags or bool(settings and settings.pause),
        "requested": "request-build" in flags,
        "building": any(row["state"] == BuildState.BUILDING for row in builds),
        "age": newest,
        "stale": newest is not None and longest is not None and newest > longest,
        "builds": builds[:MOST_BUILDS],
        "builds_count": len(builds),
        "providers": [_provider_row(name, provider, builds, reading, now) for provider in providers],
        **_failures(reading, build_notes_path(name), now),
    }


def _builds(reading: TreeReading, image: str, now: float) -> Iterator[dict[str, Any]]:
    for found in reading.below(paths.builds(image)):
        if is_build_id(found.name):
            folder = f"{paths.build(image, found.name)}/providers"
            uploads = [
                _upload(upload, provider, found, now)
                for provider in reading.names(folder)
                for upload in reading.below(paths.uploads(image, found.name, provider))
                if is_upload_id(upload.name)
            ]
            yield {
                "id": found.name,
                "state": text(found.document.get("state")) or "unknown",
                "age": age(seconds(found.document.get("state_time")), now),
                "builder": text(found.document.get("builder")),
                "formats": text(found.document.get("formats")) or "",
                "mark": "",
                "uploads": uploads,
            }


def _upload(found: Found, provider: str, build: Found, now: float) -> dict[str, Any]:
    return {
        "id": found.name,
        "build_id": build.name,
        "provider": provider,
        "state": text(found.document.get("state")) or "unknown",
        "age": age(seconds(found.document.get("state_time")), now),
        "build_age": age(seconds(build.document.get("state_time")), now),
        "external_id": text(found.document.get("external_id")),
        "external_name": text(found.document.get("external_name")),
        "mark": "",
    }


def _providers(image: str, config: NodepoolConfig, builds: list[dict[str, Any]]) -> list[str]:
    """Return the providers that list the image, and those that have an upload of it."""
    listing = {name for name, provider in config.providers.items() if image in provider.diskimages}
    return sorted(listing | {upload["provider"] for row in builds for upload in row["uploads"]})


def _provider_row(
    image: str, provider: str, builds: list[dict[str, Any]], reading: TreeReading, now: float
) -> dict[str, Any]:
    """Return the uploads to a provider. Launchers boot the current one; the previous one is kept in case it is bad."""
    uploads = [upload for row in builds for upload in row["uploads"] if upload["provider"] == provider]
    usable = [upload for upload in uploads if upload["state"] == UploadState.READY and upload["external_id"]]
    usable.sort(key=lambda upload: (upload["age"] is None, upload["age"], upload["id"]))
    for upload, mark in zip(usable, (CURRENT, PREVIOUS), strict=False):
        upload["mark"] = mark
    return {
        "provider": provider,
        "current": usable[0] if usable else None,
        "previous": usable[1] if len(usable) > 1 else None,
        "uploading": sum(1 for upload in uploads if upload["state"] == UploadState.UPLOADING),
        **_failures(reading, upload_notes_path(provider, image), now),
    }


def _failures(reading: TreeReading, path: str, now: float) -> Mapping[str, Any]:
    """Return the failures in a row that a builder has stored."""
    found = reading.one(f"{paths.OWN}/{path}")
    known = Failures.from_document(found.document if found is not None else None)
    hold = known.hold(now)
    return {
        "failures": known.count,
        "last_error": known.error if known.count else None,
        "failed_age": age(known.last, now) if known.count and known.last else None,
        "next_try_in": round(hold[1] - now, 1) if hold is not None else None,
    }
