# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts of the leaks that sweeps found and deleted, for results and metrics."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from ....sweeping.candidate import Ownership
from ....sweeping.judge import Row

_NOTHING = {"leaked": 0, "foreign": 0, "deleted": 0, "failed": 0}


@dataclass
class LeakCounts:
    """Counts by provider ("" for the tree) and kind.

    *leaked* and *foreign* are as last seen, *deleted* and *failed* are sums.
    """

    counts: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)

    def found(self, where: str, kinds: Collection[str], rows: Iterable[Row]) -> None:
        """Note the findings of a sweep of these kinds."""
        for kind in kinds:
            self._of(where, kind).update(leaked=0, foreign=0)
        for row in rows:
            name = "leaked" if row.candidate.ownership == Ownership.LEAKED else "foreign"
            self._of(where, row.candidate.kind)[name] += 1

    def deleted(self, where: str, kind: str) -> None:
        """Count one deletion."""
        self._of(where, kind)["deleted"] += 1

    def failed(self, where: str, kind: str) -> None:
        """Count a deletion that was refused or not answered."""
        self._of(where, kind)["failed"] += 1

    def _of(self, where: str, kind: str) -> dict[str, int]:
        return self.counts.setdefault(where, {}).setdefault(kind, dict(_NOTHING))
