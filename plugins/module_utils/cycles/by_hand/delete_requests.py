# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deletes requests for an operator, in the way in which a requestor cancels them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...clients.zookeeper.link.paths import segment
from ...model.lease import REQUESTOR, release_first
from ...model.node import Node
from ...model.own_tree import LEASES
from ...model.request import NodeRequest, RequestState

if TYPE_CHECKING:
    from ...clients.zookeeper.store import Store


@dataclass(frozen=True)
class RequestOutcome:
    """The result for one request.

    :ivar there: True if its znode existed.
    :ivar before: its record; None if it was gone or cannot be read.
    :ivar freed: the nodes that were allocated to it; other requests get them.
    :ivar refusal: why the request was not deleted; "" if there is no reason.
    """

    request_id: str
    there: bool = False
    before: NodeRequest | None = None
    freed: tuple[Node, ...] = ()
    refusal: str = ""

    @property
    def changed(self) -> bool:
        """True when the request was deleted, or would be in check mode."""
        return self.there and not self.refusal


def delete_requests(store: Store, request_ids: Sequence[str], *, check: bool) -> list[RequestOutcome]:
    """Delete requests without their locks, as requestors do to cancel a pending request.

    A launcher that works on a deleted request finishes its launches and keeps the nodes for other requests.
    """
    allocated: dict[str, list[Node]] = {}
    for node in store.nodes.list():
        allocated.setdefault(node.allocated_to or "", []).append(node)
    outcomes = []
    for request_id in dict.fromkeys(request_ids):
        outcome = _judged(store, request_id, allocated.get(request_id, []))
        if outcome.changed and not check:
            store.requests.delete(request_id)
        outcomes.append(outcome)
    return outcomes


def _judged(store: Store, request_id: str, nodes: list[Node]) -> RequestOutcome:
    request = store.requests.read(request_id)
    if request is None:
        return RequestOutcome(request_id, there=store.requests.exists(request_id), freed=tuple(nodes))
    refusal = _refusal(store, request, nodes)
    return RequestOutcome(request_id, True, request, () if refusal else tuple(nodes), refusal)


def _refusal(store: Store, request: NodeRequest, nodes: list[Node]) -> str:
    lease = request.requestor_data.get("lease") if isinstance(request.requestor_data, dict) else None
    ours = request.requestor == REQUESTOR and isinstance(lease, str)
    if ours and store.own.read(f"{LEASES}/{segment(str(lease))}") is not None:
        return f"request {request.id} belongs to the lease {lease}: {release_first(str(lease))}"
    taken = [node.id for node in nodes if store.nodes.holder(node.id) is not None]
    if request.state == RequestState.FULFILLED and taken:
        who = request.requestor or "its requestor"
        return f"request {request.id} is being collected by {who}, which has already locked {', '.join(taken)}"
    return ""
