# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a gate does next, from its results."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.gate_plan import (
    Decide,
    Inconclusive,
    Launch,
    Overdue,
    Pause,
    Step,
    next_step,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.build_verdict import (
    APPROVED,
    GATE,
    HAND,
    HELD,
    NONE,
    REVOKED,
    BuildVerdict,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.gate_settings import GateSettings
from ansible_collections.stackci.nodepool.plugins.module_utils.model.gate import (
    CANARY,
    CONTROL,
    PASSED,
    PROMOTED,
    REJECTED,
    GateRecord,
    GateResult,
)

NOW = 1_000_000.0
FRESH = GateRecord("b1", "0000000001", "image", since=NOW - 10)
SETTINGS = GateSettings("smoke.yml")


def after(*results: tuple[str, bool], record: GateRecord = FRESH) -> GateRecord:
    for kind, passed in results:
        record = record.with_result(GateResult(kind, passed, "" if passed else "no DNS"))
    return record


def step(
    record: GateRecord, gate: GateSettings = SETTINGS, verdict: BuildVerdict = NONE, *, can_compare: bool = True
) -> Step:
    return next_step(record, gate, verdict, NOW, can_compare=can_compare)


def decided(found: Step) -> str:
    assert isinstance(found, Decide)
    return found.outcome


def test_one_canary_that_passes_is_enough():
    assert step(FRESH) == Launch(CANARY)
    assert decided(step(after((CANARY, True)))) == PASSED


def test_a_failure_is_compared_and_tried_again_before_a_rejection():
    failed = after((CANARY, False))
    assert step(failed) == Launch(CONTROL)
    compared = after((CONTROL, True), record=failed)
    assert step(compared) == Launch(CANARY)
    agreed = after((CANARY, False), record=compared)
    rejection = step(agreed)
    assert decided(rejection) == REJECTED
    assert "2 canaries failed and a node of the image in use passed: no DNS" in str(rejection)


def test_the_site_says_how_many_canaries_must_agree():
    agreed = after((CANARY, False), (CONTROL, True), (CANARY, False))
    assert step(agreed, replace(SETTINGS, tries=3)) == Launch(CANARY)
    assert decided(step(after((CANARY, False), record=agreed), replace(SETTINGS, tries=3))) == REJECTED


def test_failed_then_passed_is_flaky_and_passes():
    record = after((CANARY, False), (CONTROL, True), (CANARY, True))
    assert decided(step(record)) == PASSED
    assert record.is_flaky and not after((CANARY, True)).is_flaky
    assert "flaky" in str(step(record))


def test_when_the_image_in_use_fails_too_nothing_is_rejected():
    record = after((CANARY, False), (CONTROL, False))
    found = step(record)
    assert isinstance(found, Inconclusive)
    assert (found.seconds, "fails on the image in use, too: no DNS" in found.why) == (300.0, True)
    later = record.next_round(NOW + 300, "inconclusive: x")
    assert step(later) == Pause(NOW + 300, "inconclusive: x")
    assert next_step(later, SETTINGS, NONE, NOW + 301, can_compare=True) == Launch(CANARY)
    again = replace(after((CANARY, False), (CONTROL, False), record=later), not_before=0.0)
    assert isinstance(found := step(again), Inconclusive) and found.seconds == 600.0


def test_a_pause_is_an_hour_at_most_whatever_was_stored():
    record = replace(after((CANARY, False), (CONTROL, False)), round=50)
    record = after((CANARY, False), (CONTROL, False), record=record)
    assert isinstance(found := step(record), Inconclusive) and found.seconds == 3600.0
    assert step(replace(FRESH, not_before=NOW + 10**9)) == Launch(CANARY)


def test_with_nothing_in_use_nothing_is_rejected():
    record = after((CANARY, False))
    assert step(record, can_compare=False) == Launch(CANARY)
    found = step(after((CANARY, False), record=record), can_compare=False)
    assert isinstance(found, Inconclusive) and "no image in use to compare with" in found.why


@pytest.mark.parametrize(("act", "expected"), [("keep", Overdue), ("promote", Decide)])
def test_at_the_deadline_the_configured_act_is_done_once(act: str, expected: type[Step]):
    record = replace(FRESH, since=NOW - 100, note="waits for a node: no room")
    gate = replace(SETTINGS, deadline=100, at_deadline=act)
    found = step(record, gate)
    assert isinstance(found, expected) and "not decided within 1 min 40 s: waits for a node: no room" in str(found)
    if act == "promote":
        assert decided(found) == PROMOTED
    # A site that has been told may decide to promote it after all.
    assert step(replace(record, overdue=True), gate) == (Launch(CANARY) if act == "keep" else found)
    assert next_step(record, gate, NONE, NOW - 1, can_compare=True) == Launch(CANARY)


def test_a_build_of_which_a_canary_failed_is_not_promoted_before_its_round_ends():
    """What is known speaks against it: a control node shows whose fault it is, then another canary."""
    gate = replace(SETTINGS, deadline=100, at_deadline="promote")
    suspect = after((CANARY, False), (CONTROL, True), record=replace(FRESH, since=NOW - 100, note="waits for a node"))
    found = step(suspect, gate)
    assert isinstance(found, Overdue) and "not promoted, because a canary failed: no DNS" in found.why
    told = replace(suspect, overdue=True)
    assert step(told, gate) == Launch(CANARY)
    assert decided(step(after((CANARY, False), record=told), gate)) == REJECTED
    assert decided(step(told.next_round(NOW + 300, "inconclusive: x"), gate)) == PROMOTED


def tried(*results: tuple[str, bool, str]) -> GateRecord:
    """After nodes with (kind, passed, text of the playbook)."""
    record = FRESH
    for kind, passed, text in results:
        record = record.with_result(GateResult(kind, passed, "" if passed else "no DNS", playbook=text))
    return record


def test_a_failure_by_a_text_of_the_playbook_that_was_replaced_does_not_count():
    failed = tried((CANARY, False, "a"), (CONTROL, True, "a"), (CANARY, False, "b"))
    assert decided(next_step(failed, SETTINGS, NONE, NOW, can_compare=True)) == REJECTED, "the text is unknown"
    assert next_step(failed, SETTINGS, NONE, NOW, can_compare=True, edition="b") == Launch(CONTROL)
    assert next_step(failed, SETTINGS, NONE, NOW, can_compare=True, edition="c") == Launch(CANARY)
    passed = tried((CANARY, False, "a"), (CANARY, True, "b"))
    assert decided(next_step(passed, SETTINGS, NONE, NOW, can_compare=True, edition="c")) == PASSED
    assert not passed.is_flaky and tried((CANARY, False, "a"), (CANARY, True, "a")).is_flaky
    # No playbook has run where no node could be launched.
    lost = tried((CANARY, False, ""), (CONTROL, True, "a"), (CANARY, False, ""))
    assert decided(next_step(lost, SETTINGS, NONE, NOW, can_compare=True, edition="a")) == REJECTED


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (BuildVerdict(APPROVED, "fine", HAND, NOW, NOW), PROMOTED),
        (BuildVerdict(REVOKED, "bad", HAND, NOW, NOW), REJECTED),
    ],
)
def test_a_persons_decision_overrides_the_test(verdict: BuildVerdict, expected: str):
    assert decided(step(after((CANARY, False)), verdict=verdict)) == expected
    assert step(FRESH, verdict=replace(verdict, since=NOW + 1)) == Launch(CANARY)


def test_a_held_build_waits_and_the_gates_own_approval_is_none_by_hand():
    assert isinstance(step(FRESH, verdict=BuildVerdict(HELD, "look", HAND, NOW, NOW)), Pause)
    assert step(FRESH, verdict=BuildVerdict(APPROVED, "", GATE, NOW, NOW)) == Launch(CANARY)


def test_the_time_for_which_a_person_holds_a_build_does_not_count_against_its_deadline():
    record = replace(FRESH, since=NOW - 500)
    gate = replace(SETTINGS, deadline=100, at_deadline="promote")
    released = BuildVerdict(HELD, "look", HAND, NOW - 490, NOW - 490).undone(NOW - 90)
    assert step(record, gate, released) == Launch(CANARY)
    assert decided(step(record, gate, BuildVerdict().undone(NOW - 101))) == PROMOTED
    assert decided(step(record, gate, BuildVerdict().undone(NOW + 10**9))) == PROMOTED
