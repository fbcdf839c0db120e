# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An upload that a person has chosen: of a certain build, or in spite of what speaks against it."""

from __future__ import annotations

from ..model.image import Build, BuildState
from .due_uploads import (
    UploadCase,
    UploadCode,
    candidate,
    judge_upload,
)
from .files import image_file
from .snapshot import ImagesView
from .text import span, times

OVERRULED = frozenset({UploadCode.CURRENT, UploadCode.PAUSED, UploadCode.BACKOFF})
"""What force goes over."""


def judge_choice(
    view: ImagesView,
    provider: str,
    image: str,
    *,
    build_id: str | None = None,
    force: bool = False,
    holding: bool = False,
) -> UploadCase:
    """The case of a diskimage of a provider that the operator has chosen.

    :param build_id: this build, although there may be newer ones; None: the one that belongs there.
    :param force: also when it is there already, is paused, or failed a moment ago.
    :param holding: as in judge_upload.
    """
    case = judge_upload(view, provider, image, holding=holding)
    if build_id is None and not force:
        return case
    state = view.image(image)
    image_format = view.provider_formats.get(provider, "")
    build = candidate(state, image_format) if build_id is None else state.build(build_id)
    file = image_file(image, build.id, image_format) if build is not None else ""
    code, reason, at = _verdict(view, case, build, build_id, file, holding)
    due = code == UploadCode.MISSING or (force and code in OVERRULED)
    if due and code != UploadCode.MISSING:
        reason = f"forced: {reason}"
    return UploadCase(provider, image, due, code, reason, build, image_format, file, case.first, None if due else at)


def _verdict(
    view: ImagesView, case: UploadCase, build: Build | None, build_id: str | None, file: str, holding: bool
) -> tuple[str, str, float | None]:
    """Code, sentence, and when that changes by itself."""
    state, provider = view.image(case.image), case.provider
    if not case.format:
        return UploadCode.UNKNOWN, "the image format of the provider cannot be told from clouds.yaml", None
    if build is None:
        return (case.code, case.reason, case.at) if build_id is None else _no_build(f"there is no build {build_id}")
    if build.state != BuildState.READY:
        return _no_build(f"build {build.id} is {build.state}")
    if case.format not in build.formats:
        return UploadCode.FORMAT, f"build {build.id} has no {case.format}", None
    if not any(here.name == file and here.is_image for here in view.files or ()):
        return UploadCode.NO_FILE, f"{file} is not in images-dir here", None
    if not holding and ((build.id, provider) in view.uploading or (build.id, provider) in state.uploading):
        return UploadCode.UPLOADING, "being uploaded", None
    if state.has_ready_upload(build.id, provider):
        return UploadCode.CURRENT, f"build {build.id} is there", None
    if view.config.providers[provider].diskimages[case.image].pause:
        return UploadCode.PAUSED, "paused in the configuration of the provider", None
    failures = state.upload_failures.get(provider)
    if failures is not None and failures.build in ("", build.id) and view.now < failures.until(view.now):
        wait = span(failures.until(view.now) - view.now)
        text = f"failed {times(failures.count)}, tried again in {wait}; last error: {failures.error}"
        return UploadCode.BACKOFF, text, failures.until(view.now)
    return UploadCode.MISSING, f"build {build.id} is not there", None


def _no_build(reason: str) -> tuple[str, str, None]:
    return UploadCode.NO_BUILD, reason, None
