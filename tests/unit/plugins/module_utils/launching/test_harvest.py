# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Servers created against nodes ready, by minute."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.harvest import CREATED, READY, WASTED, Harvest


def grown(created, ready, wasted, now=1000.0):
    harvest = Harvest()
    for what, count in ((CREATED, created), (READY, ready), (WASTED, wasted)):
        for _unused in range(count):
            harvest.add(what, now)
    return harvest


def test_what_is_given_up_is_told_once_in_ten_minutes():
    harvest = grown(12, 1, 11)
    assert harvest.news(1001.0) == "12 servers created, 1 node ready and 11 servers abandoned in ten minutes"
    assert harvest.news(1002.0) == ""
    harvest.add(WASTED, 1300.0)
    assert harvest.news(1300.0) == ""
    for _unused in range(6):
        harvest.add(WASTED, 1650.0)
    assert harvest.news(1650.0) == "0 servers created, 0 nodes ready and 7 servers abandoned in ten minutes"


@pytest.mark.parametrize("counts", [(100, 0, 0), (10, 5, 5), (4, 0, 4), (0, 0, 0)])
def test_servers_that_boot_and_a_few_failures_are_not_told(counts):
    assert grown(*counts).news(1001.0) == ""


def test_counts_older_than_ten_minutes_do_not_count_and_are_dropped():
    harvest = grown(3, 2, 1)
    assert harvest.counts(1000.0) == (3, 2, 1)
    assert harvest.counts(1000.0 + 660.0) == (0, 0, 0)
    harvest.add(CREATED, 3000.0)
    assert list(harvest.document()) == [str(3000 // 60)]


def test_a_clock_that_was_set_back_counts_nothing_of_the_future():
    harvest = grown(9, 0, 9, now=100_000.0)
    assert harvest.counts(1000.0) == (0, 0, 0)


def test_the_next_cycle_goes_on():
    later = Harvest()
    later.learn(grown(12, 1, 3).document())
    assert later.counts(1030.0) == (12, 1, 3)


@pytest.mark.parametrize(
    "document",
    [None, [], "x", {"16": 3}, {"16": [1, 2]}, {"a": [1, 2, 3]}, {"16": [1, None, -1]}, {"9" * 30: [1, 1, 1]}],
)
def test_documents_of_others_are_ignored(document):
    harvest = Harvest()
    harvest.learn(document)
    assert harvest.counts(1000.0) == (0, 0, 0)
