# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metrics of builder cycles; statsd gets them under the names of Nodepool's builder (its manual, "Operation")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from ....clients.statsd import Sink
from ....model.counters import IMAGE_BUILD, IMAGE_UPLOAD
from ...frame.counts import CycleCounts
from .build import READY, Report
from .image_builder import FAILED

K = TypeVar("K", str, tuple[str, str])


def count_build(cycle_counts: CycleCounts, report: Report, now: float) -> None:
    """Count a build that is ready or has failed. A build that was stopped or lost says nothing about the image."""
    if report.state not in (READY, FAILED):
        return
    image, code, seconds, ready = report.image, report.code, report.seconds, report.state == READY
    cycle_counts.counters.observe(IMAGE_BUILD, image, report.state, seconds=seconds)
    sink, place = cycle_counts.sink, f"nodepool.dib_image_build.{image}"
    if ready:
        for extension, size in report.sizes.items():
            sink.gauge(f"{place}.{extension}.size", size)
    # A failed build never sends 0, also if its program ended with 0: an alert must show that there is no image.
    rc = 0 if ready else code or 1
    sink.gauge(f"{place}.status.rc", rc if rc >= 0 else 128 - rc)  # a signal, as a shell reports it
    sink.gauge(f"{place}.status.last_build", int(now))
    sink.timing(f"{place}.status.duration", seconds)


def count_upload(cycle_counts: CycleCounts, image: str, provider: str, *, ready: bool, seconds: float) -> None:
    """Count an upload that is ready or has failed. Only a ready one is sent under Nodepool's names."""
    cycle_counts.counters.observe(IMAGE_UPLOAD, provider, image, "ready" if ready else "failed", seconds=seconds)
    if ready:
        cycle_counts.sink.incr(f"nodepool.image_update.{image}.{provider}")
        cycle_counts.sink.timing(f"nodepool.image_update.{image}.{provider}", seconds)


IDLE, BUILDING, UPLOADING, PAUSED = 0, 1, 2, 3
"""Nodepool's numbers for the states of an image in a builder."""


def with_gone(states: Mapping[K, int], told: set[K]) -> dict[K, int]:
    """Return *states*, and 0 for what *told* has besides: a gauge keeps its last value until another one is sent.

    :param told: what was sent last; becomes what is sent now.
    """
    gone = told - states.keys()
    told.clear()
    told.update(states)
    return {**states, **dict.fromkeys(gone, IDLE)}


def send_build_states(sink: Sink, hostname: str, states: Mapping[str, int]) -> None:
    """Send the state of each image in this builder.

    :param hostname: the full name of the host.
    :param states: image → idle, building or paused.
    """
    for image, state in states.items():
        sink.gauge(f"nodepool.builder.{hostname}.image.{image}.build.state", state)


def send_upload_states(sink: Sink, hostname: str, states: Mapping[tuple[str, str], int]) -> None:
    """Send the upload state of each image at each provider in this builder.

    :param hostname: the full name of the host.
    :param states: (image, provider) → idle, uploading or paused.
    """
    for (image, provider), state in states.items():
        sink.gauge(f"nodepool.builder.{hostname}.image.{image}.provider.{provider}.upload.state", state)


def send_requests(sink: Sink, pending: Mapping[str, int]) -> None:
    """Send which images are requested and not being built yet."""
    sink.gauge("nodepool.image_build_requests", sum(pending.values()))
    for image, waits in pending.items():
        sink.gauge(f"nodepool.image.{image}.image_build_requests", int(waits))
