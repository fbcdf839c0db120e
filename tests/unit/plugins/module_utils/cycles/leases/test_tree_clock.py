# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clock of a requestor whose host has the wrong time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.leases.tree_clock import TOLERATED, tree_clock


def store(now: float) -> Any:
    return SimpleNamespace(own=SimpleNamespace(server_time=lambda folder: now))


@pytest.mark.parametrize("ahead", [-TOLERATED, 0.0, TOLERATED])
def test_a_clock_that_is_right_is_used_as_it_is(ahead):
    def clock() -> float:
        return float(1000.0 + ahead)

    assert tree_clock(store(1000.0), clock) == (clock, [])


@pytest.mark.parametrize(("ahead", "side"), [(86400.0, "ahead of"), (-86400.0, "behind")])
def test_a_clock_that_is_wrong_is_corrected_and_told(ahead, side):
    now = 5000.0
    clock, told = tree_clock(store(5000.0), lambda: now + ahead)
    assert clock() == 5000.0
    now = 5007.0
    assert clock() == 5007.0
    (sentence,) = told
    assert sentence.startswith(f"the clock of this host is 1 d {side} that of ZooKeeper")
