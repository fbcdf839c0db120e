# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How launches from each build ended at a provider, and what is decided about the build, in a reading of the tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import Found, TreeReading
from ...model import own_tree
from ...model.build_verdict import NONE, BuildVerdict, read_verdicts
from ...model.image import UploadState
from ...model.launch_counts import OF_IMAGE, LaunchCounts, sentence, sentence_with_words
from ...model.stored import BadDocument
from .image_reading import builds_of, uploads_of

COUNTS = paths.own(own_tree.LAUNCH_COUNTS)
VERDICTS = paths.own(own_tree.VERDICTS)
ROOTS = (COUNTS, VERDICTS)


def counts_at(reading: TreeReading, provider: str) -> LaunchCounts:
    """Return the counts of a provider; empty ones if none can be used."""
    found = reading.one(f"{COUNTS}/{provider}")
    return LaunchCounts() if found is None else found.fact(_counts)


def verdict_on(reading: TreeReading, image: str, build_id: str) -> BuildVerdict:
    """Return what is decided about a build."""
    found = reading.one(f"{VERDICTS}/{paths.segment(image)}")
    return NONE if found is None else found.fact(_verdicts).get(build_id, NONE)


def figures_of(counts: LaunchCounts, image: str, build_id: str, provider: str) -> dict[str, Any]:
    """Return the figures of a build at a provider and of the build before it there."""
    mine, before = counts.of(image, build_id), counts.before(image, build_id)
    return {
        "tried": mine.tried,
        "ready": mine.ready,
        "failed": mine.failed,
        "flavors": {name: dict(sorted(tally.items())) for name, tally in sorted(mine.flavors.items())},
        "before_tried": before.tried if before is not None else None,
        "before_ready": before.ready if before is not None else None,
        "text": sentence(image, build_id, provider, counts) or None,
    }


def trouble_with(reading: TreeReading, image: str, build_id: str, provider: str, now: float) -> str:
    """Return the figures of a build of which launches failed lately, and why it is not used; "" for a good one."""
    counts = counts_at(reading, provider)
    recent, verdict = counts.of(image, build_id).recent, verdict_on(reading, image, build_id)
    figures = sentence_with_words(image, build_id, provider, counts)
    if not verdict.state and provider in verdict.fallen_back:
        # Those of now: others that are shown beside them go on, too.
        told = figures or verdict.fallen_back[provider].reason
        return f"{told}; not used at {provider} by decision of the launcher"
    parts = [figures] if any(one.end == OF_IMAGE for one in recent) else []
    if not verdict.is_used(now, provider):
        parts.append(f"{image} build {build_id} at {provider}: {verdict.text(now, provider)}")
    return "; ".join(filter(None, parts))


def troubles_at(reading: TreeReading, image: str, provider: str, now: float) -> Iterator[str]:
    """Yield :func:`trouble_with` of each ready build that is in the cloud of a provider, if there is any."""
    for build in builds_of(reading, image):
        uploads = uploads_of(reading, image, build.id)
        there = any(name == provider and upload.state == UploadState.READY for name, upload in uploads)
        if there and (told := trouble_with(reading, image, build.id, provider, now)):
            yield told


def figures_of_failures(reading: TreeReading, image: str, provider: str, *, of_image: bool) -> str:
    """Return the figures of the build of an image whose launches failed last; "" without such a build.

    :param of_image: True when it is known that the image is to blame. Otherwise a build of which at least half of the
        launches were good is not told.
    """
    counts, failed = counts_at(reading, provider), {}
    for build_id, figures in counts.images.get(image, {}).items():
        times = [one.ended for one in figures.recent if one.end == OF_IMAGE]
        if times and (of_image or 2 * figures.ready < figures.tried):
            failed[build_id] = max(times)
    return sentence(image, max(failed, key=lambda key: failed[key]), provider, counts) if failed else ""


def unused_builds(reading: TreeReading, image: str, provider: str, builds: list[str], now: float) -> Iterator[str]:
    """Yield the *builds* from which nothing is launched at a provider."""
    for build_id in builds:
        if not verdict_on(reading, image, build_id).is_used(now, provider):
            yield build_id


def _counts(found: Found) -> LaunchCounts:
    try:
        return LaunchCounts.from_document(found.document)
    except BadDocument:
        return LaunchCounts()  # the launcher reports it


def _verdicts(found: Found) -> Mapping[str, BuildVerdict]:
    try:
        return read_verdicts(found.document)
    except BadDocument:
        return {}
