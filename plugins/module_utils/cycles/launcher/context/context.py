# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects that the parts of a cycle share: store, configuration, providers, clock and account."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from ....clients.openstack.cloud_client import CloudClient
from ....clients.zookeeper.link.batch import Batch
from ....clients.zookeeper.store import Store
from ....launching.event_builds import EventBuilds
from ....model.api_timeouts import ApiTimeouts
from ....model.config.types import ImageSettings, NodepoolConfig, Pool, PoolLabel, Provider
from ....model.errors import CloudAuthError
from ....model.launch import Launch
from ....model.lines import Line, Trouble, amount
from ....model.node import Node, NodeState
from ....model.own_tree import LAUNCHES, PROVIDERS
from ....model.tombstone import Life
from ...frame.inbox import Inbox
from ...frame.tree_clock import unheard
from ..provider.actor import ProviderActor
from ..provider.experience import learned_before
from ..provider.knowledge import Kept
from .account import Account
from .identities import Identities
from .sweep_memory import add_tombstone
from .trials import Trials

FIRST_SECONDS = 10.0
"""Seconds from the start of a long cycle within which no node counts as idle."""


class Ages:
    """The times at which nodes came into their states.

    A time in the future was written by a clock that was ahead. The time at which this cycle first saw the record
    replaces it.
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, float]] = {}
        self._in_use: dict[str, float] = {}
        self._held: dict[str, float] = {}
        self._allocated: set[str] = set()
        self._freed: dict[str, float] = {}
        self._began: float | None = None
        self.first_seconds = FIRST_SECONDS

    def follow(self, changed: Iterable[str], nodes: Mapping[str, Node], now: float) -> None:
        """Update the times.

        :param changed: ids of nodes that are new, different or gone.
        :param nodes: all nodes by id.
        """
        self._began = now if self._began is None else self._began
        for node_id in changed:
            node = nodes.get(node_id)
            self._follow_allocation(node_id, node, now)
            if node is None:
                self._in_use.pop(node_id, None)
                self._held.pop(node_id, None)
            elif node.state in (NodeState.IN_USE, NodeState.HOLD) and node.state_time:
                seen = self._in_use if node.state == NodeState.IN_USE else self._held
                seen[node_id] = min(node.state_time, now)
            if node is not None and (node.state_time or 0.0) > now:
                if self._seen.get(node_id, (None,))[0] != node.version:
                    self._seen[node_id] = (node.version, now)
            else:
                self._seen.pop(node_id, None)

    def _follow_allocation(self, node_id: str, node: Node | None, now: float) -> None:
        if node is None or node.allocated_to is not None:
            self._freed.pop(node_id, None)
        elif node_id in self._allocated:
            self._freed[node_id] = now
        if node is None or node.allocated_to is None:
            self._allocated.discard(node_id)
        else:
            self._allocated.add(node_id)

    def idle_since(self, node: Node, now: float) -> float:
        """Return since when a ready node has been allocated to nobody, as far as this cycle has seen.

        A long cycle that has just begun does not know yet who wants the nodes.
        """
        if self._began is None or now - self._began < self.first_seconds:
            return now
        return max(self.since(node, now), self._freed.get(node.id, 0.0))

    def in_use_since(self, node_id: str) -> float | None:
        """Return when the requestor began to use a node; None if this cycle has not seen it in use."""
        return self._in_use.get(node_id)

    def held_since(self, node_id: str) -> float | None:
        """Return since when a node was held; None if this cycle has not seen it held."""
        return self._held.get(node_id)

    def since(self, node: Node, now: float) -> float:
        """Return when the node came into its state, in UNIX seconds; never later than *now*."""
        version, seen = self._seen.get(node.id, (None, now))
        return min(node.state_time or 0.0, seen if version == node.version else now)


@dataclass
class Context:
    """The objects that the parts of one cycle share. Only the cycle's own thread uses it.

    *site* is the id of the tree, *actors* holds the providers that this cycle acts for, *pool_ids* maps
    (provider, pool) to the stable pool id.
    """

    store: Store
    config: NodepoolConfig
    inbox: Inbox
    account: Account
    site: str
    actors: dict[str, ProviderActor] = field(default_factory=dict)
    pool_ids: dict[tuple[str, str], str] = field(default_factory=dict)
    random: Callable[[], float] = random.random
    timeouts: ApiTimeouts = field(default_factory=ApiTimeouts)
    nonce: Callable[[], str] = lambda: uuid.uuid4().hex[:12]
    ages: Ages = field(default_factory=Ages)
    identities: Identities = field(default_factory=Identities)
    trials: Trials = field(default_factory=Trials)
    events: EventBuilds = field(default_factory=EventBuilds)
    kept: Kept = field(default_factory=Kept)
    leaving: str = ""
    """The provider that is about to move to another host: none of its creates is sent any more."""
    hear: Callable[[float], float] = unheard
    """Takes ZooKeeper's time in UNIX seconds, by which the cycle's clock corrects itself."""

    def now(self) -> float:
        """Return the cycle's time in UNIX seconds: that of ZooKeeper, by which records grow old."""
        return self.inbox.clock()

    def image_settings(self, provider: Provider, label: PoolLabel) -> ImageSettings:
        """Return the image of a label at a provider, made once for each configuration."""
        place = "image", provider.name, label.diskimage, label.cloud_image
        return self.kept.once(place, (self.config, provider), lambda: self.config.image_settings(provider, label))

    def actor(self, provider: Provider, client: CloudClient) -> ProviderActor:
        """Return a new actor for a provider."""
        return ProviderActor(provider, client, self.inbox, self.timeouts, self.site)

    def learn(self, actor: ProviderActor) -> None:
        """Give an actor the facts that earlier cycles learned about its provider."""
        self.trials.learn(self.store, actor.provider.name)
        actor.learn(self.store.own.understood(f"{PROVIDERS}/{actor.provider.name}", learned_before) or {})

    def since(self, node: Node) -> float:
        """Return when a node came into its state, in UNIX seconds; never in the future."""
        return self.ages.since(node, self.now())

    def pool(self, pool_id: str) -> tuple[ProviderActor, Pool]:
        """Return the pool with that id and the actor of its provider; this cycle must act for the provider."""
        provider, name = self.pool_names(pool_id)
        actor = self.actors[provider]
        return actor, actor.provider.pools[name]

    def describe(self) -> list[Line]:
        """Return lines about the connection and the queue of the cycle's thread. Any thread may call it."""
        store = self.store
        return [
            Line(f"ZooKeeper: {store.state}, session {store.generation} of this cycle"),
            Line(f"inbox: {amount(self.inbox.waiting, 'call')} waiting"),
        ]

    def pool_names(self, pool_id: str) -> tuple[str, str]:
        """Return (provider, pool) of that id; empty names if the configuration does not have it any more."""
        return next((names for names, key in self.pool_ids.items() if key == pool_id), ("", ""))

    def launch(self, node_id: str, *, fresh: bool = False) -> Launch | None:
        """Return the launch record of a node.

        :param fresh: read it from ZooKeeper: another cycle has written it last, and the cache may be stale.
        """
        path = f"{LAUNCHES}/{node_id}"
        found = self.store.own.understood(path, Launch.from_document, key="node_id", fresh=fresh)
        return None if found is None else found.bound(self.now())

    def save(self, launch: Launch, batch: Batch | None = None) -> None:
        """Store a launch record; call it before the API call that the record describes.

        :param batch: store it together with these changes.
        """
        self.store.own.put(f"{LAUNCHES}/{launch.node_id}", launch.document(), batch)

    def add_tombstone(
        self,
        node_id: str,
        provider: str,
        server_id: str | None = None,
        life: Life | None = None,
        batch: Batch | None = None,
    ) -> None:
        """Remember the cloud resources of a node: if they appear later, they are known to belong to this tree.

        :param batch: store it together with these changes.
        """
        add_tombstone(self.store, node_id, provider, self.launch(node_id), server_id, self.now(), life, batch)

    def forget(self, node_id: str, batch: Batch | None = None) -> None:
        """Remove the launch record of a node that is gone. The caller must write its tombstone first.

        :param batch: remove it together with these changes.
        """
        self.store.own.delete(f"{LAUNCHES}/{node_id}", batch)


def clients_of(
    context: Context, chosen: Iterable[str], client: Callable[[Provider], CloudClient]
) -> dict[str, CloudClient]:
    """Return a client for each provider that can have one; a provider that cannot must not stop the others.

    :raises CloudAuthError: no provider can have a client.
    """
    clients: dict[str, CloudClient] = {}
    first: CloudAuthError | None = None
    for name in chosen:
        try:
            clients[name] = client(context.config.providers[name])
        except CloudAuthError as error:
            first = first or error
            context.account.unusable[name] = str(error)
            context.account.say(Trouble(f"provider {name}: skipped: {error}", provider=name))
    if first is not None and not clients:
        raise first
    return clients
