# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The names that openstacksdk gives API calls in its metrics."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlparse


@dataclass(frozen=True)
class ApiCall:
    """An API call that has ended.

    :param name: as in openstacksdk's metrics: ``openstack.api.compute.POST.servers``.
    :param status: HTTP status of the answer; None: there was no answer.
    :param seconds: its duration, without the wait for the rate limit and for a free slot.
    """

    name: str
    status: int | None
    seconds: float


def api_name(prefix: str, service: str, method: str, operation: str) -> str:
    """Return the name of a call's metrics, without the part that depends on how the call ended."""
    return f"{prefix}.{_part(service)}.{method}.{operation}"


def operation_of(url: str, project_id: str | None = None) -> str:
    """Return the operation in a call's name.

    ``servers`` for /v2.1/servers, ``server`` for /v2.1/servers/0b1e…, ``servers_detail`` for /v2.1/servers/detail. The
    rule is openstacksdk's (``Proxy._extract_name`` in openstack/proxy.py, 4.22). A path segment before the version
    counts: https://cloud.example/compute/v2.1/servers is ``compute_servers``.

    :param project_id: project of the token; removed from the path.
    """
    path = urlparse(url).path.strip().removeprefix("/").removesuffix(".json")
    if path.endswith("tokens"):
        return "tokens"
    ours = {project_id, f"AUTH_{project_id}"} if project_id else set()
    parts = [part for part in path.split("/") if part not in ours]
    if parts and parts[-1] == "detail":
        words = parts[-2:]
    else:
        if parts and parts[0][:1] == "v" and parts[0][1:2].isdigit():
            del parts[0]
        # Every other part is an id.
        words = [_singular(part) if parts[2 * at + 1 :] else part for at, part in enumerate(parts[::2])]
    return "_".join(_part(word) for word in words if word) or "discovery"


def in_one_folder(url: str, endpoint: str) -> str:
    """Return *url* with only the last of the path segments that its *endpoint* has before the version.

    With two such segments, openstacksdk's rule takes ids for words, and each server would have its own metrics.
    """
    parts = urlparse(endpoint).path.strip("/").split("/")
    version = next((at for at, part in enumerate(parts) if part[:1] == "v" and part[1:2].isdigit()), 0)
    if version < 2 or not url.startswith(endpoint):
        return url
    return "/" + "/".join(parts[version - 1 :]) + url[len(endpoint) :]


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith("is") else word


def _part(text: str) -> str:
    return text.replace(".", "_").replace(":", "_")
