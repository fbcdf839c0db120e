# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module with which an operator decides whether a build of a disk image is used."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..clients.zookeeper.store import Store
from ..cycles.by_hand.build_decisions import (
    DECISIONS,
    FUTURE,
    NEEDS_REASON,
    NEWEST,
    Decision,
    Outcome,
    decide,
)
from ..model.build_verdict import BuildVerdict
from ..model.errors import ConfigError
from ..model.lease_until import seconds_until
from ..model.node import Node
from .arguments import TREE_ARGUMENTS, load, warn_of_other_drivers

DIB_IMAGE_ARGUMENTS: dict[str, Any] = {
    **TREE_ARGUMENTS,
    "image": {"type": "str", "required": True},
    "build_id": {"type": "str", "default": NEWEST},
    "state": {"type": "str", "choices": list(DECISIONS), "required": True},
    "reason": {"type": "str", "default": ""},
    "at": {"type": "str"},
}


def dib_image(module: AnsibleModule) -> dict[str, Any]:
    """Approve, reject, hold or revoke a build, or undo that."""
    now, config = time.time(), load(module)
    decision = _decision(module.params, now)
    with closing(Store(config.zookeeper)) as store:
        store.open(watch=not module.check_mode)
        warn_of_other_drivers(module, config, store.components.pools())
        outcome = decide(store, decision, now, check=module.check_mode)
    return _result(decision, outcome, now)


def _decision(params: dict[str, Any], now: float) -> Decision:
    state, reason = params["state"], params["reason"].strip()
    problems = []
    if state in NEEDS_REASON and not reason:
        problems.append(f"reason is missing: state={state} needs a reason for others to read")
    if params["at"] is not None and state not in FUTURE:
        problems.append(f"at cannot be combined with state={state}, which applies at once: remove at")
    if problems:
        raise ConfigError(problems)
    since = None if params["at"] is None else now + seconds_until(params["at"], now, "at")
    return Decision(image=params["image"], build_id=params["build_id"], state=state, reason=reason, since=since)


def _result(decision: Decision, outcome: Outcome, now: float) -> dict[str, Any]:
    before, after = (_row(verdict, now) for verdict in (outcome.before, outcome.after))
    return {
        "changed": outcome.changed,
        "image": decision.image,
        "build_id": outcome.build_id,
        "verdict": after,
        "deleted": [_node(node) for node in outcome.nodes.unused] if outcome.after.is_condemned(now) else [],
        "in_use": [_node(node) for node in outcome.nodes.in_use],
        "diff": {"before": {outcome.build_id: before}, "after": {outcome.build_id: after}},
    }


def _row(verdict: BuildVerdict, now: float) -> dict[str, Any]:
    return {
        "state": verdict.state or None,
        "reason": verdict.reason or None,
        "by": verdict.by or None,
        "since": verdict.since if verdict.state else None,
        "used": verdict.is_used(now),
        "fallen_back": {name: item.reason for name, item in sorted(verdict.fallen_back.items())},
    }


def _node(node: Node) -> dict[str, Any]:
    return {"id": node.id, "state": node.state, "provider": node.provider, "allocated_to": node.allocated_to}
