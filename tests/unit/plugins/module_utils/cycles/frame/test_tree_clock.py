# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clock of a host that has the wrong time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.tree_clock import TOLERATED, TreeClock


class Host:
    """A host, and a ZooKeeper that answers after *slow* seconds. *now* is ZooKeeper's time."""

    def __init__(self, ahead: float = 0.0, slow: float = 0.0) -> None:
        self.now, self.ahead, self.slow = 5000.0, ahead, slow
        self.clock = TreeClock(lambda: self.now + self.ahead)

    def ask(self) -> str:
        store: Any = SimpleNamespace(own=SimpleNamespace(server_time=self._server_time))
        return self.clock.ask(store)

    def _server_time(self, _folder: str) -> float:
        stamp = self.now
        self.now += self.slow
        return stamp


@pytest.mark.parametrize("ahead", [-TOLERATED, 0.0, TOLERATED])
def test_a_clock_that_is_right_is_used_as_it_is(ahead):
    host = Host(ahead)
    assert (host.ask(), host.clock()) == ("", host.now + ahead)


@pytest.mark.parametrize(("ahead", "side"), [(86400.0, "ahead of"), (-86400.0, "behind")])
def test_a_clock_that_is_wrong_is_corrected_and_told(ahead, side):
    host = Host(ahead)
    told = host.ask()
    assert host.clock() == 5000.0
    host.now = 5007.0
    assert host.clock() == 5007.0
    assert told.startswith(f"the clock of this host is 1 d {side} that of ZooKeeper")


def test_a_slow_answer_is_no_wrong_clock():
    host = Host(slow=60.0)
    assert (host.ask(), host.clock()) == ("", 5060.0)


def test_a_clock_that_is_set_later_is_corrected_with_the_next_write():
    host = Host(7200.0)
    host.ask()
    host.ahead = -3.0
    host.clock.hear(host.now)
    assert host.clock() == host.now - 3.0
    host.ahead = -7200.0
    host.clock.hear(host.now)
    assert host.clock() == host.now
    host.clock.hear(host.now - TOLERATED)
    assert host.clock() == host.now, "the answer was slow"


@pytest.mark.parametrize("ahead", [-TOLERATED - 1, -TOLERATED, 0.0, TOLERATED, 90.0])
def test_how_far_the_clock_is_ahead_is_returned_with_each_write(ahead):
    host = Host(ahead)
    assert host.clock.hear(host.now) == (ahead if abs(ahead) > TOLERATED else 0.0)
