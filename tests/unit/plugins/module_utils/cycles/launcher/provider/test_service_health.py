# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is told of a service does not flap."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.service_health import (
    CALM,
    ServiceHealth,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudUnavailable

AWAY = CloudUnavailable("503", status=503)


def test_a_trouble_ends_when_the_call_that_failed_works():
    one = ServiceHealth("neutron")
    one.failed(AWAY, "POST /floatingips", 0.0)
    one.answered("GET /networks", 1.0)
    assert one.error is None and one.since == 0.0
    one.answered("POST /floatingips", 2.0)
    assert one.since is None


def test_a_trouble_ends_long_after_the_last_failure_of_a_call_that_is_not_made_again():
    one = ServiceHealth("neutron")
    one.failed(AWAY, "POST /floatingips", 0.0)
    one.answered("GET /networks", CALM - 1)
    assert one.since == 0.0
    one.settle(CALM + 1)
    assert one.since is None


def test_a_trouble_of_which_nothing_better_was_heard_stays():
    one = ServiceHealth("neutron")
    one.failed(AWAY, "GET /networks", 5.0)
    one.settle(10 * CALM)
    assert one.since == 5.0 and one.error is AWAY


@given(st.lists(st.booleans(), min_size=90, max_size=90))
def test_answers_that_keep_changing_are_told_a_few_times_only(answers: list[bool]):
    """One answer of the same call each 20 s for half an hour."""
    one, told = ServiceHealth("nova"), 0
    for place, good in enumerate(answers):
        before = one.since
        if good:
            one.answered("GET /limits", 20.0 * place)
        else:
            one.failed(AWAY, "GET /limits", 20.0 * place)
        told += before is None and one.since is not None
    assert told <= 14
