# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame of a cycle, with a connection and a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.loop import (
    AWAY_LOOK,
    MOST_MISHAPS,
    STORE_GRACE,
    Frame,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.stop import SERVING, STOPPED, Stop
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import (
    ZooKeeperServer,
    ZooKeeperSettings,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreError, TreeExchanged

SETTINGS = ZooKeeperSettings(servers=(ZooKeeperServer("zk1.example.org", 2181, None),), timeout=10.0)


class Connection:
    def __init__(self) -> None:
        self.state = "connected"
        self.generation = 1
        self.refusal = ""


class Cycle:
    """Passes of one second each; *script* says what becomes of each pass."""

    def __init__(self, script: list[Any]) -> None:
        self.store = Connection()
        self.beats: list[str] = []
        self.stop = Stop(beat=self.beats.append)
        self.script = script
        self.now = 1000.0
        self.finishing = False
        self.state = SERVING
        self.calls: list[str] = []
        self.rests: list[float] = []
        self.lines: list[str] = []
        self.resting: Callable[[], None] = lambda: None

    def turn(self, now: float, deadline: float) -> str | None:
        self.calls.append("turn")
        self.now += 1.0
        act = self.script.pop(0) if self.script else None
        if isinstance(act, Exception):
            raise act
        ended: str | None = act() if callable(act) else act
        return ended

    def rest(self, seconds: float) -> None:
        self.rests.append(seconds)
        self.now += seconds
        self.resting()

    def lose(self) -> None:
        self.calls.append("lose")

    def leave(self) -> None:
        self.calls.append("leave")

    def abandon(self) -> None:
        self.calls.append("abandon")

    def run(self, seconds: float, **more: bool) -> str:
        frame = Frame(self, self.store, SETTINGS, self.stop, lambda: self.now, self.lines.append, **more)
        return frame.run(self.now + seconds)


def test_passes_are_made_until_the_deadline():
    cycle = Cycle([])
    assert cycle.run(3.0) == "deadline"
    assert cycle.calls == ["turn"] * 3
    assert cycle.beats == [SERVING] * 4


def test_a_pass_ends_the_cycle():
    cycle = Cycle([None, "settled"])
    assert cycle.run(60.0) == "settled"
    assert cycle.calls == ["turn", "turn"]


def test_without_time_nothing_is_done():
    cycle = Cycle([])
    assert cycle.run(0.0) == "deadline"
    assert cycle.calls == []


def test_one_pass_is_made_without_time_where_that_is_wanted():
    cycle = Cycle([StoreError("no answer"), None])
    assert cycle.run(0.0, once=True) == "deadline"
    assert cycle.calls == ["turn", "lose", "turn"]


def test_what_is_finishing_outlasts_the_deadline():
    cycle = Cycle([])
    cycle.finishing = True
    cycle.script = [None, None, None, lambda: setattr(cycle, "finishing", False)]
    assert cycle.run(2.0) == "deadline"
    assert cycle.calls == ["turn"] * 4


def test_a_wish_to_stop_ends_what_is_under_way():
    cycle = Cycle([])
    cycle.script = [None, lambda: cycle.stop.ask(STOPPED)]
    assert cycle.run(60.0) == STOPPED
    assert cycle.calls == ["turn", "turn", "leave"]


def test_no_pass_is_made_while_zookeeper_is_away():
    cycle = Cycle([])
    cycle.store.state = "suspended"

    def back_after_three() -> None:
        if len(cycle.rests) == 3:
            cycle.store.state = "connected"

    cycle.resting = back_after_three
    cycle.script = ["settled"]
    assert cycle.run(60.0) == "settled"
    assert cycle.rests == [AWAY_LOOK] * 3
    assert cycle.calls == ["turn"]


def test_a_zookeeper_that_stays_away_ends_the_cycle_and_is_named():
    cycle = Cycle([])
    cycle.store.state = "lost"
    with pytest.raises(
        StoreError, match=r"ZooKeeper \(zk1\.example\.org:2181\) has not answered for 4\d s: the cycle ends"
    ):
        cycle.run(3600.0)
    assert cycle.now - 1000.0 == pytest.approx(SETTINGS.timeout + STORE_GRACE, abs=2 * AWAY_LOOK)


def test_what_is_finishing_is_not_cut_short_by_a_zookeeper_that_stays_away():
    cycle = Cycle([])
    cycle.store.state, cycle.finishing = "lost", True

    def over_after_two_minutes() -> None:
        cycle.finishing = cycle.now < 1120.0

    cycle.resting = over_after_two_minutes
    with pytest.raises(StoreError, match="has not answered for 12"):
        cycle.run(3600.0)


def test_absences_do_not_add_up():
    cycle = Cycle([])
    away = SETTINGS.timeout + STORE_GRACE - 5.0

    def goes() -> None:
        cycle.store.state, until = "suspended", cycle.now + away

        def comes() -> None:
            cycle.store.state = "connected" if cycle.now >= until else "suspended"

        cycle.resting = comes

    cycle.script = [goes, goes, goes, "settled"]
    assert cycle.run(3600.0) == "settled"


def test_a_spoiled_pass_is_told_and_begun_afresh():
    cycle = Cycle([StoreError("no answer within 10 s"), "settled"])
    assert cycle.run(60.0) == "settled"
    assert cycle.calls == ["turn", "lose", "turn"]
    assert [str(line) for line in cycle.lines] == ["restarting with a new session: no answer within 10 s"]


def test_too_many_spoiled_passes_in_a_row_end_the_cycle():
    cycle = Cycle([StoreError(f"mishap {number}") for number in range(MOST_MISHAPS + 1)])
    with pytest.raises(StoreError, match=f"mishap {MOST_MISHAPS}"):
        cycle.run(60.0)


def test_spoiled_passes_with_good_ones_between_do_not():
    cycle = Cycle([StoreError("mishap"), None] * (2 * MOST_MISHAPS) + ["settled"])
    assert cycle.run(3600.0) == "settled"


def test_the_loss_of_the_connection_in_a_pass_is_no_mishap():
    cycle = Cycle([])

    def lost() -> None:
        cycle.store.state = "suspended"
        raise StoreError("connection lost")

    def lost_and_back() -> None:
        cycle.store.generation += 1
        raise StoreError("session expired")

    cycle.resting = lambda: setattr(cycle.store, "state", "connected")
    cycle.script = [lost, lost_and_back] * (MOST_MISHAPS + 1) + ["settled"]
    assert cycle.run(3600.0) == "settled"
    assert cycle.lines == []
    assert cycle.calls.count("lose") == 2 * (MOST_MISHAPS + 1)


def test_an_exchanged_tree_is_abandoned():
    cycle = Cycle([None, TreeExchanged("another tree")])
    with pytest.raises(TreeExchanged):
        cycle.run(60.0)
    assert cycle.calls == ["turn", "turn", "abandon"]


def test_a_defect_of_our_own_is_not_tried_again():
    cycle = Cycle([KeyError("ours"), "settled"])
    with pytest.raises(KeyError, match="ours"):
        cycle.run(60.0)
    assert (cycle.calls, cycle.lines) == (["turn"], [])


def test_a_wish_to_stop_is_heard_while_zookeeper_is_away():
    cycle = Cycle([])
    cycle.store.state = "suspended"
    cycle.resting = lambda: cycle.stop.ask(STOPPED)
    assert cycle.run(3600.0) == STOPPED
    assert cycle.calls == ["leave"]
