# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress lines: every one, unless they are too many; none twice in a row."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.progress import Progress
from ansible_collections.stackci.nodepool.plugins.plugin_utils.progress_action import (
    BURST,
    REFILL,
    Tail,
    Ticker,
    start_deaf,
)


def test_tail_gives_each_whole_line_once(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    tail = Tail(str(path))
    assert tail.lines() == []
    progress = Progress(str(path))
    progress.line("one")
    progress.line("two")
    assert tail.lines() == ["one", "two"]
    assert tail.lines() == []
    whole = json.dumps({"line": "three"}).encode() + b"\n"
    with path.open("ab") as file:
        file.write(whole[:5])
    assert tail.lines() == []
    with path.open("ab") as file:
        file.write(whole[5:])
    assert tail.lines() == ["three"]


def test_tail_skips_what_is_no_line_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text('{"line": "good"}\nnonsense\n[]\n{}\n{"line": "better"}\n')
    assert Tail(str(path)).lines() == ["good", "better"]


class Scene:
    def __init__(self) -> None:
        self.now = 0.0
        self.lines: list[str] = []
        self.shown: list[str] = []
        self.ticker = Ticker(self._take, self.shown.append, clock=lambda: self.now)

    def _take(self) -> list[str]:
        lines, self.lines = self.lines, []
        return lines

    def at(self, now: float, *lines: str, last: bool = False) -> list[str]:
        """What is shown at *now*, when these lines have come."""
        self.now = now
        self.lines += lines
        before = len(self.shown)
        self.ticker.tick(last=last)
        return self.shown[before:]


def test_lines_are_shown_as_they_come() -> None:
    scene = Scene()
    assert scene.at(0.2, "a", "b", "c") == ["a", "b", "c"]
    assert scene.at(0.4) == []
    assert scene.at(0.6, "d") == ["d"]
    assert scene.at(0.8, last=True) == []


def test_a_flood_is_cut_and_counted_once() -> None:
    scene = Scene()
    flood = [f"line {number}" for number in range(58)]
    assert scene.at(0.0, *flood) == flood[:BURST]
    # The newest of them stands for what is the case; the others are a number.
    assert scene.at(0.6) == ["… 37 more lines", "line 57"]
    assert scene.at(0.8) == []
    assert scene.at(1.2, "after") == ["after"]


def test_the_number_stands_before_the_next_line() -> None:
    scene = Scene()
    scene.at(0.0, *map(str, range(BURST + 1)))
    assert scene.at(1.0, "next") == ["… 1 more line", "next"]


def test_the_end_shows_the_newest_line_whatever_was_shown_before() -> None:
    scene = Scene()
    scene.at(0.0, *map(str, range(BURST)))
    assert scene.at(0.1, "x", "y", "done", last=True) == ["… 2 more lines", "done"]


def test_a_line_is_not_repeated() -> None:
    scene = Scene()
    assert scene.at(0.0, "same", "same") == ["same"]
    assert scene.at(2.0, "same") == []
    assert scene.at(4.0, "other", "same") == ["other", "same"]


@given(st.lists(st.tuples(st.floats(0.0, 5.0), st.integers(0, 60)), max_size=30))
def test_every_line_is_shown_or_counted_and_never_more_than_the_bucket_holds(steps: list[tuple[float, int]]) -> None:
    scene = Scene()
    sent = 0
    for pause, count in steps:
        scene.at(scene.now + pause, *(f"{number}" for number in range(sent, sent + count)))
        sent += count
    lines = [line for line in scene.shown if not line.startswith("…")]
    assert len(lines) <= BURST + REFILL * scene.now + 1e-6
    scene.at(scene.now, last=True)
    lines = [line for line in scene.shown if not line.startswith("…")]
    counted = sum(int(line.split()[1]) for line in scene.shown if line.startswith("…"))
    assert len(lines) + counted == sent
    assert lines == sorted(lines, key=int)
    assert not sent or lines[-1] == str(sent - 1)


def test_no_signal_is_given_to_a_thread_that_could_not_act_on_it() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    seen: set[int] = set()
    thread = threading.Thread(target=lambda: seen.update(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
    start_deaf(thread)
    thread.join(10)
    assert seen >= {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before
