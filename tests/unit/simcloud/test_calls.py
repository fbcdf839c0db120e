# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of calls and their counts."""

from __future__ import annotations

import pytest

from tests.simcloud.calls import CallLog, normalise

ID = "0b6b6c2e-3f0c-4d0f-9d5f-2f6f4c1f9d11"


@pytest.mark.parametrize(
    ("method", "service", "path", "kind"),
    [
        ("POST", "compute", "servers", "POST /servers"),
        ("GET", "compute", "servers/detail", "GET /servers/detail"),
        ("DELETE", "compute", f"servers/{ID}", "DELETE /servers/{id}"),
        ("POST", "compute", f"servers/{ID}/action", "POST /servers/{id}/action"),
        ("GET", "compute", "limits", "GET /limits"),
        ("GET", "compute", "os-keypairs/ci", "GET /os-keypairs/{id}"),
        ("GET", "compute", "", "GET /compute/"),
        ("GET", "volume", "limits", "GET /volume/limits"),
        ("GET", "network", "quotas/abc/details.json", "GET /quotas/{id}/details"),
        ("PUT", "image", f"images/{ID}/file", "PUT /images/{id}/file"),
        ("POST", "identity", "auth/tokens", "POST /auth/tokens"),
    ],
)
def test_normalise(method, service, path, kind):
    assert normalise(method, service, [part for part in path.split("/") if part]) == kind


def test_counts():
    log = CallLog()
    for status in (202, 202, 403):
        log.finish(log.begin(1.0, "c", "POST /servers", "/x"), 2.0, status)
    log.begin(3.0, "c", "GET /limits", "/y")
    counts = log.counts()
    assert counts["total"] == 4
    assert counts["by_kind"] == {"POST /servers": 3, "GET /limits": 1}
    assert counts["by_status"] == {"POST /servers": {"202": 2, "403": 1}, "GET /limits": {"open": 1}}


def test_a_row_tells_when_and_how_a_call_ended():
    log = CallLog()
    entry = log.begin(1.0, "c", "GET /limits", "/y")
    assert log.rows()[0]["status"] is None and log.rows()[0]["end"] is None
    log.finish(entry, 2.5, "hang")
    assert (log.rows()[0]["status"], log.rows()[0]["end"]) == ("hang", 2.5)
    log.clear()
    assert log.rows() == [] and log.counts()["total"] == 0
