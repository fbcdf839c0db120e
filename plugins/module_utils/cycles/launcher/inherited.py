# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ready nodes that existed when this cycle began to act for their provider.

No launcher has checked their servers for a while. So the cycle hands them out only after its first list of servers has
shown them. A server that the list lacks is treated like one that has vanished from one list to the next: nova is asked
about it (``provider/missing.py``). The cycle waits for the list only as long as recent lists of this cloud took: if the
API does not answer, the servers may still be usable.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...model import reasons
from ...model.cloud import (
    META_NODE_ID,
    META_PROVIDER,
    META_SITE,
    Server,
)
from ...model.node import Node, NodeState
from ...model.reasons import Reason
from .context.context import Context
from .provider.actor import LIMITS_AGE, ProviderActor

GONE = "gone (404)"
LOST = frozenset({"ERROR", "DELETED", "SOFT_DELETED", GONE})
"""The statuses of a server that cannot be used any more."""
EXPECTED = "expected"
"""The status of a server that so far is only known from a node's record."""
FRESH = LIMITS_AGE
"""Largest age in seconds, at the take-over, of a list of servers that was read while standing by and may be used."""


@dataclass(frozen=True)
class _Left:
    since: float
    nodes: frozenset[str]


def lost(actor: ProviderActor, node: Node, known_at: float) -> Reason | None:
    """Return why the server of a ready node cannot be used, by the latest list if it is not older than *known_at*.

    No call is made. A server may be missing from a list for other reasons: it counts as lost only after nova, asked
    for that server, has answered that it does not exist.
    """
    if actor.view.listed_from < known_at or not isinstance(node.external_id, str):
        return None
    server = actor.view.servers.get(node.external_id)
    status = server.status if server is not None else GONE if actor.view.missing.has_ended(node.external_id) else ""
    if status not in LOST:
        return None
    figures = {"where": actor.provider.name, "server": node.external_id, "status": status}
    return Reason(reasons.SERVER_GONE, figures)


class Inherited:
    """The ready nodes that this cycle inherited, by provider. Nodes that it launched itself are not among them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._left: dict[str, _Left] = {}

    def gain(self, actor: ProviderActor, nodes: Iterable[Node], now: float) -> None:
        """Note the ready nodes of a provider that this cycle acts for from now on. *nodes*: all known nodes."""
        name = actor.provider.name
        ready = [node for node in nodes if node.provider == name and node.state == NodeState.READY and not node.broken]
        self._left[name] = _Left(now, frozenset(node.id for node in ready))
        # Treat their servers as if a list had shown them; the next list is compared with it.
        servers = {node.external_id: _expected(actor, node) for node in ready if isinstance(node.external_id, str)}
        shown = actor.view.servers
        actor.view.servers = {**servers, **shown} if _is_fresh(actor, now) else {**shown, **servers}

    def drop(self) -> None:
        """Forget all nodes, as this cycle acts for no provider any more."""
        self._left.clear()

    def ask_for_lists(self, nodes: Iterable[Node], now: float) -> None:
        """Read a new list where the one that was read while standing by lacks a server; called once per pass."""
        for name, left in self._left.items():
            actor = self._context.actors.get(name)
            if actor is None or not 0.0 < actor.view.listed_from < left.since or now >= _bound(actor, left):
                continue
            if not actor.capacity.busy and any(node.provider == name and self.unseen(node) for node in nodes):
                actor.view.want_list(now)

    def unseen(self, node: Node) -> bool:
        """Return True while a node must not be handed out because no list has shown its server yet."""
        left = self._left.get(node.provider or "")
        if left is None or node.id not in left.nodes or not isinstance(node.external_id, str):
            return False
        actor, now = self._context.actors.get(node.provider or ""), self._context.now()
        if actor is None or now >= _bound(actor, left) or _is_troubled(actor):
            return False
        server = actor.view.servers.get(node.external_id)
        if server is None or server.status != EXPECTED:
            return False
        return not _is_fresh(actor, left.since) or self._known_at(node) <= actor.view.listed_from

    def lost(self, node: Node) -> Reason | None:
        """Return why the server of a ready node cannot be used; None if no reason is known."""
        actor = self._context.actors.get(node.provider or "")
        return None if actor is None else lost(actor, node, self._known_at(node))

    def next_due(self, now: float) -> float:
        """Return the seconds until the wait for the first provider's list ends."""
        actors = self._context.actors
        ends = [_bound(actors[name], left) for name, left in self._left.items() if name in actors and left.nodes]
        return min((end - now for end in ends if end > now), default=float("inf"))

    def _known_at(self, node: Node) -> float:
        """Return when the server surely existed; at most the time of the take-over, as other clocks may be ahead."""
        at, left = self._context.since(node), self._left.get(node.provider or "")
        return min(at, left.since) if left is not None and node.id in left.nodes else at


def _bound(actor: ProviderActor, left: _Left) -> float:
    return left.since + actor.list_bound


def _is_fresh(actor: ProviderActor, since: float) -> bool:
    return actor.view.listed_from >= since - FRESH


def _is_troubled(actor: ProviderActor) -> bool:
    refused = actor.health.refused(actor.inbox.clock())
    return refused is not None or any(fact.error is not None for fact in (actor.capacity, actor.view.listing))


def _expected(actor: ProviderActor, node: Node) -> Server:
    marks = {META_PROVIDER: actor.provider.name, META_NODE_ID: node.id, META_SITE: actor.site}
    return Server(str(node.external_id), "", EXPECTED, marks)
