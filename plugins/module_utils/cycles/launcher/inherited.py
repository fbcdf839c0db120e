# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ready nodes that were there when this cycle began to act for their provider.

Their servers were not looked at for a while. So they are handed out when the cycle's first list of servers has shown
them. What that list lacks is treated like a server that has vanished from one list to the next: nova is asked
(``provider/missing.py``). The list is waited for as long as lists of this cloud lately took, not longer: where the API
does not answer, the machines may be well all the same.
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
"""The statuses of a server that is of no use any more."""
EXPECTED = "expected"
"""The status of a server that only a node's record tells of, so far."""
FRESH = LIMITS_AGE
"""A list that was read while standing by serves if it is not older than this, in seconds, when the cycle takes over."""


@dataclass(frozen=True)
class _Left:
    since: float
    nodes: frozenset[str]


def lost(actor: ProviderActor, node: Node, known_at: float) -> Reason | None:
    """Why the server of a ready node is of no use, as the latest list shows it if that is not older than *known_at*.

    Nothing is asked for that. What the list does not show at all may be missing from it for other reasons: it is lost
    when nova, asked for it, did not know it.
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
    """By provider. What this cycle launched itself is never waited for."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._left: dict[str, _Left] = {}

    def gain(self, actor: ProviderActor, nodes: Iterable[Node], now: float) -> None:
        """This cycle acts for the provider from now on. *nodes*: all that are known."""
        name = actor.provider.name
        ready = [node for node in nodes if node.provider == name and node.state == NodeState.READY and not node.broken]
        self._left[name] = _Left(now, frozenset(node.id for node in ready))
        # As if a list had shown them: the next one is compared with that.
        servers = {node.external_id: _expected(actor, node) for node in ready if isinstance(node.external_id, str)}
        shown = actor.view.servers
        actor.view.servers = {**servers, **shown} if _is_fresh(actor, now) else {**shown, **servers}

    def drop(self) -> None:
        """This cycle acts for no provider any more."""
        self._left.clear()

    def ask_for_lists(self, nodes: Iterable[Node], now: float) -> None:
        """Once per pass: where a list that was read while standing by lacks a server, read another one."""
        for name, left in self._left.items():
            actor = self._context.actors.get(name)
            if actor is None or not 0.0 < actor.view.listed_from < left.since or now >= _bound(actor, left):
                continue
            if not actor.capacity.busy and any(node.provider == name and self.unseen(node) for node in nodes):
                actor.view.want_list(now)

    def unseen(self, node: Node) -> bool:
        """True while a node is not to be handed out because nothing is known of its server yet."""
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
        """Why the server of a ready node is of no use."""
        actor = self._context.actors.get(node.provider or "")
        return None if actor is None else lost(actor, node, self._known_at(node))

    def next_due(self, now: float) -> float:
        """Seconds until the first provider is not waited for any more."""
        actors = self._context.actors
        ends = [_bound(actors[name], left) for name, left in self._left.items() if name in actors and left.nodes]
        return min((end - now for end in ends if end > now), default=float("inf"))

    def _known_at(self, node: Node) -> float:
        """When the server was surely there, by a clock that may have been ahead: not later than it was seen here."""
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
