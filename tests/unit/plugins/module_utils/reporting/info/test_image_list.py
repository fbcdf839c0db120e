# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.image_list import MOST_BUILDS, image_rows
from tests.support import busy_tree
from tests.support.populated_tree import BUILD, UPLOAD
from tests.support.tree_reading import NOW, populated, reading_of

CONFIG = parse_config(busy_tree.config())


def rows(documents=None):
    reading = populated() if documents is None else reading_of(documents)
    return {row["image"]: row for row in image_rows(CONFIG, reading, NOW)}


def test_each_provider_has_a_current_and_a_previous_upload():
    row = rows(busy_tree.documents(NOW))["debian-12"]
    assert [build["mark"] for build in row["builds"]] == ["current", "previous", ""]
    for item in row["providers"]:
        assert item["current"]["build_age"] == 3 * 3600 and item["previous"]["build_age"] == 27 * 3600
        assert (item["current"]["mark"], item["previous"]["mark"]) == ("current", "previous")


def test_an_upload_that_is_not_ready_is_not_the_current_one():
    found = {item["provider"]: item for item in rows(busy_tree.documents(NOW))["ubuntu-24.04"]["providers"]}
    assert found[busy_tree.ILL]["uploading"] == 1
    assert found[busy_tree.ILL]["current"]["build_age"] == 31 * 3600 and found[busy_tree.ILL]["previous"] is None
    assert found[busy_tree.FULL]["current"]["build_age"] == 7 * 3600


def test_an_upload_without_an_id_in_the_cloud_is_not_the_current_one():
    upload = {"state": "ready", "state_time": NOW - 5, "external_name": "x"}
    (item,) = rows({UPLOAD: upload, UPLOAD.partition("/providers")[0]: {"state": "ready"}})["debian"]["providers"]
    assert item["current"] is None


def test_flags_and_what_is_not_in_the_configuration():
    row = rows()["debian"]
    assert row["paused"] and row["requested"] and not row["configured"] and not row["stale"]
    assert [(build["id"], build["age"]) for build in row["builds"]] == [(BUILD, 3700.0)]


def test_failures_of_builds_and_uploads_are_told():
    documents = busy_tree.documents(NOW)
    failed = {"failures": 2, "not_before": NOW + 60, "failed_at": NOW - 9, "error": "413 Request Entity Too Large"}
    documents["/nodepool/stackci/image-uploads/cloud-fra/debian-12"] = failed
    found = rows(documents)
    assert found["fedora-42"]["stale"] and found["fedora-42"]["failures"] == 4
    assert "mirror answered 404" in found["fedora-42"]["last_error"]
    item = found["debian-12"]["providers"][0]
    assert (item["provider"], item["failures"], item["last_error"]) == ("cloud-fra", 2, failed["error"])
    assert (item["failed_age"], item["next_try_in"]) == (9.0, 60.0)


def test_an_image_that_was_never_built():
    row = rows({})["debian-12"]
    assert row["age"] is None and not row["stale"] and row["builds"] == []
    assert [item["current"] for item in row["providers"]] == [None] * 3


@pytest.mark.parametrize("damage", [b"", b"nonsense", b"[]", b'{"state": 7, "state_time": "x"}'])
def test_odd_records_are_shown_as_unknown(damage):
    row = rows({f"/nodepool/images/debian/builds/{BUILD}": damage, UPLOAD: damage})["debian"]
    (build,) = row["builds"]
    assert (build["age"], build["uploads"][0]["age"]) == (None, None)


def test_the_number_of_builds_is_bounded():
    root = "/nodepool/images/debian/builds"
    documents = {f"{root}/{number:032x}": {"state": "ready", "state_time": NOW - number} for number in range(50)}
    row = rows(documents)["debian"]
    assert len(row["builds"]) == MOST_BUILDS and row["builds_count"] == 50
    assert row["builds"][0]["id"] == "0" * 32


def test_what_differs_in_the_newest_build_is_told_unless_its_test_tells_it():
    documents = busy_tree.documents(NOW)
    newest = rows(documents)["debian-12"]["builds"][0]["id"]
    told = f"compared with build {'0' * 32}: 1 newer: bash 5.2-2"
    documents["/nodepool/stackci/image-builds/debian-12"] = {"failures": 0, "changes_of": newest, "changes": told}
    assert rows(documents)["debian-12"]["changes"] == told and rows(documents)["fedora-42"]["changes"] is None
    gate = {"build": newest, "upload": "0000000001", "outcome": "passed", "note": f"the playbook passed; {told}"}
    documents["/nodepool/stackci/image-gates/cloud-fra/debian-12"] = gate
    assert rows(documents)["debian-12"]["changes"] is None
    documents["/nodepool/stackci/image-builds/debian-12"] = {"failures": 0, "changes_of": "of another", "changes": told}
    del documents["/nodepool/stackci/image-gates/cloud-fra/debian-12"]
    assert rows(documents)["debian-12"]["changes"] is None
