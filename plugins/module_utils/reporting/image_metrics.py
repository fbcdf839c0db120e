# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gauges about disk images: builds, uploads, their ages and failures."""

from __future__ import annotations

from ..clients.zookeeper.tree_reading import TreeReading
from ..imaging.notes import build_notes_path, upload_notes_path
from ..model.config.types import NodepoolConfig
from ..model.gate import STATES as GATE_STATES
from ..model.image import BuildState, UploadState
from ..model.launch_counts import READY, SHORT
from . import metric_catalog as catalog
from .info.build_figures import counts_at, unused_builds
from .info.fields import known_state
from .info.gate_rows import gate_record
from .info.image_reading import builds_of, failures_of, image_names, is_paused, uploads_of
from .metric_catalog import Gauges


def add_images(gauges: Gauges, reading: TreeReading, config: NodepoolConfig, now: float) -> None:
    """Add the gauges of all images in the tree and in the configuration."""
    wanted = {(provider.name, image) for provider in config.providers.values() for image in provider.diskimages}
    for name, diskimage in config.diskimages.items():
        gauges.set(catalog.IMAGE_REBUILD_AGE, name, value=diskimage.rebuild_age)
        gauges.set(catalog.IMAGE_FAILURES, name, value=failures_of(reading, build_notes_path(name)).count)
    for provider, image in sorted(wanted):
        failures = failures_of(reading, upload_notes_path(provider, image))
        gauges.set(catalog.UPLOAD_FAILURES, provider, image, value=failures.count)
        gate = gate_record(reading, provider, image)
        for state in GATE_STATES if gate is not None else ():
            gauges.set(catalog.IMAGE_GATE, provider, image, state, value=gate is not None and gate.state == state)
    for image in image_names(reading, config):
        gauges.set(catalog.IMAGE_PAUSED, image, value=is_paused(reading, config, image))
        for state in sorted(BuildState.ALL):
            gauges.set(catalog.IMAGE_BUILDS, image, state, value=0)
        _add_builds(gauges, reading, image, now)


def _add_builds(gauges: Gauges, reading: TreeReading, image: str, now: float) -> None:
    built: float | None = None
    uploaded: dict[str, float] = {}
    there: dict[str, dict[str, None]] = {}
    for build in builds_of(reading, image):
        gauges.add(catalog.IMAGE_BUILDS, image, known_state(build.state, BuildState.ALL))
        moment = build.state_time
        if build.state == BuildState.READY and moment is not None:
            built = max(built or 0.0, moment)
        for provider, upload in uploads_of(reading, image, build.id):
            gauges.add(catalog.UPLOADS, provider, image, known_state(upload.state, UploadState.ALL))
            if upload.state == UploadState.READY:
                there.setdefault(provider, {})[build.id] = None
            if upload.state == UploadState.READY and moment is not None:
                uploaded[provider] = max(uploaded.get(provider, 0.0), moment)
    if built is not None:
        gauges.set(catalog.IMAGE_BUILT, image, value=built)
    for provider, builds in there.items():
        unused = list(unused_builds(reading, image, provider, list(builds), now))
        gauges.set(catalog.BUILDS_UNUSED, provider, image, value=len(unused))
        for build_id in builds:
            total = counts_at(reading, provider).of(image, build_id).total
            for result, count in sorted(({READY: 0} | total).items() if total else ()):
                gauges.set(catalog.BUILD_LAUNCHES, provider, image, build_id[:SHORT], result, value=count)
    for provider, moment in uploaded.items():
        gauges.set(catalog.UPLOAD_BUILT, provider, image, value=moment)
