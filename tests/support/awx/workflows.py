# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes of a workflow AWX runs, and how the workflow ends (``awx/main/scheduler/dag_workflow.py``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Node = Mapping[str, Any]


def run_workflow(nodes: Sequence[Node], works: Callable[[Node], bool]) -> tuple[list[str], bool]:
    """The nodes that ran, in order, and whether AWX calls the workflow successful.

    A failure that has a successor of its own is handled, and does not count.

    :param nodes: those of ``simplified_workflow_nodes``.
    :param works: what the job of a node does.
    """
    by_name = {node["identifier"]: node for node in nodes}
    following = {
        follower for node in nodes for when in ("success", "failure", "always") for follower in _of(node, when)
    }
    waiting, ran, successful = [name for name in by_name if name not in following], [], True
    while waiting:
        node = by_name[waiting.pop(0)]
        ran.append(str(node["identifier"]))
        worked = works(node)
        successors = [*_of(node, "success" if worked else "failure"), *_of(node, "always")]
        successful = successful and (worked or bool(successors))
        waiting += [name for name in successors if name not in (*ran, *waiting)]
    return ran, successful


def _of(node: Node, when: str) -> list[str]:
    return list(node.get(f"{when}_nodes", ()))
