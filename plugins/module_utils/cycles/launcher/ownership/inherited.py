# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ready nodes may be handed out, by what the cloud shows of their servers.

A ready node is handed out when a list younger than a minute shows its server ACTIVE. Without such a list one is asked
for when a request wants the node, and the request waits for it, as long as recent lists of this cloud took. After that
the node counts as doubtful: it is kept, but requests are served without it. If an operator wants it, ssh is tried again
before an old one is handed out (:mod:`.spare_ssh`).

Ready nodes from before the take-over are treated as if a list had shown their servers. One that the first list lacks
has vanished from one list to the next: nova is asked about it (``provider/missing.py``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from ....model import reasons
from ....model.cloud import (
    META_NODE_ID,
    META_PROVIDER,
    META_SITE,
    Server,
)
from ....model.node import Node, NodeState
from ....model.reasons import Reason
from ..context.context import Context
from ..context.usable_builds import condemned
from ..launches.spare_ssh import SpareSsh
from ..provider.actor import LIMITS_AGE, ProviderActor

ACTIVE = "ACTIVE"
GONE = "gone (404)"
DELETING = "deleting"
EXPECTED = "expected"
"""The status of a server that so far is only known from a node's record."""
USABLE = frozenset({ACTIVE, "BUILD", "UNKNOWN", EXPECTED, ""})
"""The statuses of a server that may be usable. nova shows UNKNOWN while the cell or the host does not answer."""
PROVED_FOR = 60.0
"""Seconds for which a list proves that the servers that it shows as ACTIVE can be used."""
FRESH = LIMITS_AGE
"""Largest age in seconds, at the take-over, of a list of servers that was read while standing by and may be used."""


class Standing(Enum):
    """Whether a ready node may be handed out: yes, when the cloud has answered, or not."""

    PROVED = "proved"
    ASKED = "asked"
    DOUBTED = "doubted"


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
    status = _status(server) if server is not None else GONE if actor.view.missing.has_ended(node.external_id) else ""
    if status in USABLE:
        return None
    figures = {"where": actor.provider.name, "server": node.external_id, "status": status}
    return Reason(reasons.SERVER_GONE, figures)


class Inherited:
    """The standing of ready nodes, and those among them that existed before the take-over."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._left: dict[str, _Left] = {}
        self._wanted: dict[str, float] = {}
        """Provider → since when requests want a node of it that no list proves."""
        self._noted: dict[str, float] = {}
        """Provider → when that was seen last."""
        self.ssh: SpareSsh | None = None
        """Tries ssh again before an old spare is handed out; None in a preview."""
        self._asking: set[str] = set()
        """The providers of which the present pass wants such a node."""

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
        self._wanted.clear()
        self._asking.clear()
        if self.ssh is not None:
            self.ssh.drop()

    def forget(self, provider: str) -> None:
        """Forget the nodes of a provider that this cycle does not act for any more."""
        for known in (self._left, self._wanted, self._noted):
            known.pop(provider, None)
        self._asking.discard(provider)

    def ask_for_lists(self, now: float) -> None:
        """Read the list of each provider whose nodes are wanted and not proved; called once per pass."""
        for name in self._asking:
            actor = self._context.actors.get(name)
            if actor is not None and actor.view.listed_from <= self._wanted[name] and not actor.capacity.busy:
                actor.view.want_list(now)
        self._asking.clear()
        if self.ssh is not None:
            self.ssh.step(now)

    def standing(self, node: Node, now: float) -> Standing:
        """Return whether a ready node that a request wants may be handed out."""
        standing = self._shown(node, now)
        if standing is not Standing.PROVED or self.ssh is None:
            return standing
        answered = self.ssh.answered(node, now)
        return Standing.ASKED if answered is None else Standing.PROVED if answered else Standing.DOUBTED

    def _shown(self, node: Node, now: float) -> Standing:
        """Return whether the cloud shows its server."""
        name, server_id = node.provider or "", node.external_id
        actor = self._context.actors.get(name)
        if actor is None or not isinstance(server_id, str) or _is_shown(actor, server_id, now):
            return Standing.PROVED
        blocked, since = actor.blocked is not None, self._wanted.get(name, now)
        answered_before = now - since > PROVED_FOR and actor.view.listed_from > since
        if blocked or answered_before or now - self._noted.get(name, 0.0) > PROVED_FOR:
            since = now
        self._wanted[name], self._noted[name] = since, now
        self._asking.add(name)
        if blocked or now - since >= actor.list_bound:
            return Standing.DOUBTED
        answered = actor.view.listed_from > since and server_id not in actor.view.missing
        return Standing.DOUBTED if answered else Standing.ASKED

    def lost(self, node: Node) -> Reason | None:
        """Return why a ready node cannot be used: its server, or its build, is no good; None if no reason is known."""
        actor = self._context.actors.get(node.provider or "")
        if actor is None:
            return None
        silent = self.ssh.lost(node) if self.ssh is not None else None
        return silent or lost(actor, node, self._known_at(node)) or condemned(self._context, node)

    def next_due(self, now: float) -> float:
        """Return the seconds until the wait for the first provider's list ends."""
        actors = self._context.actors
        ends = [since + actors[name].list_bound for name, since in self._wanted.items() if name in actors]
        tries = self.ssh.next_due(now) if self.ssh is not None else float("inf")
        return min(tries, min((end - now for end in ends if end > now), default=float("inf")))

    def _known_at(self, node: Node) -> float:
        """Return when the server surely existed; at most the time of the take-over, as other clocks may be ahead."""
        at, left = self._context.since(node), self._left.get(node.provider or "")
        return min(at, left.since) if left is not None and node.id in left.nodes else at


def _is_fresh(actor: ProviderActor, since: float) -> bool:
    return actor.view.listed_from >= since - FRESH


def _status(server: Server) -> str:
    return DELETING if server.task_state == "deleting" else server.status


def _is_shown(actor: ProviderActor, server_id: str, now: float) -> bool:
    """Return True if nova has shown the server as ACTIVE, and did nothing with it, within PROVED_FOR seconds."""
    view = actor.view
    server = view.servers.get(server_id)
    if server is None or server.status != ACTIVE or server.task_state is not None:
        # nova shows a server that it stops as ACTIVE until it is stopped.
        return False
    if server_id not in view.missing and now - view.listed_from <= PROVED_FOR:
        return True
    told = view.inquiries.last(server_id)
    return told is not None and told.server is server and now - told.asked_at <= PROVED_FOR


def _expected(actor: ProviderActor, node: Node) -> Server:
    marks = {META_PROVIDER: actor.provider.name, META_NODE_ID: node.id, META_SITE: actor.site}
    return Server(str(node.external_id), "", EXPECTED, marks)
