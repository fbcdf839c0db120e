# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drivers of Nodepool that this collection does not have, and the options that only these drivers have.

They serve only to recognise such an option in a file and to report it with a better message than "unknown".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

OURS = "openstack"

OTHER_DRIVERS = (
    "aws",
    "azure",
    "example",
    "fake",
    "gce",
    "ibmvpc",
    "kubernetes",
    "metastatic",
    "openshift",
    "openshiftpods",
    "static",
    "test",
)

_CONTAINERS = ("kubernetes", "openshift", "openshiftpods")

OPTIONS_OF_OTHER_DRIVERS: dict[str, tuple[str, ...]] = {
    # providers
    "auth-path": ("azure",),
    "context": _CONTAINERS,
    "image-import-timeout": ("aws",),
    "location": ("azure",),
    "object-storage": ("aws",),
    "profile-name": ("aws",),
    "project": ("gce",),
    "region": ("gce",),
    "resource-group": ("azure",),
    "resource-group-location": ("azure",),
    "subscription-id": ("azure",),
    "zone": ("gce",),
    "zuul-public-key": ("azure",),
    # pools
    "default-label-cpu": _CONTAINERS,
    "default-label-memory": _CONTAINERS,
    "default-label-storage": _CONTAINERS,
    "max-pods": ("openshiftpods",),
    "max-projects": ("openshift",),
    "nodes": ("static",),
    "public-ipv4": ("aws", "azure"),
    "public-ipv6": ("aws", "azure"),
    "security-group-id": ("aws",),
    "subnet-id": ("aws", "azure"),
    # labels and images
    "architecture": ("aws",),
    "backing-label": ("metastatic",),
    "cpu": _CONTAINERS,
    "cpu-limit": _CONTAINERS,
    "dedicated-host": ("aws",),
    "dynamic-tags": ("aws", "azure"),
    "ebs-optimized": ("aws",),
    "fleet": ("aws",),
    "gpu": _CONTAINERS,
    "gpu-resource": _CONTAINERS,
    "grace-time": ("metastatic",),
    "hardware-profile": ("azure",),
    "iam-instance-profile": ("aws",),
    "image-family": ("gce",),
    "image-filter": ("azure",),
    "image-filters": ("aws",),
    "image-project": ("gce",),
    "image-pull": _CONTAINERS,
    "image-pull-secrets": _CONTAINERS,
    "image-reference": ("azure",),
    "imdsv2": ("aws",),
    "instance-type": ("aws", "gce"),
    "iops": ("aws",),
    "max-parallel-jobs": ("metastatic",),
    "memory": _CONTAINERS,
    "memory-limit": _CONTAINERS,
    "min-retention-time": ("metastatic",),
    "node-selector": _CONTAINERS,
    "privileged": _CONTAINERS,
    "scheduler-name": _CONTAINERS,
    "storage": _CONTAINERS,
    "storage-limit": _CONTAINERS,
    "tags": ("aws", "azure"),
    "throughput": ("aws",),
    "use-spot": ("aws",),
    "user-data": ("azure", "gce"),
    "volume-mounts": _CONTAINERS,
    "volume-type": ("aws", "gce"),
}

_IGNORED = "only openstack is supported, the provider and its pools are ignored"


def other_driver(driver: str) -> str:
    """Return what is wrong with a provider that has the driver."""
    return f"has the driver {driver}; {_IGNORED}: remove it, or let a launcher of Nodepool serve it in the same tree"


def other_providers(data: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return name and driver of each provider that has another driver.

    :param data: those of a nodepool.yaml that can be used.
    """
    items = data.get("providers") or []
    return [{"name": item["name"], "driver": item["driver"]} for item in items if (item.get("driver") or OURS) != OURS]


def is_of_other_driver(warning: str) -> bool:
    """Return True for a warning that a provider has another driver."""
    return _IGNORED in warning


def still_told(warnings: Iterable[str], served: Collection[str]) -> list[str]:
    """Return the warnings of a configuration without those about providers of other drivers that others serve.

    :param served: names of the providers on which launchers of Nodepool work.
    """
    places = [f"providers[{name}]: " for name in served]
    return [text for text in warnings if not is_of_other_driver(text) or not any(place in text for place in places)]
