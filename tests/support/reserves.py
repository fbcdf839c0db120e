# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workers of pytest that take a test only while the machine has nothing else to do.

Tests of ``integration`` wait for a third of their time or more. With as many workers as fill the cores when nothing
runs beside, tests would be late on a machine that is full; with as few as that machine takes, an empty one stays half
idle. So the last half of the workers looks at the machine before each of their tests. Others steal what they leave.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

_Times = tuple[int, int]
_LOOKS = 0.5
"""Seconds between two readings of what the cores do."""
_ENOUGH = 0.2
"""The share of all cores' time that was idle, from which on there is room for one more test."""
_MOST = 60
"""Readings after which a worker takes a test in any case: half a minute."""


def is_reserve(worker: str, count: int) -> bool:
    """Whether a worker is one of the last half, by its name (``gw9``); one of less than six never is."""
    regular = count - count // 2 if count >= 6 else count
    return int(worker.removeprefix("gw")) % count >= regular


def cores_time() -> _Times:
    """What all cores have spent since the machine started: idle, and altogether, in the kernel's ticks."""
    with Path("/proc/stat").open(encoding="ascii") as file:
        spent = [int(word) for word in file.readline().split()[1:9]]
    return spent[3] + spent[4], sum(spent)


def wait_for_room(read: Callable[[], _Times] = cores_time, sleep: Callable[[float], None] = time.sleep) -> None:
    """Return when the cores have been idle for a fifth of half a second, or after half a minute."""
    idle, spent = read()
    for _reading in range(_MOST):
        sleep(_LOOKS)
        idle_now, spent_now = read()
        if spent_now > spent and (idle_now - idle) / (spent_now - spent) >= _ENOUGH:
            return
        idle, spent = idle_now, spent_now


# Before the time-out of the test begins. A long test begins at once, so that nobody waits for it at the end.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Have a reserve wait before a test."""
    given = getattr(item.config, "workerinput", None)
    if given and is_reserve(given["workerid"], given["workercount"]) and not item.get_closest_marker("long"):
        wait_for_room()
    return (yield)
