# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which builds are to be uploaded where, and why the others are not.

The newest ready build that has the provider's format goes to each provider that lists the image, from the builder that
has the file. Nothing is uploaded that is older than what the provider has.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..model.image import Build
from .files import image_file
from .snapshot import ImageState, ImagesView
from .text import span, times


class UploadCode:
    """Why an image is uploaded or not."""

    MISSING = "missing"

    CURRENT = "current"
    PAUSED = "paused"
    NO_BUILD = "no-ready-build"
    UNKNOWN = "format-unknown"
    FORMAT = "format-missing"
    ELSEWHERE = "elsewhere"
    NO_FILE = "no-file"
    UPLOADING = "uploading"
    BACKOFF = "backoff"

    ALL = (MISSING, CURRENT, PAUSED, NO_BUILD, UNKNOWN, FORMAT, ELSEWHERE, NO_FILE, UPLOADING, BACKOFF)


@dataclass(frozen=True)
class UploadCase:
    """What is to be said of uploading an image to a provider.

    *code*: one of :class:`UploadCode`. *build*, *format*, *file* (name in images-dir): what is to be uploaded, as far
    as it is known. *first*: the provider has no ready upload of the image at all. *at*: UNIX time at which the verdict
    will be another one by itself, None when it will not.
    """

    provider: str
    image: str
    due: bool
    code: str
    reason: str
    build: Build | None = None
    format: str = ""
    file: str = ""
    first: bool = False
    at: float | None = None


def judge_uploads(view: ImagesView) -> list[UploadCase]:
    """The case of each diskimage of each provider, in the order of the configuration."""
    providers = view.config.providers.values()
    return [judge_upload(view, provider.name, image) for provider in providers for image in provider.diskimages]


def due_uploads(view: ImagesView) -> list[UploadCase]:
    """The cases that are due; first those of images that a provider does not have at all."""
    due = [case for case in judge_uploads(view) if case.due]
    return sorted(due, key=lambda case: not case.first)


def judge_upload(view: ImagesView, provider_name: str, image: str, *, holding: bool = False) -> UploadCase:
    """The case of one diskimage of a provider.

    :param holding: the lock of the upload is ours: look again with the freshest view before uploading.
    """
    state = view.image(image)
    image_format = view.provider_formats.get(provider_name, "")
    build = candidate(state, image_format)
    code, reason, at = _verdict(view, provider_name, state, image_format, build, holding)
    first = not any(state.has_ready_upload(ready.id, provider_name) for ready in state.ready_builds())
    file = image_file(image, build.id, image_format) if build is not None else ""
    return UploadCase(
        provider_name, image, code == UploadCode.MISSING, code, reason, build, image_format, file, first, at
    )


def candidate(state: ImageState, image_format: str) -> Build | None:
    """The build that belongs in a cloud that takes *image_format*."""
    return next((build for build in state.ready_builds() if image_format in build.formats), None)


def _verdict(
    view: ImagesView, provider_name: str, state: ImageState, image_format: str, build: Build | None, holding: bool
) -> tuple[str, str, float | None]:
    if view.config.providers[provider_name].diskimages[state.name].pause:
        return UploadCode.PAUSED, "paused in the configuration of the provider", None
    ready = state.ready_builds()
    if not ready:
        return UploadCode.NO_BUILD, "there is no ready build", None
    there = next((place for place, each in enumerate(ready) if state.has_ready_upload(each.id, provider_name)), None)
    if there == 0:
        return UploadCode.CURRENT, "the newest ready build is there", None
    if not image_format:
        return UploadCode.UNKNOWN, "the image format of the provider cannot be told from clouds.yaml", None
    if build is None:
        return UploadCode.FORMAT, f"no ready build has {image_format}", None
    if there is not None and there <= ready.index(build):
        return UploadCode.FORMAT, f"no newer build than the one that is there has {image_format}", None
    if not holding and ((build.id, provider_name) in view.uploading or (build.id, provider_name) in state.uploading):
        return UploadCode.UPLOADING, "being uploaded", None
    missing = _missing_file(view, state, build, image_format)
    if missing is not None:
        return missing
    failures = state.upload_failures.get(provider_name)
    again = failures is not None and failures.build in ("", build.id)  # a new build is tried at once
    if failures is not None and again and failures.count and view.now < failures.until(view.now):
        wait = span(failures.until(view.now) - view.now)
        text = f"failed {times(failures.count)}, tried again in {wait}; last error: {failures.error}"
        return UploadCode.BACKOFF, text, failures.until(view.now)
    return UploadCode.MISSING, f"build {build.id} is not there", None


def _missing_file(
    view: ImagesView, state: ImageState, build: Build, image_format: str
) -> tuple[str, str, float | None] | None:
    wanted = image_file(state.name, build.id, image_format)
    if any(file.name == wanted and file.is_image for file in view.files or ()):
        return None
    if not view.is_from_here(build):
        return UploadCode.ELSEWHERE, f"its files are with the builder on {build.builder or 'another host'}", None
    if view.files is None:
        return UploadCode.ELSEWHERE, "images-dir cannot be seen from here", None
    return UploadCode.NO_FILE, f"{wanted} is not in images-dir (any more)", None
