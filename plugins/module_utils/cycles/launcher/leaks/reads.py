# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which call shows which kind of thing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....clients.openstack.client import CloudClient
from ....model.cloud import Server
from ....sweeping.candidate import Kind
from ....sweeping.find import Seen


def _servers(client: CloudClient) -> dict[str, Server]:
    return {server.id: server for server in client.list_servers()}


READS: dict[str, tuple[str, Callable[[CloudClient], Any]]] = {
    Kind.PORT: ("GET /ports", lambda client: client.list_down_ports()),
    Kind.FLOATING_IP: ("GET /floatingips", lambda client: client.list_floating_ips()),
    Kind.VOLUME: ("GET /volumes/detail", lambda client: client.list_volumes()),
    Kind.IMAGE: ("GET /images", lambda client: client.list_own_images()),
    Kind.SERVER: ("GET /servers/detail", _servers),
}
"""In the order in which they are to be made: what was read before the servers belongs to servers that are listed."""


def seen_of(values: Mapping[str, Any]) -> Seen:
    """What was read, by kind."""
    return Seen(
        servers=values.get(Kind.SERVER),
        ports=values.get(Kind.PORT),
        floating_ips=values.get(Kind.FLOATING_IP),
        volumes=values.get(Kind.VOLUME),
        images=values.get(Kind.IMAGE),
    )
