# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the plan looks at: plain values, gathered by the cycle, with no way back to the world."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..model.reasons import Reason
from ..model.resources import Limits, Resources


@dataclass(frozen=True)
class LabelOffer:
    """What one node of a label costs in a pool, or why it cannot be launched.

    *never*: a permanent reason. *not_now*: a temporary one. Both None: it can be launched.
    """

    resources: Resources = field(default_factory=Resources)
    never: Reason | None = None
    not_now: Reason | None = None


@dataclass(frozen=True)
class ProviderState:
    """A provider that we act for.

    *bounds*: the cloud's limits at the last reading, None before the first. *largest*: the most that two readings
    showed, None before the second. *others*: what others use in the project. *used*: what our nodes use, those in
    flight and those still being deleted included. *freeing*: the part of it that is being deleted. *blocked*: why
    nothing may be launched now.
    """

    name: str
    bounds: Limits | None = None
    largest: Limits | None = None
    others: Resources = field(default_factory=Resources)
    used: Resources = field(default_factory=Resources)
    freeing: Resources = field(default_factory=Resources)
    launching: int = 0
    max_concurrency: float = math.inf
    blocked: Reason | None = None
    best_at_once: float = math.inf
    """So many servers the cloud builds side by side best, as far as it was learned."""
    builds_left: float = math.inf
    """How many more launches may be taken on for that."""
    fresh: bool = False
    """True in its first seconds while nothing has failed: what is unread will be known in a moment."""


@dataclass(frozen=True)
class PoolState:
    """A pool that we act for. *az_load*: how many of our nodes are in each availability zone that may be used."""

    id: str
    provider: str
    name: str
    priority: int = 100
    offers: Mapping[str, LabelOffer] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    used: Resources = field(default_factory=Resources)
    freeing: Resources = field(default_factory=Resources)
    ignore_provider_quota: bool = False
    az_load: Mapping[str, int] = field(default_factory=dict)
    blocked: Reason | None = None
    frozen: Mapping[str, Reason] = field(default_factory=dict)
    """Resource → why no more of it may be used now than was used when a create was refused."""
    frozen_room: Resources = field(default_factory=Resources)
    """What may be used of the frozen resources all the same."""
    queued: int = 0
    """Launches taken on whose create is not sent yet."""
    admissible: float = math.inf
    """How many more launches may be taken on now."""

    @property
    def where(self) -> str:
        """How people call it."""
        return f"{self.provider}/{self.name}"


@dataclass(frozen=True)
class OtherPool:
    """A registered pool of another launcher, or (*present* False) one that is known but not registered now."""

    id: str
    provider: str
    name: str
    labels: frozenset[str] = frozenset()
    priority: int = 100
    paused: bool = False
    present: bool = True


@dataclass(frozen=True)
class ReadyNode:
    """A free ready node: unallocated and not locked.

    *version*: of its record. *unseen*: not to be handed out yet, the cloud's answer about its server is waited for.
    """

    id: str
    pool_id: str
    labels: tuple[str, ...]
    az: str | None
    resources: Resources
    since: float
    version: int = -1
    unseen: bool = False


@dataclass(frozen=True)
class OpenRequest:
    """A request in state requested that is not locked.

    *order* is (priority text, relative priority, sequence text).
    """

    id: str
    order: tuple[str, int, str]
    labels: tuple[str, ...]
    reuse: bool = True
    provider: str | None = None
    tenant: str | None = None
    declined_by: frozenset[str] = frozenset()


@dataclass(frozen=True)
class SpareNeed:
    """A label with min-ready: how many are wanted and how many are ready or on their way, unallocated."""

    label: str
    wanted: int
    have: int


@dataclass(frozen=True)
class Snapshot:
    """The world at one moment, as far as placing is concerned."""

    providers: Mapping[str, ProviderState] = field(default_factory=dict)
    pools: Sequence[PoolState] = ()
    others: Sequence[OtherPool] = ()
    requests: Sequence[OpenRequest] = ()
    ready: Sequence[ReadyNode] = ()
    spares: Sequence[SpareNeed] = ()
    tenant_room: Mapping[str, Limits] = field(default_factory=dict)
    """What tenants with limits may still use."""
    tenant_limits: Mapping[str, Limits] = field(default_factory=dict)
    """What they may use in all."""

    @property
    def all_pools(self) -> frozenset[str]:
        """Ids of the pools that may serve requests, ours and others': one that all have declined fails."""
        return frozenset({pool.id for pool in self.others} | {pool.id for pool in self.pools})
