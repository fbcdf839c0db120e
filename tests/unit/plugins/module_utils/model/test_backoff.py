# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pause after failures in a row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model.backoff import backoff


def test_it_doubles_up_to_the_most():
    pauses = [backoff(failures, first=10.0, most=100.0) for failures in range(8)]
    assert pauses == [0.0, 10.0, 20.0, 40.0, 80.0, 100.0, 100.0, 100.0]


@pytest.mark.parametrize("failures", [-1, 0])
def test_without_a_failure_there_is_no_pause(failures):
    assert backoff(failures, first=10.0, most=100.0, spread=0.5, chance=1.0) == 0.0


@pytest.mark.parametrize(("chance", "pause"), [(0.0, 15.0), (0.5, 20.0), (1.0, 25.0)])
def test_it_is_spread_to_both_sides(chance, pause):
    assert backoff(2, first=10.0, most=100.0, spread=0.25, chance=chance) == pause


@given(st.integers(1, 10**9), st.floats(0, 1), st.floats(0, 1))
def test_it_stays_within_its_bounds(failures, spread, chance):
    pause = backoff(failures, first=2.0, most=300.0, spread=spread, chance=chance)
    assert 0.0 <= pause <= 300.0 * (1.0 + spread) * (1.0 + 1e-12), "but for the last digits"
    assert pause <= backoff(failures + 1, first=2.0, most=300.0, spread=spread, chance=chance)
