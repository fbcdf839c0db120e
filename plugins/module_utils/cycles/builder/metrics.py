# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The builder's figures, under the names of Nodepool's builder (its manual, "Operation", "Nodepool builder")."""

from __future__ import annotations

from collections.abc import Mapping

from ...clients.statsd import Sink


def send_build(
    sink: Sink, image: str, *, ready: bool, code: int | None, seconds: float, sizes: Mapping[str, int], now: float
) -> None:
    """A build has ended, well or not.

    :param code: what disk-image-create ended with; None when it was not run to its end.
    :param seconds: how long it took.
    :param sizes: format → bytes on disk, of a build that is ready.
    """
    place = f"nodepool.dib_image_build.{image}"
    if ready:
        for extension, size in sizes.items():
            sink.gauge(f"{place}.{extension}.size", size)
    # A person who is woken by it asks whether there is an image, and not only what a program has said.
    rc = 0 if ready else code or 1
    sink.gauge(f"{place}.status.rc", rc if rc >= 0 else 128 - rc)  # as a shell tells a signal
    sink.gauge(f"{place}.status.last_build", int(now))
    sink.timing(f"{place}.status.duration", seconds)


def send_upload(sink: Sink, image: str, provider: str, seconds: float) -> None:
    """An upload is ready."""
    sink.incr(f"nodepool.image_update.{image}.{provider}")
    sink.timing(f"nodepool.image_update.{image}.{provider}", seconds)


def send_requests(sink: Sink, pending: Mapping[str, bool]) -> None:
    """Send which images were requested and are not being built yet."""
    sink.gauge("nodepool.image_build_requests", sum(pending.values()))
    for image, waits in pending.items():
        sink.gauge(f"nodepool.image.{image}.image_build_requests", int(waits))
