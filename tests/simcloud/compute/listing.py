# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which servers a listing shows, and in which order."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime

from tests.simcloud.answers import Refusal, nova_error
from tests.simcloud.call import Call
from tests.simcloud.compute.machines import Machines
from tests.simcloud.compute.server import Server

STATUSES = frozenset(
    """ACTIVE BUILD DELETED ERROR HARD_REBOOT MIGRATING PASSWORD PAUSED REBOOT REBUILD RESCUE RESIZE REVERT_RESIZE
    SHELVED SHELVED_OFFLOADED SHUTOFF SOFT_DELETED SUSPENDED UNKNOWN VERIFY_RESIZE""".split()
)


def select(call: Call, machines: Machines) -> list[Server]:
    """Return the servers that a listing's filters leave, the newest first.

    :raises Refusal: on a filter that nova refuses.
    """
    since = call.first("changes-since")
    servers = [] if machines.cells_down else list(machines.servers.values())
    tests: list[Callable[[Server], bool]] = []
    if since is not None:
        moment = parse_moment(since)
        servers = [*machines.deleted.values(), *servers]
        # The data base keeps whole seconds.
        tests.append(lambda server: int(server.updated) >= moment)
    statuses = {status.upper() for status in call.all("status")}
    if statuses:
        if not statuses & STATUSES:
            return []
        if "DELETED" in statuses and since is None:
            raise nova_error(403, "Only administrators may list deleted instances")
        tests.append(lambda server: server.status in statuses)
    name = call.first("name")
    if name is not None:
        try:
            pattern = re.compile(name)
        except re.error:
            raise query_error("name", name, f"{name!r} is not a 'regex'") from None
        tests.append(lambda server: pattern.search(server.wish.name) is not None)
    for key in ("flavor", "image"):
        wanted = call.first(key)
        if wanted is not None:
            tests.append(_field_test(key, wanted))
    chosen = [server for server in servers if all(test(server) for test in tests)]
    chosen.sort(key=lambda server: (int(server.created), server.id), reverse=True)
    return chosen


def _field_test(key: str, wanted: str) -> Callable[[Server], bool]:
    if key == "flavor":
        return lambda server: server.wish.flavor.id == wanted
    return lambda server: server.wish.image_id == wanted


def parse_moment(text: str) -> float:
    """Return the epoch seconds of a ``changes-since``.

    :raises Refusal: when it is no time.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise query_error("changes-since", text, f"'{text}' is not a 'date-time'") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp()


def query_error(name: str, value: str, reason: str) -> Refusal:
    """Return nova's refusal of a query parameter."""
    return nova_error(400, f"Invalid input for query parameters {name}. Value: {value}. {reason}")
