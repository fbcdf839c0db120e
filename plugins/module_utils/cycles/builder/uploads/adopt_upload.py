# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Adopts an abandoned upload whose image is already complete in the cloud, instead of uploading it again.

The upload is adopted only if the cloud has exactly one image with its marks, the image is active, and its size and a
checksum match the local file. Where the cloud has converted the image, these are not the file's: then the checksums
with which the image was created must be those of the file. Otherwise the upload is deleted. An upload with a
``post-upload-hook`` is deleted, too: it is unknown whether the hook ran.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ....clients.openstack.cloud_client import CloudClient
from ....clients.openstack.cloud_images import ACTIVE, MD5_KEY, SHA256_KEY
from ....clients.openstack.disk_file import DiskFile
from ....imaging.due_uploads import (
    UploadCase,
    UploadCode,
    judge_upload,
)
from ....imaging.gating import needs_gate
from ....imaging.image_snapshot import ImagesView
from ....model.cloud import IMAGE_UPLOAD, Image
from ....model.errors import CloudImageBroken, ImageFileError
from ....model.image import Upload, UploadState
from .upload import images_of
from .upload_resources import UploadResources


def adopt_upload(upload: Upload, client: CloudClient, resources: UploadResources) -> bool:
    """Set an abandoned upload to ready if its image is complete and still wanted; return True if that was done.

    :param upload: its current record; the caller must hold its lock.
    :raises CloudError: the image cannot be read from the cloud.
    :raises StoreError: the record could not be written.
    """
    key = (upload.build_id, upload.provider)
    case = _wanted(resources.view(key), upload) if upload.state == UploadState.UPLOADING else None
    image = _find(upload, client, resources.site) if case is not None else None
    if case is None or image is None or not _is_whole(image, case, client, resources):
        return False
    # The comparison may have taken long, so the checks are repeated under the lock of the provider. A builder that
    # uploads holds this lock; a builder that takes it later finds the adopted upload.
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
    """Return the case of the upload, if its build is the one that would be uploaded now; otherwise None."""
    provider = view.config.providers.get(upload.provider)
    if provider is None or upload.image not in provider.diskimages or provider.post_upload_hook:
        return None
    if needs_gate(view, upload):
        return None
    case = judge_upload(view, upload.provider, upload.image, holding=True)
    missing = case.code in (UploadCode.MISSING, UploadCode.BACKOFF)
    return case if missing and case.build is not None and case.build.id == upload.build_id else None


def _find(upload: Upload, client: CloudClient, site: str) -> Image | None:
    """Return the only image with the upload's marks, if it is active and the record names it or none."""
    found = images_of(upload, client, site)
    if len(found) != 1 or found[0].status != ACTIVE or IMAGE_UPLOAD not in found[0].properties:
        return None
    return found[0] if upload.external_id in (None, found[0].id) else None


def _is_whole(image: Image, case: UploadCase, client: CloudClient, resources: UploadResources) -> bool:
    if image.size is None or not image.properties.get("disk_format"):
        return False
    try:
        checksums = resources.checksums.of(case.file, resources.check)
        known = {name: digits for name, digits in checksums.items() if digits}
        file = DiskFile(os.path.join(resources.images_dir.path, case.file))
        compared = client.images.verify(image, file, known, case.format)
    except (CloudImageBroken, ImageFileError):
        return False
    return compared != ["size"] if compared else _was_made_for(image, known)


def _was_made_for(image: Image, known: Mapping[str, str]) -> bool:
    """Return True if the image was created with the checksums of the file. Glance makes an image active only after it
    has received all bytes, so a converted image that is active had them all."""
    made = {name: image.properties.get(key, "") for name, key in (("md5", MD5_KEY), ("sha256", SHA256_KEY))}
    told = {name: digits for name, digits in made.items() if digits}
    return bool(told) and all(known.get(name) == digits for name, digits in told.items())
