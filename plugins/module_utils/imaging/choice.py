# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An upload that a person has chosen: of a certain build, or in spite of what speaks against it."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.due_uploads import (
    UploadCase,
    UploadCode,
    candidate,
    judge_upload,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.files import image_file
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.snapshot import ImagesView
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import BuildState

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
    """The case of a diskimage of a provider, seen by somebody who has chosen it.

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
    code, reason = case.code, case.reason
    if build is None:
        if build_id is not None:
            code, reason = UploadCode.NO_BUILD, f"there is no build {build_id}"
    elif build.state != BuildState.READY:
        code, reason = UploadCode.NO_BUILD, f"build {build.id} is {build.state}"
    elif image_format and image_format not in build.formats:
        code, reason = UploadCode.FORMAT, f"build {build.id} has no {image_format}"
    elif image_format and not any(here.name == file and here.is_image for here in view.files or ()):
        code, reason = UploadCode.NO_FILE, f"{file} is not in images-dir here"
    elif not holding and ((build.id, provider) in view.uploading or (build.id, provider) in state.uploading):
        code, reason = UploadCode.UPLOADING, "being uploaded"
    elif code in (UploadCode.PAUSED, UploadCode.BACKOFF, UploadCode.UNKNOWN):
        pass
    elif state.has_ready_upload(build.id, provider):
        code, reason = UploadCode.CURRENT, f"build {build.id} is there"
    else:
        code, reason = UploadCode.MISSING, f"build {build.id} is not there"
    due = code == UploadCode.MISSING or (force and code in OVERRULED)
    if due and code != UploadCode.MISSING:
        reason = f"forced: {reason}"
    return UploadCase(provider, image, due, code, reason, build, image_format, file, case.first, case.at)
