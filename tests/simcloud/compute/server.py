# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A server of the simulated nova."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from tests.simcloud.config import FlavorConfig


@dataclass(slots=True)
class Wish:
    """What a POST /servers asks for, checked.

    :ivar networks: ids of networks and existing ports: ``("network", id)`` or ``("port", id)``.
    :ivar volumes: size in GiB and delete-on-termination of each volume to make.
    """

    name: str
    flavor: FlavorConfig
    image_id: str | None
    networks: list[tuple[str, str]]
    metadata: dict[str, str]
    az: str | None
    key_name: str | None
    security_groups: list[str]
    config_drive: bool
    user_data: str | None
    volumes: list[tuple[int, bool]]
    description: str | None = None
    tags: list[str] = field(default_factory=list)
    hints: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Server:
    """One server; times are seconds since the epoch.

    :ivar counted: whether it counts against the quota already.
    :ivar placed: whether the scheduler has found a host, which makes the zone visible.
    :ivar networked: whether its ports are shown.
    :ivar destroyed: whether it has left the plain listing; DELETED it may be for a while before.
    :ivar no_address, unreachable, stuck: faults that strike it for life.
    :ivar ghost_of: glob of the names of servers of which the first has the same addresses; "" for none.
    :ivar views: cache of how it is shown, by range of microversions; emptied on each change.
    """

    id: str
    wish: Wish
    user_id: str
    project_id: str
    created: float
    updated: float
    az: str
    status: str = "BUILD"
    task_state: str | None = "scheduling"
    vm_state: str = "building"
    power_state: int = 0
    launched: float | None = None
    terminated: float | None = None
    fault: dict[str, Any] | None = None
    host: str = ""
    locked: bool = False
    locked_reason: str | None = None
    counted: bool = False
    placed: bool = False
    networked: bool = False
    outsider: bool = False
    no_address: bool = False
    unreachable: bool = False
    stuck: bool = False
    ghost_of: str = ""
    destroyed: bool = False
    volumes: list[str] = field(default_factory=list)
    views: dict[Any, Any] = field(default_factory=dict)

    @property
    def gone(self) -> bool:
        return self.status == "DELETED"

    @property
    def deleting(self) -> bool:
        return self.task_state == "deleting"

    def touch(self, now: float) -> None:
        self.updated = now
        self.views.clear()

    @property
    def host_id(self) -> str:
        if not self.host:
            return ""
        return hashlib.sha224((self.project_id + self.host).encode()).hexdigest()
