# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows beyond what the record of Nodepool's own service holds."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.web.nodepool_rows import (
    LISTINGS,
    build_rows,
    image_rows,
    upload_rows,
)
from tests.support.tree_reading import NOW, populated, reading_of

LOCK = "/nodepool/images/arch/builds/lock/0123__lock__0000000001"
BUILD = "/nodepool/images/arch/builds/0000000001"
ASKED = "/nodepool/images/arch/request-build"


@pytest.mark.parametrize("listing", LISTINGS, ids=lambda listing: listing.path)
def test_every_row_has_exactly_the_columns(listing):
    rows = listing.rows(populated(), NOW)
    assert rows
    assert all(list(row) == list(listing.titles) for row in rows)


@pytest.mark.parametrize(
    ("documents", "locks", "told"),
    [
        ({BUILD: {"state": "ready"}}, [], None),
        ({BUILD: {"state": "ready"}, ASKED: b""}, [], "pending"),
        ({BUILD: {"state": "building"}, ASKED: b""}, [LOCK], "building"),
        ({ASKED: b""}, [LOCK], "pending"),
    ],
)
def test_a_request_for_a_build_is_pending_until_the_build_has_begun(documents, locks, told):
    (row,) = image_rows(reading_of(documents, locks), NOW)
    assert row["build_request"] == told
    assert (row["build_request_age"] is None) == (told is None)


@pytest.mark.parametrize(("data", "shown"), [(b"{", 0), (b"[]", 0), (b"", 0), (b"{}", 1), (b'{"state": []}', 1)])
def test_a_build_or_upload_without_a_state_is_shown_and_what_is_no_record_is_not(data, shown):
    reading = reading_of({BUILD: data, f"{BUILD}/providers/east/images/0000000001": data})
    assert [row["state"] for row in build_rows(reading, NOW)] == [None] * shown
    assert [row["state"] for row in upload_rows(reading, NOW)] == [None] * shown
