# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that shows everything on one screen."""

from __future__ import annotations

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..clients.zookeeper.link import paths
from ..clients.zookeeper.tree_reading import TreeReading
from ..model.errors import ConfigError
from ..reporting.info import status as screen
from ..reporting.info.explain import explanation, launch_path, nodes_of
from ..reporting.info.fields import refuse_unknown
from ..reporting.info.lease_rows import ROOT as LEASES
from ..reporting.info.lease_rows import leased
from ..reporting.info.names import known_names
from ..reporting.info.node_rows import (
    NodeFilter,
    gone_life,
    node_life,
    node_rows,
    tombstone_paths,
)
from ..reporting.info.request_rows import request_rows
from .arguments import load_with_problems
from .last_state import sentence
from .looking import VIEW_ARGUMENTS, place, read_tree, tombstone, tree_result

STATUS_ARGUMENTS: dict[str, Any] = {
    **VIEW_ARGUMENTS,
    "id": {"type": "str"},
    "width": {"type": "int", "default": 80},
    "watch": {"type": "float", "default": 0.0},
}


def status(module: AnsibleModule) -> dict[str, Any]:
    """Return one screen of text about everything, or the text about one request, node or lease."""
    config, problems = load_with_problems(module)
    name, width = module.params["id"], max(20, module.params["width"])
    if name == "":
        raise ConfigError(["id is empty: name a request, a node or a lease, for instance id=100-0000000011"])

    def launches(reading: TreeReading) -> list[str]:
        if not name:
            return []
        stones = tombstone_paths(name, known_names("provider", config, reading))
        ids = [name, *leased(reading, name)]
        nodes = [node.name for one in ids for node in nodes_of(reading, one)]
        return [*stones, *map(launch_path, [*ids, *nodes])]

    alone = name is not None
    locks = paths.LOCKED if alone else screen.LOCKS
    reading = read_tree(module, config, screen.roots_of(config), launches, locks=locks, lasting=alone)
    now = time.time()
    if name is None:
        lines = screen.status_lines(config, reading, now, width, problems)
        return tree_result(module, reading, {"lines": [*_old(reading, now, width), *lines]})
    gone, known = tombstone(name, config, reading), {*reading.names(paths.REQUESTS), *reading.names(paths.NODES)}
    named = [name] if gone is not None else [*known, *reading.names(LEASES)]
    refuse_unknown("id", [name], named, f"{place(reading)} has no request, node or lease")
    if gone is not None:
        lines = screen.gone_lines(name, gone_life(gone, now), width)
    elif name in known:
        lines = _about(reading, name, now, width)
    else:
        ids = leased(reading, name)
        lines = screen.wrapped([f"lease {name}{'' if ids else ': its requests and nodes are gone'}"], width)
        lines += [line for one in ids for line in ("", *_about(reading, one, now, width))]
    return tree_result(module, reading, {"lines": [*_old(reading, now, width), *lines]})


def _about(reading: TreeReading, name: str, now: float, width: int) -> list[str]:
    node = reading.one(f"{paths.NODES}/{name}")
    if node is None:
        return screen.request_lines(explanation(reading, request_rows(reading, now), name, now), width)
    (row,) = node_rows([node], NodeFilter(), now, detail=False)
    return screen.node_lines(row, node_life(node, reading.one(launch_path(name)), now), width)


def _old(reading: TreeReading, now: float, width: int) -> list[str]:
    """Return lines that say how old the state is; none when it was just read."""
    return screen.wrapped([f"! {sentence(reading.aged, now)}"], width) if reading.aged is not None else []
