# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the exceeded quotas in the text of a refusal or of an ERROR server's fault."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...model.resources import (
    CORES,
    FLOATING_IPS,
    INSTANCES,
    ORDER,
    PORTS,
    RAM,
    UNCOUNTED,
    VOLUME_GB,
    VOLUMES,
)

_QUOTA = re.compile(
    r"quota.{0,80}exceed|exceed.{0,80}quota|over\s?quota|(number of|maximum) ports exceeded|is over (the |a )?limit"
    r"|(insufficient|not enough|no) .{0,30}quota|quota.{0,30}(is insufficient|is used up|has been reached|is full)"
    r"|(volume|snapshot|instance|resource)limitexceeded|maximum number of volumes allowed"
    r"|maximum number of (fixed|floating) ips exceeded",
    re.IGNORECASE | re.DOTALL,
)
# The services' names of the resources, in the singular: nova's, placement's classes (unified limits), neutron's,
# cinder's.
_NAMES = {
    "instance": INSTANCES,
    "server": INSTANCES,
    "vm": INSTANCES,
    "core": CORES,
    "cpu": CORES,
    "vcpu": CORES,
    "class:vcpu": CORES,
    "class:pcpu": CORES,
    "ram": RAM,
    "memory": RAM,
    "memory_mb": RAM,
    "class:memory_mb": RAM,
    "port": PORTS,
    "fixed_ip": PORTS,
    "floatingip": FLOATING_IPS,
    "floating_ip": FLOATING_IPS,
    "volume": VOLUMES,
    "gigabyte": VOLUME_GB,
}
_OF_A_TYPE = (("volumes_", VOLUMES), ("gigabytes_", VOLUME_GB))
"""How the names of cinder's quotas for a volume type begin."""
_NOTHING = frozenset(
    (
        "",
        "resource",
        "resources",
        "quota",
        "limit",
        "project",
        "tenant",
        "user",
        "of",
        "for",
        "the",
        "in",
        "on",
        "this",
        "your",
        "a",
        "api",
        "rate",
        "request",
        "requests",
        "retries",
        "attempts",
        "some",
    )
)
"""Words of a list that name no resource."""
_LISTED = re.compile(
    r"quota exceeded for (?:resources: )?(?P<nova>[^:]*?)(?=:|\.|$)|\[(?P<list>['\"a-z_, -]+)\]", re.IGNORECASE
)
_NAMED = re.compile(
    r"too many (?P<many>servers in group|server groups|key ?pairs|instances|servers|ports|volumes|floating ?ips)\b"
    r"|maximum number of (?P<most>[\w ]{2,40}?)(?: allowed)?(?: \(\d+\))? (?:is |has been |was )?exceeded"
    r"|quota '(?P<quoted>[\w-]+)'"
    r"|allowed (?P<allowed>[\w ]{2,40}?)\s+quota"
    r"|over quota on (?P<on>[\w-]+)"
    r"|\b(?P<plain>[\w-]+) quotas? (?:limit )?(?:is |has been |was )?(?:exceeded|reached)"
    r"|\b(?P<limit>instance|server|core|vcpu|cpu|ram|memory|port|volume|floating ?ip)s? limit (?:is |has been |was )?"
    r"(?:exceeded|reached)"
    r"|\b(?P<short>volume|snapshot|instance|port|floatingip)limitexceeded"
    r"|resource (?P<unified>[\w:]+) is over"
    r"|number of (defined )?(?P<defined>[\w ]{2,40}?): \d+ is over the limit",
    re.IGNORECASE,
)
_REPEATED = re.compile(r"(field/attribute \S+ )Value: .*", re.IGNORECASE | re.DOTALL)


def own_words(text: str) -> str:
    """Return the words of a service without the value that it repeats when it refuses a field of what we sent.

    The value may come from a request, so nothing in it says whose fault the refusal is.
    """
    return _REPEATED.sub(r"\1Value:", text)


def is_quota_text(text: str) -> bool:
    """Return True when *text* (an error message or a server's fault) reports an exceeded quota."""
    said = own_words(text)
    return bool(_QUOTA.search(said)) or bool(quota_resources(said))


def quota_resources(text: str) -> tuple[str, ...]:
    """Return the resources (named as in model/resources.py) whose quota *text* reports as exceeded; may be empty.

    It is UNCOUNTED alone if the text names only resources that the launcher does not count.
    """
    found = {_resource(name) for name in _names(text)}
    return tuple(name for name in ORDER if name in found) or ((UNCOUNTED,) if found else ())


def _names(text: str) -> Iterator[str]:
    """Yield the names of exceeded resources as the services write them, in lower case."""
    for match in _LISTED.finditer(text):
        if match["nova"] is not None or _QUOTA.search(text):
            words = re.split(r"[\s,'\"]+", (match["nova"] or match["list"] or "").lower())
            known = [word for word in words if _resource(word) != UNCOUNTED]
            yield from known or [word for word in words[:1] if word not in _NOTHING]
    for match in _NAMED.finditer(text):
        name = match[match.lastgroup or 0].lower().strip()
        if name not in _NOTHING:
            yield name


def _resource(name: str) -> str:
    """Return the resource of that name, UNCOUNTED for one that the launcher does not count."""
    word = re.sub(r"[\s-]+", "_", name)
    typed = next((resource for start, resource in _OF_A_TYPE if word.startswith(start)), UNCOUNTED)
    return _NAMES.get(word) or _NAMES.get(word.removesuffix("s")) or typed
