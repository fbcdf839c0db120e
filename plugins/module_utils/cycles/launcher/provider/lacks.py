# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fact that a provider needs and does not get: whose fault it is, and what an operator can do about it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ....clients.openstack.cloud_client import CloudClient
from ....clients.openstack.shapes import oddities
from ....model import owner
from ....model.cloud import Flavor, Server
from ....model.errors import CloudAuthError, CloudError, CloudUnavailable
from ....model.lines import of_provider

FEW = 3
"""Number of failed tries in a row from which a fact counts as not had."""
FORBIDDEN = (401, 403)
FOR_NOW = (408, 429)
"""Refusals of a service that has too much to do; RFC 9110 and RFC 6585."""
LIMITS = "GET /limits"
POLICY = "allow the account to call it (policy or role)"
LISTS = "GET /servers/detail"
_USED = "everything else goes on"
_QUOTA = (
    "set ignore-provider-quota: true in the pools to launch without the cloud's limits (max-servers then bounds them)"
)


@dataclass(frozen=True)
class Lack:
    """A fact that is not had.

    :ivar kind: the kind of call that reads it.
    :ivar since: UNIX time of the first failed try.
    :ivar stops: True if nothing can be launched without it.
    :ivar used: what is done without it; empty if that is not possible.
    """

    kind: str
    error: CloudError
    since: float
    stops: bool = False
    used: str = ""

    @property
    def lasting(self) -> bool:
        """True if the answer was not that of a service in trouble, whose health is told as a whole."""
        status = self.error.status
        return status is not None and status not in FOR_NOW and (status < 500 or status == 501)

    @property
    def owner(self) -> str:
        """Whose fault it is."""
        denied = isinstance(self.error, CloudAuthError) or self.error.status in FORBIDDEN
        return owner.ACCOUNT if denied else owner.CLOUD

    def text(self, provider: str) -> str:
        """Return the sentence with the remedy."""
        said = of_provider(provider, str(self.error))
        # A refused login is told with its own remedy: neither a policy nor a setting of a pool ends it.
        refused = not isinstance(self.error, CloudAuthError)
        remedies = [POLICY] if refused and self.owner == owner.ACCOUNT else []
        remedies += [_QUOTA] if refused and self.kind == LIMITS else []
        parts = [said, *([self.used] if self.used else []), *([" or ".join(remedies)] if remedies else [])]
        return "; ".join(parts)


class OddRows:
    """Counts the lists in a row that show servers without a status, or with values of another type than nova promises.

    Each is a fact that the launcher needs and does not get, although the call succeeds: it waits for such a server.

    :param site: the id of the tree. A server of others that only has no status does not count: a cell that is away is
        told once.
    """

    def __init__(self, provider: str, site: str) -> None:
        self._provider = provider
        self._site = site
        self._lists = 0
        self._since = 0.0
        self._text = ""

    def look(self, servers: Collection[Server], now: float) -> None:
        """Look at a new list."""
        odd = any(not self._is_usual(server) for server in servers)
        self._since = self._since if self._lists else now
        self._lists = self._lists + 1 if odd else 0
        self._text = oddities(servers) if odd else ""

    def lacks(self) -> list[Lack]:
        """Return what to tell of them after a few lists."""
        if self._lists < FEW:
            return []
        text = f"provider {self._provider}: {self._text}"
        error = CloudUnavailable(text, provider=self._provider, call=LISTS, status=200)
        return [Lack(LISTS, error, self._since, used=_USED)]

    def _is_usual(self, server: Server) -> bool:
        ours = bool(server.launch_mark) and server.site in ("", self._site)
        return not server.odd and (server.is_told or not ours)


def flavors_of(client: CloudClient) -> list[Flavor]:
    """Read the flavors.

    :raises CloudError: also where nova shows none, which is not for a label to mend.
    """
    flavors = client.list_flavors()
    if not flavors:
        text = f"provider {client.provider}: nova shows no flavor: give the project access to flavors"
        raise CloudUnavailable(text, provider=client.provider, call="GET /flavors/detail", status=200)
    return flavors
