# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nova may not count yet, by the clock and by what it was seen to count."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.uncounted import (
    WRITTEN_AFTER,
    WRITTEN_MOST,
    WRITTEN_SHARE,
    Uncounted,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Resources

NAMES = ("instances", "cores")
QUICK = 0.0
NONE = Resources()


@dataclass
class Create:
    """As nova knows it. *written*: by its conductor, so that it counts."""

    sent_at: float
    answered_at: float | None = None
    written: bool = False


def servers(number: float) -> Resources:
    return Resources({"instances": number, "cores": 2 * number})


def test_a_create_counts_when_nova_must_have_written_its_server():
    found = Uncounted()
    found.accepted(servers(1), 99.9, 100.0)
    for answers, age in ((QUICK, WRITTEN_AFTER), (5.0, 5.0 * WRITTEN_SHARE), (1e6, WRITTEN_MOST)):
        assert found.at_most(100.0 + 0.9 * age, answers) == servers(1)
        assert found.at_most(100.0 + age, answers) == Resources()
        assert found.at_most(100.0 + 0.9 * age, answers) == servers(1), "to ask changes nothing"


def test_creates_of_long_ago_are_not_kept():
    found = Uncounted()
    for second in range(1000):
        found.accepted(servers(1), float(second), float(second))
    assert len(found._accepted) <= WRITTEN_MOST


def test_what_nova_was_seen_to_count_is_counted():
    found = Uncounted()
    for at in (100.0, 100.1, 100.2):
        found.accepted(servers(1), at, at)
    found.seen(servers(2), NONE, NAMES, 100.15)
    assert found.at_most(100.2, QUICK) == servers(3), "two had been accepted, and two are missing"
    found.seen(servers(1), NONE, NAMES, 100.3)
    assert found.at_most(100.3, QUICK) == servers(1)
    found.accepted(servers(1), 100.4, 100.4)
    assert found.at_most(100.4, QUICK) == servers(2)
    found.seen(servers(5), NONE, NAMES, 100.5)
    assert found.at_most(100.5, QUICK) == servers(2), "the others that are missing were given back"
    found.seen(servers(-1), NONE, NAMES, 100.6)
    assert found.at_most(100.6, QUICK) == Resources()


def test_a_resource_that_nova_does_not_tell_is_left_to_the_clock():
    found = Uncounted()
    found.accepted(servers(1), 99.9, 100.0)
    found.seen(servers(0), NONE, ("instances",), 100.1)
    assert found.at_most(100.2, QUICK) == Resources({"cores": 2})


def test_a_create_that_a_reading_shows_before_it_is_answered_is_counted():
    found = Uncounted()
    found.accepted(servers(1), 99.7, 100.0)
    found.seen(servers(-2), servers(2), NAMES, 100.1)
    assert found.at_most(100.1, QUICK) == Resources(), "all three are"
    found.accepted(servers(1), 100.0, 100.3)
    found.accepted(servers(1), 100.0, 100.3)
    assert found.at_most(100.3, QUICK) == Resources()
    found.accepted(servers(1), 100.2, 100.4)
    assert found.at_most(100.4, QUICK) == servers(1), "that was sent after the reading"


def test_what_a_reading_cannot_tell_apart_may_be_uncounted():
    found = Uncounted()
    found.accepted(servers(1), 99.7, 100.0)
    found.seen(servers(0), servers(1), NAMES, 100.1)
    assert found.at_most(100.1, QUICK) == servers(1), "the one that has no answer may be the one that is counted"
    found.accepted(servers(1), 100.0, 100.2)
    assert found.at_most(100.2, QUICK) == servers(1), "one of the two is"


STEPS = st.sampled_from(["send", "write", "answer", "delete", "read"])


@given(st.lists(st.tuples(STEPS, st.integers(0, 9), st.floats(0.01, 0.3)), min_size=1, max_size=80))
def test_never_less_than_what_nova_does_not_count(steps: list[tuple[str, int, float]]):
    """While its conductor takes no longer than expected, and whichever create it writes or answers first."""
    creates: list[Create] = []
    found, now, deleted = Uncounted(), 100.0, 0
    for what, which, seconds in steps:
        now += seconds
        for create in creates:
            create.written |= create.answered_at is not None and create.answered_at <= now - WRITTEN_AFTER
        unwritten = [create for create in creates if not create.written]
        unanswered = [create for create in creates if create.answered_at is None]
        if what == "send":
            creates.append(Create(now))
        elif what == "write" and unwritten:
            unwritten[which % len(unwritten)].written = True
        elif what == "answer" and unanswered:
            create = unanswered[which % len(unanswered)]
            create.answered_at = now
            found.accepted(servers(1), create.sent_at, now)
        elif what == "delete":
            deleted += 1
        elif what == "read":
            lacking = len(unwritten) - len(unanswered) + deleted
            found.seen(servers(lacking), servers(len(unanswered)), NAMES, now)
        uncounted = sum(not create.written and create.answered_at is not None for create in creates)
        assert found.at_most(now, QUICK)["instances"] >= uncounted
