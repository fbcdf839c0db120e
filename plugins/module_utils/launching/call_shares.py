# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many calls of a provider's API were made in the last hour, and how many of them failed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..model.stored import is_number

SLOT = 300.0
"""Seconds that are counted together."""
SLOTS = 12
"""Number of slots that are counted: an hour."""
FEWEST_FAILED = 5
"""Least number of failed calls that needs attention."""
SHARE = 0.1
"""Least share of failed calls that needs attention."""


def flaps(calls: int, failed: int) -> bool:
    """Return True when so many calls of an hour failed that the operator should know, although the cloud works now."""
    return failed >= FEWEST_FAILED and failed >= SHARE * calls


@dataclass
class CallShares:
    """Counts of the last hour, those of earlier cycles included."""

    _slots: dict[int, list[int]] = field(default_factory=dict)
    _before: tuple[int, int] = (0, 0)

    def count(self, calls: int, failed: int, now: float) -> None:
        """Add what has come since the last call of this method.

        :param calls, failed: how many there were since the client began. A new client begins again at 0.
        :param now: UNIX time.
        """
        known = self._before if calls >= self._before[0] and failed >= self._before[1] else (0, 0)
        self._before = (calls, failed)
        more = (calls - known[0], failed - known[1])
        if more[0] > 0:
            slot = int(now // SLOT)
            self._slots = {at: counts for at, counts in self._slots.items() if slot - SLOTS < at <= slot}
            counts = self._slots.setdefault(slot, [0, 0])
            counts[0], counts[1] = counts[0] + more[0], counts[1] + more[1]

    def counts(self, now: float) -> tuple[int, int]:
        """Return (calls, failed) of the last hour."""
        slot = int(now // SLOT)
        lately = [counts for at, counts in self._slots.items() if slot - SLOTS < at <= slot]
        return sum(each[0] for each in lately), sum(each[1] for each in lately)

    def document(self) -> dict[str, Any]:
        """Return the counts by slot as they are stored."""
        return {str(slot): list(counts) for slot, counts in sorted(self._slots.items())}

    def learn(self, document: object) -> None:
        """Take over the counts of an earlier cycle; ignore invalid ones."""
        for key, counts in list(document.items())[-SLOTS - 1 :] if isinstance(document, Mapping) else ():
            usable = (
                isinstance(counts, list) and len(counts) == 2 and all(is_number(n) and 0 <= n < 1e12 for n in counts)
            )
            if usable and str(key).isdecimal() and str(key).isascii() and len(str(key)) < 12:
                self._slots[int(key)] = [int(counts[0]), min(int(counts[0]), int(counts[1]))]
