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
from ...model.lines import amount, word_for
from ..frame.cycle_options import ConfigOptions
from ..frame.provider_reach import reach

MOST_ASKED = 200
"""Largest number of images of a provider that are asked for one by one."""


def images_seen(
    options: ConfigOptions, config: NodepoolConfig, uploads: Iterable[Upload]
) -> tuple[SeenImages, dict[str, str]]:
    """Ask each provider once for the images of its project, all providers side by side.

    Of the images that a provider does not list, those that were uploaded last are asked for one by one.

    :param uploads: those that are not ready, and those of providers that the configuration lacks, are left out.
    :return: the images, and provider → why it could not be asked.
    """
    ids: dict[str, dict[str, None]] = {}
    for upload in sorted(uploads, key=lambda upload: upload.state_time or 0.0, reverse=True):
        if upload.state == UploadState.READY and upload.external_id and upload.provider in config.providers:
            ids.setdefault(upload.provider, {})[upload.external_id] = None
    problems: dict[str, str] = {}
    clients: dict[str, CloudClient] = {}
    for name in sorted(ids):
        try:
            clients[name] = options.client(config.providers[name])
        except CloudAuthError as error:
            problems[name] = str(error)
    seen: dict[tuple[str, str], Image | None] = {}
    left: dict[str, str] = {}

    def look(client: CloudClient) -> None:
        name = client.provider
        there = {image.id: image for image in client.list_own_images()}
        # The list leaves out hidden images, and those that another project has taken over.
        seen.update({(name, one): there[one] for one in ids[name] if one in there})
        unlisted = [one for one in ids[name] if one not in there]
        for one in unlisted[:MOST_ASKED]:
            seen[name, one] = client.images.get(one)
        if len(unlisted) > MOST_ASKED:
            rest = len(unlisted) - MOST_ASKED
            left[name] = f"{amount(rest, 'image')} that it does not list {word_for(rest, 'was', 'were')} not checked"

    try:
        answers = reach(clients, look)
    finally:
        for client in clients.values():
            client.close()
    return seen, problems | left | {name: why for name, why in answers.items() if why is not None}
