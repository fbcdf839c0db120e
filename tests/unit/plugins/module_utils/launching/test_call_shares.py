# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The share of failed calls of the last hour."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.call_shares import (
    SLOT,
    SLOTS,
    CallShares,
    flaps,
)

NOW = 1_795_198_000.0
steps = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.floats(0, 2 * SLOT)), max_size=40)


@given(steps)
def test_counts_are_those_of_the_last_hour_and_survive_a_cycle(found):
    shares, now, calls, failed, all_calls = CallShares(), NOW, 0, 0, []
    for more, bad, passed in found:
        now += passed
        calls, failed = calls + more + bad, failed + bad
        shares.count(calls, failed, now)
        all_calls.append((int(now // SLOT), more + bad, bad))
    wanted = [each for each in all_calls if int(now // SLOT) - SLOTS < each[0]]
    assert shares.counts(now) == (sum(each[1] for each in wanted), sum(each[2] for each in wanted))
    later = CallShares()
    later.learn(json.loads(json.dumps(shares.document())))
    assert later.counts(now) == shares.counts(now)
    assert len(shares.document()) <= SLOTS
    assert shares.counts(now + SLOT * SLOTS) == (0, 0)


def test_a_new_client_begins_again():
    shares = CallShares()
    shares.count(100, 10, NOW)
    shares.count(4, 1, NOW + 1)
    assert shares.counts(NOW + 1) == (104, 11)


@pytest.mark.parametrize(("calls", "failed", "expected"), [
    (0, 0, False), (4, 4, False), (5, 5, True), (50, 5, True), (51, 5, False), (1000, 99, False), (1000, 100, True),
])  # fmt: skip
def test_few_failures_are_none(calls, failed, expected):
    assert flaps(calls, failed) is expected


@pytest.mark.parametrize(
    "document",
    [None, 7, [], {"x": [1, 1]}, {"1": [1]}, {"1": [1, -1]}, {"1": ["1", 1]}, {"²": [1, 1]}, {"1": [1e300, 1]}],
)
def test_documents_of_others_are_ignored(document):
    shares = CallShares()
    shares.learn(document)
    assert shares.document() == {}
