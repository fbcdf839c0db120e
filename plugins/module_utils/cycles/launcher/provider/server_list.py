# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the server list of one provider: the whole list, or only its changes if the whole list is slow.

For ``GET /servers/detail`` nova asks neutron for the ports of each server that it shows, so a list of a hundred servers
can cost a busy cloud as much as building one. With ``changes-since`` nova shows the servers whose ``updated`` is not
older, and those that were deleted, as DELETED and without metadata. The clocks of different hosts write these times: if
a whole list shows that changes were missed, only whole lists are read from then on.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median

from ....clients.openstack.cloud_client import CloudClient
from ....model.cloud import Server, moment
from ....model.stored import is_number

SLOW = 1.0
"""Seconds. After a whole list that took longer, only changes are read."""
NOTICED = 0.5
"""Seconds. After a list that took no longer than this, the next one may follow at once."""
RECENT = 5
"""Number of recent lists. The time of a list is that of the last one or the median of these, whichever is longer: a
single quick list does not make a cloud quick."""
PAUSE, LONGEST_PAUSE = 2.0, 15.0
"""After a list that took SLOW seconds or longer, none is read for PAUSE times its duration, up to LONGEST_PAUSE
seconds. After one between NOTICED and SLOW, the pause is a part of that: a thousand servers in two pages may be the
only reason."""
WHOLE_EVERY = 60.0
OVERLAP = 30.0
"""Seconds before the newest known change from which changes are asked for: the clocks of hosts differ."""


@dataclass(frozen=True)
class Listing:
    """An answer.

    :param since: None for a whole list, otherwise the UNIX time from which it shows changes.
    :param seconds: the duration of the calls, without their wait for the provider's rate; None if it is unknown.
    """

    servers: Mapping[str, Server]
    since: float | None = None
    seconds: float | None = None


class ServerList:
    """Reads the list of one provider. The provider's threads call the read methods, the cycle's thread all others.

    :param client: returns the current client.
    """

    def __init__(self, client: Callable[[], CloudClient], clock: Callable[[], float]) -> None:
        self._client = client
        self._clock = clock
        self._whole_at = -math.inf
        self._answered_at = -math.inf
        self._seconds: deque[float] = deque(maxlen=RECENT)
        self._whole_seconds: deque[float] = deque(maxlen=RECENT)
        self._newest: float | None = None
        self._ending = math.inf
        """The oldest ``updated`` of a server shown as DELETED: nova does not change it when it removes the server."""
        self._next_since: float | None = None
        self._last_since: float | None = None
        self._trusted = True

    @property
    def slowest(self) -> float:
        """The seconds that the slowest of the recent whole lists took; 0 before the first."""
        return max(self._whole_seconds, default=0.0)

    def document(self) -> list[float]:
        """Return the durations of the recent whole lists, for the next cycle."""
        return [round(seconds, 1) for seconds in self._whole_seconds]

    def learn(self, document: object) -> None:
        """Take over the durations of an earlier cycle; ignore invalid ones."""
        found = document if isinstance(document, list) else []
        self._whole_seconds.extend(float(seconds) for seconds in found if is_number(seconds) and seconds >= 0)

    def choose(self, now: float, *, whole: bool) -> None:
        """Decide whether the next :meth:`read` asks for a whole list or for changes.

        :param whole: True to read a whole list in any case.
        """
        changes = (
            not whole
            and self._trusted
            and self._newest is not None
            and bool(self._whole_seconds)
            and self._whole_seconds[-1] > SLOW
            and now - self._whole_at < WHOLE_EVERY
        )
        self._next_since = min(self._newest - OVERLAP, self._ending) if changes and self._newest is not None else None

    def read(self) -> Listing:
        """Read the list or its changes, as :meth:`choose` decided.

        :raises CloudError: nova did not answer, or refused.
        """
        return self._read(self._next_since)

    def read_whole(self) -> Listing:
        """Read the whole list.

        :raises CloudError: nova did not answer, or refused.
        """
        return self._read(None)

    def _read(self, since: float | None) -> Listing:
        client, ident = self._client(), threading.get_ident()
        began, waited = self._clock(), client.waited(ident)
        text = None if since is None else f"{datetime.fromtimestamp(since, UTC):%Y-%m-%dT%H:%M:%SZ}"
        servers = {server.id: server for server in client.list_servers(text)}
        return Listing(servers, since, self._clock() - began - (client.waited(ident) - waited))

    def merge(self, before: Mapping[str, Server], listing: Listing, now: float) -> Mapping[str, Server]:
        """Return the servers that exist after an answer.

        :param before: the servers that were assumed to exist before.
        """
        updates = {key: moment(server.updated) for key, server in listing.servers.items()}
        if listing.seconds is not None:
            self._answered_at = now
            self._seconds.append(listing.seconds)
        if listing.since is None:
            self._trusted = self._trusted and not self._has_missed(before, listing.servers, updates)
            self._whole_at = now
            self._whole_seconds.extend(() if listing.seconds is None else (listing.seconds,))
        else:
            self._last_since = listing.since
        self._newest = max((at for at in (self._newest, *updates.values()) if at is not None), default=None)
        servers = listing.servers if listing.since is None else _with_changes(before, listing.servers)
        ending = (moment(server.updated) for server in servers.values() if server.status == "DELETED")
        self._ending = min((at for at in ending if at is not None), default=math.inf)
        return servers

    def due(self, now: float, news_in: float = 0.0) -> float:
        """Return the seconds until a list may be read again without slowing down the cloud.

        :param news_in: seconds between two slow lists of which each is expected to show several changes.
        """
        if not self._seconds:
            return -math.inf
        seconds = max(self._seconds[-1], median(self._seconds))
        if seconds <= NOTICED:
            return -math.inf
        share = min(1.0, (seconds - NOTICED) / (SLOW - NOTICED))
        return share * min(LONGEST_PAUSE, max(PAUSE * seconds, news_in)) - (now - self._answered_at)

    def _has_missed(
        self, before: Mapping[str, Server], servers: Mapping[str, Server], updates: Mapping[str, float | None]
    ) -> bool:
        """Return True if a whole list shows a change that the lists of changes should have shown but did not."""
        since = self._last_since
        return since is not None and any(
            at is not None and at < since and (key not in before or _differs(before[key].updated, servers[key].updated))
            for key, at in updates.items()
        )


def _differs(believed: str | None, shown: str | None) -> bool:
    return believed is not None and believed != shown


def _with_changes(before: Mapping[str, Server], changes: Mapping[str, Server]) -> dict[str, Server]:
    """Return the servers of *before* with *changes* applied.

    nova shows a server that it has finally removed without metadata; until then the server counts, also as DELETED.
    """
    servers = dict(before)
    for key, server in changes.items():
        if server.status == "DELETED" and not server.metadata:
            servers.pop(key, None)
        else:
            servers[key] = server
    return servers
