# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide how a node's record changes when an operator wants it held, released or deleted. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..model.lease import release_first
from ..model.node import Node, NodeState
from ..model.request import NodeRequest, RequestState

HELD, RELEASED, ABSENT = "held", "released", "absent"
"""The states of a wish."""

_LEAVING = frozenset({NodeState.DELETING, NodeState.DELETED, NodeState.FAILED, NodeState.ABORTED})
_COMING = frozenset({NodeState.INIT, NodeState.BUILDING, NodeState.TESTING})


@dataclass(frozen=True, kw_only=True)
class NodeWish:
    """The state that an operator wants for nodes. The other fields belong to ``held``; None keeps the present value.

    :param state: ``held``, ``released`` or ``absent``.
    :param hold_expiration: seconds from the beginning of the hold; 0 for no limit.
    """

    state: str
    comment: str | None = None
    hold_job: str | None = None
    hold_expiration: int | None = None


@dataclass(frozen=True)
class Verdict:
    """The decision about a node.

    :ivar node: its new record; None when nothing is written.
    :ivar refusal: why the wish is refused, a sentence without a full stop; "" when it is granted.
    :ivar busy: True when a requestor or a launcher works on the node: the wish can be granted later.
    """

    node: Node | None = None
    refusal: str = ""
    busy: bool = False


def decide(
    node: Node,
    wish: NodeWish,
    now: float,
    *,
    request: NodeRequest | None = None,
    lease: str | None = None,
    done: bool = False,
) -> Verdict:
    """Decide about a node that no other client has locked.

    :param request: the request that the node is allocated to, None when there is none.
    :param lease: the name of the lease that holds the node, None when there is none.
    :param done: True: decide as if the requestor or launcher that works on the node had finished.
    """
    if node.broken:
        return Verdict(refusal=f"the record of node {node.id} cannot be used: {node.lack()}")
    if is_granted(node, wish):
        return Verdict()
    if lease is not None:
        return Verdict(refusal=f"node {node.id} is leased under the name {lease}: {release_first(lease)}")
    if wish.state == RELEASED:
        return _written(node, NodeState.USED, now)
    if node.state == NodeState.READY and request is not None and request.state in _TAKING and not done:
        return Verdict(refusal=f"node {node.id} is {at_work(node, request)}", busy=True)
    if wish.state == ABSENT:
        return _written(node, NodeState.DELETING, now)
    if node.state in _LEAVING:
        return Verdict(
            refusal=f"node {node.id} is {node.state}: its server is being deleted, so it can no longer be held"
        )
    if node.state in _COMING and not done:
        return Verdict(refusal=f"node {node.id} is {node.state}: it can be held when it is ready", busy=True)
    return _held(node, wish, now)


_TAKING = frozenset({RequestState.PENDING, RequestState.FULFILLED})


def is_granted(node: Node, wish: NodeWish) -> bool:
    """Return True when a node already has the wanted state."""
    if wish.state == RELEASED:
        return node.state != NodeState.HOLD
    if wish.state == ABSENT:
        return node.state in (NodeState.DELETING, NodeState.DELETED)
    return node.state == NodeState.HOLD and _marks(node, wish) == (node.comment, node.hold_job, node.hold_expiration)


def at_work(node: Node, request: NodeRequest | None) -> str:
    """Return who works on a locked node and why, by its record: the text that follows "node 0000000007 is"."""
    launcher = f"by the launcher {node.launcher}" if node.launcher else "by a launcher"
    requestor = (request.requestor if request else None) or node.requestor or "its requestor"
    asked = f" for request {node.allocated_to}" if node.allocated_to else ""
    if node.state in _COMING:
        return f"being launched {launcher}{asked}"
    if node.state == NodeState.READY and request is not None and request.state == RequestState.PENDING:
        return f"kept {launcher}{asked} of {requestor}, which is pending"
    if node.state == NodeState.READY and node.allocated_to:
        return f"being taken by {requestor}{asked}"
    if node.state == NodeState.IN_USE:
        project = (node.user_data if isinstance(node.user_data, Mapping) else {}).get("project_name")
        return f"used by {requestor}{f' ({project})' if project else ''}{asked}"
    if node.state in _LEAVING or node.state == NodeState.USED:
        return f"being deleted {launcher}"
    return "locked by another client"


def _marks(node: Node, wish: NodeWish) -> tuple[str | None, str | None, int | None]:
    """Return comment, job and expiration of the hold."""
    held = node if node.state == NodeState.HOLD else Node()
    limit = held.hold_expiration if wish.hold_expiration is None else (wish.hold_expiration or None)
    return (
        held.comment if wish.comment is None else wish.comment,
        held.hold_job if wish.hold_job is None else wish.hold_job,
        limit,
    )


def _held(node: Node, wish: NodeWish, now: float) -> Verdict:
    """Hold a node. A node that is held already keeps the time from which its expiration counts."""
    changed = node.clone()
    changed.comment, changed.hold_job, changed.hold_expiration = _marks(node, wish)
    if node.state != NodeState.HOLD:
        changed.set_state(NodeState.HOLD, now)
    return Verdict(changed)


def _written(node: Node, state: str, now: float) -> Verdict:
    changed = node.clone()
    changed.set_state(state, now)
    return Verdict(changed)
