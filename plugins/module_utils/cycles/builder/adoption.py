# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An upload whose maker was ended when all of it was in the cloud already: it is kept, and not made once more.

That is so when there is exactly one image with the marks of that very upload, it is active, and its size and a checksum
are those of the file here. Anything less is for deletion. So is an upload with a ``post-upload-hook``: nothing tells
whether the hook ran.
"""

from __future__ import annotations

import os

from ...clients.openstack.client import CloudClient
from ...clients.openstack.disk_file import DiskFile
from ...clients.openstack.images import ACTIVE
from ...imaging.due_uploads import (
    UploadCase,
    UploadCode,
    judge_upload,
)
from ...imaging.snapshot import ImagesView
from ...model.cloud import Image
from ...model.errors import CloudImageBroken, ImageFileError
from ...model.image import Upload, UploadState
from .upload import images_of
from .upload_resources import UploadResources


def adopt_upload(upload: Upload, client: CloudClient, resources: UploadResources) -> bool:
    """Make an abandoned upload a ready one, if it is whole and still wanted; True when it was done.

    :param upload: its record as it is now; its lock is ours.
    :raises CloudError: the cloud does not tell.
    :raises StoreError: the record could not be written.
    """
    key = (upload.build_id, upload.provider)
    case = _wanted(resources.view(key), upload) if upload.state == UploadState.UPLOADING else None
    image = _find(upload, client, resources.site) if case is not None else None
    if case is None or image is None or not _is_whole(image, case, client, resources):
        return False
    # Comparing may have taken its time. An uploading builder holds this lock, and finds its build there afterwards.
    held = resources.store.images.lock_provider(upload.image, upload.build_id, upload.provider)
    if held is None:
        return False
    try:
        case = _wanted(resources.view(key), upload)
        there = _find(upload, client, resources.site)
        if case is None or case.build is None or there is None or there.id != image.id:
            return False
        build = case.build
        upload.external_id, upload.external_name, upload.format = image.id, image.name, case.format
        upload.username, upload.python_path, upload.shell_type = build.username, build.python_path, build.shell_type
        upload.set_state(UploadState.READY, resources.clock())
        resources.store.images.write_upload(upload, held=held, if_unchanged=True)
        return True
    finally:
        held.release()


def _wanted(view: ImagesView, upload: Upload) -> UploadCase | None:
    """The case of the upload, when it is just what would be uploaded now."""
    provider = view.config.providers.get(upload.provider)
    if provider is None or upload.image not in provider.diskimages or provider.post_upload_hook:
        return None
    case = judge_upload(view, upload.provider, upload.image, holding=True)
    missing = case.code in (UploadCode.MISSING, UploadCode.BACKOFF)
    return case if missing and case.build is not None and case.build.id == upload.build_id else None


def _find(upload: Upload, client: CloudClient, site: str) -> Image | None:
    """The one active image with the upload's marks, which is also the one of its record if that names any."""
    found = images_of(upload, client, site)
    if len(found) != 1 or found[0].status != ACTIVE:
        return None
    return found[0] if upload.external_id in (None, found[0].id) else None


def _is_whole(image: Image, case: UploadCase, client: CloudClient, resources: UploadResources) -> bool:
    if image.size is None or image.properties.get("disk_format") != case.format:
        return False
    try:
        known = resources.checksums.of(case.file, resources.check)
        file = DiskFile(os.path.join(resources.images_dir.path, case.file))
        compared = client.images.verify(image, file, {name: digits for name, digits in known.items() if digits})
    except (CloudImageBroken, ImageFileError):
        return False
    return compared != ["size"]
