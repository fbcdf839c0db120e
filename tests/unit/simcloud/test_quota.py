# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quota: never over it without a word, and nova's words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.simcloud.compute.quota import RESOURCES, Usage, late_refusal, over, refusal

numbers = st.integers(min_value=0, max_value=50)
limits = st.fixed_dictionaries({name: st.integers(min_value=-1, max_value=100) for name in RESOURCES})


@given(limits, numbers, numbers, numbers, numbers)
def test_what_is_not_over_fits(quota, used, cores, ram, wanted):
    usage = Usage(used, used * cores, used * ram)
    more = Usage(wanted, wanted * cores, wanted * ram)
    overs = over(quota, usage, more)
    for name in RESOURCES:
        fits = quota[name] == -1 or usage.of(name) + more.of(name) <= quota[name]
        assert fits == (name not in overs)


def test_the_refusal_is_novas():
    quota = {"instances": 3, "cores": 100, "ram": -1}
    usage, wanted = Usage(3, 3, 3072), Usage(1, 1, 1024)
    assert over(quota, usage, wanted) == ["instances"]
    expected = "Quota exceeded for instances: Requested 1, but already used 3 of 3 instances"
    assert refusal(quota, usage, wanted, ["instances"]) == expected


def test_several_resources_are_listed_in_one_sentence():
    quota = {"instances": 3, "cores": 4, "ram": -1}
    usage, wanted = Usage(3, 4, 0), Usage(1, 2, 0)
    expected = "Quota exceeded for cores, instances: Requested 2, 1, but already used 4, 3 of 4, 3 cores, instances"
    assert refusal(quota, usage, wanted, over(quota, usage, wanted)) == expected


def test_a_late_refusal_says_that_all_is_used():
    quota = {"instances": 3, "cores": 100, "ram": -1}
    expected = "Quota exceeded for instances: Requested 1, but already used 3 of 3 instances"
    assert late_refusal(quota, Usage(1, 1, 1024), ["instances"]) == expected


def test_taking_off_what_was_counted_leaves_nothing():
    usage = Usage()
    usage.add(2, 4096, 3)
    usage.add(2, 4096, -3)
    assert usage == Usage()
