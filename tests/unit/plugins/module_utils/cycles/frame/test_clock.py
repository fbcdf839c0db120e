# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import random

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.clock import SLEW, SteadyClock
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.inbox import Inbox

NOW = 1_700_000_000.0


class Host:
    """A machine whose clock may be set."""

    def __init__(self) -> None:
        self.wall = NOW
        self.steady = 5.0
        self.clock = SteadyClock(lambda: self.wall, lambda: self.steady)

    def pass_time(self, seconds: float) -> None:
        """Time passes."""
        self.wall += seconds
        self.steady += seconds


def test_it_tells_the_time_of_day():
    host = Host()
    for _unused in range(100):
        host.pass_time(0.7)
        assert host.clock() == pytest.approx(host.wall, abs=1e-6)


@pytest.mark.parametrize("leap", [-3600.0, 3600.0, -86400.0 * 365, 0.5])
def test_a_wait_takes_as_long_as_ever_when_the_clock_is_set(leap):
    host = Host()
    deadline = host.clock() + 60.0
    host.wall += leap
    waited = 0.0
    while host.clock() < deadline:
        host.pass_time(0.5)
        waited += 0.5
        assert waited < 1000, "the cycle stands still"
    assert 60 / (1 + SLEW) - 1 <= waited <= 60 / (1 - SLEW) + 1


def test_it_comes_back_to_the_time_of_day():
    host = Host()
    host.clock()
    host.wall -= 120.0
    for _unused in range(1300):
        host.pass_time(1.0)
        host.clock()
    assert host.clock() == pytest.approx(host.wall, abs=1e-6)


def test_it_never_goes_backwards_whatever_is_done_to_the_clock():
    chance, host, before = random.Random(1), Host(), 0.0
    for _unused in range(2000):
        host.pass_time(chance.expovariate(1.0))
        if chance.random() < 0.1:
            host.wall += chance.uniform(-1e5, 1e5)
        now = host.clock()
        assert now >= before
        before = now


def test_an_inbox_goes_by_the_clock_that_it_is_given():
    host = Host()
    inbox = Inbox(host.clock)
    host.wall -= 3600.0
    host.pass_time(0.0)
    assert inbox.clock() >= NOW
