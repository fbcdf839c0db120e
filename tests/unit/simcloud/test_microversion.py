# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which microversion a request gets."""

from __future__ import annotations

import pytest

from tests.simcloud.microversion import MAXIMUM, MINIMUM, BadVersion, negotiate

NEW, OLD = "OpenStack-API-Version", "X-OpenStack-Nova-API-Version"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, MINIMUM),
        ({NEW: "compute 2.53"}, (2, 53)),
        ({NEW: "volume 3.70, compute 2.47"}, (2, 47)),
        ({NEW: "volume 3.70"}, MINIMUM),
        ({OLD: "2.10"}, (2, 10)),
        ({NEW: "compute 2.53", OLD: "2.10"}, (2, 53)),
        ({NEW: "compute latest"}, MAXIMUM),
    ],
)
def test_negotiate(headers, expected):
    assert negotiate(headers) == expected


@pytest.mark.parametrize(
    ("text", "status"), [("2.94", 406), ("3.1", 406), ("1.0", 406), ("2", 400), ("2.x", 400), ("two", 400)]
)
def test_what_cannot_be_served_is_refused(text, status):
    with pytest.raises(BadVersion) as caught:
        negotiate({NEW: f"compute {text}"})
    assert caught.value.status == status
