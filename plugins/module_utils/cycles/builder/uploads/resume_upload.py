# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Goes on with an upload whose gate had begun when its cycle ended: its image is complete in the cloud."""

from __future__ import annotations

from ....clients.openstack.cloud_client import CloudClient
from ....clients.openstack.cloud_images import ACTIVE
from ....model.errors import CloudError, CloudImageBroken
from ....model.image import Upload, UploadState
from .gate_run import GateLeft
from .upload import UploadJob, UploadRun, images_of
from .upload_claim import UploadClaim
from .upload_resources import UploadResources


class ResumedUpload(UploadRun):
    """Takes the upload's lock again and tests its image, instead of uploading it once more."""

    def __init__(self, upload: Upload, job: UploadJob, client: CloudClient, resources: UploadResources) -> None:
        super().__init__(job, client, resources)
        self._upload = upload

    def _record(self) -> Upload:
        return self._upload

    def _begin(self, claim: UploadClaim) -> str:
        """Take the record as it is; return why it is not gone on with, "" if it is."""
        upload, store = claim.upload, self._resources.store
        there = store.images.read_upload(upload)
        if there is None or there.version != upload.version or there.state != UploadState.UPLOADING:
            return "it has changed"
        gate = store.gates.read(upload.provider, upload.image)
        if gate is None or not gate.is_of(upload) or upload.external_id is None:
            return "its gate has not begun"
        claim.take_over()
        return ""

    def _fill(self, claim: UploadClaim) -> None:
        """Check that the image is still there.

        :raises CloudImageBroken: it is not.
        """
        upload = claim.upload
        try:
            found = images_of(upload, self._client, self._resources.site)
        except CloudError as error:
            raise GateLeft(f"it is unknown whether its image is still there: {error}") from error
        if [image.id for image in found if image.status == ACTIVE] != [upload.external_id]:
            raise CloudImageBroken(f"image {upload.external_id} is gone", provider=upload.provider)
