# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds images in clouds that a builder has uploaded and that no upload record names."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.store import Store
from ...model.cloud import (
    IMAGE_BUILD,
    IMAGE_UPLOAD,
    META_PROVIDER,
    Image,
)
from ...model.errors import CloudError
from ..frame.config_source import config_by_hand
from ..frame.config_warnings import config_warnings
from ..frame.cycle_options import ConfigOptions, with_providers
from ..frame.tree_identity import site_of


@dataclass(frozen=True, kw_only=True)
class AlienOptions(ConfigOptions):
    """The options of the list.

    :param providers: names of the providers to check; None for all.
    """

    providers: tuple[str, ...] | None = None


def alien_images(options: AlienOptions) -> dict[str, Any]:
    """List the images of each provider in one call, and compare them with the records.

    A provider whose images cannot be listed is left out, with the reason.

    :raises ConfigError: a provider is not in the configuration.
    """
    config = with_providers(config_by_hand(options), options.providers)
    rows: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    with closing(Store(config.zookeeper)) as store:
        store.open(watch=False, roots=paths.IMAGE_ROOTS, locks=())
        site, warnings = site_of(store, create=False), config_warnings(config, store)
        known = {upload.external_id for name in store.images.names() for upload in store.images.uploads(name)}
        for name in options.providers or sorted(config.providers):
            try:
                with closing(options.client(config.providers[name])) as client:
                    rows += alien_rows(name, client.list_own_images(), known, site)
            except CloudError as error:
                left_out[name] = str(error)
    told = [f"provider {name} is skipped: {why}" for name, why in left_out.items()]
    return {"changed": False, "images": rows, "left_out": left_out, "warnings": [*warnings, *told]}


def alien_rows(provider: str, images: Iterable[Image], known: Iterable[str | None], site: str) -> list[dict[str, Any]]:
    """Return a row for each image with a builder's mark whose id is not *known*, sorted by name and id.

    :param site: the id of the tree.
    """
    there = set(known)
    rows = [
        {
            "provider": provider,
            "name": image.name,
            "image_id": image.id,
            "build_id": image.properties[IMAGE_BUILD],
            "upload_id": image.properties.get(IMAGE_UPLOAD),
            "uploaded_for": image.properties.get(META_PROVIDER),
            "site": image.site or None,
            "this_tree": bool(site) and image.site == site,
            "snapshot": image.is_snapshot,
            "created": image.created,
        }
        for image in images
        if image.id not in there and IMAGE_BUILD in image.properties
    ]
    return sorted(rows, key=lambda row: (row["name"] or "", row["image_id"]))
