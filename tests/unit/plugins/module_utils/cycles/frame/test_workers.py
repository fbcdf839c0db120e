# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The threads of a provider: real ones, on a clock that only the test moves."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.inbox import Inbox
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.workers import WorkerSet
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudError,
    CloudQuotaRefused,
    CloudUnavailable,
)

PATIENCE = 10.0


class Bench:
    """A worker set, its clock and the answers that came."""

    def __init__(self, **options: Any) -> None:
        self.now = 1000.0
        self.inbox = Inbox(lambda: self.now)
        self.workers = WorkerSet("east", self.inbox, **options)
        self.answers: list[tuple[str, Any, CloudError | None]] = []
        self.gates: list[threading.Event] = []

    def submit(self, name: str, work: Callable[[], Any], **more: Any) -> None:
        self.workers.submit(name, work, lambda result, error: self.answers.append((name, result, error)), **more)

    def hang(self, name: str, **more: Any) -> threading.Event:
        """A job that hangs until the event that is returned is set; it has begun when this returns."""
        gate, begun = threading.Event(), threading.Event()
        self.gates.append(gate)

        def work() -> str:
            begun.set()
            gate.wait(PATIENCE)
            return "late"

        self.submit(name, work, **more)
        assert begun.wait(PATIENCE), f"{name} never began"
        return gate

    def overrun(self) -> None:
        """Let all that is running overrun its time."""
        self.now += self.workers.seconds + 1
        self.workers.check(self.now)

    def take(self, count: int) -> None:
        """Wait until so many answers are there."""
        while len(self.answers) < count:
            assert self.inbox.take(PATIENCE), f"{len(self.answers)} of {count} answers came"

    def close(self) -> None:
        for gate in self.gates:
            gate.set()
        self.workers.close()


@pytest.fixture
def make_bench():
    made: list[Bench] = []

    def make(**options: Any) -> Bench:
        made.append(Bench(**options))
        return made[-1]

    yield make
    for bench in made:
        bench.close()


def test_work_is_answered_by_the_cycles_thread(make_bench):
    bench = make_bench()
    where: list[int] = []
    bench.workers.submit(
        "GET", threading.get_ident, lambda result, error: where.extend((result, threading.get_ident()))
    )
    assert bench.inbox.take(PATIENCE) == 1
    assert where[0] != threading.get_ident() == where[1]


def test_an_error_of_the_cloud_is_the_answer(make_bench):
    bench = make_bench()
    refusal = CloudQuotaRefused("no", resources=("cores",))

    def refuse() -> None:
        raise refusal

    bench.submit("POST", refuse)
    bench.take(1)
    assert bench.answers == [("POST", None, refusal)]


@pytest.mark.parametrize("changes", [True, False])
def test_a_defect_in_the_work_is_answered_too(make_bench, changes):
    bench = make_bench()
    bench.submit("POST", lambda: 1 / 0, changes=changes)
    bench.take(1)
    (_unused, result, error) = bench.answers[0]
    assert result is None and isinstance(error, CloudError)
    assert error.unclear is changes
    assert "east: POST: ZeroDivisionError" in str(error)
    bench.submit("GET", lambda: "fine")
    bench.take(2)
    assert bench.answers[1] == ("GET", "fine", None)


def test_no_more_jobs_than_threads_run_side_by_side(make_bench):
    bench = make_bench(size=3)
    gates = [bench.hang(f"job{number}") for number in range(3)]
    fourth = threading.Event()
    bench.submit("fourth", fourth.set)
    assert threading.active_count() > 3 and not fourth.is_set()
    gates[0].set()
    bench.take(2)
    assert fourth.is_set()
    assert [name for name, _unused, _unused in bench.answers] == ["job0", "fourth"]


def test_idle_threads_are_used_again(make_bench):
    bench = make_bench(size=16)
    for number in range(20):
        bench.submit("GET", lambda: None)
        bench.take(number + 1)
    assert bench.workers._threads == 1


@pytest.mark.parametrize("changes", [True, False])
def test_a_job_that_overruns_is_answered_once(make_bench, changes):
    bench = make_bench(seconds=60.0)
    gate = bench.hang("POST", changes=changes)
    bench.now += 60.0
    bench.workers.check(bench.now)
    assert bench.answers == []
    bench.overrun()
    bench.overrun()
    ((_unused, result, error),) = bench.answers
    assert result is None and isinstance(error, CloudUnavailable)
    assert error.unclear is changes
    assert str(error) == "provider east: POST did not end within 60 s"
    gate.set()
    bench.submit("GET", lambda: "on time")
    bench.take(2)
    assert [result for _unused, result, _unused in bench.answers] == [None, "on time"], "the late answer is dropped"


def test_a_thread_that_hangs_is_replaced(make_bench):
    bench = make_bench(size=1)
    bench.hang("POST")
    bench.overrun()
    bench.submit("GET", lambda: "done")
    bench.take(2)
    assert bench.answers[1] == ("GET", "done", None)


def test_what_waits_behind_threads_that_hang_goes_on(make_bench):
    bench = make_bench(size=2)
    bench.hang("one")
    bench.hang("two")
    for name in ("three", "four", "five"):
        bench.submit(name, lambda: "done")
    bench.overrun()
    bench.take(5)
    assert sorted(name for name, result, _unused in bench.answers if result == "done") == ["five", "four", "three"]


def test_replacements_are_bounded(make_bench):
    bench = make_bench(size=2, spare=3)
    for number in range(3):
        assert not bench.workers.exhausted
        bench.hang(f"hangs{number}")
        bench.overrun()
    assert bench.workers.exhausted
    before = threading.active_count()
    bench.hang("hangs3")
    bench.hang("hangs4")
    bench.overrun()
    for number in range(5):
        bench.submit(f"later{number}", lambda: "done")
    assert threading.active_count() <= before + 2


def test_when_nothing_is_left_to_work_with_nothing_waits_for_ever(make_bench):
    bench = make_bench(size=1, spare=1)
    bench.hang("one")
    bench.overrun()
    bench.hang("two")
    bench.overrun()
    bench.submit("three", lambda: "done", changes=True)
    bench.workers.check(bench.now)
    name, result, error = bench.answers[-1]
    assert name == "three" and result is None
    assert isinstance(error, CloudUnavailable) and not error.unclear, "it was never begun"


def test_closing_ends_the_threads(make_bench):
    bench = make_bench(size=4)
    before = set(threading.enumerate())
    for number in range(8):
        bench.submit(f"job{number}", lambda: None)
    bench.take(8)
    mine = set(threading.enumerate()) - before
    bench.workers.close()
    for thread in mine:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in mine)


def test_what_a_job_waits_for_its_turn_does_not_count(make_bench):
    waited = [0.0]
    bench = make_bench(seconds=10.0, waited=lambda ident: waited[0])
    bench.hang("slow")
    waited[0] = 100.0
    bench.now += 109.0
    bench.workers.check(bench.now)
    assert bench.answers == []
    bench.now += 2.0
    bench.workers.check(bench.now)
    assert [name for name, _unused, error in bench.answers if error is not None] == ["slow"]


def test_a_job_may_have_a_bound_of_its_own(make_bench):
    bench = make_bench(seconds=10.0)
    bench.hang("create", seconds=50.0)
    bench.now += 49.0
    bench.workers.check(bench.now)
    assert bench.answers == []
    bench.now += 2.0
    bench.workers.check(bench.now)
    assert "did not end within 50 s" in str(bench.answers[0][2])


def test_it_tells_what_runs_for_how_long_and_what_waits(make_bench):
    bench = make_bench(size=1)
    bench.hang("GET /servers/detail")
    bench.submit("GET /limits", lambda: None)
    bench.now += 2.5
    text = bench.workers.text(bench.now)
    assert text.startswith("jobs: 1 run and 1 wait, 1 thread of at most 1, 0 abandoned")
    assert text.endswith("longest: GET /servers/detail for 2.5 s")


def test_a_thread_that_waits_keeps_nothing_of_its_last_job(make_bench):
    class Listing:
        """An answer that tells when it is gone."""

    bench, gone = make_bench(size=1), threading.Event()

    def work() -> Listing:
        made = Listing()
        weakref.finalize(made, gone.set)
        return made

    bench.workers.submit("GET /servers/detail", work, lambda result, error: bench.answers.append(("", None, error)))
    bench.take(1)
    assert gone.wait(PATIENCE)
