# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a running cycle writes about itself."""

from __future__ import annotations

import threading

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.stop import Stop
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.dump import APART, Dump, consistent, threads


def test_every_thread_has_a_line_with_its_calls_the_innermost_first():
    begun, over = threading.Event(), threading.Event()

    def waits_for_the_end() -> None:
        begun.set()
        over.wait(30)

    thread = threading.Thread(target=waits_for_the_end, name="api-east-1", daemon=True)
    thread.start()
    begun.wait(30)
    try:
        first, *lines = threads()
    finally:
        over.set()
        thread.join(30)
    assert first.endswith(f": {len(lines)} threads")
    (line,) = [line for line in lines if line.startswith("thread api-east-1: ")]
    assert "wait (threading.py:" in line.split(" < waits_for_the_end (test_dump.py:")[0]
    assert any(line.startswith("thread MainThread: threads (dump.py:") for line in lines)
    assert not any("\n" in line for line in lines)


def test_the_queues_follow_and_a_second_wish_at_once_is_the_same_one():
    said: list[str] = []
    now = 100.0
    stop = Stop()
    stop.describe = lambda: ["inbox: 3 calls waiting"]
    dump = Dump(stop, said.append, lambda: now)
    dump.write()
    assert said[-1] == "inbox: 3 calls waiting"
    once = len(said)
    now += APART / 2
    dump.write()
    assert len(said) == once
    now += APART
    dump.write()
    assert said.count("inbox: 3 calls waiting") == 2


def test_what_changes_while_it_is_read_is_read_again():
    problems = [RuntimeError("dictionary changed size during iteration"), KeyError("gone")]

    def describe() -> list[str]:
        if problems:
            raise problems.pop()
        return ["fine"]

    assert consistent(describe) == ["fine"]


def test_queues_that_never_stand_still_do_not_stop_the_dump():
    def describe() -> list[str]:
        raise RuntimeError("dictionary changed size during iteration")

    assert consistent(describe) == ["the queues change too quickly to be read"]
