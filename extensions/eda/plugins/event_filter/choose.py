# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An event filter for ansible-rulebook: only some of the events of a tree of Nodepool."""

from __future__ import annotations

from typing import Any

DOCUMENTATION = r"""
short_description: Only events of some providers, labels, owners, or of some severity
description:
  - Passes on the events of the source C(stackci.nodepool.nodepool) that agree with all arguments that are given.
  - An event that says nothing about what an argument asks for passes, too, unless O(strict=true). A provider in
    trouble, for instance, has no labels.
  - ansible-rulebook puts no variables into the arguments of filters.
options:
  types:
    description: Only events of these types. Empty means all.
    type: list
    elements: str
    default: []
  providers:
    description: Only events of these providers. Empty means all.
    type: list
    elements: str
    default: []
  pools:
    description: Only events of these pools. Empty means all.
    type: list
    elements: str
    default: []
  labels:
    description: Only events of requests and leases with at least one of these labels. Empty means all.
    type: list
    elements: str
    default: []
  images:
    description: Only events of these disk images. Empty means all.
    type: list
    elements: str
    default: []
  owners:
    description: Only events for which one of these is responsible, such as C(image) or C(cloud). Empty means all.
    type: list
    elements: str
    default: []
  severity:
    description: Only events that are at least so bad. The end of something is as bad as its beginning.
    type: str
    choices: [info, warning, critical]
    default: info
  strict:
    description: Events that say nothing about what is asked for do not pass.
    type: bool
    default: false
"""

EXAMPLES = r"""
- stackci.nodepool.nodepool:
    config: /etc/nodepool/nodepool.yaml
  filters:
    - stackci.nodepool.choose:
        severity: warning
        providers: [cloud-fra]
        labels: [debian-12, ubuntu-noble]
"""

SEVERITIES = ("info", "warning", "critical")
FIELDS = {
    "types": "type",
    "providers": "provider",
    "pools": "pool",
    "labels": "labels",
    "images": "image",
    "owners": "owner",
}
"""Argument → field of an event; its value may be a list."""
KNOWN = {
    "types": (
        "provider_in_trouble", "provider_well", "provider_unserved", "provider_served", "resource_frozen",
        "resource_thawed", "quota_low", "quota_ok", "leak_found", "leak_gone", "deletion_stuck", "deletion_done",
        "zookeeper_lost", "zookeeper_back", "configuration_unused", "configuration_used", "request_waits",
        "request_failed", "build_failed", "upload_failed", "build_rejected", "build_held", "build_live",
        "lease_ends_soon", "launcher_serves", "configuration_read",
    ),
    "owners": ("request", "label", "image", "account", "capacity", "network", "cloud", "us", "unknown"),
}  # fmt: skip
"""Argument → the values that there are; what is misspelt would pass on nothing."""


def main(
    event: dict[str, Any], severity: str = "info", strict: bool = False, **wanted: list[str] | str
) -> dict[str, Any] | list[dict[str, Any]]:
    """Return the event, or an empty list when it is not wanted.

    :raises ValueError: an argument cannot be used.
    """
    lists = _checked(severity, strict, wanted)
    bad = event.get("severity")
    if bad is None and strict and severity != SEVERITIES[0]:
        return []
    if bad in SEVERITIES and SEVERITIES.index(bad) < SEVERITIES.index(severity):
        return []
    for name, values in lists.items():
        had = set(_texts(event.get(FIELDS[name])))
        if values and (had or strict) and not had & values:
            return []
    return event


def _texts(value: Any) -> list[str]:
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]


def _checked(severity: Any, strict: Any, wanted: dict[str, Any]) -> dict[str, set[str]]:
    """The lists as sets; a single text is a list of one.

    :raises ValueError: with all problems, because ansible-rulebook stops at it.
    """
    problems = [f"{name}: there is no such argument" for name in wanted if name not in FIELDS]
    if severity not in SEVERITIES:
        problems.append(f"severity: must be one of {', '.join(SEVERITIES)}")
    if not isinstance(strict, bool):
        problems.append("strict: must be true or false")
    for name, value in wanted.items():
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            problems.append(f"{name}: must be a list of texts")
        elif unknown := sorted(set(items) - set(KNOWN.get(name, items))):
            problems.append(f"{name}: there is no {', '.join(unknown)}; there are {', '.join(sorted(KNOWN[name]))}")
    if problems:
        raise ValueError("stackci.nodepool.choose: " + "; ".join(sorted(problems)))
    return {name: set(_texts(value)) for name, value in wanted.items()}
