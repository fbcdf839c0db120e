# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of the uploads cycle."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.deletion import DeletionResult
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.upload import Ended, UploadResult
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.upload_report import (
    UploadsAccount,
    problems_of,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.due_uploads import UploadCase, UploadCode
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.retention import DeleteUpload, DeletionCode
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Upload


def case(code=UploadCode.MISSING, provider="cloud1"):
    return UploadCase(provider, "debian", True, code, "because")


def upload(number=1):
    return Upload(id=f"{number:010d}", image="debian", build_id="b", provider="cloud1", path=f"/u/{number}")


@pytest.mark.parametrize(
    ("ended", "where"),
    [(Ended.DONE, "done"), (Ended.STOPPED, "stopped"), (Ended.FAILED, "failed"), (Ended.LEFT, "failed")],
)
def test_each_upload_is_told_once_by_how_it_ended(ended, where):
    account = UploadsAccount()
    account.upload(UploadResult(case(), ended, "why", sent=7))
    told = {name: len(rows) for name, rows in account.result()["uploads"].items() if rows}
    assert told == {where: 1}
    assert account.changed
    assert account.bytes == (7 if ended == Ended.DONE else 0)


def test_what_was_skipped_changes_nothing():
    account = UploadsAccount()
    account.upload(UploadResult(case(), Ended.SKIPPED, "why"))
    account.deletion(DeletionResult(upload(), "x", False, "why", skipped=True), DeleteUpload(upload(), "x", "reason"))
    assert not account.changed
    assert account.result()["undeleted"] == []


@pytest.mark.parametrize("adopted", [False, True])
def test_what_could_not_be_deleted_is_told_until_it_is_gone(adopted):
    account, planned = UploadsAccount(), DeleteUpload(upload(), DeletionCode.ABANDONED, "reason")
    account.deletion(DeletionResult(upload(), planned.code, False, "409"), planned)
    (row,) = account.result()["undeleted"]
    assert (row["upload_id"], row["error"]) == ("0000000001", "409")
    assert not account.changed
    account.deletion(DeletionResult(upload(), planned.code, True, adopted=adopted), planned)
    assert account.result()["undeleted"] == []
    assert len(account.adopted if adopted else account.deleted) == 1


def test_problems_name_what_is_wrong_and_a_provider_that_is_left_out_once():
    cases = [case(), case(UploadCode.BACKOFF), case(UploadCode.NO_FILE, "dead")]
    undeleted = [
        {"provider": "cloud1", "image": "debian", "build_id": "b", "upload_id": "1", "error": "409"},
        {"provider": "dead", "image": "debian", "build_id": "b", "upload_id": "2", "error": "409"},
        {"image": "debian", "build_id": "b", "error": "read-only"},
    ]
    assert problems_of(cases, undeleted, {"dead": "no entry"}, ["broken"]) == [
        "provider dead is skipped: no entry",
        "provider cloud1: image debian: because",
        "provider cloud1: image debian: upload 1 of build b cannot be deleted: 409",
        "image debian: files of build b cannot be removed: read-only",
        "broken",
    ]
