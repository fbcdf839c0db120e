# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The usage of one provider, by this tree and by others, and the limits that its cloud shows."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass

from ....model.cloud import (
    META_NODE_ID,
    META_PROVIDER,
    CloudLimits,
    Flavor,
    Server,
)
from ....model.resources import (
    INSTANCES,
    Limits,
    Resources,
    total,
)
from .server_list import Listing

SECOND_READING = 5.0
NOTHING = Resources()
NEAR = 3
"""Number of nodes. A limit is near if there is room for fewer nodes, or if less than a twentieth of it is free."""


@dataclass(frozen=True)
class Capacity:
    """One reading of the limits together with a server list that was read after it.

    :ivar asked_at: UNIX time at which the limits were asked for; None: when the reading began.
    """

    limits: CloudLimits | None
    """None where the cloud does not tell its limits."""
    listing: Listing
    asked_at: float | None = None


class Usage:
    """The usage of one provider's project.

    :param provider: the name of the provider.
    :param site: the id of the tree.
    :param flavors: returns the known flavors; None before the first reading.
    """

    def __init__(self, provider: str, site: str, flavors: Callable[[], list[Flavor] | None]) -> None:
        self._provider = provider
        self._site = site
        self._flavors = flavors
        self.bounds: Limits | None = None
        """The cloud's limits at the last reading."""
        self.largest: Limits | None = None
        """The larger limits of the last two readings that are SECOND_READING apart; None before the second."""
        self.read_at: float | None = None
        """UNIX time of the latest reading of the limits; None before the first."""
        self._bounds_before: tuple[float, Limits] | None = None
        self.in_cloud = Resources()
        """The resources of our nodes that exist in the cloud, by their records, at the last observation."""
        self.others = Resources()
        """The resources that others used at the last observation."""
        self.near_limit = False
        """True when there is room for only a few more nodes."""
        self._largest_need = Resources()
        self._hidden = Resources()
        self._sorted: tuple[object, object] = (None, None)
        self._foreign = Resources()
        self._of_nodes: dict[str, Resources] = {}
        self._unsigned: dict[str, Resources] = {}
        self._named: Container[str] = ()
        self._given_back = NOTHING

    # -- from pass to pass ---------------------------------------------------------------------------------------

    def follow(
        self,
        servers: Mapping[str, Server],
        in_cloud: Resources,
        node_ids: Container[str],
        server_ids: Container[str] = (),
        given_back: Resources = NOTHING,
    ) -> None:
        """Update the usage.

        Servers that this tree created with this provider for a known node are ours. All others, including leaked
        servers, count as used by others, as does the usage that the services count beyond the listed servers.

        :param servers: the latest list; the same object while there is no newer one.
        :param in_cloud: the resources of our nodes that exist in the cloud, by their records.
        :param server_ids: the servers that node records name: they are ours also without the id of the tree (Nodepool
            and earlier versions created such servers).
        :param given_back: the part of our usage that the quota does not count any more; it is not in *in_cloud*.
        """
        self._named = server_ids
        self._given_back = given_back
        known = (servers, self._flavors())
        if any(new is not old for new, old in zip(known, self._sorted, strict=True)):
            self._sorted = known
            self._sort(servers)
        lost = (size for node_id, size in self._of_nodes.items() if node_id not in node_ids)
        unnamed = (size for server_id, size in self._unsigned.items() if server_id not in server_ids)
        self.in_cloud = in_cloud
        self.others = total([self._foreign, *lost, *unnamed, self._hidden])
        self.near_limit = self._is_near(self.in_cloud + self.others)

    def expect(self, largest_need: Resources) -> None:
        """Note the largest amount of each resource that one node of any label may need."""
        self._largest_need = largest_need

    def accepted(self, size: Resources) -> None:
        """Note that the cloud accepted a create for a server of *size*."""
        self.in_cloud = self.in_cloud + size

    @property
    def known(self) -> Resources:
        """The whole known usage, ours and that of others."""
        return self.in_cloud + self.others

    def read(self, capacity: Capacity, asked_at: float) -> None:
        """Use a reading of the limits, by a call that began at *asked_at*."""
        if capacity.limits is None:
            # What was read earlier stays in use; the refusals of creates tell what has been used up since.
            return
        self.read_at = asked_at
        self._hidden = self._unseen(capacity.limits, capacity.listing)
        self.bounds = bounds = capacity.limits.bounds
        if self._bounds_before is None:
            self._bounds_before = (asked_at, bounds)
        elif asked_at - self._bounds_before[0] >= SECOND_READING:
            before = self._bounds_before[1]
            self.largest = Limits({name: max(bounds[name], before[name]) for name in {*bounds, *before}})
            self._bounds_before = (asked_at, bounds)

    # -- inside --------------------------------------------------------------------------------------------------

    def _is_near(self, used: Resources) -> bool:
        bounds, one = self.bounds, self._largest_need
        if bounds is None:
            return False
        return any(
            bounds[name] - used[name] < max(NEAR * max(1, one[name]), bounds[name] / 20)
            for name in bounds
            if one[name] > 0 or name == INSTANCES
        )

    def _sort(self, servers: Mapping[str, Server]) -> None:
        """Sort each new list: servers of this tree by node, servers that only name our provider, and all others."""
        foreign: list[Resources] = []
        nodes: dict[str, list[Resources]] = {}
        self._unsigned = {}
        for server in servers.values():
            if server.metadata.get(META_PROVIDER) != self._provider:
                foreign.append(self._size(server))
            elif self._site and server.site == self._site:
                nodes.setdefault(server.metadata.get(META_NODE_ID, ""), []).append(self._size(server))
            else:
                self._unsigned[server.id] = self._size(server)
        self._foreign = total(foreign)
        self._of_nodes = {node_id: total(sizes) for node_id, sizes in nodes.items()}

    def _is_mine(self, server: Server) -> bool:
        if server.metadata.get(META_PROVIDER) != self._provider:
            return False
        return server.id in self._named or (bool(self._site) and server.site == self._site)

    def _size(self, server: Server) -> Resources:
        """Return the resources of a server, from the list itself or by its flavor."""
        if server.resources is not None:
            return server.resources
        flavor = next((item for item in self._flavors() or () if item.id == server.flavor_id), None)
        if flavor is None:
            return Resources({"instances": 1})
        return Resources({"instances": 1, "cores": flavor.cores, "ram": flavor.ram})

    def _unseen(self, limits: CloudLimits, listing: Listing) -> Resources:
        """Return the usage that neither the server list nor our records explain (ports of others, …).

        A server of ours that ended between the readings of the limits and the list is not hidden usage: it keeps its
        record until this cycle has seen its end.
        """
        servers = listing.servers.values()
        ours = total(self._size(item) for item in servers if self._is_mine(item))
        theirs = total(self._size(item) for item in servers if not self._is_mine(item))
        used, recorded = limits.used, self.in_cloud + self._given_back
        return Resources({key: max(0, used[key] - theirs[key] - max(ours[key], recorded[key])) for key in used})
