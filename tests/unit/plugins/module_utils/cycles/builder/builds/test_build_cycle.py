# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which wishes go over what is due."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.builds.build_cycle import (
    FORCED,
    failures_of,
    forced,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.due_builds import BuildCase, BuildCode

HINDRANCES = set(BuildCode.ALL) - set(BuildCode.DUE)
FORCEABLE = {BuildCode.FRESH, BuildCode.BACKOFF}


@pytest.mark.parametrize("code", sorted(HINDRANCES))
def test_only_what_is_fresh_or_failed_of_late_can_be_forced(code):
    case = BuildCase("deb", False, code, "because", ("raw",), requested=7)
    wish = forced(case, True)
    if code in FORCEABLE:
        assert (wish.due, wish.code, wish.requested, wish.formats) == (True, FORCED, 7, ("raw",))
    else:
        assert wish == case
    assert forced(case, False) == case


@pytest.mark.parametrize("code", BuildCode.DUE)
def test_what_is_due_keeps_its_reason(code):
    case = BuildCase("deb", True, code, "because", ("raw",))
    assert forced(case, True) == case


def test_failures_are_told_and_successes_are_not():
    reports = [
        {"image": "a", "state": "ready", "error": ""},
        {"image": "b", "state": "failed", "error": "no"},
        {"image": "c", "state": "lost", "error": "gone"},
    ]
    assert failures_of(reports) == ["b: no", "c: gone"]
