# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the launcher needs to know of disk images."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.session import Session
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import (
    Build,
    BuildState,
    Upload,
    UploadState,
    is_build_id,
    is_upload_id,
)


class Images:
    """``/nodepool/images``, from the cache."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def names(self) -> list[str]:
        """All images that ever had a build or a request for one."""
        return self._session.tree.names(paths.IMAGES)

    def newest_ready(self, image: str, provider: str) -> Upload | None:
        """The upload that became ready last; its ``path`` is the full znode path, ``external_id`` the cloud's id."""
        ready = [
            upload
            for upload in self.uploads(image, provider)
            if upload.state == UploadState.READY and upload.external_id
        ]
        return max(ready, key=lambda upload: (upload.state_time or 0.0, upload.path), default=None)

    def is_building(self, image: str) -> bool:
        """True when a build is in state building, or an upload of the image is under way anywhere."""
        return any(build.state == BuildState.BUILDING for build in self.builds(image)) or any(
            upload.state == UploadState.UPLOADING for upload in self.uploads(image)
        )

    def builds(self, image: str) -> list[Build]:
        """All builds of *image*."""
        builds = []
        root = f"{paths.IMAGES}/{image}/builds"
        for build_id, entry in self._session.tree.documents(root):
            build = entry.parsed(Build.from_bytes, build_id) if is_build_id(build_id) else None
            if build is not None:
                build = build.clone()
                build.image, build.path = image, f"{root}/{build_id}"
                builds.append(build)
        return builds

    def uploads(self, image: str, provider: str | None = None) -> list[Upload]:
        """All uploads of *image*, to *provider* or anywhere."""
        tree = self._session.tree
        uploads = []
        for build_id in filter(is_build_id, tree.names(f"{paths.IMAGES}/{image}/builds")):
            providers = f"{paths.IMAGES}/{image}/builds/{build_id}/providers"
            for name in [provider] if provider is not None else tree.names(providers):
                root = f"{providers}/{name}/images"
                for upload_id, entry in tree.documents(root):
                    upload = entry.parsed(Upload.from_bytes, upload_id) if is_upload_id(upload_id) else None
                    if upload is not None:
                        upload = upload.clone()
                        upload.image, upload.build_id, upload.provider = image, build_id, name
                        upload.path = f"{root}/{upload_id}"
                        uploads.append(upload)
        return uploads
