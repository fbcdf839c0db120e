# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is decided about a build."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model import build_verdict
from ansible_collections.stackci.nodepool.plugins.module_utils.model.build_verdict import (
    APPROVED,
    GATE,
    HAND,
    HELD,
    LONGEST_REASON,
    MOST_BUILDS,
    MOST_GONE,
    NONE,
    REJECTED,
    REVOKED,
    STATES,
    BuildVerdict,
    changed_verdicts,
    read_verdicts,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.stored import BadDocument

NOW = 1_795_000_000.0


@pytest.mark.parametrize(
    ("state", "is_used", "is_condemned"),
    [("", True, False), (APPROVED, True, False), (HELD, False, False), (REJECTED, False, True), (REVOKED, False, True)],
)
def test_the_state_decides_whether_it_is_used(state: str, is_used: bool, is_condemned: bool) -> None:
    verdict = BuildVerdict(state)
    assert (verdict.is_used(NOW, "west"), verdict.is_condemned(NOW, "west")) == (is_used, is_condemned)


def test_a_revocation_may_be_announced() -> None:
    verdict = NONE.given(REVOKED, "ssh is broken", HAND, NOW, since=NOW + 60)
    assert verdict.is_used(NOW + 59) and not verdict.is_condemned(NOW + 59)
    assert not verdict.is_used(NOW + 60) and verdict.is_condemned(NOW + 60)
    assert verdict.text(NOW) == "revoked in 60 s by hand: ssh is broken"
    assert verdict.text(NOW + 60) == "revoked by hand: ssh is broken"


def test_the_launcher_decides_for_single_providers() -> None:
    verdict = NONE.without("west", "0 of 9", NOW)
    assert not verdict.is_used(NOW, "west") and verdict.is_condemned(NOW, "west")
    assert verdict.is_used(NOW, "east") and not verdict.is_condemned(NOW, "east")
    assert verdict.is_used(NOW) and not verdict.is_condemned(NOW)
    assert verdict.text(NOW, "west") == "not used at west by decision of the launcher: 0 of 9"
    assert verdict.text(NOW, "east") == ""


def test_a_person_undoes_what_the_launcher_decided() -> None:
    fallen = NONE.without("west", "0 of 9", NOW)
    assert fallen.undone(NOW + 1) == BuildVerdict(restored=NOW + 1)
    assert fallen.given(APPROVED, "", HAND, NOW + 1).is_used(NOW + 1, "west")
    assert not fallen.given(HELD, "", HAND, NOW + 1).is_used(NOW + 1, "west")


def test_it_says_who_decided() -> None:
    assert NONE.given(REJECTED, "no python", GATE, NOW).text(NOW) == "rejected by the test of new uploads: no python"
    assert BuildVerdict(HELD, by="robot").text(NOW) == "held by somebody"


def test_a_reason_is_bounded_and_printable() -> None:
    verdict = NONE.given(REJECTED, "\x1b[31mred\x1b[0m\n" * 1000, HAND, NOW)
    assert len(verdict.reason.encode()) <= LONGEST_REASON and verdict.reason.isprintable()


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"a": []}, "in 'a' it is a list, not a JSON object"),
        ({"a": {"state": 1}}, "in 'a' 'state' is a number, not a text"),
        ({"a": {"fallen_back": {"west": 1}}}, "in 'a' in 'west' it is a number, not a JSON object"),
    ],
)
def test_a_document_that_cannot_be_used_is_told(document: dict[str, object], words: str) -> None:
    with pytest.raises(BadDocument, match=words):
        read_verdicts(document)


def test_a_state_of_another_version_counts_as_none() -> None:
    assert BuildVerdict("quarantined").is_used(NOW) and not BuildVerdict("quarantined").is_condemned(NOW)


@given(st.lists(st.tuples(st.integers(0, 300), st.sampled_from(STATES), st.booleans()), max_size=300))
def test_the_verdicts_of_an_image_are_few_and_come_back_as_stored(steps: list[tuple[int, str, bool]]) -> None:
    known: dict[str, BuildVerdict] = {}
    there = {f"{number:032x}" for number in range(5)}
    for at, (number, state, fell) in enumerate(steps):
        build = f"{number:032x}"

        def edit(verdict: BuildVerdict, *, at: int = at, state: str = state, fell: bool = fell) -> BuildVerdict:
            return verdict.without("west", "x", NOW + at) if fell else verdict.given(state, "x", HAND, NOW + at)

        before = {key: item for key, item in known.items() if key in there and key != build}
        known = changed_verdicts(known, build, edit, there.__contains__)
        assert len(known) <= MOST_BUILDS and build in known
        assert before.items() <= known.items()
    assert read_verdicts({key: item.document() for key, item in known.items()}) == known


def test_months_of_bad_builds_at_many_providers_leave_a_small_document() -> None:
    """Each day's build is given up at each of fifty clouds, and is gone a week later."""
    known: dict[str, BuildVerdict] = {}
    for day in range(365):
        there = {f"{number:032x}" for number in range(day - 6, day + 1)}
        for cloud in range(50):

            def given_up(had: BuildVerdict, *, at: int = cloud) -> BuildVerdict:
                return had.without(f"cloud-{at:02}", "x" * 2 * LONGEST_REASON, NOW + at)

            known = changed_verdicts(known, f"{day:032x}", given_up, there.__contains__)
        assert there & {f"{number:032x}" for number in range(day + 1)} <= known.keys()
        assert len(known) <= 7 + MOST_GONE
    assert len(json.dumps({key: item.document() for key, item in known.items()}).encode()) < 700_000


def test_every_state_has_a_meaning() -> None:
    assert build_verdict.CONDEMNED <= build_verdict.UNUSED <= set(STATES)
