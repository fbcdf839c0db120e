# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ring of the last six hours."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model.history import (
    EVERY,
    LONGEST_NAME,
    MOST_CHANGES,
    MOST_NAMES,
    POINTS,
    SPAN,
    TOGETHER,
    Change,
    History,
)

times = st.floats(0, 4 * SPAN)


@given(st.lists(times, max_size=60))
def test_points_and_changes_stay_in_order_and_within_the_span(moments):
    history = History()
    for at in moments:
        history.note(Change(at, "kind", "text"))
        history.add(at, {"nodes": {"ready": at}})
        found = [point.at for point in history.points]
        assert found == sorted(set(found)) and found[-1] == at and at - found[0] < SPAN
        assert all(at - SPAN < change.at <= at for change in history.changes)
    assert history.version == 2 * len(moments)


def test_it_is_bounded():
    history = History()
    for number in range(2 * POINTS):
        history.add(number * EVERY / 10, {"calls": {f"p{name:03d}": name for name in range(2 * MOST_NAMES)}})
        history.note(Change(number, "kind", "text"))
    assert len(history.points) == POINTS and len(history.changes) == MOST_CHANGES
    kept = history.points[-1].groups["calls"]
    assert len(kept) == MOST_NAMES and min(kept.values()) == MOST_NAMES


def test_names_are_cut():
    history = History()
    history.add(1.0, {"images": {"x" * 500_000: 1.0}})
    assert [len(name) for name in history.points[0].groups["images"]] == [LONGEST_NAME]


def test_what_was_returned_does_not_change():
    history, values = History(), {"ready": 1.0}
    history.add(1.0, {"nodes": values})
    before = history.points
    values["ready"] = 2.0
    history.add(61.0, {"nodes": values})
    assert len(before) == 1 and before[0].groups == {"nodes": {"ready": 1.0}}


def test_a_build_that_becomes_live_at_many_providers_is_one_change():
    history = History()
    for number in range(5):
        history.note(Change(10.0 * number, "build_live", "build 7 of tiny is live", (f"p{number}",)))
        history.note(Change(10.0 * number + 1, "resource_frozen", f"p{number} is frozen"))
    first, *others = history.changes
    assert (first.at, first.told) == (0.0, "build 7 of tiny is live at p0, p1, p2 and 2 other providers")
    assert [change.told for change in others] == [f"p{number} is frozen" for number in range(5)]
    history.note(Change(TOGETHER + 1, "build_live", "build 7 of tiny is live", ("p9",)))
    history.note(Change(TOGETHER + 2, "build_live", "build 8 of tiny is live", ("p9",)))
    told = [change.told for change in history.changes[6:]]
    assert told == ["build 7 of tiny is live at p9", "build 8 of tiny is live at p9"]


def test_the_providers_of_one_change_are_bounded():
    history = History()
    for number in range(2 * MOST_NAMES):
        history.note(Change(1.0, "build_live", "build 7 of tiny is live", (f"p{number}",)))
    (change,) = history.changes
    assert len(change.providers) == MOST_NAMES
