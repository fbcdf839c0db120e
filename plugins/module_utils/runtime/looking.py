# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that show what is in the tree: one read, rows, nothing written anywhere."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..clients.config_file import load_config
from ..clients.zookeeper import paths
from ..clients.zookeeper.reading import TreeReading, read_tree
from ..model.config.types import NodepoolConfig
from ..model.errors import PartlyFailed
from ..model.node import NodeState
from ..model.request import RequestState
from ..reporting.info.explain import (
    ROOTS,
    explanation,
    launch_path,
    nodes_of,
)
from ..reporting.info.fields import refuse_unknown
from ..reporting.info.names import KINDS, known_names
from ..reporting.info.nodes import (
    NodeFilter,
    node_life,
    node_rows,
)
from ..reporting.info.requests import (
    WAITS,
    RequestFilter,
    request_rows,
)

TREE_ARGUMENTS: dict[str, Any] = {
    "config": {"type": "path", "default": "/etc/nodepool/nodepool.yaml"},
    "secure_config": {"type": "path"},
    "strict_config": {"type": "bool", "default": False},
    "require_launcher": {"type": "bool", "default": True},
}
"""Described by the doc fragment ``tree``."""

NAMES: dict[str, Any] = {"type": "list", "elements": "str", "default": []}
NODE_INFO_ARGUMENTS: dict[str, Any] = {
    **TREE_ARGUMENTS,
    "ids": NAMES,
    "providers": NAMES,
    "pools": NAMES,
    "labels": NAMES,
    "states": {**NAMES, "choices": sorted(NodeState.ALL)},
    "older_than": {"type": "float", "default": 0.0},
    "detail": {"type": "bool", "default": False},
}

REQUEST_INFO_ARGUMENTS: dict[str, Any] = {
    **TREE_ARGUMENTS,
    "ids": NAMES,
    "states": {**NAMES, "choices": sorted(RequestState.ALL)},
    "labels": NAMES,
    "providers": NAMES,
    "requestors": NAMES,
    "older_than": {"type": "float", "default": 0.0},
}

LAUNCHERS = (paths.COMPONENTS, f"{paths.OWN}/pools")
"""What tells who works on the tree."""


def load(module: AnsibleModule) -> NodepoolConfig:
    """The configuration; what is odd about it is a warning."""
    params = module.params
    config = load_config(params["config"], params["secure_config"], strict=params["strict_config"])
    for warning in config.warnings:
        module.warn(warning)
    return config


def told(module: AnsibleModule, reading: TreeReading, result: dict[str, Any]) -> dict[str, Any]:
    """The result of a look.

    :raises PartlyFailed: no launcher works on the tree; it carries the result.
    """
    if reading.has_launcher or not module.params["require_launcher"]:
        return {"changed": False, **result}
    raise PartlyFailed(
        "no launcher works on this tree: none is registered, and none has left pools there; start one, or set"
        " require_launcher to false to look all the same",
        {"changed": False, **result},
    )


def refuse_unknown_names(module: AnsibleModule, config: NodepoolConfig, reading: TreeReading) -> None:
    """Make sure that the providers, pools and labels that the options name exist.

    :raises ConfigError: naming those that do not, with the nearest that do.
    """
    for option, kind in KINDS.items():
        asked = module.params.get(option, [])
        if asked:
            refuse_unknown(option, asked, known_names(kind, config, reading, asked), f"there is no {kind}")


def node_info(module: AnsibleModule) -> dict[str, Any]:
    """Nodes, and the lives of those that are asked for by id."""
    config, params = load(module), module.params
    ids = params["ids"]
    launches = [launch_path(node_id) for node_id in ids]
    reading = read_tree(config.zookeeper, (paths.NODES, *LAUNCHERS), lambda _reading: launches)
    now = time.time()
    refuse_unknown("ids", ids, reading.names(paths.NODES), "ZooKeeper has no node")
    refuse_unknown_names(module, config, reading)
    wanted = NodeFilter(**{field.name: params[field.name] for field in fields(NodeFilter)})
    rows = node_rows(reading.below(paths.NODES), wanted, now, detail=params["detail"] or bool(ids))
    result: dict[str, Any] = {"nodes": rows}
    if ids:
        result["lives"] = [
            {"id": node.name, **node_life(node, reading.one(launch_path(node.name)), now)}
            for node in map(reading.one, (f"{paths.NODES}/{row['id']}" for row in rows))
            if node is not None
        ]
    return told(module, reading, result)


def request_info(module: AnsibleModule) -> dict[str, Any]:
    """Requests, and an explanation of those that are asked for by id."""
    config, ids = load(module), module.params["ids"]

    def launches(reading: TreeReading) -> list[str]:
        return [launch_path(node.name) for request_id in ids for node in nodes_of(reading, request_id)]

    roots = (paths.REQUESTS, *LAUNCHERS, *(ROOTS if ids else (WAITS,)))
    reading = read_tree(config.zookeeper, roots, launches)
    now = time.time()
    refuse_unknown("ids", ids, reading.names(paths.REQUESTS), "ZooKeeper has no request")
    refuse_unknown_names(module, config, reading)
    wanted = RequestFilter(**{field.name: module.params[field.name] for field in fields(RequestFilter)})
    rows = request_rows(reading, now)
    result: dict[str, Any] = {"requests": [row for row in rows if wanted.takes(row)]}
    if ids:
        result["explanations"] = [explanation(reading, rows, row["id"], now) for row in result["requests"]]
    return told(module, reading, result)
