# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides which connections are closed, so that slow or many ones of a few clients leave room for all others.

waitress closes a connection after some time without a byte. A client that sends one byte now and then would keep it for
ever. Only connections without a complete request and without an answer under way are closed here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

HEADER_SECONDS = 15.0
"""Seconds that a client has for the header of a request, from its first byte."""
PER_CLIENT = 1000
"""Most connections of one address, half of all. A proxy is one client, so this is far more than a browser needs."""
EVERY = 0.25
"""Seconds between two looks at the connections."""


class Crowd:
    """The connections of the server. Used by the server's thread only.

    :param header_seconds, per_client: see the constants.
    """

    def __init__(self, header_seconds: float = HEADER_SECONDS, per_client: int = PER_CLIENT) -> None:
        self._header_seconds = header_seconds
        self._per_client = per_client
        self._looked = float("-inf")
        self._begun: dict[Any, tuple[Any, float]] = {}
        """Connection → the request that it is sending, and when that was seen first."""

    def step(self, connections: Iterable[Any], now: float) -> int:
        """Mark the connections to close, if a look is due; return their number.

        :param connections: waitress's channels.
        :param now: seconds that never go back.
        """
        if now - self._looked < EVERY:
            return 0
        self._looked = now
        clients: dict[str, list[Any]] = defaultdict(list)
        sending: dict[Any, tuple[Any, float]] = {}
        closed = 0
        for connection in list(connections):
            if connection.will_close:
                continue
            clients[str(connection.addr[0]) if connection.addr else ""].append(connection)
            request = connection.request
            if request is None or not _is_idle(connection):
                continue
            known = self._begun.get(connection)
            since = known[1] if known is not None and known[0] is request else now
            sending[connection] = (request, since)
            if now - since >= self._header_seconds:
                connection.will_close = True
                closed += 1
        self._begun = sending
        return closed + sum(self._thin_out(found) for found in clients.values() if len(found) > self._per_client)

    def _thin_out(self, connections: list[Any]) -> int:
        """Close the surplus of one client: the connections that were made first and are not being answered."""
        there = [connection for connection in connections if not connection.will_close]
        idle = sorted(filter(_is_idle, there), key=lambda connection: connection.creation_time)
        surplus = idle[: max(0, len(there) - self._per_client)]
        for connection in surplus:
            connection.will_close = True
        return len(surplus)


def _is_idle(connection: Any) -> bool:
    """True when no request of the connection is being answered."""
    return not connection.requests and not connection.total_outbufs_len
