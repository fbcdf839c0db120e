# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.image_reading import (
    builds_of,
    upload_providers,
    uploads_of,
)
from tests.support.tree_reading import reading_of

BUILD = "/nodepool/images/debian/builds/0000000001"
OTHER = "/nodepool/images/debian/builds/0000000002"
UPLOADS = f"{BUILD}/providers/east/images"


def test_records_are_read_with_their_places() -> None:
    reading = reading_of(
        {
            BUILD: {"state": "ready", "state_time": 5, "formats": "raw,qcow2"},
            f"{UPLOADS}/0000000001": {"state": "ready", "external_id": "abc"},
            f"{UPLOADS}/0000000002": {"state": "uploading"},
        },
        [f"{UPLOADS}/lock/0123__lock__0000000001"],
    )
    (build,) = builds_of(reading, "debian")
    assert (build.id, build.state, build.state_time, build.formats) == ("0000000001", "ready", 5.0, ["qcow2", "raw"])
    (provider, first), (_provider, second) = uploads_of(reading, "debian", build.id)
    assert (provider, first.id, first.state, first.external_id) == ("east", "0000000001", "ready", "abc")
    assert (second.id, second.state, second.external_id) == ("0000000002", "uploading", None)
    assert upload_providers(reading, "debian", build.id) == ["east"]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"state": []}'])
def test_a_record_that_cannot_be_used_is_there_and_broken(data: bytes) -> None:
    reading = reading_of({BUILD: {"state": "ready"}, OTHER: data, f"{UPLOADS}/0000000001": data}, [])
    assert [(build.id, build.broken, build.state) for build in builds_of(reading, "debian")] == [
        ("0000000001", False, "ready"),
        ("0000000002", True, ""),
    ]
    ((_provider, upload),) = uploads_of(reading, "debian", "0000000001")
    assert (upload.broken, upload.state) == (True, "")
