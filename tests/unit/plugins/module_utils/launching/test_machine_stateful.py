# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launch machine under any sequence of events, with the cycle replaced at any step."""

from __future__ import annotations

import json
from dataclasses import dataclass

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ansible_collections.stackci.nodepool.plugins.module_utils.launching import machine
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.machine import Failure, LaunchRules, Step
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Server
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import Launch, Phase, make_mark
from tests.support.effort import examples

RULES = LaunchRules(launch_timeout=100.0, retries=3)
EDGES = {
    Phase.QUEUED: {Phase.CREATING},
    Phase.CREATING: {Phase.BOOTING, Phase.UNCLEAR, Phase.QUEUED, Phase.FAILED},
    Phase.UNCLEAR: {Phase.BOOTING, Phase.ADDRESSING, Phase.REACHING, Phase.QUEUED, Phase.CLEARING, Phase.FAILED},
    Phase.BOOTING: {Phase.ADDRESSING, Phase.REACHING, Phase.CLEARING, Phase.FAILED},
    Phase.ADDRESSING: {Phase.REACHING, Phase.BOOTING, Phase.CLEARING, Phase.FAILED},
    Phase.REACHING: {Phase.READY, Phase.BOOTING, Phase.CLEARING, Phase.FAILED},
    Phase.CLEARING: {Phase.QUEUED},
    Phase.READY: set(),
    Phase.FAILED: set(),
}


@dataclass
class Made:
    """A server in the model's cloud."""

    id: str
    mark: str
    status: str = "BUILD"
    fault: str = ""


def is_in(*phases):
    return precondition(lambda life: life.launch.phase in phases)


class LaunchLife(RuleBasedStateMachine):
    """One launch, its servers, and creates whose effect may come late."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.launch = Launch("7", "east", "main", "small", since=self.now)
        self.stored = self.launch.document()
        self.servers: dict[str, Made] = {}
        self.late: list[str] = []
        self.count = 0
        self.clear_refusals = 0

    def save(self) -> None:
        self.stored = json.loads(json.dumps(self.launch.document()))

    def moved(self, before: str) -> None:
        if self.launch.phase != before:
            assert self.launch.phase in EDGES[before], (before, self.launch.phase)
        self.save()

    def fail(self, failure: Failure) -> None:
        before = self.launch.phase
        machine.failed(self.launch, failure, "text", self.now, RULES, lambda: 0.5)
        self.moved(before)

    def make(self, mark: str) -> str:
        self.count += 1
        self.servers[mark] = Made(f"s{self.count}", mark)
        return self.servers[mark].id

    @rule(seconds=st.sampled_from([0.5, 5.0, 11.0, 60.0, 400.0]))
    def time_passes(self, seconds):
        self.now += seconds

    @precondition(lambda self: self.launch.phase == Phase.QUEUED and self.launch.not_before <= self.now)
    @rule()
    def begin(self):
        assert machine.next_step(self.launch, self.now) is Step.CREATE
        assert self.launch.mark == ""
        self.count += 1
        machine.begin_attempt(self.launch, make_mark("7", self.launch.attempt, f"n{self.count}"), self.now)
        self.save()

    @is_in(Phase.CREATING)
    @rule()
    def accepted(self):
        before = self.launch.phase
        machine.created(self.launch, self.make(self.launch.mark), self.now)
        self.moved(before)

    @is_in(Phase.CREATING)
    @rule(failure=st.sampled_from([Failure.QUOTA, Failure.API, Failure.REFUSED]))
    def refused(self, failure):
        self.fail(failure)

    @is_in(Phase.CREATING)
    @rule(made=st.sampled_from(["now", "late", "never"]))
    def unanswered(self, made):
        if made == "now":
            self.make(self.launch.mark)
        elif made == "late":
            self.late.append(self.launch.mark)
        machine.create_unclear(self.launch, self.now)
        self.save()

    @precondition(lambda self: self.late)
    @rule()
    def a_late_create_takes_effect(self):
        self.make(self.late.pop())

    @rule(made=st.sampled_from(["now", "late", "never"]))
    def the_cycle_is_replaced(self, made):
        if self.launch.phase == Phase.CREATING and made != "never":
            if made == "now":
                self.make(self.launch.mark)
            else:
                self.late.append(self.launch.mark)
        before = self.stored["phase"]
        self.launch = Launch.from_document(self.stored)
        machine.adopt(self.launch, self.now)
        if self.launch.phase != before:
            assert self.launch.phase in EDGES[before]
        assert self.launch.phase != Phase.CREATING, "nobody will ever answer that create"
        self.save()

    @rule(outcome=st.sampled_from(["ACTIVE", "ERROR", "quota", "vanish"]))
    def a_server_gets_on(self, outcome):
        for made in list(self.servers.values()):
            if made.status != "BUILD":
                continue
            if outcome == "vanish":
                del self.servers[made.mark]
            else:
                made.status = "ACTIVE" if outcome == "ACTIVE" else "ERROR"
                made.fault = "Quota exceeded for cores" if outcome == "quota" else "it broke"

    @is_in(Phase.UNCLEAR, Phase.BOOTING)
    @rule(needs_address=st.booleans())
    def listed(self, needs_address):
        launch, before = self.launch, self.launch.phase
        made = self.servers.get(launch.mark)
        if launch.server_id is not None and made is not None and made.id != launch.server_id:
            made = None
        shown = Server(made.id, "np7", made.status, fault=made.fault) if made else None
        overdue = self.now - launch.started > RULES.launch_timeout
        failure = machine.seen(launch, shown, self.now, self.now, RULES, needs_address)
        if failure is not None:
            machine.failed(launch, failure, "text", self.now, RULES, lambda: 0.5)
        self.moved(before)
        if before == Phase.BOOTING and overdue:
            assert launch.phase != Phase.BOOTING or shown is None, "launch-timeout is kept"

    @is_in(Phase.ADDRESSING)
    @rule(failure=st.sampled_from([None, Failure.QUOTA, Failure.API, Failure.REFUSED]))
    def address(self, failure):
        if failure is not None:
            self.fail(failure)
            return
        before = self.launch.phase
        machine.addressed(self.launch, "fip", "203.0.113.1", self.now)
        self.moved(before)

    @is_in(Phase.REACHING)
    @rule(reached=st.booleans())
    def scanned(self, reached):
        before = self.launch.phase
        if reached:
            machine.reached(self.launch, self.now)
            self.moved(before)
        else:
            self.fail(Failure.UNREACHABLE)

    @is_in(Phase.CLEARING)
    @rule()
    def cleared(self):
        self.servers = {mark: made for mark, made in self.servers.items() if made.id != self.launch.server_id}
        before = self.launch.phase
        machine.cleared(self.launch, self.now)
        self.moved(before)

    @invariant()
    def every_server_is_accounted_for(self):
        for made in self.servers.values():
            known = made.mark == self.launch.mark or made.id == self.launch.server_id
            assert known or made.mark in self.launch.superseded, "a server that nobody would ever delete"

    @invariant()
    def at_most_one_server_may_live(self):
        live = [made for made in self.servers.values() if made.mark not in self.launch.superseded]
        assert len(live) <= 1
        assert self.launch.mark not in self.launch.superseded

    @invariant()
    def attempts_are_bounded(self):
        assert self.launch.attempt <= RULES.retries + 1
        assert len(self.launch.failures) <= RULES.retries
        if self.launch.attempt > RULES.retries:
            assert self.launch.phase == Phase.FAILED

    @invariant()
    def a_ready_node_has_its_server(self):
        if self.launch.phase == Phase.READY:
            assert self.launch.server_id is not None and self.launch.mark

    @invariant()
    def it_always_has_something_to_do(self):
        step = machine.next_step(self.launch, self.now)
        if step is Step.WAIT:
            assert self.launch.phase == Phase.CREATING or self.launch.not_before > self.now
            assert self.launch.not_before - self.now < 500


LaunchLife.TestCase.settings = settings(
    max_examples=examples(60), stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestLaunchLife = LaunchLife.TestCase
