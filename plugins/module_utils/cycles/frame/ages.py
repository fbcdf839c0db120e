# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Since when a node is in its state, whatever clock has written that down."""

from __future__ import annotations

from ...model.node import Node

MOST = 100_000
"""So many nodes of the future are kept in mind; with more it begins anew."""


class Ages:
    """A time of the future was written by a clock that was ahead: then it is when the record was first seen here."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, float]] = {}

    def since(self, node: Node, now: float) -> float:
        """UNIX seconds; never later than *now*."""
        at = node.state_time or 0.0
        known = self._seen.get(node.id)
        if known is not None and known[0] == node.version:
            return min(at, known[1])
        if at <= now:
            return at
        if len(self._seen) >= MOST:
            self._seen.clear()
        self._seen[node.id] = (node.version, now)
        return now
