# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many servers of a provider became nodes lately, and how many were made for nothing. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..model.lines import amount
from ..model.stored import is_number

MINUTE = 60.0
MINUTES = 10
"""Number of minutes that are counted."""
MANY = 5
"""Least number of servers made for nothing that is worth a line."""
CREATED, READY, WASTED = range(3)


@dataclass
class Harvest:
    """Counts of the last ten minutes: servers created, nodes ready, servers given up before their node was ready."""

    _minutes: dict[int, list[int]] = field(default_factory=dict)
    _told_at: float | None = None

    def add(self, what: int, now: float) -> None:
        """Count one more. *what*: CREATED, READY or WASTED."""
        minute = int(now // MINUTE)
        if minute not in self._minutes:
            self._minutes = {at: counts for at, counts in self._minutes.items() if minute - MINUTES < at <= minute}
        self._minutes.setdefault(minute, [0, 0, 0])[what] += 1

    def counts(self, now: float) -> tuple[int, int, int]:
        """Return (created, ready, wasted) of the last ten minutes."""
        minute = int(now // MINUTE)
        lately = [counts for at, counts in self._minutes.items() if minute - MINUTES < at <= minute]
        return (
            sum(each[CREATED] for each in lately),
            sum(each[READY] for each in lately),
            sum(e[WASTED] for e in lately),
        )

    def news(self, now: float) -> str:
        """Return a sentence, once in ten minutes, while more servers are given up than become nodes; "" otherwise."""
        created, ready, wasted = self.counts(now)
        told_lately = self._told_at is not None and 0 <= now - self._told_at < MINUTES * MINUTE
        if wasted < MANY or wasted <= ready or told_lately:
            return ""
        self._told_at = now
        made, usable = amount(created, "server"), amount(ready, "node")
        return f"{made} created, {usable} ready and {amount(wasted, 'server')} abandoned in ten minutes"

    def document(self) -> dict[str, Any]:
        """Return the counts by minute as they are stored."""
        return {str(minute): list(counts) for minute, counts in sorted(self._minutes.items())}

    def learn(self, document: object) -> None:
        """Take over the counts of an earlier cycle; ignore invalid ones."""
        for key, counts in list(document.items())[-MINUTES - 1 :] if isinstance(document, Mapping) else ():
            usable = isinstance(counts, list) and len(counts) == 3 and all(is_number(n) and n >= 0 for n in counts)
            if usable and str(key).isdecimal() and len(str(key)) < 12:
                self._minutes[int(key)] = [int(number) for number in counts]
