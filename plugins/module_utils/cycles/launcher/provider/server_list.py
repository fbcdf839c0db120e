# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the server list of one provider is read: whole, or only what has changed where reading all of it is slow.

For ``GET /servers/detail`` nova asks neutron for the ports of each server that it shows, so a list of a hundred servers
can cost a busy cloud as much as building one. With ``changes-since`` nova shows the servers whose ``updated`` is not
older, and those that were deleted, as DELETED and without metadata. The times in it are of the hosts that wrote them:
where a whole list shows that changes were missed, only whole lists are read from then on.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median

from ....clients.openstack.client import CloudClient
from ....model.cloud import Server, moment
from ....model.stored import is_number

SLOW = 1.0
"""Seconds. After a whole list that took longer only changes are read."""
NOTICED = 0.5
"""After a list that took so many seconds or less the next one may follow at once."""
RECENT = 5
"""A list is as slow as the last one, or as the median of so many: a single quick one does not make a cloud quick."""
PAUSE, LONGEST_PAUSE = 2.0, 15.0
"""After a list that took SLOW or longer none is read for so many times as long, and at most so many seconds; between
NOTICED and SLOW, where a thousand servers in two pages may be all that is slow, for a part of that."""
WHOLE_EVERY = 60.0
OVERLAP = 30.0
"""Changes are asked for from so many seconds before the newest one that is known: hosts' clocks differ."""


@dataclass(frozen=True)
class Listing:
    """An answer.

    :param since: None for a whole list, else from when on it shows changes.
    :param seconds: what the calls took, without what they waited for the provider's rate; None where that is unknown.
    """

    servers: Mapping[str, Server]
    since: float | None = None
    seconds: float | None = None


class ServerList:
    """Reads the list of one provider. :meth:`read` is for the provider's threads, the rest for the cycle's own.

    :param client: returns the client of now.
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
        """The oldest ``updated`` of a server shown as DELETED: nova keeps that when it lets go of the server."""
        self._next_since: float | None = None
        self._last_since: float | None = None
        self._trusted = True

    @property
    def slowest(self) -> float:
        """Seconds that the slowest of the latest whole lists took; 0 before the first."""
        return max(self._whole_seconds, default=0.0)

    def document(self) -> list[float]:
        """What the next cycle wants to know: how long the latest whole lists took."""
        return [round(seconds, 1) for seconds in self._whole_seconds]

    def learn(self, document: object) -> None:
        """What an earlier cycle has stored; what makes no sense is left out."""
        found = document if isinstance(document, list) else []
        self._whole_seconds.extend(float(seconds) for seconds in found if is_number(seconds) and seconds >= 0)

    def choose(self, now: float, *, whole: bool) -> None:
        """Decide what the next :meth:`read` asks for.

        :param whole: only a whole list will do.
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
        """Ask nova.

        :raises CloudError: nova did not answer, or refused.
        """
        return self._read(self._next_since)

    def read_whole(self) -> Listing:
        """Ask nova for the whole list.

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
        """The servers that are there after an answer.

        :param before: those that were believed to be there.
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
        """Seconds until a list may be read again without keeping the cloud from its work.

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
        """True when a whole list shows a change that is too old for the lists of changes, and that none has shown."""
        since = self._last_since
        return since is not None and any(
            at is not None and at < since and (key not in before or _differs(before[key].updated, servers[key].updated))
            for key, at in updates.items()
        )


def _differs(believed: str | None, shown: str | None) -> bool:
    return believed is not None and believed != shown


def _with_changes(before: Mapping[str, Server], changes: Mapping[str, Server]) -> dict[str, Server]:
    """The servers of *before* as they are after *changes*.

    A server that nova has let go of is shown without metadata; until then it counts, also as DELETED.
    """
    servers = dict(before)
    for key, server in changes.items():
        if server.status == "DELETED" and not server.metadata:
            servers.pop(key, None)
        else:
            servers[key] = server
    return servers
