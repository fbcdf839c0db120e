# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes that were made from one build: those that nobody uses, and the others. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..model.image import build_of_path
from ..model.lines import amount, word_for
from ..model.node import Node, NodeState

LEAVING = frozenset({NodeState.DELETING, NodeState.DELETED})
UNMADE = frozenset({NodeState.INIT, NodeState.BUILDING, NodeState.ABORTED, NodeState.FAILED})
MOST_TOLD = 20
"""Largest number of nodes whose ids a line names."""


@dataclass(frozen=True)
class MadeOf:
    """The nodes of a build, by id.

    :ivar unused: ready nodes that nobody uses: the launcher deletes them when the build is condemned.
    :ivar in_use: the other nodes, which nobody touches.
    """

    unused: list[Node]
    in_use: list[Node]

    def text(self) -> str:
        """Return which nodes stay, as part of a sentence; "" for none."""
        ids = [node.id for node in self.in_use if node.state not in UNMADE]
        if not ids:
            return ""
        more = f" and {len(ids) - MOST_TOLD} more" if len(ids) > MOST_TOLD else ""
        verb = word_for(len(ids), "stays", "stay")
        return f"{amount(len(ids), 'node')} of it {verb} in use: {' '.join(ids[:MOST_TOLD])}{more}"


def made_of(nodes: Iterable[Node | None], image: str, build_id: str, provider: str | None = None) -> MadeOf:
    """Return the nodes that were made from a build.

    :param nodes: records; None for one that is gone or cannot be read.
    :param provider: only those at this provider; None for all.
    """
    there = [node for node in nodes if node is not None and build_of_path(node.image_id) == (image, build_id)]
    mine = sorted((one for one in there if provider in (None, one.provider)), key=lambda one: one.id)
    unused = [node for node in mine if node.state == NodeState.READY and node.allocated_to is None]
    return MadeOf(unused, [node for node in mine if node not in unused and node.state not in LEAVING])
