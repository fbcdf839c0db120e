# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The records of builds and uploads in a reading of the tree.

A record that holds no JSON object is included: it has no state, and is ``broken``. The reading keeps the
records, so they must not be changed; their places (image, build, provider) are not in them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import Found, TreeReading
from ...imaging.notes import BuildNotes, Failures, build_notes_path
from ...model.config.types import NodepoolConfig
from ...model.image import Build, Upload, is_build_id, is_upload_id


def image_names(reading: TreeReading, config: NodepoolConfig) -> list[str]:
    """Return the names of all images of the tree and of the configuration, sorted."""
    return sorted({*config.diskimages, *reading.names(paths.IMAGES)})


def builds_of(reading: TreeReading, image: str, *, readable: bool = False) -> Iterator[Build]:
    """Yield the builds of an image by id; with *readable* only those that are JSON objects."""
    for found in reading.below(paths.builds(image)):
        if is_build_id(found.name) and not (readable and found.problem):
            yield found.fact(_build)


def uploads_of(
    reading: TreeReading, image: str, build_id: str, *, readable: bool = False
) -> Iterator[tuple[str, Upload]]:
    """Yield the provider and the record of each upload of a build, by provider and number; *readable*: as above."""
    for provider in upload_providers(reading, image, build_id):
        for found in reading.below(paths.uploads(image, build_id, provider)):
            if is_upload_id(found.name) and not (readable and found.problem):
                yield provider, found.fact(_upload)


def upload_providers(reading: TreeReading, image: str, build_id: str) -> list[str]:
    """Return the providers to which the build was ever uploaded."""
    return reading.names(f"{paths.build(image, build_id)}/providers")


def takers(config: NodepoolConfig, image: str) -> set[str]:
    """Return the providers that list the image."""
    return {name for name, provider in config.providers.items() if image in provider.diskimages}


def is_paused(reading: TreeReading, config: NodepoolConfig, image: str) -> bool:
    """Return True when an operator has paused the image, or the configuration does."""
    settings = config.diskimages.get(image)
    return "pause" in _flags(reading, image) or (settings is not None and settings.pause)


def is_requested(reading: TreeReading, image: str) -> bool:
    """Return True when a build was requested."""
    return "request-build" in _flags(reading, image)


def failures_of(reading: TreeReading, path: str) -> Failures:
    """Return the failures in a row that a builder has stored at *path* of our subtree."""
    found = reading.one(paths.own(path))
    return Failures.from_document(found.document if found is not None else None)


def changes_of(reading: TreeReading, image: str, build_id: str) -> str | None:
    """Return what differs in a build from the one that was in use before; None if that is unknown."""
    found = reading.one(paths.own(build_notes_path(image)))
    return BuildNotes.from_document(found.document).changes_of(build_id) if found is not None else None


def _build(found: Found) -> Build:
    return Build.from_document(found.name, found.document)


def _upload(found: Found) -> Upload:
    return Upload.from_document(found.name, found.document)


def _flags(reading: TreeReading, image: str) -> Collection[str]:
    return reading.names(paths.image(image))
