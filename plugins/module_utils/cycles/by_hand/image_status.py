# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks the clouds for the images of uploads, for the modules that show them."""

from __future__ import annotations

from collections.abc import Iterable

from ...clients.openstack.cloud_client import CloudClient
from ...imaging.image_snapshot import SeenImages
from ...model.cloud import Image
from ...model.config.types import NodepoolConfig
from ...model.errors import CloudAuthError
from ...model.image import Upload, UploadState
from ..frame.cycle_options import ConfigOptions
from ..frame.provider_reach import reach


def images_seen(
    options: ConfigOptions, config: NodepoolConfig, uploads: Iterable[Upload]
) -> tuple[SeenImages, dict[str, str]]:
    """Ask each provider once for the images of its project, all providers side by side.

    :param uploads: those that are not ready, and those of providers that the configuration lacks, are left out.
    :return: the images, and provider → why it could not be asked.
    """
    ids: dict[str, set[str]] = {}
    for upload in uploads:
        if upload.state == UploadState.READY and upload.external_id and upload.provider in config.providers:
            ids.setdefault(upload.provider, set()).add(upload.external_id)
    problems: dict[str, str] = {}
    clients: dict[str, CloudClient] = {}
    for name in sorted(ids):
        try:
            clients[name] = options.client(config.providers[name])
        except CloudAuthError as error:
            problems[name] = str(error)
    seen: dict[tuple[str, str], Image | None] = {}

    def look(client: CloudClient) -> None:
        name = client.provider
        there = {image.id: image for image in client.list_own_images()}
        # The list leaves out hidden images, and those that another project has taken over.
        found = {one: there.get(one) or client.images.get(one) for one in sorted(ids[name])}
        seen.update({(name, one): image for one, image in found.items()})

    try:
        answers = reach(clients, look)
    finally:
        for client in clients.values():
            client.close()
    return seen, problems | {name: why for name, why in answers.items() if why is not None}
