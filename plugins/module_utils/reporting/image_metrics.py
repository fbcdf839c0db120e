# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gauges about disk images: builds, uploads, their ages and failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..clients.zookeeper.link import paths
from ..clients.zookeeper.tree_reading import TreeReading
from ..imaging.notes import Failures, build_notes_path, upload_notes_path
from ..model.config.types import NodepoolConfig
from ..model.documents import seconds, text
from ..model.image import BuildState, UploadState, is_build_id, is_upload_id
from . import metric_catalog as catalog
from .info.fields import known_state
from .metric_catalog import Gauges


def add_images(gauges: Gauges, reading: TreeReading, config: NodepoolConfig) -> None:
    """Add the gauges of all images in the tree and in the configuration."""
    wanted = {(provider.name, image) for provider in config.providers.values() for image in provider.diskimages}
    for name, diskimage in config.diskimages.items():
        gauges.set(catalog.IMAGE_REBUILD_AGE, name, value=diskimage.rebuild_age)
        gauges.set(catalog.IMAGE_FAILURES, name, value=_failures(reading, build_notes_path(name)))
    for provider, image in sorted(wanted):
        gauges.set(
            catalog.UPLOAD_FAILURES, provider, image, value=_failures(reading, upload_notes_path(provider, image))
        )
    for image in sorted({*reading.names(paths.IMAGES), *config.diskimages}):
        gauges.set(catalog.IMAGE_PAUSED, image, value=_is_paused(image, reading, config))
        for state in sorted(BuildState.ALL):
            gauges.set(catalog.IMAGE_BUILDS, image, state, value=0)
        _add_builds(gauges, reading, image)


def _add_builds(gauges: Gauges, reading: TreeReading, image: str) -> None:
    built: float | None = None
    uploaded: dict[str, float] = {}
    for build in reading.below(paths.builds(image)):
        if not is_build_id(build.name):
            continue
        state, moment = text(build.document.get("state")), seconds(build.document.get("state_time"))
        gauges.add(catalog.IMAGE_BUILDS, image, known_state(state, BuildState.ALL))
        if state == BuildState.READY and moment is not None:
            built = max(built or 0.0, moment)
        for provider in reading.names(f"{paths.build(image, build.name)}/providers"):
            if _add_uploads(gauges, reading, image, build.name, provider) and moment is not None:
                uploaded[provider] = max(uploaded.get(provider, 0.0), moment)
    if built is not None:
        gauges.set(catalog.IMAGE_BUILT, image, value=built)
    for provider, moment in uploaded.items():
        gauges.set(catalog.UPLOAD_BUILT, provider, image, value=moment)


def _add_uploads(gauges: Gauges, reading: TreeReading, image: str, build_id: str, provider: str) -> bool:
    """Count the uploads of a build to a provider; True when one is ready."""
    ready = False
    for upload in reading.below(paths.uploads(image, build_id, provider)):
        if is_upload_id(upload.name):
            state = text(upload.document.get("state"))
            gauges.add(catalog.UPLOADS, provider, image, known_state(state, UploadState.ALL))
            ready = ready or state == UploadState.READY
    return ready


def _is_paused(image: str, reading: TreeReading, config: NodepoolConfig) -> bool:
    configured: Any = config.diskimages.get(image)
    return "pause" in reading.names(paths.image(image)) or (configured is not None and configured.pause)


def _failures(reading: TreeReading, path: str) -> int:
    found = reading.one(paths.own(path))
    document: Mapping[str, Any] = found.document if found is not None else {}
    return Failures.from_document(document).count
