# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The content of a create: flavor, image, zone, networks, and the metadata that links the server to its node."""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from types import SimpleNamespace
from typing import Any

from ..model.cloud import (
    META_GROUPS,
    META_IMAGE,
    META_LABEL,
    META_LAUNCH,
    META_NODE_ID,
    META_POOL,
    META_PROVIDER,
    META_SITE,
    ServerSpec,
)
from ..model.config.types import (
    ImageSettings,
    Pool,
    PoolLabel,
    Provider,
)
from ..model.launch import Launch
from .create_checks import LONGEST

SERVER_NAME_PREFIX = "np"


def server_name(node_id: str, suffix: str = "") -> str:
    """Return Nodepool's server name; at most 15 characters, because Windows truncates longer ones.

    :param suffix: distinguishes the name from one that is taken in the cloud: only then is it longer.
    """
    return SERVER_NAME_PREFIX + node_id + suffix


def server_spec(
    launch: Launch,
    provider: Provider,
    pool: Pool,
    label: PoolLabel,
    image: ImageSettings,
    network_ids: tuple[str, ...],
    group_id: str | None,
    request: Mapping[str, Any],
    site: str,
) -> ServerSpec:
    """Return the create of a launch. Flavor and image come from the launch record.

    :param group_id: the id of the server group, None for no group.
    :param request: the values for dynamic-instance-properties.
    :param site: the id of the tree.
    """
    return ServerSpec(
        name=server_name(launch.node_id, launch.suffix),
        image_id=launch.cloud_image_id or "",
        flavor_id=launch.flavor_id or "",
        metadata={**metadata(launch, provider, pool, label, request), META_SITE: site},
        az=launch.az,
        network_ids=network_ids,
        security_groups=pool.security_groups,
        key_name=label.key_name,
        config_drive=image.config_drive,
        userdata=label.userdata,
        boot_from_volume=label.boot_from_volume,
        volume_size=label.volume_size,
        scheduler_hints={**label.launches.scheduler_hints, **({"group": group_id} if group_id else {})},
    )


def metadata(
    launch: Launch, provider: Provider, pool: Pool, label: PoolLabel, request: Mapping[str, Any]
) -> dict[str, str]:
    """Return the server's nova metadata. Later keys win: groups, the user's properties, Nodepool's keys, our mark."""
    return {
        META_GROUPS: group_names(provider.name, label.image_name, label.name),
        **label.instance_properties,
        **dynamic_properties(label.dynamic_instance_properties, request),
        META_NODE_ID: launch.node_id,
        META_PROVIDER: provider.name,
        META_POOL: pool.name,
        META_IMAGE: label.image_name,
        META_LABEL: label.name,
        META_LAUNCH: launch.mark,
    }


def group_names(*names: str) -> str:
    """Return the names, separated by commas, as far as nova can store them: they are for people and inventories."""
    while len(",".join(names)) > LONGEST:
        names = names[:-1]
    return ",".join(names)


def dynamic_properties(templates: Mapping[str, str], request: Mapping[str, Any]) -> dict[str, str]:
    """Format the templates with the request; one that cannot be formatted is left out, as in Nodepool."""
    filled: dict[str, str] = {}
    values = SimpleNamespace(**request)
    for key, template in templates.items():
        if _reaches_into_objects(template):
            continue
        try:
            filled[key] = template.format(request=values)
        except (LookupError, AttributeError, ValueError, TypeError):
            continue
    return filled


def _reaches_into_objects(template: str) -> bool:
    """True when a template is broken or names a private attribute, which could reveal any data of the process."""
    try:
        names = [name or "" for _text, name, _spec, _conversion in Formatter().parse(template)]
    except ValueError:
        return True
    return any("._" in name for name in names)
