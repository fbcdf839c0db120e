# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Server, moment

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2027-01-15T08:00:00Z", NOW),
        ("2027-01-15T08:00:00", NOW),
        ("2027-01-15T08:00:00.500000", NOW + 0.5),
        ("2027-01-15T10:00:00+02:00", NOW),
        ("yesterday", None),
        ("", None),
        (None, None),
    ],
)
def test_moments(text, expected):
    assert moment(text) == expected


@pytest.mark.parametrize(
    ("created", "launched", "seconds"),
    [
        ("2026-11-21T20:00:00Z", "2026-11-21T20:00:21.000000", 21.0),
        ("2026-11-21T20:00:00Z", None, None),
        (None, "2026-11-21T20:00:21.000000", None),
        ("2026-11-21T20:00:00Z", "soon", None),
    ],
)
def test_what_a_boot_took_by_the_clouds_own_clock(created, launched, seconds):
    assert Server("1", "np", "ACTIVE", created=created, launched_at=launched).boot_seconds == seconds
