# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What modules that only show do while ZooKeeper cannot be reached: they show the state that was kept on this host.

Modules that act never use it.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..clients.state_folder import default_folder
from ..clients.zookeeper.kept_tree import find
from ..clients.zookeeper.link.tree import Tree
from ..clients.zookeeper.tree_reading import Aged
from ..model.config.types import NodepoolConfig
from ..model.errors import OnlyLastState, StoreUnreachable
from ..model.lines import span

LAST_STATE_ARGUMENTS: dict[str, Any] = {"require_zookeeper": {"type": "bool", "default": True}}
"""Described by the doc fragment ``tree.last``."""


def last_state(config: NodepoolConfig, problem: StoreUnreachable) -> tuple[Tree, Aged]:
    """Return the tree that a launcher or the web service of this host has kept.

    :param problem: why ZooKeeper cannot be reached.
    :raises StoreUnreachable: none is kept.
    """
    kept = find(default_folder(), config.zookeeper, time.time())
    if kept is None:
        raise problem
    return kept.tree, Aged(kept.seen, str(problem))


def sentence(aged: Aged, now: float) -> str:
    """Return how old the state is, and why."""
    return (
        f"ZooKeeper cannot be reached: this is the last state that this host knows, {span(now - aged.seen)} old"
        f" ({aged.problem})"
    )


def with_age(module: AnsibleModule, aged: Aged | None, result: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a module with the age of what it shows.

    :param aged: None when it was read from ZooKeeper just now.
    :raises OnlyLastState: it is old, and the options do not allow that; it carries the result.
    """
    now = time.time()
    seen = now if aged is None else aged.seen
    as_of = {
        "time": f"{datetime.fromtimestamp(seen, UTC):%Y-%m-%dT%H:%M:%SZ}",
        "age": round(max(0.0, now - seen), 1),
        "problem": None if aged is None else aged.problem,
    }
    told = {"changed": False, **result, "as_of": as_of}
    if aged is not None:
        if module.params["require_zookeeper"]:
            raise OnlyLastState(sentence(aged, now), told)
        module.warn(sentence(aged, now))
    return told
