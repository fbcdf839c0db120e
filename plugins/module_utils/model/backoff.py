# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pause after consecutive failures."""

from __future__ import annotations

_MOST_DOUBLINGS = 60
"""More doublings make no difference and would exceed the largest float."""


def backoff(failures: int, *, first: float, most: float, spread: float = 0.0, chance: float = 0.5) -> float:
    """Return the seconds to wait after that many consecutive *failures*, 0.0 after none.

    :param first: seconds after the first failure; each further failure doubles them.
    :param most: seconds at which the doubling ends.
    :param spread: the largest share by which the result is shorter or longer, so that clients do not retry all at the
        same time.
    :param chance: a random number from 0 to 1: the position within the spread.
    """
    if failures < 1:
        return 0.0
    return min(most, first * 2.0 ** min(failures - 1, _MOST_DOUBLINGS)) * (1.0 - spread + 2.0 * spread * chance)
