# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that have to be deleted at providers for which no launcher acts: a sweep by hand deletes them.

A launcher cycle that serves no requests does the work, under the provider's lock, with all of its care.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import fields
from typing import Any

from ...clients.zookeeper.store import Store
from ...launching.upkeep import GARBAGE, hold_limit
from ...model.config.types import NodepoolConfig
from ...model.errors import CloudAuthError
from ...model.lease import mark_of
from ...model.node import Node, NodeState
from ...sweeping.candidate import Kind
from ...sweeping.judge import Verdict
from ..frame.cycle_options import ConfigOptions
from ..launcher.context.launcher_options import LauncherOptions
from ..launcher.leaks.sweep_options import SweepOptions
from ..launcher.passes.launcher_cycle import run_launcher
from ..leases.expiry import release_expired, unattended

LONGEST = 120.0
"""Seconds that the deletion of the nodes may take; the next sweep or launcher does the rest."""
DELETED, FAILED = "deleted", "failed"


def due_nodes(store: Store, config: NodepoolConfig, chosen: Collection[str], now: float) -> list[Node]:
    """Return the nodes of the chosen providers that have to be deleted and that no launcher deletes."""
    nodes = [
        node
        for node in store.nodes.list()
        if node.provider in chosen and _is_due(node, config.max_hold_age, now) and not store.nodes.is_locked(node.id)
    ]
    return sorted(unattended(store, nodes), key=lambda node: node.id)


def _is_due(node: Node, max_hold_age: float, now: float) -> bool:
    limit = hold_limit(node, max_hold_age)
    expired = limit is not None and now - (node.state_time or now) > limit
    return node.state in GARBAGE or (node.state == NodeState.HOLD and expired)


def look_at_nodes(
    options: SweepOptions, store: Store, config: NodepoolConfig, clock: Callable[[], float]
) -> dict[str, dict[str, Any]]:
    """Return the rows of the nodes that would be deleted, by key. Writes nothing.

    :param clock: UNIX time in seconds.
    """
    now = clock()
    return _rows(due_nodes(store, config, options.chosen(config), now), now, lambda node: (Verdict.DUE, ""))


def delete_nodes(
    options: SweepOptions,
    store: Store,
    config: NodepoolConfig,
    clock: Callable[[], float],
    work: Callable[..., Mapping[str, Any]] = run_launcher,
) -> dict[str, dict[str, Any]]:
    """Release the leases that are over, delete the nodes that are due, and return their rows by key.

    :param clock: ZooKeeper's time in UNIX seconds.
    :param work: runs a launcher cycle.
    :raises StoreError: a call of ZooKeeper failed.
    """
    now = clock()
    release_expired(store, now)
    nodes = due_nodes(store, config, options.chosen(config), now)
    if not nodes:
        return {}
    deletion = _Deletion(nodes)
    cycle = LauncherOptions(
        **{item.name: getattr(options, item.name) for item in fields(ConfigOptions)},
        providers=tuple(sorted({node.provider or "" for node in nodes})),
        duration=LONGEST,
        until="deadline",
        serves=False,
    )
    try:
        result = work(cycle, done=deletion.done, refused=deletion.refuse, clock=clock)
    except CloudAuthError as error:
        result = {"left_out": {name: str(error) for name in cycle.providers or ()}}
    return _rows(nodes, now, lambda node: _outcome(node, store, deletion, result))


class _Deletion:
    """The nodes that a cycle deletes. It ends when they are gone, or cannot be deleted."""

    def __init__(self, nodes: Collection[Node]) -> None:
        self._nodes = nodes
        self.refused: Mapping[str, str] = {}

    def refuse(self, providers: Mapping[str, str]) -> None:
        """Take the providers that cannot be used with their account, and why."""
        self.refused = providers

    def done(self, store: Store) -> bool:
        """Return True to end the cycle."""
        return not any(store.nodes.get(node.id) for node in self._nodes if node.provider not in self.refused)


def _outcome(node: Node, store: Store, deletion: _Deletion, result: Mapping[str, Any]) -> tuple[str, str]:
    if store.nodes.read(node.id) is None:
        return DELETED, ""
    name = node.provider or ""
    told = deletion.refused.get(name) or result.get("left_out", {}).get(name)
    told = told or result.get("health", {}).get(name, {}).get("text")
    return FAILED, told or f"not gone after {LONGEST:.0f} s; the next sweep or launcher continues"


def _rows(nodes: Iterable[Node], now: float, judge: Callable[[Node], tuple[str, str]]) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for node in nodes:
        verdict, answer = judge(node)
        rows[f"{Kind.NODE}/{node.id}"] = {
            "provider": node.provider,
            "kind": Kind.NODE,
            "id": node.id,
            "name": f"np{node.id}",
            "verdict": verdict,
            "reason": _reason(node),
            "age": None if node.created_time is None else round(now - node.created_time, 1),
            **({"answer": answer} if answer else {}),
        }
    return rows


def _reason(node: Node) -> str:
    lease = mark_of(node)
    why = f"it was held for lease {lease}, which has ended" if lease else f"it is {node.state}"
    return f"{why}, and no launcher serves its provider"
