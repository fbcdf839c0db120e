# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that show what is in the tree: they read it once, return rows, and write nothing."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..clients.zookeeper import tree_reading
from ..clients.zookeeper.link import paths
from ..clients.zookeeper.tree_reading import Found, TreeReading
from ..model.config.types import NodepoolConfig
from ..model.errors import PartlyFailed, StoreUnreachable
from ..model.lines import span
from ..model.node import NodeState
from ..model.request import RequestState
from ..reporting.info import explain, labels, providers
from ..reporting.info.explain import explanation, launch_path, nodes_of
from ..reporting.info.fields import refuse_unknown
from ..reporting.info.labels import label_rows
from ..reporting.info.lease_rows import ROOT as LEASES
from ..reporting.info.lease_rows import lease_rows, paths_of
from ..reporting.info.names import KINDS, LAUNCHERS, known_names, registered_pools
from ..reporting.info.node_rows import (
    NodeFilter,
    gone_life,
    node_life,
    node_rows,
    tombstone_paths,
)
from ..reporting.info.providers import provider_rows
from ..reporting.info.request_rows import (
    WAITS,
    RequestFilter,
    request_rows,
)
from .arguments import NAMES, TREE_ARGUMENTS, load, warn_of_other_drivers
from .last_state import LAST_STATE_ARGUMENTS, last_state, with_age
from .unusable_labels import OFFERS_ARGUMENTS, unusable_labels

VIEW_ARGUMENTS: dict[str, Any] = {
    **TREE_ARGUMENTS,
    **LAST_STATE_ARGUMENTS,
    "require_launcher": {"type": "bool", "default": True},
}
"""Described by the doc fragments ``tree``, ``tree.view`` and ``tree.last``."""

NODE_INFO_ARGUMENTS: dict[str, Any] = {
    **VIEW_ARGUMENTS,
    "ids": NAMES,
    "providers": NAMES,
    "pools": NAMES,
    "labels": NAMES,
    "states": {**NAMES, "choices": sorted(NodeState.ALL)},
    "older_than": {"type": "float", "default": 0.0},
    "detail": {"type": "bool", "default": False},
}

REQUEST_INFO_ARGUMENTS: dict[str, Any] = {
    **VIEW_ARGUMENTS,
    "ids": NAMES,
    "states": {**NAMES, "choices": sorted(RequestState.ALL)},
    "labels": NAMES,
    "providers": NAMES,
    "requestors": NAMES,
    "older_than": {"type": "float", "default": 0.0},
}

PROVIDER_INFO_ARGUMENTS: dict[str, Any] = {**VIEW_ARGUMENTS, **OFFERS_ARGUMENTS, "providers": NAMES}
LABEL_INFO_ARGUMENTS: dict[str, Any] = {**VIEW_ARGUMENTS, **OFFERS_ARGUMENTS, "labels": NAMES, "providers": NAMES}
LEASE_INFO_ARGUMENTS: dict[str, Any] = {**VIEW_ARGUMENTS, "names": NAMES, "providers": NAMES}


def read_tree(
    module: AnsibleModule,
    config: NodepoolConfig,
    roots: Iterable[str],
    more: Callable[[TreeReading], Iterable[str]] = lambda _reading: (),
    **how: Any,
) -> TreeReading:
    """Read the tree as :func:`clients.zookeeper.tree_reading.read_tree` does, in a process that ends with its result.

    While ZooKeeper cannot be reached, return the last state that is kept on this host; ``aged`` of the reading is set.
    Warn of the providers of other drivers that no launcher works on; *roots* has the registrations.

    The garbage collector is switched off: it would visit the whole tree again and again, which takes a fifth of the
    time, and would find nothing.
    """
    gc.disable()
    try:
        reading = tree_reading.read_tree(config.zookeeper, roots, more, **how)
    except StoreUnreachable as problem:
        tree, aged = last_state(config, problem)
        reading = TreeReading(tree, lasting=how.get("lasting", False), aged=aged)
    warn_of_other_drivers(module, config, registered_pools(reading))
    return reading


def tree_result(module: AnsibleModule, reading: TreeReading, result: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a module that has read the tree.

    :raises PartlyFailed: when no launcher works on the tree, or ZooKeeper cannot be reached; it carries the result.
    """
    told = with_age(module, reading.aged, result)
    if reading.has_launcher or not module.params["require_launcher"]:
        return told
    raise PartlyFailed(
        "no launcher is registered in this tree, and none has left pools there: start one, or set"
        " require_launcher to false",
        told,
    )


def place(reading: TreeReading) -> str:
    """Return where the reading comes from, as the subject of a sentence."""
    if reading.aged is None:
        return "ZooKeeper"
    return f"ZooKeeper cannot be reached, and its last state, {span(time.time() - reading.aged.seen)} old,"


def refuse_unknown_names(module: AnsibleModule, config: NodepoolConfig, reading: TreeReading) -> None:
    """Check that the providers, pools and labels that the options name exist.

    :raises ConfigError: when some do not; the message has the most similar names that do.
    """
    for option, kind in KINDS.items():
        asked = module.params.get(option, [])
        if asked:
            refuse_unknown(option, asked, known_names(kind, config, reading, asked), f"there is no {kind}")


def node_info(module: AnsibleModule) -> dict[str, Any]:
    """Return nodes, and the history of those that are requested by id."""
    config, params = load(module), module.params
    ids = params["ids"]
    launches = [launch_path(node_id) for node_id in ids]

    def single(reading: TreeReading) -> list[str]:
        names = known_names("provider", config, reading)
        return [*launches, *(path for node_id in ids for path in tombstone_paths(node_id, names))]

    reading = read_tree(module, config, (paths.NODES, *LAUNCHERS), single)
    now = time.time()
    gone = {node_id: found for node_id in ids if (found := tombstone(node_id, config, reading)) is not None}
    refuse_unknown("ids", ids, [*reading.names(paths.NODES), *gone], f"{place(reading)} has no node")
    refuse_unknown_names(module, config, reading)
    wanted = NodeFilter(**{field.name: params[field.name] for field in fields(NodeFilter)})
    asked = [node for name in sorted({*ids}) if (node := reading.one(f"{paths.NODES}/{name}")) is not None]
    nodes = asked if ids else reading.below(paths.NODES)
    rows = node_rows(nodes, wanted, now, detail=params["detail"] or bool(ids))
    result: dict[str, Any] = {"nodes": rows}
    if ids:
        shown = {row["id"] for row in rows}
        result["lives"] = [
            {"id": node.name, **node_life(node, reading.one(launch_path(node.name)), now)}
            for node in asked
            if node.name in shown
        ]
        result["lives"] += [{"id": node_id, **gone_life(found, now)} for node_id, found in gone.items()]
    return tree_result(module, reading, result)


def tombstone(node_id: str, config: NodepoolConfig, reading: TreeReading) -> Found | None:
    """Return the tombstone of a deleted node; None for other nodes."""
    if reading.one(f"{paths.NODES}/{node_id}") is not None:
        return None
    found = map(reading.one, tombstone_paths(node_id, known_names("provider", config, reading)))
    return next((stone for stone in found if stone is not None), None)


def request_info(module: AnsibleModule) -> dict[str, Any]:
    """Return requests, and an explanation of those whose ids are given."""
    config, ids = load(module), module.params["ids"]

    def launches(reading: TreeReading) -> list[str]:
        return [launch_path(node.name) for request_id in ids for node in nodes_of(reading, request_id)]

    roots = (paths.REQUESTS, *LAUNCHERS, *(explain.ROOTS if ids else (WAITS,)))
    reading = read_tree(module, config, roots, launches, lasting=bool(ids))
    now = time.time()
    refuse_unknown("ids", ids, reading.names(paths.REQUESTS), f"{place(reading)} has no request")
    refuse_unknown_names(module, config, reading)
    wanted = RequestFilter(**{field.name: module.params[field.name] for field in fields(RequestFilter)})
    rows = request_rows(reading, now)
    result: dict[str, Any] = {"requests": [row for row in rows if wanted.takes(row)]}
    if ids:
        result["explanations"] = [explanation(reading, rows, row["id"], now) for row in result["requests"]]
    return tree_result(module, reading, result)


def provider_info(module: AnsibleModule) -> dict[str, Any]:
    """Return providers with their pools."""
    config, asked = load(module), module.params["providers"]
    reading = read_tree(module, config, (*providers.ROOTS, *LAUNCHERS), locks=())
    refuse_unknown_names(module, config, reading)
    rows = provider_rows(config, reading, time.time())
    shown = [row for row in rows if not asked or row["name"] in asked]
    result = {"providers": shown, "unusable": unusable_labels(module, config, asked)}
    return tree_result(module, reading, result)


def label_info(module: AnsibleModule) -> dict[str, Any]:
    """Return labels with their pools, nodes and requests."""
    config, asked, offering = load(module), module.params["labels"], set(module.params["providers"])
    reading = read_tree(module, config, (*labels.ROOTS, *LAUNCHERS), locks=labels.LOCKS)
    refuse_unknown_names(module, config, reading)
    rows = label_rows(config, reading, time.time())

    def wanted(row: dict[str, Any]) -> bool:
        offered_by = {pool.partition("/")[0] for pool in (*row["pools"], *row["pools_absent"])}
        return (not asked or row["label"] in asked) and (not offering or bool(offering & offered_by))

    result = {
        "labels": [row for row in rows if wanted(row)],
        "unusable": unusable_labels(module, config, offering, asked),
    }
    return tree_result(module, reading, result)


def lease_info(module: AnsibleModule) -> dict[str, Any]:
    """Return leases with their nodes and requests."""
    config, asked, where = load(module), module.params["names"], set(module.params["providers"])
    reading = read_tree(module, config, (LEASES, *LAUNCHERS), paths_of)
    rows = lease_rows(reading, time.time(), config.max_hold_age)
    refuse_unknown("names", asked, (row["name"] for row in rows), "there is no lease")
    refuse_unknown_names(module, config, reading)

    def wanted(row: dict[str, Any]) -> bool:
        return (not asked or row["name"] in asked) and (
            not where or any(node["provider"] in where for node in row["nodes"])
        )

    return tree_result(module, reading, {"leases": [row for row in rows if wanted(row)]})
