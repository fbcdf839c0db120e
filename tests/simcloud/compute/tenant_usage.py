# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nova's os-simple-tenant-usage: what the servers of a project used in a period.

Nova counts a server from ``launched_at`` to ``terminated_at``; one that was never ACTIVE has no hours.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from tests.simcloud.answers import Answer, nova_error
from tests.simcloud.call import Call
from tests.simcloud.compute.server import Server
from tests.simcloud.timing import iso_micro

FORMS = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%d %H:%M:%S.%f")


def tenant_usage(call: Call, project_id: str, servers: Iterable[Server], now: float) -> Answer:
    """Answer GET /os-simple-tenant-usage/{tenant_id}."""
    begin, stop = (_moment(call.first(name), now) for name in ("start", "end"))
    if begin > stop:
        raise nova_error(400, "Invalid start time. The start time cannot occur after the end time.")
    alive = [server for server in servers if server.created < stop and (server.terminated or now) > begin]
    rows = [_row(server, project_id, begin, stop, now) for server in alive]
    if not rows:
        return Answer(200, {"tenant_usage": {}})
    totals = {
        "total_hours": sum(row["hours"] for row in rows),
        "total_vcpus_usage": sum(row["hours"] * row["vcpus"] for row in rows),
        "total_memory_mb_usage": sum(row["hours"] * row["memory_mb"] for row in rows),
        "total_local_gb_usage": sum(row["hours"] * row["local_gb"] for row in rows),
    }
    known = {"tenant_id": project_id, "start": iso_micro(begin), "stop": iso_micro(stop)}
    return Answer(200, {"tenant_usage": {**known, **totals, "server_usages": rows}})


def _moment(text: str | None, now: float) -> float:
    if text is None:
        return now
    for form in FORMS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    raise nova_error(400, f"Datetime is in invalid format: {text}")


def _row(server: Server, project_id: str, begin: float, stop: float, now: float) -> dict[str, Any]:
    ended, flavor = server.terminated, server.wish.flavor
    seconds = 0.0
    if server.launched is not None:
        seconds = max(0.0, min(ended or now, stop) - max(server.launched, begin))
    return {
        "instance_id": server.id,
        "name": server.wish.name,
        "hours": seconds / 3600,
        "flavor": flavor.name,
        "vcpus": flavor.vcpus,
        "memory_mb": flavor.ram,
        "local_gb": flavor.disk,
        "tenant_id": project_id,
        "started_at": iso_micro(server.launched) if server.launched is not None else None,
        "ended_at": iso_micro(ended) if ended is not None else None,
        "state": "terminated" if ended is not None else server.vm_state,
        "uptime": int((ended or now) - server.launched) if server.launched is not None else 0,
    }
