# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Networks between which neutron makes no floating IP. They are learned from its refusals, and forgotten after a time.

They are not read in advance: a project does not see the routers of others, nor the subnets of an external network.
"""

from __future__ import annotations

from ....clients.openstack.addresses import FloatingIpTarget
from ....model.errors import CloudError

MEMORY = 300.0
"""Seconds until a dead end is tried again: somebody may have connected a router."""
_NO_ROUTER = "ExternalGatewayForFloatingIPNotFound"
"""neutron's type (404): no router connects the subnet of the port to the external network."""
_BAD_NETWORK = "BadRequest"
"""neutron's type (400): the network is not external, or has no IPv4 subnet."""


class DeadEnds:
    """The pairs (external network, fixed network; "" for any) of one provider."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], float] = {}

    def learn(self, target: FloatingIpTarget, error: CloudError, now: float) -> bool:
        """Note what a refusal proves about the networks; return False if it proves nothing about them."""
        if error.error_type == _NO_ROUTER:
            self._since[(target.network_id, target.fixed_network_id)] = now
        elif error.error_type == _BAD_NETWORK and error.status == 400:
            self._since[(target.network_id, "")] = now
        else:
            return False
        return True

    def known(self, now: float) -> frozenset[tuple[str, str]]:
        """Return the pairs that were refused lately."""
        if not self._since:
            return frozenset()
        return frozenset(pair for pair, since in self._since.items() if 0 <= now - since < MEMORY)

    def forget(self) -> None:
        """Forget all, as the settings of the cloud were changed."""
        self._since.clear()
