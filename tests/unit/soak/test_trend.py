# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A line through readings tells what grows from what is flat."""

from __future__ import annotations

import random

import pytest

from tests.soak.trend import Bound, trend

BOUND = Bound(0.05, 2.0)


def test_a_leak_is_found_in_noise():
    chance = random.Random(1)
    readings = [(float(lives), 50.0 + 0.002 * lives + chance.uniform(-1, 1)) for lives in range(0, 20_000, 500)]
    found = trend("memory", readings, BOUND)
    assert found.slope == pytest.approx(2.0, rel=0.1)
    assert not found.is_flat
    assert "GROWS memory" in str(found)


def test_noise_alone_is_flat():
    chance = random.Random(2)
    readings = [(float(lives), 50.0 + chance.uniform(-2, 2)) for lives in range(0, 20_000, 500)]
    assert trend("memory", readings, BOUND).is_flat


def test_the_beginning_is_left_out():
    readings = [(0.0, 10.0), (1.0, 40.0), *((float(lives), 50.0) for lives in range(2, 12))]
    assert trend("memory", readings, BOUND).growth == 0.0


def test_what_falls_is_flat():
    assert trend("znodes", [(float(lives), 100.0 - lives) for lives in range(20)], BOUND).is_flat


def test_too_few_readings_are_no_line():
    with pytest.raises(ValueError, match="3 readings are too few"):
        trend("memory", [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)], BOUND)
