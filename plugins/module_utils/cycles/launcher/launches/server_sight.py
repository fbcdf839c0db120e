# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a launch is to believe of its server: the list, and where that is not enough, nova's answer about the one."""

from __future__ import annotations

from dataclasses import dataclass

from ....launching.machine import SETTLE_SECONDS
from ....model.cloud import Server
from ....model.launch import Phase
from ..context.launch_in_progress import LaunchInProgress


@dataclass(frozen=True)
class ServerSight:
    """What is known of a launch's server. *server*: None when there is none, or none yet."""

    server: Server | None


def look(running: LaunchInProgress, now: float) -> ServerSight | None:
    """What the latest list tells of a launch's server; None while nova is being asked for more."""
    actor, launch = running.actor, running.launch
    server = actor.servers.get(launch.server_id) if launch.server_id else actor.by_mark().get(launch.mark)
    if launch.phase != Phase.BOOTING:
        return ServerSight(server)
    if server is None and launch.server_id:
        asked_at = launch.created_at or launch.since
        if actor.listed_from - asked_at >= SETTLE_SECONDS and not actor.is_gone(launch.server_id, asked_at, now):
            return None
    elif server is not None and server.status == "ERROR" and not server.fault:
        server = actor.inquiries.with_fault(server, now)
        return None if server is None else ServerSight(server)
    return ServerSight(server)
