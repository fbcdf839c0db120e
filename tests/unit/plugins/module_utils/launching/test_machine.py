# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launch machine, event by event."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching import machine
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.classifier import Verdict
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.known_answers import ADDRESSES, HOSTS
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.machine import (
    SETTLE_SECONDS,
    Failure,
    LaunchRules,
    Step,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model import owner
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Server
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import IN_FLIGHT, Launch, Phase, time_left

RULES = LaunchRules(launch_timeout=600.0, retries=3)
NOW = 1000.0
PHASES = [value for name, value in vars(Phase).items() if name.isupper()]


def launch(phase: str, **more) -> Launch:
    values = {"since": NOW - 5, "started": NOW - 5, "mark": "7-1-abc", **more}
    return Launch("0000000007", "east", "main", "small", phase=phase, **values)


def server(status: str = "ACTIVE", **more) -> Server:
    return Server("s1", "np7", status, **more)


def seen(launch: Launch, server: Server | None, listed_from: float = NOW, needs_address: bool = False):
    return machine.seen(launch, server, listed_from, NOW, RULES, needs_address)


def failed(launch: Launch, failure: Failure, text: str = "it broke", now: float = NOW) -> None:
    machine.failed(launch, failure, text, now, RULES, lambda: 0.5)


@pytest.mark.parametrize(
    ("phase", "step"),
    [
        (Phase.QUEUED, Step.CREATE),
        (Phase.CREATING, Step.WAIT),
        (Phase.UNCLEAR, Step.WATCH),
        (Phase.BOOTING, Step.WATCH),
        (Phase.ADDRESSING, Step.ADDRESS),
        (Phase.REACHING, Step.SCAN),
        (Phase.READY, Step.FINISH),
        (Phase.CLEARING, Step.CLEAR),
        (Phase.FAILED, Step.GIVE_UP),
    ],
)
def test_each_phase_has_its_step(phase, step):
    assert machine.next_step(launch(phase), NOW) is step


def test_every_phase_has_a_step():
    assert {machine.next_step(launch(phase), NOW) for phase in PHASES}
    assert set(PHASES) - IN_FLIGHT == {Phase.READY, Phase.FAILED}


def test_a_launch_that_is_put_off_waits_until_then():
    put_off = launch(Phase.QUEUED, not_before=NOW + 3)
    assert machine.next_step(put_off, NOW) is Step.WAIT
    assert machine.next_step(put_off, NOW + 3) is Step.CREATE


def test_an_attempt_begins_without_anything_of_the_last_one():
    again = launch(Phase.QUEUED, started=0.0, mark="", server_id="old", created_at=1.0, active_at=2.0)
    machine.begin_attempt(again, "7-2-def", NOW)
    assert (again.phase, again.mark, again.since, again.started) == (Phase.CREATING, "7-2-def", NOW, NOW)
    assert (again.server_id, again.created_at, again.active_at) == (None, None, None)


def test_an_accepted_create_boots():
    made = launch(Phase.CREATING)
    machine.created(made, "s1", NOW)
    assert (made.phase, made.server_id, made.created_at, made.since) == (Phase.BOOTING, "s1", NOW, NOW)


@pytest.mark.parametrize("phase", PHASES)
def test_adoption_looks_again_at_what_was_under_way_and_leaves_everything_else(phase):
    adopted = launch(phase, server_id="s1")
    machine.adopt(adopted, NOW)
    again = dict.fromkeys((Phase.ADDRESSING, Phase.REACHING, Phase.PROBING), Phase.BOOTING)
    again[Phase.CREATING] = Phase.UNCLEAR
    expected = again.get(phase, phase)
    assert adopted.phase == expected
    assert adopted.mark == "7-1-abc" and adopted.server_id == "s1"


@pytest.mark.parametrize("settle", [0.0, 25.0])
def test_the_create_of_a_cycle_that_died_is_looked_for_from_when_it_was_sent(settle):
    adopted = launch(Phase.CREATING, asked_at=NOW - 8.0)
    machine.adopt(adopted, NOW, settle)
    until = NOW - 8.0 + max(machine.SETTLE_SECONDS, settle)
    assert seen(adopted, None, until - 0.1) is None
    assert seen(adopted, None, until) == Failure.API


def test_an_unclear_create_finds_its_server():
    unclear = launch(Phase.UNCLEAR)
    assert seen(unclear, server("BUILD")) is None
    assert (unclear.phase, unclear.server_id, unclear.created_at) == (Phase.BOOTING, "s1", NOW - 5)


def test_an_unclear_create_whose_server_is_up_already_goes_straight_on():
    unclear = launch(Phase.UNCLEAR)
    assert seen(unclear, server("ACTIVE")) is None
    assert unclear.phase == Phase.REACHING and unclear.server_id == "s1"


@pytest.mark.parametrize(
    ("listed_after", "failure"), [(0.0, None), (SETTLE_SECONDS - 0.1, None), (SETTLE_SECONDS, Failure.API)]
)
def test_an_unclear_create_is_given_up_only_by_a_listing_that_was_asked_for_late_enough(listed_after, failure):
    unclear = launch(Phase.UNCLEAR, since=NOW)
    assert seen(unclear, None, listed_from=NOW + listed_after) is failure
    if failure is None:
        assert unclear.mark == "7-1-abc" and unclear.superseded == []
    else:
        assert unclear.mark == "" and unclear.superseded == ["7-1-abc"]


@pytest.mark.parametrize(
    ("shown", "failure", "phase"),
    [
        (server("BUILD"), None, Phase.BOOTING),
        (server("REBUILD"), None, Phase.BOOTING),
        (server("ACTIVE"), None, Phase.REACHING),
        (server("VERIFY_RESIZE"), None, Phase.BOOTING),
        *((server(status), Failure.FAULT, Phase.BOOTING) for status in sorted(machine.STOPPED)),
        (server("DELETED"), Failure.FAULT, Phase.BOOTING),
        (server("SOFT_DELETED"), Failure.FAULT, Phase.BOOTING),
        (server("ERROR", fault="No valid host was found. "), Failure.CAPACITY, Phase.BOOTING),
        (server("ERROR", fault="Quota exceeded for instances: Requested 1"), Failure.QUOTA, Phase.BOOTING),
        (server("ERROR", fault="Maximum number of ports exceeded"), Failure.QUOTA, Phase.BOOTING),
        (server("ERROR", fault="Build of instance aborted"), Failure.FAULT, Phase.BOOTING),
        (server("ERROR"), Failure.FAULT, Phase.BOOTING),
    ],
)
def test_what_a_booting_server_shows(shown, failure, phase):
    booting = launch(Phase.BOOTING, server_id="s1", created_at=NOW - 5)
    assert seen(booting, shown) is failure
    assert booting.phase == phase


def test_an_active_server_that_needs_an_address_gets_one():
    booting = launch(Phase.BOOTING, server_id="s1", created_at=NOW - 5)
    seen(booting, server(), needs_address=True)
    assert (booting.phase, booting.active_at) == (Phase.ADDRESSING, NOW)
    machine.addressed(booting, "fip", "203.0.113.9", NOW + 1)
    assert (booting.phase, booting.floating_ip_id, booting.floating_address) == (Phase.REACHING, "fip", "203.0.113.9")
    machine.reached(booting, NOW + 2)
    assert (booting.phase, booting.since) == (Phase.READY, NOW + 2)


@pytest.mark.parametrize(
    ("known", "shown", "doubt"), [("fip-1", False, True), ("fip-1", True, False), (None, False, False)]
)
def test_an_address_that_is_known_and_not_shown_is_looked_for_before_another_is_made(known, shown, doubt):
    adopted = launch(Phase.REACHING, server_id="s", floating_ip_id=known)
    machine.adopt(adopted, NOW)
    seen(adopted, server(), needs_address=not shown)
    assert adopted.floating_doubt is doubt


@pytest.mark.parametrize(("age", "failure"), [(599.0, None), (601.0, Failure.TIMEOUT)])
def test_a_server_stuck_in_build_runs_into_launch_timeout(age, failure):
    booting = launch(Phase.BOOTING, server_id="s1", started=NOW - age, created_at=NOW - age)
    assert seen(booting, server("BUILD")) is failure


@pytest.mark.parametrize(("ago", "failure"), [(1.0, None), (SETTLE_SECONDS, Failure.FAULT)])
def test_a_booting_server_may_be_missing_from_the_list_for_a_moment_only(ago, failure):
    booting = launch(Phase.BOOTING, server_id="s1", created_at=NOW - ago)
    assert seen(booting, None) is failure


@pytest.mark.parametrize("phase", [phase for phase in PHASES if phase not in (Phase.UNCLEAR, Phase.BOOTING)])
@pytest.mark.parametrize("shown", [None, server(), server("ERROR", fault="quota")])
def test_a_listing_means_nothing_in_any_other_phase(phase, shown):
    other = launch(phase, server_id="s1")
    before = other.document()
    assert seen(other, shown, listed_from=NOW + 100) is None
    assert other.document() == before


@pytest.mark.parametrize("failure", [item for item in Failure if item not in machine.DOES_NOT_COUNT])
def test_a_failure_of_its_own_counts_as_an_attempt(failure):
    broken = launch(Phase.BOOTING, server_id="s1")
    failed(broken, failure)
    assert (broken.phase, broken.attempt) == (Phase.CLEARING, 2)
    assert broken.failures == [f"attempt 1: {failure.value}: it broke [owner: image]"]
    machine.cleared(broken, NOW + 1)
    assert (broken.phase, broken.server_id, broken.mark, broken.started) == (Phase.QUEUED, None, "", 0.0)
    assert (broken.not_before > NOW) == (failure in machine.SPACED)


@pytest.mark.parametrize("failure", [item for item in Failure if item in machine.DOES_NOT_COUNT])
def test_what_is_not_its_fault_does_not_count(failure):
    broken = launch(Phase.CREATING)
    for _unused in range(20):
        failed(broken, failure)
        assert broken.phase == Phase.QUEUED
        broken.phase = Phase.CREATING
        broken.started = NOW
    assert (broken.attempt, broken.failures) == (1, [])


def test_an_api_in_trouble_is_asked_again_after_growing_pauses():
    pauses = []
    broken = launch(Phase.CREATING)
    for _unused in range(12):
        failed(broken, Failure.API)
        pauses.append(broken.not_before - NOW)
        broken.phase = Phase.CREATING
        broken.started = NOW
    assert pauses == sorted(pauses)
    assert pauses[0] >= 1.0 and pauses[-1] <= 400.0


def test_the_last_attempt_is_the_last():
    broken = launch(Phase.BOOTING, server_id="s1")
    for number in range(1, RULES.retries + 1):
        broken.phase, broken.server_id = Phase.BOOTING, "s1"
        failed(broken, Failure.FAULT, f"no {number}")
        assert (broken.phase == Phase.FAILED) == (number == RULES.retries)
    assert [text.split(": ")[2] for text in broken.failures] == ["no 1 [owner", "no 2 [owner", "no 3 [owner"]


@pytest.mark.parametrize("whose", owner.OWNERS)
@pytest.mark.parametrize("failure", [item for item in Failure if item not in machine.DOES_NOT_COUNT])
def test_the_owner_alone_decides_whether_a_launch_may_be_given_up(failure, whose):
    broken = launch(Phase.BOOTING, server_id="s1")
    attempts = 0
    while attempts < 20 and broken.phase != Phase.FAILED:
        attempts += 1
        broken.phase, broken.server_id = Phase.BOOTING, "s1"
        machine.failed(broken, failure, "it broke", NOW, RULES, lambda: 0.5, whose)
        assert broken.owner == whose
    expected = {owner.REQUEST: 1, owner.LABEL: 1, owner.IMAGE: RULES.retries}
    assert (attempts if broken.phase == Phase.FAILED else None) == expected.get(whose)
    assert bool(broken.failures) == (whose in expected or whose == owner.UNKNOWN)


def test_what_nobody_understands_is_tried_ever_more_rarely():
    broken, pauses = launch(Phase.BOOTING, server_id="s1"), []
    for _attempt in range(12):
        machine.failed(broken, Failure.FAULT, "it broke", NOW, RULES, lambda: 0.5, owner.UNKNOWN)
        pauses.append(broken.not_before - NOW)
        broken.phase, broken.server_id = Phase.BOOTING, "s1"
    assert pauses[0] <= 0 < pauses[1] and pauses[1:] == sorted(pauses[1:])
    assert 60.0 < pauses[-1] <= 1.3 * machine.MOST_UNKNOWN_PAUSE
    assert broken.first_failed == NOW


@pytest.mark.parametrize(
    ("verdict", "fault", "failure"),
    [
        (Verdict(owner.CAPACITY, ("instances",)), True, Failure.QUOTA),
        (Verdict(owner.CAPACITY, ("floating-ips",)), False, Failure.QUOTA),
        (Verdict(owner.CAPACITY, (HOSTS,)), True, Failure.CAPACITY),
        (Verdict(owner.NETWORK, (ADDRESSES,)), True, Failure.FAULT),
        (Verdict(owner.UNKNOWN), True, Failure.FAULT),
        (Verdict(owner.CLOUD), False, Failure.API),
        (Verdict(owner.LABEL), False, Failure.REFUSED),
    ],
)
def test_a_verdict_has_a_class_of_failure(verdict, fault, failure):
    assert machine.failure_of(verdict, fault=fault) is failure


def test_an_api_that_does_not_answer_never_ends_a_launch():
    """The request is taken back by whoever else can serve it; nobody else may mean waiting, never failing."""
    broken = launch(Phase.UNCLEAR, started=NOW - 100_000)
    for _time in range(20):
        failed(broken, Failure.API, "no answer")
        assert broken.phase == Phase.QUEUED
    assert broken.failures == []


def test_a_quota_never_ends_a_launch():
    broken = launch(Phase.CREATING, started=NOW - 100_000)
    failed(broken, Failure.QUOTA)
    assert broken.phase == Phase.QUEUED


def test_a_floating_ip_alone_is_cleared_too():
    broken = launch(Phase.ADDRESSING, floating_ip_id="fip", floating_address="203.0.113.9")
    failed(broken, Failure.REFUSED)
    assert broken.phase == Phase.CLEARING
    machine.cleared(broken, NOW)
    assert (broken.floating_ip_id, broken.floating_address) == (None, None)


def test_a_launch_survives_its_document():
    full = launch(Phase.BOOTING, server_id="s1", failures=["x"], superseded=["7-0-a"], floating_ip_id="f")
    assert Launch.from_document({**full.document(), "of_a_newer_version": 1}) == full


def test_the_time_for_a_guest_begins_with_its_server_and_not_with_a_cycle():
    going = launch(Phase.BOOTING, server_id="s1")
    assert seen(going, server()) is None
    machine.probing(going, NOW + 7)
    machine.adopt(going, NOW + 50)
    seen(going, server(), NOW + 51)
    machine.probing(going, NOW + 52)
    assert (going.guest_since, going.answered_at) == (NOW, NOW + 7)
    machine.created(going, "s2", NOW + 90)
    assert (going.guest_since, going.answered_at) == (None, None)


@pytest.mark.parametrize(
    ("limit", "since", "left"), [(60, None, 60), (60, 0, 60), (60, 10, 50), (60, 50, 30), (60, 9000, 30), (5, 9000, 5)]
)
def test_what_is_left_of_a_limit_is_enough_to_ask_once_more(limit: float, since: float | None, left: float):
    assert time_left(limit, None if since is None else NOW - since, NOW) == left
