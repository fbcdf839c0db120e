# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long to wait after failures in a row."""

from __future__ import annotations

_MOST_DOUBLINGS = 60
"""More make no difference and would end beyond the largest number."""


def backoff(failures: int, *, first: float, most: float, spread: float = 0.0, chance: float = 0.5) -> float:
    """Returns the seconds to wait after so many *failures* in a row, 0.0 after none.

    :param first: seconds after the first failure; each further one doubles them.
    :param most: seconds at which the doubling ends.
    :param spread: the share by which the result is shorter or longer, so that clients do not come back all at once.
    :param chance: 0…1 from a random source: where within the spread.
    """
    if failures < 1:
        return 0.0
    return min(most, first * 2.0 ** min(failures - 1, _MOST_DOUBLINGS)) * (1.0 - spread + 2.0 * spread * chance)
