# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loop on a clock of its own, with cycles that do what a test tells them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop import plan, service
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.artifacts import Archive
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.log import INFO, WARNING, Entry
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.service import Loop, World
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.settings import Settings
from tests.support.effort import examples


@dataclass
class Script:
    """How cycles behave, in seconds since they began."""

    up: float = 2.0
    ends: float | None = None
    code: int = 0
    hangs: float | None = None
    deaf: bool = False
    immortal: float = 0.0


class Cycle:
    """A cycle that follows its script on the bench's clock."""

    module_pid = None

    def __init__(self, bench: Bench, number: int, script: Script) -> None:
        self.bench, self.number, self.script = bench, number, script
        self.pid = 1000 + number
        self.began = bench.now
        self.asked: float | None = None
        self.killed_at: float | None = None
        self.outcome: plan.Outcome | None = None
        self.killed = False
        self.said: list[Entry] = []
        self.dumps = 0

    @property
    def age(self) -> float:
        return self.bench.now - self.began

    @property
    def ended_at(self) -> float | None:
        script = self.script
        times = [] if script.ends is None else [self.began + script.ends]
        if self.asked is not None and not script.deaf and script.hangs is None:
            times.append(self.asked + 0.5)
        if self.killed_at is not None:
            times.append(self.killed_at + script.immortal)
        return min(times) if times and min(times) <= self.bench.now else None

    def lines(self) -> list[Entry]:
        said, self.said = self.said, []
        return said

    def exited(self, code: int) -> None:
        raise AssertionError("nobody waits for these")

    def observe(self, now: float) -> plan.Cycle:
        ended = self.ended_at
        hangs = self.script.hangs
        state = "ended" if ended is not None else "starting" if self.age < self.script.up else "serving"
        if state == "serving" and [other for other in self.bench.acting() if other < self.number]:
            state = "standing by"
        silence = max(0.0, self.age - hangs) if hangs is not None else 0.0
        since = None if ended is None else now - ended
        return plan.Cycle(
            self.number, self.age, state, silence, True, since, since,
            None if self.asked is None else now - self.asked, self.killed, self.outcome is not None,
        )  # fmt: skip

    def stop(self, now: float, reason: str) -> None:
        self.asked = now

    def ask_for_dump(self) -> bool:
        self.dumps += 1
        return self.asked is None

    def kill(self, reason: str = "") -> int:
        self.killed = True
        self.killed_at = self.killed_at or self.bench.now
        return 0 if self.is_gone() else 1

    def is_gone(self) -> bool:
        return self.ended_at is not None

    def judge(self, now: float) -> plan.Outcome | None:
        if self.outcome is None and (self.killed or self.ended_at is not None):
            well = not self.killed and self.script.code == 0
            up = self.script.up if self.age >= self.script.up else None
            kind = "killed" if self.killed else "ok" if well else "failed"
            worked = None if up is None else self.age - up
            self.outcome = plan.Outcome(self.number, self.age, worked, well, "told", kind, up)
        return self.outcome


class Figures:
    def __init__(self) -> None:
        self.noted: list[tuple[str, float]] = []

    def incr(self, name: str, count: int = 1) -> None:
        self.noted.append((name, count))

    def gauge(self, name: str, value: float) -> None:
        self.noted.append((name, value))

    def timing(self, name: str, seconds: float) -> None:
        self.noted.append((name, seconds))


class Bench:
    """A loop with a clock; *scripts* for the cycles in their order, the last one for all that follow."""

    def __init__(self, tmp_path, *scripts: Script, **changes: Any) -> None:
        self.now = 1000.0
        self.scripts = list(scripts) or [Script()]
        self.begun: list[Cycle] = []
        self.lines: list[str] = []
        self.words: list[str] = []
        self.figures = Figures()
        self.path = tmp_path / "loop.toml"
        self.settings = replace(Settings("launcher", "p", "launcher", str(tmp_path), duration=100.0), **changes)
        world = World(
            self.begin, dict, lambda importance, line: self.lines.append(line), lambda *words: self.words.extend(words),
            self.figures, lambda: self.now, lambda: 1.0,
        )  # fmt: skip
        self.loop = Loop(self.settings, str(self.path), Archive(tmp_path / "cycles"), world)

    def begin(self, settings: Settings, number: int, now: float) -> Cycle:
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        cycle = Cycle(self, number, script)
        self.begun.append(cycle)
        return cycle

    def acting(self) -> list[int]:
        return [cycle.number for cycle in self.begun if cycle.ended_at is None and cycle.age >= cycle.script.up]

    def run(self, seconds: float) -> None:
        """Let so much time go by; the loop says when it wants to look."""
        limit = self.now + seconds
        while self.now < limit and not self.loop.over:
            pause = self.loop.turn()
            assert 0 < pause <= service.CALM
            self.now += pause

    def gaps(self) -> list[float]:
        """From the end of each cycle to when its successor was ready; negative when that was before."""
        pairs = pairwise(self.begun)
        return [later.began + later.script.up - (one.ended_at or self.now) for one, later in pairs]


def test_what_a_cycle_says_goes_to_the_journal_with_its_priority(tmp_path):
    bench = Bench(tmp_path)
    said: list[tuple[int, str]] = []
    bench.loop.world.say = lambda priority, line: said.append((priority, line))
    bench.loop.turn()
    (cycle,) = bench.begun
    cycle.said = [Entry("node 17: ready", INFO, cycle=1, quoted=True)]
    cycle.said.append(Entry("node 18: fault: no host", WARNING, cycle=1, quoted=True))
    bench.loop.turn()
    bench.loop.turn()
    assert said == [(INFO, "cycle 1: node 17: ready"), (WARNING, "cycle 1: node 18: fault: no host")]


def test_with_the_format_json_every_line_is_an_object_also_those_of_the_loop_itself(tmp_path):
    bench = Bench(tmp_path, log_format="json")
    bench.loop.turn()
    (cycle,) = bench.begun
    cycle.said = [Entry("node 17: ready", INFO, 1795198332.25, 1, True, {"node": "17"})]
    bench.run(150)
    first, *others = [json.loads(line) for line in bench.lines]
    assert first == {
        "time": "2026-11-20T18:12:12.250Z", "level": "info", "loop": "launcher", "cycle": 1,
        "node": "17", "message": "node 17: ready",
    }  # fmt: skip
    assert [line for line in others if line["cycle"] == 1 and line["message"].startswith("cycle 1 ok after 10")]


def test_a_new_log_format_is_in_force_as_soon_as_the_settings_are_read_again(tmp_path):
    bench = Bench(tmp_path)
    table = {
        "name": "launcher",
        "playbook": "p",
        "prefix": "launcher",
        "state_dir": str(tmp_path),
        "log_format": "json",
    }
    bench.path.write_text("[loop]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items()))
    bench.loop.wish_reload()
    bench.loop.turn()
    assert json.loads(bench.lines[-1])["message"] == "settings: read again; the next cycle uses them"


def test_cycles_follow_each_other_without_a_gap(tmp_path):
    bench = Bench(tmp_path)
    bench.run(1000)
    assert len(bench.begun) == 10
    assert max(bench.gaps()) <= 0
    assert len(bench.loop.cycles) == 1
    assert [line for line in bench.lines if "by force" in line or "failed" in line] == []


def test_one_line_and_its_figures_for_each_cycle(tmp_path):
    bench = Bench(tmp_path)
    bench.run(250)
    assert bench.lines[0].startswith("cycle 1 ok after 10") and bench.lines[0].endswith("(at work after 2.0 s): told")
    assert len(bench.lines) == 2
    names = [name for name, _value in bench.figures.noted[:4]]
    assert names == [f"nodepool.loop.launcher.{name}" for name in ("cycles.ok", "duration", "start", "failures")]


def test_a_hung_cycle_is_ended_within_thirty_seconds_and_the_next_goes_on(tmp_path):
    bench = Bench(tmp_path, Script(hangs=20.0), Script())
    bench.run(70)
    first, second = bench.begun
    assert first.killed_at is not None and first.killed_at - (first.began + 20.0) <= 30.0
    assert second.began - first.killed_at <= 0.2
    assert "no heartbeat" in bench.lines[0]


def test_failures_make_pauses_that_grow_and_the_service_stays_ready(tmp_path):
    bench = Bench(tmp_path, Script(up=99, ends=1.0, code=2))
    bench.run(200)
    starts = [cycle.began for cycle in bench.begun]
    pauses = [later - one - 1.0 for one, later in pairwise(starts)]
    assert [round(pause) for pause in pauses[:6]] == [0, 1, 2, 4, 8, 16]
    assert bench.words.count("READY=1") == 1


def test_a_successor_that_does_not_come_up_leaves_the_old_one_at_work(tmp_path):
    bench = Bench(tmp_path, Script(), Script(up=99, ends=1.0, code=2))
    bench.run(400)
    assert bench.begun[0].ended_at is None and bench.begun[0].asked is None
    assert len(bench.begun) > 5


def test_one_that_is_deaf_is_killed_after_its_grace_while_the_successor_waits(tmp_path):
    bench = Bench(tmp_path, Script(deaf=True), Script(), grace=20.0)
    bench.run(150)
    first = bench.begun[0]
    assert first.killed_at is not None and first.asked is not None
    assert 20.0 <= first.killed_at - first.asked <= 21.2
    assert len(bench.begun) == 2


def test_processes_that_take_long_to_die_do_not_keep_the_next_from_serving(tmp_path):
    bench = Bench(tmp_path, Script(hangs=10.0, immortal=60.0), Script())
    bench.run(50)
    assert len(bench.begun) == 2 and bench.loop.cycles[0].number == 1
    bench.run(60)
    assert [cycle.number for cycle in bench.loop.cycles] == [2]


def test_the_end_in_good_order(tmp_path):
    bench = Bench(tmp_path)
    bench.run(20)
    bench.loop.wish_end()
    bench.run(5)
    assert bench.loop.over
    assert bench.begun[0].killed_at is None


def test_the_second_wish_does_not_wait(tmp_path):
    bench = Bench(tmp_path, Script(deaf=True), grace=1000.0)
    bench.run(20)
    bench.loop.wish_end()
    bench.run(20)
    assert not bench.loop.over
    bench.loop.wish_end()
    bench.run(2)
    assert bench.loop.over


def test_reload_begins_a_fresh_cycle_by_the_new_settings_without_a_gap(tmp_path):
    bench = Bench(tmp_path)
    bench.run(20)
    text = f'[loop]\nname="launcher"\nplaybook="q"\nprefix="launcher"\nstate_dir="{tmp_path}"\nduration=50\n'
    bench.path.write_text(text, encoding="utf-8")
    bench.loop.wish_reload()
    bench.run(10)
    assert [cycle.number for cycle in bench.begun] == [1, 2]
    assert (bench.loop.settings.playbook, bench.loop.settings.duration) == ("q", 50)
    assert max(bench.gaps()) <= 0


def test_broken_settings_leave_the_old_ones_in_force(tmp_path):
    bench = Bench(tmp_path)
    bench.run(20)
    bench.path.write_text("[loop", encoding="utf-8")
    bench.loop.wish_reload()
    bench.run(10)
    assert len(bench.begun) == 1
    assert any("stay in use" in line for line in bench.lines)


def test_one_by_one_there_are_never_two(tmp_path):
    bench = Bench(tmp_path, Script(ends=30.0), overlap=False, pause=4.0)
    bench.run(200)
    starts = [cycle.began for cycle in bench.begun]
    gaps = [later - one for one, later in pairwise(starts)]
    assert gaps and min(gaps) >= 34.0 and max(gaps) <= 36.0


def test_systemd_is_told_when_it_is_ready_and_how_things_are(tmp_path):
    bench = Bench(tmp_path)
    bench.run(1)
    starting = ["STATUS=no cycle", "STATUS=cycle 1 starting"]
    assert bench.words == starting
    bench.run(3)
    assert bench.words == [*starting, "STATUS=cycle 1 serving", "READY=1"]


def test_a_cycle_that_cannot_be_begun_is_a_failure(tmp_path):
    bench = Bench(tmp_path)

    def fails(settings, number, now):
        raise FileNotFoundError("ansible-runner")

    bench.loop.world.begin = fails
    bench.run(10)
    assert "could not be started" in bench.lines[0]
    assert 3 <= len(bench.lines) <= 5


def test_what_the_loop_remembers_does_not_grow(tmp_path):
    cycles = examples(200)
    bench = Bench(tmp_path, duration=10.0)
    bench.run(15.0 * cycles)
    assert len(bench.begun) > cycles
    assert len(bench.loop.cycles) <= 2


def test_a_wish_for_a_dump_goes_to_every_cycle_once_and_changes_nothing_else(tmp_path):
    bench = Bench(tmp_path)
    bench.run(10)
    bench.loop.wish_dump()
    bench.run(5)
    (cycle,) = bench.begun
    assert (cycle.dumps, cycle.asked, cycle.killed) == (1, None, False)
    assert bench.lines == ["loop launcher: asked for a dump; cycle 1 serving"]


def test_a_wish_for_a_dump_says_which_cycle_is_not_asked_any_more(tmp_path):
    bench = Bench(tmp_path, Script(deaf=True))
    bench.run(10)
    bench.loop.wish_end()
    bench.loop.turn()
    bench.loop.wish_dump()
    bench.loop.turn()
    assert bench.lines[-1] == "cycle 1 is ending and cannot be asked"
