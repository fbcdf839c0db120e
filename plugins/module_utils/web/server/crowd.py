# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides which connections are closed, so that slow or many ones of a few clients leave room for all others.

waitress closes a connection after some time without a byte, once it can be written to. A client that sends one byte now
and then, or takes one byte of an answer, would keep it for ever, and so would one that takes none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

HEADER_SECONDS = 15.0
"""Seconds that a client has for the header of a request, from its first byte."""
TAKING_SECONDS = 30.0
"""Seconds in which a client must take LEAST_TAKEN bytes of its answer, or the rest of it."""
LEAST_TAKEN = 65536
"""Bytes. The kernel, which has up to some MiB of the answer, sends the next part when a third of that was taken."""
PER_CLIENT = 1000
"""Most connections of one address, half of all. A proxy is one client, so this is far more than a browser needs."""
MOST = 1800
"""Most connections of all clients together. The others of the server's 2,000 are left for new ones."""
EVERY = 0.25
"""Seconds between two looks at the connections."""


class Crowd:
    """The connections of the server. Used by the server's thread only.

    :param header_seconds, taking_seconds, per_client, most: see the constants.
    """

    def __init__(
        self,
        header_seconds: float = HEADER_SECONDS,
        taking_seconds: float = TAKING_SECONDS,
        per_client: int = PER_CLIENT,
        most: int = MOST,
    ) -> None:
        self._header_seconds = header_seconds
        self._taking_seconds = taking_seconds
        self._per_client = per_client
        self._most = most
        self._looked = float("-inf")
        self._begun: dict[Any, tuple[Any, float]] = {}
        """Connection → the request that it is sending, and when that was seen first."""
        self._taking: dict[Any, tuple[int, float]] = {}
        """Connection → the bytes that its client had taken at a time, and that time, while its answer waits."""

    def step(self, connections: Iterable[Any], now: float) -> int:
        """Mark the connections to close, if a look is due; return their number.

        :param connections: waitress's channels.
        :param now: seconds that never go back.
        """
        if now - self._looked < EVERY:
            return 0
        self._looked = now
        clients: dict[str, list[Any]] = defaultdict(list)
        for connection in list(connections):
            if connection.will_close:
                connection.handle_close()  # waitress waits until it can be written to
            else:
                clients[str(connection.addr[0]) if connection.addr else ""].append(connection)
        there = [connection for found in clients.values() for connection in found]
        late = [*self._late_headers(there, now), *self._late_takers(there, now)]
        for connection in late:
            connection.will_close = True
        share = self._share([len(found) for found in clients.values()])
        return len(late) + sum(self._thin_out(found, share) for found in clients.values() if len(found) > share)

    def _share(self, counts: list[int]) -> int:
        """Return how many connections one client may have, so that all together have no more than the most."""
        left, share = self._most, self._per_client
        for place, count in enumerate(sorted(counts)):
            if count * (len(counts) - place) > left:
                return max(1, min(share, left // (len(counts) - place)))
            left -= count
        return share

    def _late_headers(self, connections: Iterable[Any], now: float) -> list[Any]:
        sending: dict[Any, tuple[Any, float]] = {}
        for connection in connections:
            request = connection.request
            if request is not None and _is_idle(connection):
                known = self._begun.get(connection)
                since = known[1] if known is not None and known[0] is request else now
                sending[connection] = (request, since)
        self._begun = sending
        return [connection for connection, (_request, at) in sending.items() if now - at >= self._header_seconds]

    def _late_takers(self, connections: Iterable[Any], now: float) -> list[Any]:
        taking = {
            connection: self._taking.get(connection, (connection.taken, now))
            for connection in connections
            if connection.total_outbufs_len
        }
        due = [connection for connection, (_taken, at) in taking.items() if now - at >= self._taking_seconds]
        late = [connection for connection in due if connection.taken - taking[connection][0] < LEAST_TAKEN]
        self._taking = taking | {connection: (connection.taken, now) for connection in due}
        return late

    def _thin_out(self, connections: list[Any], share: int) -> int:
        """Close the surplus of one client: of those that wait for the client, idle ones first, then the oldest."""
        there = [connection for connection in connections if not connection.will_close]
        waiting = [connection for connection in there if _is_idle(connection) or connection.total_outbufs_len]
        waiting.sort(key=lambda connection: (not _is_idle(connection), connection.creation_time))
        surplus = waiting[: max(0, len(there) - share)]
        for connection in surplus:
            connection.will_close = True
        return len(surplus)


def _is_idle(connection: Any) -> bool:
    """True when no request of the connection is being answered."""
    return not connection.requests and not connection.total_outbufs_len
