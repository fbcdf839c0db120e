# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nova may not count yet, by the clock and by what it was seen to count."""

from __future__ import annotations

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


def servers(number: float) -> Resources:
    return Resources({"instances": number, "cores": 2 * number})


def test_a_create_counts_when_nova_must_have_written_its_server():
    found = Uncounted()
    found.accepted(servers(1), 100.0)
    for answers, age in ((QUICK, WRITTEN_AFTER), (5.0, 5.0 * WRITTEN_SHARE), (1e6, WRITTEN_MOST)):
        assert found.at_most(100.0 + 0.9 * age, answers) == servers(1)
        assert found.at_most(100.0 + age, answers) == Resources()
        assert found.at_most(100.0 + 0.9 * age, answers) == servers(1), "to ask changes nothing"


def test_creates_of_long_ago_are_not_kept():
    found = Uncounted()
    for second in range(1000):
        found.accepted(servers(1), float(second))
    assert len(found._accepted) <= WRITTEN_MOST


def test_what_nova_was_seen_to_count_is_counted():
    found = Uncounted()
    for at in (100.0, 100.1, 100.2):
        found.accepted(servers(1), at)
    found.seen(servers(2), NAMES, 100.15)
    assert found.at_most(100.2, QUICK) == servers(3), "two had been accepted, and two are missing"
    found.seen(servers(1), NAMES, 100.3)
    assert found.at_most(100.3, QUICK) == servers(1)
    found.accepted(servers(1), 100.4)
    assert found.at_most(100.4, QUICK) == servers(2)
    found.seen(servers(5), NAMES, 100.5)
    assert found.at_most(100.5, QUICK) == servers(2), "the others that are missing were given back"
    found.seen(servers(-1), NAMES, 100.6)
    assert found.at_most(100.6, QUICK) == Resources()


def test_a_resource_that_nova_does_not_tell_is_left_to_the_clock():
    found = Uncounted()
    found.accepted(servers(1), 100.0)
    found.seen(servers(0), ("instances",), 100.1)
    assert found.at_most(100.2, QUICK) == Resources({"cores": 2})


@given(
    st.lists(
        st.tuples(st.sampled_from(["create", "write", "delete", "read"]), st.floats(0.01, 0.5)), min_size=1, max_size=60
    )
)
def test_never_less_than_what_nova_does_not_count(steps):
    """While its conductor takes no longer than expected."""
    accepted: list[float] = []
    found, now, there, deleted = Uncounted(), 100.0, 10, 0
    for what, seconds in steps:
        now += seconds
        accepted = [at for at in accepted if at > now - WRITTEN_AFTER]
        if what == "create":
            found.accepted(servers(1), now)
            accepted.append(now)
            there += 1
        elif what == "write":
            accepted = accepted[1:]
        elif what == "delete" and there > len(accepted) + deleted:
            deleted += 1
        elif what == "read":
            found.seen(servers(len(accepted) + deleted), NAMES, now)
        assert found.at_most(now, QUICK)["instances"] >= len(accepted)
