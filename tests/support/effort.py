# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long tests may look for trouble: a little with each ``make test``, long with ``make test-slow``."""

from __future__ import annotations

import os

EFFORT = int(os.environ.get("TEST_EFFORT", "1"))
"""Factor on the numbers of random cases and on simulated time; ``make test-slow`` sets it."""


def examples(count: int) -> int:
    """Random cases to try, where *count* is right for every day."""
    return count * EFFORT
