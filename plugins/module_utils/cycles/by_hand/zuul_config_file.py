# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes nodepool.yaml as a file of Zuul's objects; asks the clouds for flavors and images that it names otherwise."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...clients.private_file import write_private
from ...clients.text_file import read_text
from ...clients.yaml_text import yaml_text
from ...launching.resolver import choose_image
from ...launching.zuul_conversion import CloudSeen, Converted, converted
from ...model.config.types import CloudImage, ImageSettings, NodepoolConfig, Provider
from ...model.errors import CloudAuthError, CloudRefused, ConfigError
from ..frame.cycle_options import ConfigOptions
from ..frame.provider_reach import reach

if TYPE_CHECKING:
    from ...clients.openstack.cloud_client import CloudClient

READABLE = 0o644
NEEDED = (
    "Zuul reports nothing when one of these is missing:",
    "- clouds.yaml is in openstacksdk's search path, such as /etc/openstack, of schedulers, launchers and web servers.",
    "- The project of this file has include-provider-config: true in the tenant. Otherwise Zuul ignores the file.",
    "- Each section has all of its images. zuul-launcher deletes the uploads of images that a section does not list.",
)


def write_zuul_config(options: ConfigOptions, path: str | None, *, offline: bool, check: bool) -> dict[str, Any]:
    """Convert the configuration, and write the file if there is a *path*.

    :param offline: True to ask no cloud: labels that need its answer are left out, and told.
    :raises ConfigError: the configuration cannot be used, or the file cannot be written.
    """
    config = options.load()
    clouds, unreached = ({}, []) if offline else look_at_clouds(options, config)
    found = converted(config, clouds)
    found = replace(found, told=[*unreached, *found.told])
    text = file_text(found, config.path)
    before = _content(path)
    changed = path is not None and before != text
    if path is not None and changed and not check:
        write_private(path, text, READABLE)
    where = path or "Zuul"
    return {
        "changed": changed,
        "objects": found.objects,
        "connections": found.connections,
        "told": found.told,
        "diff": {"before": before or "", "after": text, "before_header": where, "after_header": where},
        "warnings": [],
    }


def file_text(found: Converted, source: str) -> str:
    """Return the file: the objects, above them as comments what zuul.conf needs and what could not be converted."""
    lines = [f"Made from {os.path.basename(source)} for zuul-launcher 14.3.", ""]
    lines += ["zuul.conf needs:"]
    for name, keys in sorted(found.connections.items()):
        lines += [f'  [connection "{name}"]', *(f"  {key}={value}" for key, value in keys.items())]
    lines += ["", *NEEDED]
    if found.told:
        lines += ["", "What Zuul does not have, or does differently:", *(f"- {text}" for text in found.told)]
    comments = "".join(f"# {line}".rstrip() + "\n" for text in lines for line in text.splitlines() or [""])
    return f"{comments}\n{yaml_text(found.objects)}"


def look_at_clouds(options: ConfigOptions, config: NodepoolConfig) -> tuple[dict[str, CloudSeen], list[str]]:
    """Ask all clouds side by side, those that need not be asked excepted.

    :return: provider → what its cloud has, and a sentence about each provider that cannot be asked.
    """
    clients: dict[str, CloudClient] = {}
    problems: dict[str, str | None] = {}
    for name, provider in config.providers.items():
        if _needs_answers(provider):
            try:
                clients[name] = options.client(provider)
            except CloudAuthError as error:
                problems[name] = str(error)
    seen: dict[str, CloudSeen] = {}

    def look(client: CloudClient) -> None:
        seen[client.provider] = _look(client, config.providers[client.provider])

    try:
        problems |= reach(clients, look)
    finally:
        for client in clients.values():
            client.close()
    return seen, [text for _name, text in sorted(problems.items()) if text]


def _needs_answers(provider: Provider) -> bool:
    labels = [label for pool in provider.pools.values() for label in pool.labels.values()]
    return any(label.min_ram for label in labels) or any(not one.image_id for one in provider.cloud_images.values())


def _look(client: CloudClient, provider: Provider) -> CloudSeen:
    images: Mapping[str, str | None] = {
        name: _image_id(client, image) for name, image in provider.cloud_images.items() if not image.image_id
    }
    return CloudSeen(client.list_flavors(), {name: found for name, found in images.items() if found is not None})


def _image_id(client: CloudClient, image: CloudImage) -> str | None:
    """Return the id of an image that the configuration knows by name; None if the cloud has no such image."""
    settings = ImageSettings(**{**vars(image), "image_name": image.image_name or image.name})
    try:
        chosen = choose_image(settings, client.images_named(settings.image_name or ""))
    except CloudRefused:
        return None
    return chosen.id if chosen is not None else None


def _content(path: str | None) -> str | None:
    """Return the present content of the file; None if it does not exist or cannot be read."""
    if path is None or not os.path.exists(path):
        return None
    try:
        return read_text(path, time.sleep)
    except ConfigError:
        return None
