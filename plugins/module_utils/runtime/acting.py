# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules with which an operator changes nodes, requests, freezes and breakers in ZooKeeper.

The launcher that acts for the provider carries out what follows from the changes.
"""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import fields
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..clients.zookeeper.records import Records
from ..clients.zookeeper.store import Store
from ..clients.zookeeper.tree_reading import TreeReading, read_tree
from ..cycles.by_hand.delete_requests import RequestOutcome, delete_requests
from ..cycles.by_hand.nodes_by_hand import NodeOutcome, NodesByHand
from ..cycles.by_hand.throttles import BREAKER, FREEZE, ThrottleWish, end_throttles
from ..launching.node_changes import ABSENT, HELD, RELEASED, NodeWish
from ..model.config.types import NodepoolConfig
from ..model.errors import ConfigError, PartlyFailed
from ..model.lease import node_expiry
from ..model.node import LONGEST_HOLD, Node
from ..model.resources import ORDER
from ..reporting.info.fields import refuse_unknown
from ..reporting.info.names import LAUNCHERS, known_names
from .arguments import NAMES, TREE_ARGUMENTS, load, warn_of_other_drivers

IDS: dict[str, Any] = {"type": "list", "elements": "str", "required": True, "aliases": ["id"]}
NODE_ARGUMENTS: dict[str, Any] = {
    **TREE_ARGUMENTS,
    "ids": IDS,
    "state": {"type": "str", "choices": [HELD, RELEASED, ABSENT], "required": True},
    "comment": {"type": "str"},
    "hold_job": {"type": "str"},
    "hold_expiration": {"type": "int"},
    "wait": {"type": "bool", "default": False},
    "timeout": {"type": "int", "default": 600},
}
REQUEST_ARGUMENTS: dict[str, Any] = {
    **TREE_ARGUMENTS,
    "ids": IDS,
    "state": {"type": "str", "choices": [ABSENT], "required": True},
}
THROTTLE_ARGUMENTS: dict[str, Any] = {
    **TREE_ARGUMENTS,
    "provider": {"type": "str", "required": True},
    "kind": {"type": "str", "choices": [FREEZE, BREAKER], "required": True},
    "state": {"type": "str", "choices": [ABSENT], "default": ABSENT},
    "pools": NAMES,
    "resources": {**NAMES, "choices": list(ORDER)},
    "images": NAMES,
    "flavors": NAMES,
}
_HOLD_OPTIONS = ("comment", "hold_job", "hold_expiration")
_NARROWING = {FREEZE: ("pools", "resources"), BREAKER: ("images", "flavors")}
UNUSABLE = "a record that cannot be used"


def node(module: AnsibleModule) -> dict[str, Any]:
    """Hold, release or delete nodes."""
    params = module.params
    wish = NodeWish(**{field.name: params[field.name] for field in fields(NodeWish)})
    problems = list(_node_problems(params))
    if problems:
        raise ConfigError(problems)
    with _opened(module) as (config, _reading, store):
        _refuse_unknown_ids(store.nodes, params["ids"], "ZooKeeper has no node", gone_is_fine=wish.state != HELD)
        by_hand = NodesByHand(store, wish)
        patience = params["timeout"] if params["wait"] else 0
        if module.check_mode:
            outcomes = by_hand.preview(list(dict.fromkeys(params["ids"])), waits=patience > 0)
        else:
            outcomes = by_hand.carry_out(params["ids"], patience)
        now, served = time.time(), {pool.provider_name for pool in store.components.pools()}
    warnings = _hold_warnings(config, outcomes) if wish.state == HELD else _unserved(outcomes, served)
    for warning in (*warnings, *_erased(outcomes)):
        module.warn(warning)
    rows = [_node_row(outcome, now) for outcome in outcomes]
    before = {outcome.node_id: _shown(outcome.before) for outcome in outcomes if outcome.changed}
    after = {outcome.node_id: _shown(outcome.after) for outcome in outcomes if outcome.changed and not outcome.erased}
    return _result({"nodes": rows}, before, after, [outcome.refusal for outcome in outcomes])


def request(module: AnsibleModule) -> dict[str, Any]:
    """Delete requests."""
    ids = module.params["ids"]
    with _opened(module) as (_config, _reading, store):
        _refuse_unknown_ids(store.requests, ids, "ZooKeeper has no request", gone_is_fine=True)
        outcomes = delete_requests(store, ids, check=module.check_mode)
    before = {
        outcome.request_id: _request_shown(outcome) if outcome.before else "a record that is not a JSON object"
        for outcome in outcomes
        if outcome.changed
    }
    rows = [_request_row(outcome) for outcome in outcomes]
    return _result({"requests": rows}, before, {}, [outcome.refusal for outcome in outcomes])


def throttle(module: AnsibleModule) -> dict[str, Any]:
    """End freezes or breakers."""
    params = module.params
    others = [name for kind, names in _NARROWING.items() if kind != params["kind"] for name in names if params[name]]
    if others:
        raise ConfigError([f"{', '.join(others)} cannot be combined with kind={params['kind']}"])
    wish = ThrottleWish(**{field.name: params[field.name] for field in fields(ThrottleWish)})
    with _opened(module) as (config, reading, store):
        asked = {"provider": [params["provider"]], "pools": params["pools"]}
        for option, kind in (("provider", "provider"), ("pools", "pool")):
            refuse_unknown(option, asked[option], known_names(kind, config, reading), f"there is no {kind}")
        ended = end_throttles(store, wish, time.time(), check=module.check_mode)
    return _result({"ended": ended}, {_place(params["provider"], row): row["text"] for row in ended}, {}, [])


@contextmanager
def _opened(module: AnsibleModule) -> Iterator[tuple[NodepoolConfig, TreeReading, Store]]:
    """Open the tree after a reading has shown that it exists."""
    config = load(module)
    reading = read_tree(config.zookeeper, LAUNCHERS)
    with closing(Store(config.zookeeper)) as store:
        store.open(watch=not module.check_mode)
        warn_of_other_drivers(module, config, store.components.pools())
        yield config, reading, store


def _node_problems(params: dict[str, Any]) -> Iterator[str]:
    held = [name for name in _HOLD_OPTIONS if params[name] is not None]
    if held and params["state"] != HELD:
        yield f"{', '.join(held)} cannot be combined with state={params['state']}: they belong to state={HELD}"
    if not 0 <= (params["hold_expiration"] or 0) <= LONGEST_HOLD:
        most = f"{LONGEST_HOLD:.0f}"
        yield f"hold_expiration is {params['hold_expiration']}: give seconds, {most} at most, or 0 for no limit"
    if params["timeout"] < 0:
        yield f"timeout is {params['timeout']}: give seconds, 0 or more"


def _refuse_unknown_ids(records: Records[Any], ids: Iterable[str], where: str, *, gone_is_fine: bool) -> None:
    """Check that the ids exist.

    :param gone_is_fine: True: also accept ids that ZooKeeper gave out earlier, so that a play can be repeated.
    """
    there, given_out = set(records.ids()), records.given_out() if gone_is_fine else 0

    def was_there(name: str) -> bool:
        number = name.rpartition("-")[2]
        return len(number) == 10 and number.isdigit() and int(number) < given_out

    refuse_unknown("ids", [name for name in ids if not was_there(name)], there, where)


def _hold_warnings(config: NodepoolConfig, outcomes: Iterable[NodeOutcome]) -> Iterator[str]:
    most = config.max_hold_age
    for outcome in outcomes:
        if most and outcome.after is not None and not outcome.refusal:
            limit = outcome.after.hold_expiration
            if not limit or limit > most:
                yield f"node {outcome.node_id}: max-hold-age of {config.path} ends the hold after {most} s"


def _unserved(outcomes: Iterable[NodeOutcome], served: Container[str | None]) -> Iterator[str]:
    for outcome in outcomes:
        if outcome.changed and outcome.after is not None and outcome.after.provider not in served:
            where = outcome.after.provider
            yield f"node {outcome.node_id}: no launcher is registered for {where}; the next one deletes its server"


def _erased(outcomes: Iterable[NodeOutcome]) -> Iterator[str]:
    for outcome in outcomes:
        if outcome.erased:
            yield f"node {outcome.node_id}: {UNUSABLE}; its resources in a cloud are swept as leaked"


def _node_row(outcome: NodeOutcome, now: float) -> dict[str, Any]:
    known = outcome.after or Node()
    ends = node_expiry(known) if known.state == "hold" else None
    return {
        "id": outcome.node_id,
        "changed": outcome.changed,
        "state_before": outcome.before.state if outcome.before else None,
        "state": outcome.after.state if outcome.after else None,
        "provider": known.provider,
        "comment": known.comment,
        "hold_job": known.hold_job,
        "hold_expiration": known.hold_expiration,
        "expires_in": None if ends is None else round(max(0.0, ends - now), 1),
        "refusal": outcome.refusal or None,
    }


def _shown(known: Node | None) -> Any:
    return UNUSABLE if known is None else {name: getattr(known, name) for name in ("state", *_HOLD_OPTIONS)}


def _request_row(outcome: RequestOutcome) -> dict[str, Any]:
    return {
        "id": outcome.request_id,
        "changed": outcome.changed,
        "state_before": outcome.before.state if outcome.before else None,
        "requestor": outcome.before.requestor if outcome.before else None,
        "freed": [freed.id for freed in outcome.freed],
        "refusal": outcome.refusal or None,
    }


def _request_shown(outcome: RequestOutcome) -> dict[str, Any]:
    known = outcome.before
    shown = {name: getattr(known, name) for name in ("state", "requestor", "node_types")}
    return {**shown, "nodes": [freed.id for freed in outcome.freed]}


def _place(provider: str, row: dict[str, Any]) -> str:
    if row["resource"] is not None:
        return f"freeze of {provider}/{row['pool']} for {row['resource']}"
    return f"breaker of {provider} for {row['image']} with {row['flavor']}"


def _result(
    rows: dict[str, Any], before: dict[str, Any], after: dict[str, Any], refusals: Iterable[str]
) -> dict[str, Any]:
    """Return the result of a module that changes records.

    :raises PartlyFailed: when something was refused; it carries the result.
    """
    result = {"changed": bool(before), **rows, "diff": {"before": before, "after": after}}
    refused = [refusal for refusal in refusals if refusal]
    if refused:
        raise PartlyFailed("; ".join(refused), result)
    return result
