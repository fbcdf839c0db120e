# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long tests may look for trouble: a little with each ``make test``, long with ``make test-slow``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

Case = TypeVar("Case")

EFFORT = int(os.environ.get("TEST_EFFORT", "1"))
"""Factor on the numbers of random cases and on simulated time; ``make test-slow`` sets it."""
QUICK_SHARE = 4
FEWEST = 5


def examples(count: int) -> int:
    """How many random cases to try: a quarter of *count* with each ``make test``, EFFORT times *count* otherwise.

    Each run of Hypothesis tries others, so what one run of a quarter misses the next ones find.
    """
    if EFFORT > 1:
        return count * EFFORT
    return max(min(count, FEWEST), count // QUICK_SHARE)


def first(count: int, cases: Iterable[Case]) -> list[Case]:
    """The first *count* of *cases* with each ``make test``, all of them in the slow lane.

    For cases that prove the same with other numbers: a simulated hour costs seconds.
    """
    return list(cases) if EFFORT > 1 else list(cases)[:count]
