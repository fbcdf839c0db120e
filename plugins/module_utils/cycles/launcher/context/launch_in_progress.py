# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A launch in a cycle's hands: its record together with what only the living cycle has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ....clients.zookeeper.locks import Held
from ....launching.builds import Build
from ....launching.machine import Failure, LaunchRules
from ....model.cloud import Server
from ....model.config.types import ImageSettings, Pool, PoolLabel
from ....model.errors import (
    CloudAuthError,
    CloudError,
    CloudQuotaRefused,
    CloudUnavailable,
)
from ....model.launch import Launch
from ....model.node import Node
from ....model.reasons import Reason
from ....model.request import NodeRequest
from ..provider.actor import ProviderActor


@dataclass(eq=False)
class LaunchInProgress:
    """A launch in this cycle's hands. *fed*: the listing that the machine has seen.

    *pool*, *label* and *image* are as they were when it began; the configuration may have changed since.
    """

    launch: Launch
    node: Node
    held: Held
    actor: ProviderActor
    pool: Pool
    label: PoolLabel
    image: ImageSettings
    request: Mapping[str, Any] = field(default_factory=dict)
    busy: bool = False
    fed: float = 0.0
    host_keys: tuple[str, ...] = ()
    pending: set[str] = field(default_factory=set)
    """Marks of creates that a thread of this cycle still waits for."""
    sent: dict[str, float] = field(default_factory=dict)
    """Mark → when this cycle sent its create."""
    build: Build | None = None
    """The present attempt's server, if this cycle has asked for it."""
    lacks: Reason | None = None
    """Why there is no image for it at the moment, although there was one when it began."""

    @property
    def alone(self) -> bool:
        """True for a node that belongs to no set: it may be launched in any zone."""
        return len(self.request.get("labels", ())) <= 1

    @property
    def flavor(self) -> str:
        """Name of its flavor, its id where the list of flavors is not known."""
        known = self.actor.known.flavors.value or ()
        return next((item.name for item in known if item.id == self.launch.flavor_id), self.launch.flavor_id or "?")

    @property
    def key(self) -> tuple[str, str]:
        """(provider, pool)."""
        return (self.launch.provider, self.launch.pool)

    def next_zone(self) -> str | None:
        """Another zone for a node that is in no set: nova does not look further than the zone it is told."""
        zones = self.pool.availability_zones or tuple(self.actor.known.zones.value or ())
        if self.launch.az not in zones:
            return self.launch.az
        return zones[(zones.index(self.launch.az) + 1) % len(zones)]


def rules_of(running: LaunchInProgress) -> LaunchRules:
    """The provider's settings that decide about its launches."""
    provider = running.actor.provider
    return LaunchRules(provider.launch_timeout, provider.boot_timeout, provider.launch_retries)


def failure_of(error: CloudError) -> Failure:
    """The class of a failed call."""
    if isinstance(error, CloudQuotaRefused):
        return Failure.QUOTA
    return Failure.API if isinstance(error, CloudUnavailable | CloudAuthError) else Failure.REFUSED


def text_of(server: Server | None, failure: Failure) -> str:
    """What is wrong with a server, for people."""
    if server is None:
        return "no server came of an unanswered create" if failure is Failure.API else "the server is gone"
    return (server.fault or f"the server is in status {server.status}").strip()


def request_values(request: NodeRequest | None) -> dict[str, Any]:
    """What dynamic-instance-properties may use (Nodepool's list)."""
    if request is None:
        return {}
    return {
        "id": request.id,
        "labels": list(request.node_types),
        "requestor": request.requestor,
        "requestor_data": request.requestor_data,
        "relative_priority": request.relative_priority,
        "event_id": request.event_id,
        "created_time": request.created_time,
        "tenant_name": request.tenant_name,
    }
