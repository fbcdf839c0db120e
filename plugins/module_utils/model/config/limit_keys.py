# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys that limit what a pool or a tenant may use, and their resources; the entry of a tenant."""

from __future__ import annotations

from dataclasses import dataclass

from ..resources import (
    CORES,
    INSTANCES,
    RAM,
    VOLUME_GB,
    VOLUMES,
    Limits,
)
from .option_kinds import count, derived, needed_text
from .options import MOST, Raw, section

LIMITS = {
    "max-servers": count("Maximum number of servers.", unit="servers"),
    "max-cores": count("Maximum number of cores.", unit="cores"),
    "max-ram": count("Maximum memory, in MiB.", unit="MiB"),
    "max-volumes": count("Maximum number of volumes.", unit="volumes"),
    "max-volume-gb": count("Maximum space on volumes, in GB.", unit="GB"),
}
OTHER_LIMIT = {
    "description": "Maximum of a resource of that name.",
    "type": ["integer", "null"],
    "minimum": 0,
    "maximum": MOST,
}
LIMIT_KEYS = dict(zip(LIMITS, (INSTANCES, CORES, RAM, VOLUMES, VOLUME_GB), strict=True))
"""The keys of limits, each with its resource."""


def limits_of(item: Raw) -> Limits:
    """Return the limits that an entry names."""
    return Limits({resource: int(item[key]) for key, resource in LIMIT_KEYS.items() if item.get(key) is not None})


def all_limits_of(item: Raw) -> Limits:
    """Return the limits of a tenant's entry, also those of resources with other names."""
    others = {key: value for key, value in item.items() if not key.startswith(("max-", "tenant"))}
    return Limits({**{key: int(value) for key, value in others.items() if value is not None}, **limits_of(item)})


@section(
    "tenant",
    "What the nodes of a tenant may use together; what is not named is not limited.",
    alone=LIMITS,
    rules={"patternProperties": {"^(?!max-|tenant)": OTHER_LIMIT}},
)
@dataclass(frozen=True)
class TenantLimit:
    """The limits of a tenant, also those of resources with other names."""

    name: str = needed_text("Name of the tenant.", key="tenant-name")
    limits: Limits = derived(all_limits_of)
