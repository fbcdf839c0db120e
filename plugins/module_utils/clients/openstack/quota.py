# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the exceeded quotas in the text of a refusal or of an ERROR server's fault."""

from __future__ import annotations

import re

from ...model.resources import (
    CORES,
    FLOATING_IPS,
    INSTANCES,
    ORDER,
    PORTS,
    RAM,
    VOLUME_GB,
    VOLUMES,
)

_QUOTA = re.compile(
    r"quota.{0,80}exceed|exceed.{0,80}quota|over\s?quota|(number of|maximum) ports exceeded|is over (a )?limit"
    r"|volumelimitexceeded|maximum number of volumes allowed|maximum number of (fixed|floating) ips exceeded",
    re.IGNORECASE | re.DOTALL,
)
# The services' names of the resources: nova's, placement's classes (unified limits), neutron's, cinder's.
_NAMES = {
    "instances": INSTANCES,
    "servers": INSTANCES,
    "cores": CORES,
    "class:vcpu": CORES,
    "class:pcpu": CORES,
    "ram": RAM,
    "class:memory_mb": RAM,
    "port": PORTS,
    "ports": PORTS,
    "fixed_ips": PORTS,
    "floatingip": FLOATING_IPS,
    "floating_ips": FLOATING_IPS,
    "volumes": VOLUMES,
    "gigabytes": VOLUME_GB,
}
_LISTED = re.compile(
    r"quota exceeded for (?:resources: )?(?P<nova>[^:]*?)(?=:|\.|$)|\[(?P<list>['\"a-z_, -]+)\]", re.IGNORECASE
)
_PHRASES = (
    (re.compile(r"(number of|maximum) ports exceeded|maximum number of fixed ips exceeded", re.IGNORECASE), PORTS),
    (re.compile(r"maximum number of floating ips exceeded", re.IGNORECASE), FLOATING_IPS),
    (re.compile(r"volumelimitexceeded|maximum number of volumes allowed|quota 'volumes", re.IGNORECASE), VOLUMES),
    (re.compile(r"volumesizeexceeds|allowed gigabytes quota|quota 'gigabytes", re.IGNORECASE), VOLUME_GB),
)
_REPEATED = re.compile(r"(field/attribute \S+ )Value: .*", re.IGNORECASE | re.DOTALL)
_UNIFIED = re.compile(r"resource (?P<name>[\w:]+) is over", re.IGNORECASE)


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
    """Return the resources (named as in model/resources.py) whose quota *text* reports as exceeded; may be empty."""
    found: set[str] = set()
    for match in _LISTED.finditer(text):
        for word in re.split(r"[\s,'\"]+", (match["nova"] or match["list"] or "").lower()):
            if word in _NAMES and (match["nova"] is not None or _QUOTA.search(text)):
                found.add(_NAMES[word])
    for pattern, name in _PHRASES:
        if pattern.search(text):
            found.add(name)
    for match in _UNIFIED.finditer(text):
        if match["name"].lower() in _NAMES:
            found.add(_NAMES[match["name"].lower()])
    return tuple(name for name in ORDER if name in found)
