# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kind of an API call (its method and its path without the ids), the service that answers it, and ids in paths."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

_VERSION = re.compile(r"^v\d+(\.\d+)?$")
_ID = re.compile(r"^([0-9a-fA-F]{32}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|\d+)$")
_COLLECTIONS = frozenset(
    ("servers", "flavors", "images", "networks", "subnets", "ports", "floatingips", "quotas", "volumes", "routers")
)
NOVA, NEUTRON, GLANCE, CINDER, KEYSTONE, SWIFT = "nova", "neutron", "glance", "cinder", "keystone", "swift"
_SERVICES = {
    "auth": KEYSTONE,
    "v3": KEYSTONE,
    "v2.0": NEUTRON,
    "v2": GLANCE,
    "images": GLANCE,
    "tasks": GLANCE,
    "info": GLANCE,
    "volume": CINDER,
    "volumes": CINDER,
    "networks": NEUTRON,
    "subnets": NEUTRON,
    "ports": NEUTRON,
    "floatingips": NEUTRON,
    "routers": NEUTRON,
    "security-groups": NEUTRON,
    "object-store": SWIFT,
    "quotas": NEUTRON,
}
"""First part of a kind's path → the service. All others belong to nova."""
_NOT_AN_ID = frozenset(("detail", "details", "defaults"))
_SLASH = "%2F"


def call_kind(method: str, url: str) -> str:
    """Return the kind of a call: ``GET /servers/{id}`` for GET https://nova.example/compute/v2.1/servers/0b1e….

    The prefix up to the API version and a project id after it are left out. A path that ends with the version keeps
    the version (``GET /v3``, a discovery). The version tells cinder's limits from nova's: ``GET /volume/limits``.
    """
    segments = [segment for segment in urlsplit(url).path.split("/") if segment]
    version = ""
    for index, segment in enumerate(segments):
        if _VERSION.match(segment):
            version, segments = segment, segments[index + 1 :]
            break
    # Of the services that are called, only swift has v1. Names of accounts, containers and objects follow.
    if version == "v1" and not any(_VERSION.match(segment) for segment in segments):
        return f"{method} /object-store"
    if not segments:
        return f"{method} /{version}"
    if len(segments) > 1 and version and _ID.match(segments[0]):
        segments = segments[1:]
    named: list[str] = []
    for segment in segments:
        word = segment.removesuffix(".json")
        after = named[-1] if named else ""
        is_id = after in _COLLECTIONS and word not in _NOT_AN_ID
        named.append("{id}" if is_id or _ID.match(word) else word)
    kind = f"{method} /{'/'.join(named)}"
    return f"{method} /volume/limits" if named == ["limits"] and version == "v3" else kind


def service_of(kind: str) -> str:
    """Return the name of the service that answers calls of this kind; nova for kinds that are not known."""
    path = kind.partition(" ")[2]
    return _SERVICES.get(path.strip("/").partition("/")[0], NOVA)


def in_path(ident: str) -> str:
    """Return an id as one segment of a path: what it has of a path, a query or a fragment is encoded.

    Records in ZooKeeper have ids, too, so that an id may be any text.
    """
    return quote(ident, safe="", errors="replace")


def names_nothing(path: str) -> bool:
    """Return True for a path with an id that no resource can have: an empty one, one of dots, or one with a slash.

    Dots in a path lead to another resource, also encoded ones, and some servers read an encoded slash as a slash.

    :param path: path below an endpoint, whose ids are those of :func:`in_path`.
    """
    return any(not segment.strip(".") or _SLASH in segment for segment in path.lstrip("/").split("/"))
