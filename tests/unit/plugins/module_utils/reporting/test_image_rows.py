# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.image_snapshot import ImageState
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.notes import BuildNotes, Failures
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.retention import plan_deletions
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Image
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import BuildState, UploadState
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting import image_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.image_rows import (
    builds_result,
    deletion_row,
    images_result,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.last_state import with_age
from ansible_collections.stackci.nodepool.plugins.modules import dib_image_info, image_info
from tests.support.documented import differences
from tests.support.image_views import NOW, THEM, US, build, build_id, config, files, upload, view


@pytest.fixture
def seen():
    """Three builds of one image, the third made by somebody else; and an image that left the configuration."""
    configuration = config({"debian": {"rebuild_age": 100}}, {"cloud1": ["debian"], "cloud2": ["debian"]})
    state = ImageState(
        "debian",
        builds=[build(1, age=400), build(2, age=300), build(3, age=201, builder_id=THEM, builder="them")],
        uploads=[
            upload(1, age=390),
            upload(2, age=250),
            upload(2, "cloud2", age=290),
            upload(3, age=190),
            upload(3, "cloud2", UploadState.FAILED),
        ],
        paused=8,
        requested=7,
        requested_at=NOW - 65,
        notes=BuildNotes(Failures().again("no space", NOW - 5, 0.5), {"qcow2": 9}, 12.0),
        upload_failures={"cloud2": Failures().again("refused", NOW - 5, 0.5, build=build_id(3))},
    )
    gone = ImageState("gone", builds=[build(4, BuildState.DELETING, image="gone")])
    return view(configuration, state, gone, files=[*files(1, "qcow2"), *files(4, "raw", image="gone")])


def by(rows, *keys):
    """Rows by the values of *keys*."""
    return {tuple(row[key] for key in keys) if len(keys) > 1 else row[keys[0]]: row for row in rows}


def test_an_image_with_all_that_is_known_of_it(seen):
    row = by(builds_result(seen, ())["images"], "image")["debian"]
    assert row == {
        "image": "debian",
        "due": False,
        "code": "paused",
        "reason": "paused; the requested build waits until the pause ends",
        "at": None,
        "formats": ["qcow2"],
        "formats_unknown": [],
        "age": 201.0,
        "stale": True,
        "paused": True,
        "paused_in_config": False,
        "requested": True,
        "request_age": 65.0,
        "request_age_text": "00:00:01:05",
        "building": False,
        "sizes": {"qcow2": 9},
        "seconds": 12.0,
        "failures": 1,
        "last_error": "no space",
    }


def test_an_image_that_is_not_configured(seen):
    row = by(builds_result(seen, ())["images"], "image")["gone"]
    assert (row["due"], row["code"], row["stale"], row["age"]) == (False, "removed", False, None)


def test_an_image_is_stale_beyond_twice_its_rebuild_age(seen):
    assert builds_result(seen, ())["stale"] == ["debian"]
    assert builds_result(replace(seen, now=NOW - 1), ())["stale"] == []


def test_builds_with_their_files_and_their_fate(seen):
    result = builds_result(seen, ())
    rows = by(result["builds"], "build_id")
    assert [row["build_id"] for row in result["builds"]] == [build_id(number) for number in (1, 2, 3, 4)]
    old, previous, current, marked = (rows[build_id(number)] for number in (1, 2, 3, 4))
    assert (current["kept"], current["here"], current["builder"], current["files"]) == ("current", False, "them", [])
    assert (previous["kept"], previous["here"], previous["builder_id"]) == ("previous", True, US)
    assert previous["providers"] == ["cloud1", "cloud2"]
    assert (old["kept"], old["deletion"]) == ("it has uploads at cloud1", None)
    assert [file["name"].rpartition(".")[2] for file in old["files"]] == ["d", "qcow2", "md5", "sha256"]
    assert marked["deletion"] == "it is marked for deletion and has no uploads"
    assert [(row["what"], row["build_id"]) for row in result["deletions"]] == [
        ("files", build_id(4)),
        ("record", build_id(4)),
    ]


def test_uploads_with_the_one_in_use(seen):
    rows = by(images_result(seen, (), ())["uploads"], "build_id", "provider")
    assert [key for key, row in rows.items() if row["current"]] == [(build_id(2), "cloud2"), (build_id(3), "cloud1")]
    used = rows[build_id(3), "cloud1"]
    assert (used["external_id"], used["age"], used["build_age"], used["stale"]) == ("cloud1-3-1", 190.0, 201.0, True)
    assert rows[build_id(1), "cloud1"]["deletion"] == "provider cloud1 has two newer uploads"
    assert rows[build_id(3), "cloud2"]["deletion"] == "the upload failed"
    assert images_result(seen, (), ())["stale"] == ["cloud1/debian", "cloud2/debian"]


def test_what_the_launcher_cannot_boot_from_is_not_in_use():
    broken = upload(2)
    broken.external_id = None
    state = ImageState("debian", builds=[build(1, age=9), build(2)], uploads=[upload(1, age=5), broken])
    rows = by(images_result(view(None, state), (), ())["uploads"], "build_id")
    assert [key for key, row in rows.items() if row["current"]] == [build_id(1)]


def test_what_is_due_where(seen):
    rows = by(images_result(seen, (), ())["due"], "provider", "image")
    assert rows["cloud1", "debian"]["code"] == "current"
    missing = rows["cloud2", "debian"]
    assert (missing["due"], missing["code"], missing["build_id"]) == (False, "elsewhere", build_id(3))
    assert (missing["failures"], missing["last_error"], missing["format"]) == (1, "refused", "qcow2")


def test_only_what_was_asked_for(seen):
    assert {row["image"] for row in builds_result(seen, ["gone"])["builds"]} == {"gone"}
    assert [row["image"] for row in builds_result(seen, ["gone"])["images"]] == ["gone"]
    assert builds_result(seen, ["debian"])["deletions"] == []
    only = images_result(seen, ["debian"], ["cloud2"])
    assert {row["provider"] for key in ("uploads", "due", "deletions") for row in only[key]} == {"cloud2"}
    assert only["stale"] == ["cloud2/debian"]


def test_a_row_for_each_deletion(seen):
    rows = [deletion_row(deletion) for deletion in plan_deletions(seen)]
    assert [(row["image"], row["what"], row.get("provider"), row["build_id"], row["reason"]) for row in rows] == [
        ("debian", "upload", "cloud1", build_id(1), "provider cloud1 has two newer uploads"),
        ("debian", "upload", "cloud2", build_id(3), "the upload failed"),
        ("gone", "files", None, build_id(4), f"build {build_id(4)} is marked for deletion"),
        ("gone", "record", None, build_id(4), "it is marked for deletion and has no uploads"),
    ]


def test_the_results_are_as_documented(seen):
    assert differences(dib_image_info.RETURN, with_age(None, None, builds_result(seen, ())), check=False) == []
    assert differences(image_info.RETURN, with_age(None, None, images_result(seen, (), ())), check=False) == []
    empty = view(config(["debian"]), files=None, builder_id="")
    assert differences(dib_image_info.RETURN, with_age(None, None, builds_result(empty, ())), check=False) == []
    assert differences(image_info.RETURN, with_age(None, None, images_result(empty, (), ())), check=False) == []


def test_what_the_cloud_cannot_make_servers_of_is_not_current(seen):
    images = {
        ("cloud1", row["external_id"]): Image(row["external_id"], "x", status)
        for row, status in zip(
            [row for row in images_result(seen, (), ())["uploads"] if row["provider"] == "cloud1"],
            ("active", "active", "deactivated"),
            strict=True,
        )
    }
    gone = {("cloud2", upload(2, "cloud2").external_id): None}
    rows = by(images_result(seen, (), (), {**images, **gone})["uploads"], "build_id", "provider")
    assert [key for key, row in rows.items() if row["current"]] == [(build_id(2), "cloud1")]
    third, lost = rows[build_id(3), "cloud1"], rows[build_id(2), "cloud2"]
    assert third["cloud_status"] == "deactivated" and "reactivate it" in third["unusable"]
    assert (lost["cloud_status"], lost["unusable"]) == ("gone", "is no longer in the cloud")
    failed = rows[build_id(3), "cloud2"]
    assert (failed["cloud_status"], failed["unusable"]) == (None, None)


def test_an_upload_of_a_build_that_is_being_deleted_is_not_current_as_for_the_launcher(seen):
    state = seen.images["debian"]
    builds = [*state.builds[:2], build(3, BuildState.DELETING, age=201)]
    rows = images_result(replace(seen, images={"debian": replace(state, builds=builds)}), (), ())["uploads"]
    assert [(row["build_id"], row["provider"]) for row in rows if row["current"]] == [
        (build_id(2), "cloud1"),
        (build_id(2), "cloud2"),
    ]


class Counted(tuple[Any, ...]):
    """A tuple that counts how often it is gone through."""

    passes = 0

    def __iter__(self) -> Iterator[Any]:
        type(self).passes += 1
        return super().__iter__()


def test_the_records_are_gone_through_a_few_times_however_many_there_are(monkeypatch):
    """With 200,000 uploads, going through all of them for each of them took hours."""
    passes = []
    for many in (10, 100):
        monkeypatch.setattr(Counted, "passes", 0)
        builds = Counted(build(number, age=1000 - number) for number in range(many))
        uploads = Counted(upload(number, name) for number in range(many) for name in ("cloud1", "cloud2"))
        local = Counted(item for number in range(many) for item in files(number, "qcow2"))
        configuration = config({"debian": {}}, {"cloud1": ["debian"], "cloud2": ["debian"]})
        seen = replace(view(configuration, ImageState("debian", builds, uploads)), files=local)
        assert len(images_result(seen, (), ())["deletions"]) == 2 * many - 4
        builds_result(seen, ())
        passes.append(Counted.passes)
    assert passes[0] == passes[1]


def test_of_too_many_rows_the_used_and_the_youngest_are_returned(seen, monkeypatch):
    everything = images_result(seen, (), ())
    assert everything["left_out"] == builds_result(seen, ())["left_out"] == 0
    monkeypatch.setattr(image_rows, "MOST_SHOWN", 2)
    result = images_result(seen, (), ())
    assert (len(result["uploads"]), result["left_out"]) == (2, 3)
    assert all(row["current"] for row in result["uploads"])
    assert result["stale"] == everything["stale"], "nothing else depends on what is shown"
    built = builds_result(seen, ())
    assert (len(built["builds"]), built["left_out"]) == (2, 2)
    assert [row["build_id"] for row in built["builds"]] == [build_id(3), build_id(4)]


def test_an_older_build_that_was_uploaded_later_is_not_in_use():
    uploads = [upload(1, age=1), upload(2, age=7)]
    state = ImageState("debian", builds=[build(1, age=9), build(2, age=8)], uploads=uploads)
    rows = by(images_result(view(None, state), (), ())["uploads"], "build_id")
    assert [key for key, row in rows.items() if row["current"]] == [build_id(2)]
