# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readings of a cloud: how old they may be, and when a failed one is tried again."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.facts import LONGEST_PAUSE, Fact
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudError, CloudUnavailable
from tests.support.virtual_time import Agenda, VirtualInbox, VirtualWorkers


class Bench:
    """A fact on virtual time; a reading takes two seconds and returns its number."""

    def __init__(self, max_age: float = 60.0) -> None:
        self.agenda = Agenda(1000.0)
        self.inbox = VirtualInbox(self.agenda)
        self.changes: list[CloudError | None] = []
        self.readings = 0
        self.error: CloudError | None = None
        workers: Any = VirtualWorkers("east", self.inbox)
        self.fact = Fact("GET /x", self.read, workers, self.inbox, max_age, self.changes.append)

    def read(self) -> int:
        self.readings += 1
        self.agenda.sleep(2.0)
        if self.error is not None:
            raise self.error
        return self.readings

    def want(self, max_age: float | None = None) -> Any:
        return self.fact.want(self.agenda.now, max_age)

    def wait(self, seconds: float = 10.0) -> None:
        self.inbox.take(seconds)


def test_a_fact_that_nobody_tries_again_is_not_had_after_one_failure():
    bench = Bench()
    bench.fact.conclude()
    assert bench.fact.trouble is None
    bench.error = CloudUnavailable("503", status=503)
    bench.want()
    bench.wait()
    assert bench.fact.trouble is None
    bench.fact.conclude()
    assert bench.fact.trouble is bench.error


def test_the_first_want_asks_and_the_answer_is_kept_for_its_age():
    bench = Bench()
    assert bench.want() is None and bench.fact.busy
    assert bench.want() is None
    bench.wait()
    assert (bench.readings, bench.changes, bench.fact.busy) == (1, [None], False)
    assert (bench.fact.asked_at, bench.fact.answered_at) == pytest.approx((1000.0, 1002.0))
    bench.agenda.now = 1059.9
    assert bench.want() == 1 and not bench.fact.busy
    bench.agenda.now = 1060.1
    assert bench.want() == 1 and bench.fact.busy, "the old value serves until the new one is there"
    bench.wait()
    assert bench.want() == 2


def test_age_counts_from_the_beginning_of_the_call():
    bench = Bench()
    assert bench.fact.age(1000.0) == float("inf")
    bench.want()
    bench.wait()
    assert bench.fact.age(1002.0) == pytest.approx(2.0)


def test_who_wants_it_may_be_more_or_less_strict():
    bench = Bench()
    bench.want()
    bench.wait()
    bench.agenda.now = 1500.0
    assert bench.want(float("inf")) == 1 and not bench.fact.busy
    bench.agenda.now = 1003.1
    bench.want(3.0)
    assert bench.fact.busy


def test_what_is_forgotten_is_asked_again():
    bench = Bench()
    bench.want()
    bench.wait()
    bench.fact.forget()
    assert bench.want() == 1 and bench.fact.busy


def test_failures_are_retried_after_growing_pauses():
    bench = Bench()
    bench.error = CloudUnavailable("503")
    pauses = []
    for _unused in range(10):
        bench.want()
        bench.wait()
        pauses.append(bench.fact.retry_at - bench.agenda.now)
        bench.agenda.now = bench.fact.retry_at - 0.01
        bench.want()
        assert not bench.fact.busy
        bench.agenda.now = bench.fact.retry_at
    assert pauses == sorted(pauses) and pauses[0] == 1.0 and pauses[-1] == LONGEST_PAUSE
    assert bench.changes == [bench.error] * 10 and bench.fact.error is bench.error
    bench.error = None
    bench.want()
    bench.wait()
    assert (bench.fact.failures, bench.fact.error, bench.fact.value) == (0, None, 11)


@pytest.mark.parametrize(("asked", "pause"), [(30.0, 30.0), (0.1, 1.0), (None, 1.0), (3600.0, 60.0)])
def test_the_cloud_may_ask_for_a_longer_pause(asked, pause):
    bench = Bench()
    bench.error = CloudUnavailable("429", retry_after=asked)
    bench.want()
    bench.wait()
    assert bench.fact.retry_at - bench.agenda.now == pause


def test_a_failure_leaves_the_old_value():
    bench = Bench()
    bench.want()
    bench.wait()
    bench.error = CloudUnavailable("503")
    bench.agenda.now = 2000.0
    bench.want()
    bench.wait()
    assert bench.want() == 1 and bench.fact.asked_at == pytest.approx(1000.0)
