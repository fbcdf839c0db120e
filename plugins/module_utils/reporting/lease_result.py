# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result, the line of progress and the diff of a lease."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ..cycles.frame.stop import CONTROLLER_GONE
from ..cycles.leases.lease_cycle import LeaseStatus
from ..cycles.leases.run import LeaseOutcome, LeaseTurn
from ..launching.lease_plan import (
    Action,
    Begin,
    DropRequest,
    Hold,
    Leave,
    Release,
)
from ..model.errors import DeadlineExceeded, Stopped
from ..model.foreign import moment as showable
from ..model.lease import LeaseError, node_expiry
from ..model.lines import amount
from ..model.node import Node, NodeState
from .lease_files import NO_FILES, LeaseFiles, lease_row
from .node_access_rows import node_row, refusals


def lease_result(name: str, status: LeaseStatus, outcome: LeaseOutcome, files: LeaseFiles = NO_FILES) -> dict[str, Any]:
    """Return the lease as a module's result.

    :param files: what the nodes' options of ssh name.
    """
    refused = [sentence for node in status.nodes for sentence in refusals(node, outcome.config)]
    return {
        "lease": name,
        "complete": status.done and not status.failures and not outcome.unattended,
        "requests": [{"id": part.request, "state": part.state, "reason": part.reason} for part in status.sets],
        "nodes": [lease_row(node_row(node, outcome.config), files) for node in status.nodes],
        "notices": [*status.notices, *outcome.notices, *refused],
    }


def _all(wanted: int) -> str:
    return "the node is ready" if wanted == 1 else f"all {wanted} nodes ready"


def progress_line(status: LeaseStatus) -> str:
    """Return ``3 of 5 nodes ready; request 100-0000000012 waits: 2 instances needed, 0 left in cloud1/main``."""
    if status.failures:
        return f"{status.ready} of {amount(status.wanted, 'node')} ready; {status.failures[0]}"
    if status.done:
        if status.wanted:
            return _all(status.wanted)
        return "released" if status.changed else "nothing to release"
    leaving = f", {amount(len(status.leaving), 'server')} to be deleted" if status.leaving else ""
    parts = [f"{status.ready} of {amount(status.wanted, 'node')} ready"] if status.wanted else [f"releasing{leaving}"]
    waiting = [part for part in status.sets if part.reason is not None]
    if status.busy:
        parts.append(status.busy)
    elif waiting and waiting[0].reason is not None:
        more = f" (and {len(waiting) - 1} more)" if len(waiting) > 1 else ""
        parts.append(f"request {waiting[0].request}{more} waits: {waiting[0].reason['text']}")
    return "; ".join(parts)


def lease_diff(before: LeaseStatus, after: LeaseStatus) -> dict[str, Any]:
    """Return ids and states before and after."""
    shown = {"before": _summary(before), "after": _summary(after)}
    if not after.wanted:
        shown["after"]["nodes"] = dict.fromkeys(shown["before"]["nodes"], NodeState.USED)
    return shown


def extension_diff(before: LeaseStatus, after: LeaseStatus) -> dict[str, Any]:
    """Return when the nodes expire before and after."""
    return {name: {"nodes": _ends(status.nodes)} for name, status in (("before", before), ("after", after))}


def _ends(nodes: list[Node]) -> dict[str, str]:
    found = {node.id: node_expiry(node) for node in nodes}
    return {
        name: "no end" if at is None else f"until {datetime.fromtimestamp(showable(at), UTC):%Y-%m-%dT%H:%M:%SZ}"
        for name, at in found.items()
    }


def preview_diff(status: LeaseStatus) -> dict[str, Any]:
    """Return ids and states as they are and as the planned actions would make them."""
    before = _summary(status)
    requests = dict(before["requests"])
    nodes = dict(before["nodes"])
    for action in status.planned:
        if isinstance(action, DropRequest):
            requests.pop(action.request, None)
        elif isinstance(action, Release):
            nodes[action.node] = NodeState.USED
        elif isinstance(action, Hold):
            nodes[action.node] = NodeState.HOLD
        elif isinstance(action, Begin):
            nodes["(new)"] = f"{status.wanted} x requested"
    return {"before": before, "after": {"requests": requests, "nodes": nodes}}


def _sentence(action: Action) -> str:
    """Return a sentence about what would be done and why."""
    verbs = {
        "Begin": "request a new set of nodes",
        "Ask": "request the nodes of a set",
        "Adopt": "continue an earlier request",
        "Forget": "request the nodes of a set again",
        "Hold": f"hold node {getattr(action, 'node', '')}",
        "Note": f"record nodes {', '.join(getattr(action, 'nodes', ()))}",
        "DropRequest": f"delete request {getattr(action, 'request', '')}",
        "Leave": f"delete the servers of nodes {', '.join(getattr(action, 'nodes', ()))}",
        "Release": f"release node {getattr(action, 'node', '')}",
        "End": "end the lease",
    }
    return f"{verbs[type(action).__name__]}: {action.reason}"


def _summary(status: LeaseStatus) -> dict[str, dict[str, str]]:
    return {
        "requests": {part.request: part.state for part in status.sets if part.request},
        "nodes": {node.id: node.state for node in status.nodes},
    }


def outcome_result(
    turn: LeaseTurn, outcome: LeaseOutcome, *, preview: bool = False, files: LeaseFiles = NO_FILES
) -> dict[str, Any]:
    """Return the whole result of a turn.

    :param files: see :func:`lease_result`.
    :raises DeadlineExceeded: when the time is over; it has the last state.
    :raises Stopped: when the launcher of this run was ended; it has the last state.
    :raises LeaseError: when a request failed or was deleted.
    """
    name = turn.spec.name
    status = outcome.after
    result = lease_result(name, status, outcome, files)
    if preview:
        result["planned"] = [_sentence(action) for action in status.planned]
        if status.leaving and not any(isinstance(action, Leave) for action in status.planned):
            result["planned"].append(f"delete the servers of nodes {', '.join(status.leaving)}: they were released")
        diff = preview_diff(status)
    else:
        _raise_unless_fine(turn, outcome, result)
        diff = lease_diff(outcome.before, status)
    if turn.extends:
        diff = extension_diff(outcome.before, status)
    return {"changed": status.changed, "diff": diff, **result}


def _raise_unless_fine(turn: LeaseTurn, outcome: LeaseOutcome, result: dict[str, Any]) -> None:
    status = outcome.after
    name = turn.spec.name
    if status.released:
        raise LeaseError(f"lease {name}: {'; '.join(status.failures)}")
    if status.failures:
        raise LeaseError(
            f"lease {name}: {'; '.join(status.failures)}. The rest of the lease stays until it is released"
            " or expires; repeat to request what is missing"
        )
    if outcome.stopped is not None:
        raise Stopped(
            f"lease {name}: the run was ended ({outcome.stopped}) before it was done:"
            f" {progress_line(status)}: repeat to continue",
            result,
            by_controller=outcome.stopped == CONTROLLER_GONE,
        )
    if not outcome.timed_out:
        return
    if not turn.present:
        raise DeadlineExceeded(
            f"lease {name} could not be released within {turn.timeout:g} s: {progress_line(status)};"
            " repeat to continue",
            result,
        )
    rest = (
        "everything was released (cancel_on_timeout)"
        if outcome.cancelled
        else "the requests stay: repeat to continue waiting, or release the lease"
    )
    parts = [progress_line(status), *(_launching(node) for node in status.coming[:1]), rest]
    raise DeadlineExceeded(f"lease {name} is not complete after {turn.timeout:g} s: {'; '.join(parts)}", result)


def _launching(node: Node) -> str:
    """Return how far the launch of a node is."""
    if node.interface_ip:
        address = f"[{node.interface_ip}]" if ":" in node.interface_ip else node.interface_ip
        return f"the server of node {node.id} is up, but {address}:{node.connection_port} has not answered"
    return f"the server of node {node.id} {'is not up yet' if node.external_id else 'is not created yet'}"
