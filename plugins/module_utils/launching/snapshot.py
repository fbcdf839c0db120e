# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The input of the plan: plain values that the cycle has gathered. They have no access to ZooKeeper or a cloud."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..model.reasons import Reason
from ..model.resources import Limits, Resources
from .narrow import Shape

NO_SHAPE = Shape()


@dataclass(frozen=True)
class LabelOffer:
    """The resources of one node of a label in a pool, or why it cannot be launched.

    *never*: a permanent reason. *not_now*: a temporary reason. Both None: it can be launched. *not_for*: tenant → a
    temporary reason that holds for its requests alone. *shape*: for the narrow resources that a node needs.
    """

    resources: Resources = field(default_factory=Resources)
    never: Reason | None = None
    not_now: Reason | None = None
    not_for: Mapping[str, Reason] = field(default_factory=dict)
    shape: Shape = NO_SHAPE


@dataclass(frozen=True)
class ProviderState:
    """A provider that this launcher acts for.

    *bounds*: the cloud's limits at the last reading, None before the first. *largest*: the highest limits that two
    readings showed, None before the second. *others*: the usage of others in the project. *used*: the usage of our
    nodes, those in flight and those being deleted included. *freeing*: the part of *used* that is being deleted.
    *blocked*: why nothing may be launched now.
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
    """How many servers the cloud builds in parallel best, as learned so far."""
    builds_left: float = math.inf
    """How many more launches that number allows."""
    limits_lack: Reason | None = None
    """Why the cloud's limits are not had, after a few tries; None while they are, or may be soon."""
    fresh: bool = False
    """True in the first seconds while no call has failed: the cloud's first answers are expected soon."""


@dataclass(frozen=True)
class PoolState:
    """A pool that this launcher acts for. *az_load*: usable availability zone → number of our nodes in it."""

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
    """Frozen resource → why its use may not exceed the usage at which a create was refused."""
    frozen_room: Resources = field(default_factory=Resources)
    """How much of the frozen resources may still be used. Of a narrow one a set of nodes needs 1, for a trial."""
    narrow: frozenset[str] = frozenset()
    """The narrow ones among the frozen resources."""
    doubted: frozenset[str] = frozenset()
    """Narrow resources that are tried only if there is no other way: they were refused lately, or surely would be."""
    queued: int = 0
    """Number of admitted launches whose create is not sent yet."""
    admissible: float = math.inf
    """How many more launches may be admitted now."""

    @property
    def where(self) -> str:
        """The pool's name for people: ``provider/pool``."""
        return f"{self.provider}/{self.name}"


@dataclass(frozen=True)
class OtherPool:
    """A registered pool of another launcher, or (*present* False) a known pool that is not registered now."""

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

    *version*: the version of its record. *unseen*: it may not be handed out yet, because the cloud has not answered
    whether its server can be used. *doubted*: requests are served without it, because the cloud does not tell.
    """

    id: str
    pool_id: str
    labels: tuple[str, ...]
    az: str | None
    resources: Resources
    since: float
    version: int = -1
    unseen: bool = False
    doubted: bool = False
    build: tuple[str, str] | None = None
    """The diskimage and the build that it was made from; None for a cloud-image, and where any build will do."""


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
    tried: frozenset[str] = frozenset()
    """The pools and zones in which its launches have failed: others go first."""
    builds: frozenset[tuple[str, str, str]] = frozenset()
    """(provider, image, build) of other nodes of its event: ready nodes of another build do not serve it."""


@dataclass(frozen=True)
class SpareNeed:
    """A label with min-ready: how many nodes are wanted, and how many unallocated ones are ready or in flight."""

    label: str
    wanted: int
    have: int


@dataclass(frozen=True)
class Snapshot:
    """Everything that placement needs, at one moment."""

    providers: Mapping[str, ProviderState] = field(default_factory=dict)
    pools: Sequence[PoolState] = ()
    others: Sequence[OtherPool] = ()
    requests: Sequence[OpenRequest] = ()
    ready: Sequence[ReadyNode] = ()
    spares: Sequence[SpareNeed] = ()
    tenant_room: Mapping[str, Limits] = field(default_factory=dict)
    """Tenant with limits → what it may still use."""
    tenant_limits: Mapping[str, Limits] = field(default_factory=dict)
    """Tenant with limits → what it may use in all."""

    @property
    def all_pools(self) -> frozenset[str]:
        """Ids of all pools, ours and those of other launchers: a request that all of them have declined fails."""
        return frozenset({pool.id for pool in self.others} | {pool.id for pool in self.pools})
