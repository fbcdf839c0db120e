# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The disk images of a tree as lines of text: the ages of builds and uploads, and what is in progress."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import Found, TreeReading
from ...model.config.types import NodepoolConfig
from ...model.documents import seconds, text
from ...model.image import BuildState, UploadState, is_build_id
from ...model.lines import span
from .fields import age


def image_lines(config: NodepoolConfig, reading: TreeReading, now: float) -> Iterator[str]:
    """Yield a line for each disk image in the configuration or in the tree."""
    for image in sorted({*config.diskimages, *reading.names(paths.IMAGES)}):
        builds = [found for found in reading.below(paths.builds(image)) if is_build_id(found.name)]
        takers = {name for name, provider in config.providers.items() if image in provider.diskimages}
        takers.update(name for build in builds for name in reading.names(_providers(image, build.name)))
        parts = [
            *_build_parts(builds, now),
            *(_upload_part(image, builds, name, reading, now) for name in sorted(takers)),
        ]
        yield f"{image}: {', '.join([*parts, *_flags(config, reading, image)])}"


def _build_parts(builds: Iterable[Found], now: float) -> Iterator[str]:
    """Yield the newest ready build, a build in progress, and a failure after the newest ready build."""
    documents = [found.document for found in builds]
    ready, begun, failed = (
        _newest(documents, state, now) for state in (BuildState.READY, BuildState.BUILDING, BuildState.FAILED)
    )
    yield f"built {span(ready)} ago" if ready is not None else "no ready build"
    if begun is not None:
        yield f"building for {span(begun)}"
    if failed is not None and (ready is None or failed < ready):
        yield f"a build failed {span(failed)} ago"


def _upload_part(image: str, builds: Iterable[Found], provider: str, reading: TreeReading, now: float) -> str:
    uploads = (item.document for build in builds for item in reading.below(paths.uploads(image, build.name, provider)))
    uploaded = _newest(uploads, UploadState.READY, now)
    return f"{provider} {span(uploaded)} ago" if uploaded is not None else f"{provider} has no ready upload"


def _flags(config: NodepoolConfig, reading: TreeReading, image: str) -> Iterator[str]:
    flags, settings = reading.names(paths.image(image)), config.diskimages.get(image)
    if "pause" in flags or (settings is not None and settings.pause):
        yield "paused"
    if "request-build" in flags:
        yield "build asked for"
    if settings is None:
        yield "not in the configuration"


def _providers(image: str, build_id: str) -> str:
    return f"{paths.build(image, build_id)}/providers"


def _newest(documents: Iterable[Mapping[str, Any]], state: str, now: float) -> float | None:
    """Return the age of the newest document in that state."""
    times = (seconds(item.get("state_time")) for item in documents if text(item.get("state")) == state)
    return min((passed for since in times if (passed := age(since, now)) is not None), default=None)
