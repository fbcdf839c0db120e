# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tries ssh again before an old spare node is handed out, if an operator wants it.

nova shows a server as ACTIVE whatever its guest does. A spare whose server does not answer, or with another host key,
is not handed out; when the second try has the same result it is deleted, and min-ready replaces it. A single try may
fail for reasons of the network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ....clients.ssh import ScanJob, ScanResult
from ....model import reasons
from ....model.lines import Trouble
from ....model.node import Node, NodeState
from ....model.reasons import Reason
from ..context.context import Context
from .reaching import SCANNED_TYPES

SECONDS = 10.0
"""Seconds for one try, and so the longest that a request waits for it."""
AGAIN = 30.0
"""Seconds after a try that failed until the second one."""
MOST_TRIES = 2
KEY = "spare "
"""How the names of the scanner's jobs begin."""


@dataclass
class _Tries:
    """What is known of one spare. *at*: UNIX time of the latest answer; *text*: why it is none, "" for a good one."""

    at: float = 0.0
    asked: bool = False
    failed: int = 0
    text: str = ""


class SpareSsh:
    """The tries of a cycle.

    :param after: seconds for which a node that became ready, or answered, counts as reachable; 0: no spare is tried.
    :param submit: begins a job of the scanner.
    """

    def __init__(self, context: Context, after: float, submit: Callable[[ScanJob], None]) -> None:
        self._context = context
        self._after = after
        self._submit = submit
        self._known: dict[str, _Tries] = {}

    def drop(self) -> None:
        """Forget everything, as the cycle acts for no provider any more."""
        self._known.clear()

    def answered(self, node: Node, now: float) -> bool | None:
        """Return True if a spare that is wanted may be handed out, None while it is tried, False if it fails."""
        if self._after <= 0 or not self._is_tried(node):
            return True
        known = self._known.get(node.id)
        if known is not None and known.asked:
            return False if known.failed else None
        if known is not None and known.failed:
            return False
        latest = max(self._context.since(node), known.at if known is not None else 0.0)
        if now - latest < self._after:
            return True
        self._try(node)
        return None

    def lost(self, node: Node) -> Reason | None:
        """Return why a spare is deleted; None if it is not known to be unreachable."""
        known = self._known.get(node.id)
        if known is None or known.failed < MOST_TRIES:
            return None
        where = f"{node.provider}/{node.pool}"
        return Reason(reasons.SPARE_SILENT, {"where": where, "server": str(node.external_id), "text": known.text})

    def step(self, now: float) -> None:
        """Try spares again that have failed once; called once per pass."""
        for node_id, known in list(self._known.items()):
            node = self._context.store.nodes.get(node_id)
            if node is None or node.state != NodeState.READY or node.allocated_to is not None:
                del self._known[node_id]
            elif 0 < known.failed < MOST_TRIES and not known.asked and now - known.at >= AGAIN:
                self._try(node)

    def next_due(self, now: float) -> float:
        """Return the seconds until the first second try."""
        ends = [known.at + AGAIN for known in self._known.values() if 0 < known.failed < MOST_TRIES and not known.asked]
        return max(0.05, min((end - now for end in ends), default=float("inf")))

    def scanned(self, result: ScanResult) -> None:
        """Handle the scanner's answer."""
        node_id = result.key.removeprefix(KEY)
        known, node = self._known.get(node_id), self._context.store.nodes.get(node_id)
        if known is None or node is None:
            return
        known.asked, known.at = False, self._context.now()
        known.text = _trouble(node, result)
        known.failed = known.failed + 1 if known.text else 0
        if known.text:
            line = f"node {node_id}: not assigned: {known.text}"
            self._context.account.say(Trouble(line, node=node_id, provider=node.provider, pool=node.pool))
        self._context.inbox.nudge()

    def _is_tried(self, node: Node) -> bool:
        """Return True for a node that answered when it was launched."""
        actor = self._context.actors.get(node.provider or "")
        pool = actor.provider.pools.get(node.pool or "") if actor is not None else None
        labels = [pool.labels[name] for name in node.type if name in pool.labels] if pool is not None else []
        return bool(node.interface_ip) and any(label.host_key_checking for label in labels)

    def _try(self, node: Node) -> None:
        known = self._known.setdefault(node.id, _Tries())
        known.asked = True
        self._submit(
            ScanJob(
                key=f"{KEY}{node.id}",
                address=node.interface_ip or "",
                port=node.connection_port,
                deadline=SECONDS,
                want_keys=node.connection_type in SCANNED_TYPES,
            )
        )


def _trouble(node: Node, result: ScanResult) -> str:
    """Return why the answer is none of this node; "" if it is."""
    if result.error is not None:
        return result.error
    if node.host_keys and result.host_keys and not set(node.host_keys) & set(result.host_keys):
        return f"{node.interface_ip} answers with a different host key than the node"
    return ""
