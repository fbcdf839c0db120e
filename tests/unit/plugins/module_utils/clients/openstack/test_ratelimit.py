# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.ratelimit import RateLimiter


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@given(st.floats(0.001, 2), st.lists(st.floats(0, 3), min_size=2, max_size=20))
def test_starts_are_at_least_the_interval_apart_and_not_later_than_needed(interval: float, gaps: list[float]) -> None:
    time = Time()
    limiter = RateLimiter(interval, clock=lambda: time.now, sleeper=time.sleep)
    earliest = float("-inf")
    for gap in gaps:
        time.now += gap
        asked = time.now
        limiter.wait()
        assert abs(time.now - max(asked, earliest)) < 1e-6
        earliest = time.now + interval


def test_zero_is_no_limit() -> None:
    time = Time()
    limiter = RateLimiter(0, clock=lambda: time.now, sleeper=time.sleep)
    assert [limiter.wait() for _unused in range(100)] == [0.0] * 100


def test_threads_that_ask_together_get_different_starts() -> None:
    slept: list[float] = []
    limiter = RateLimiter(1.0, clock=lambda: 0.0, sleeper=slept.append)
    threads = [threading.Thread(target=limiter.wait) for _unused in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(slept) == [float(number) for number in range(1, 20)]
