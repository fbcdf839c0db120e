# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The servers of one provider as its lists show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ....clients.openstack.cloud_client import CloudClient
from ....model.cloud import META_LAUNCH, Server
from ....model.errors import CloudError
from .facts import Fact
from .inquiries import Ask, Inquiries
from .lacks import OddRows
from .missing import Missing
from .server_list import Listing, ServerList

NO_NEWS = 60.0
"""Seconds. An answer about a server that is older than the latest list by more than this is not used."""


class ServerView:
    """Keeps the latest list, and asks for each server that a list lacks without a reason.

    :ivar servers: by id; those that the latest list lacks without a reason are among them.
    :ivar listed_from: when the call of the latest list began, in seconds of *clock*; 0 before the first.
    :ivar list: how lists are read, and how long they took.
    :ivar listing: the fact that the cycle polls.
    :ivar odd: the servers of which the lists do not show what is needed.
    :param site: the id of the tree.
    :param fact: makes the fact of a list.
    :param ask: asks nova for one server.
    :param held_until: until when the API asked to be left alone.
    """

    def __init__(
        self,
        provider: str,
        site: str,
        client: Callable[[], CloudClient],
        clock: Callable[[], float],
        fact: Callable[[str, Callable[[], Listing], float, Callable[[CloudError | None], None]], Fact[Listing]],
        ask: Ask,
        held_until: Callable[[], float],
    ) -> None:
        self._site = site
        self._client = client
        self._clock = clock
        self.servers: Mapping[str, Server] = {}
        self.listed_from = 0.0
        self.inquiries = Inquiries(ask, clock, held_until)
        self.missing = Missing(provider, site, self.inquiries)
        self.odd = OddRows(provider, site)
        self.list = ServerList(client, clock)
        self.listing = fact("GET /servers/detail", self._read, 0.0, self._new_listing)

    def renew(self) -> None:
        """The cloud is reached by another client: how long its lists take is not known any more."""
        self.list = ServerList(self._client, self._clock)

    def by_mark(self) -> dict[str, Server]:
        """Return the servers in the list that carry a launch mark, by mark; servers of other trees are left out."""
        return {
            server.metadata[META_LAUNCH]: server
            for server in self.servers.values()
            if server.launch_mark and server.site in ("", self._site)
        }

    def take_list(self, listing: Listing, listed_from: float) -> None:
        """Use a list that was asked for at *listed_from*; ignore a list that is older than the current one."""
        if listed_from > self.listed_from:
            now = self._clock()
            servers = self.list.merge(self.servers, listing, now)
            self.servers = self.missing.compare(self.servers, servers, listed_from)
            self.odd.look(self.servers.values(), now)
            self.listed_from = listed_from
            self.inquiries.prune(now)

    def settle(self, now: float) -> None:
        """Find out what became of servers that the list lacks; called once per pass."""
        news = self.missing.settle(now)
        if news:
            known = {key: server for key, server in self.servers.items() if key not in news}
            self.servers = {**known, **{key: server for key, server in news.items() if server is not None}}

    def is_gone(self, server_id: str, since: float, now: float) -> bool:
        """Return True if nova does not know a server that no list shows; False also while nova is being asked.

        :param since: UNIX time at which the server existed.
        """
        if self.missing.has_ended(server_id):
            return True
        told = self.inquiries.want(server_id, max(since, self.listed_from - NO_NEWS), now)
        if told is not None and told.server is not None:
            self.servers = {**self.servers, server_id: told.server}
        return told is not None and told.server is None

    def want_list(self, now: float) -> None:
        """Ask for a list."""
        if not self.listing.busy:
            # A whole list shows whether the servers that the last one lacked exist.
            self.list.choose(now, whole=bool(self.missing))
            self.listing.want(now)

    def _read(self) -> Listing:
        return self.list.read()  # of the present list: see renew

    def _new_listing(self, error: CloudError | None) -> None:
        if error is None and self.listing.value is not None and self.listing.asked_at is not None:
            self.take_list(self.listing.value, self.listing.asked_at)
