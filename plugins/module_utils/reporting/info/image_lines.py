# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The disk images of a tree as lines of text: the ages of builds and uploads, and what is in progress."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ...clients.zookeeper.tree_reading import TreeReading
from ...model.config.types import NodepoolConfig
from ...model.image import Build, BuildState, Upload, UploadState
from ...model.lines import span
from .build_figures import trouble_with
from .fields import age
from .image_reading import builds_of, image_names, is_paused, is_requested, takers, upload_providers, uploads_of


def image_lines(config: NodepoolConfig, reading: TreeReading, now: float) -> Iterator[str]:
    """Yield a line for each disk image in the configuration or in the tree, and one for each build in trouble."""
    for image in image_names(reading, config):
        builds = list(builds_of(reading, image))
        uploads = [pair for build in builds for pair in uploads_of(reading, image, build.id)]
        providers = takers(config, image).union(*(upload_providers(reading, image, build.id) for build in builds))
        parts = [
            *_build_parts(builds, now),
            *(
                _upload_part([upload for provider, upload in uploads if provider == name], name, now)
                for name in sorted(providers)
            ),
        ]
        yield f"{image}: {', '.join([*parts, *_flags(config, reading, image)])}"
        ready = [build.id for build in builds if build.state == BuildState.READY]
        told = (trouble_with(reading, image, build, name, now) for name in sorted(providers) for build in ready)
        yield from (f"  {text}" for text in told if text)


def _build_parts(builds: Collection[Build], now: float) -> Iterator[str]:
    """Yield the newest ready build, a build in progress, and a failure after the newest ready build."""
    ready, begun, failed = (
        _newest(builds, state, now) for state in (BuildState.READY, BuildState.BUILDING, BuildState.FAILED)
    )
    yield f"built {span(ready)} ago" if ready is not None else "no ready build"
    if begun is not None:
        yield f"building for {span(begun)}"
    if failed is not None and (ready is None or failed < ready):
        yield f"a build failed {span(failed)} ago"


def _upload_part(uploads: Iterable[Upload], provider: str, now: float) -> str:
    uploaded = _newest(uploads, UploadState.READY, now)
    return f"{provider} {span(uploaded)} ago" if uploaded is not None else f"{provider} has no ready upload"


def _flags(config: NodepoolConfig, reading: TreeReading, image: str) -> Iterator[str]:
    if is_paused(reading, config, image):
        yield "paused"
    if is_requested(reading, image):
        yield "build asked for"
    if image not in config.diskimages:
        yield "not in the configuration"


def _newest(records: Iterable[Build | Upload], state: str, now: float) -> float | None:
    """Return the age of the newest record in that state."""
    ages = (age(record.state_time, now) for record in records if record.state == state)
    return min((passed for passed in ages if passed is not None), default=None)
