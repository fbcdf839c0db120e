# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts of what sweeping found and did."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.leak_counts import LeakCounts
from ansible_collections.stackci.nodepool.plugins.module_utils.sweeping.candidate import Kind, LeakCandidate, Ownership
from ansible_collections.stackci.nodepool.plugins.module_utils.sweeping.judge import Row, Verdict


def test_the_counts_show_the_last_sweep_and_add_up_what_was_done():
    counts = LeakCounts()
    rows = [
        Row(LeakCandidate(Kind.PORT, "a", Ownership.LEAKED, "unmarked"), Verdict.DUE),
        Row(LeakCandidate(Kind.PORT, "b", Ownership.FOREIGN, "unmarked"), Verdict.FOREIGN),
    ]
    counts.found("east", [Kind.PORT, Kind.SERVER], rows)
    counts.found("east", [Kind.PORT], rows)
    counts.deleted("east", Kind.PORT)
    counts.failed("east", Kind.PORT)
    assert counts.counts["east"]["port"] == {"leaked": 1, "foreign": 1, "deleted": 1, "failed": 1}
    counts.found("east", [Kind.PORT], [])
    assert counts.counts["east"]["port"] == {"leaked": 0, "foreign": 0, "deleted": 1, "failed": 1}
    assert counts.counts["east"]["server"] == {"leaked": 0, "foreign": 0, "deleted": 0, "failed": 0}
