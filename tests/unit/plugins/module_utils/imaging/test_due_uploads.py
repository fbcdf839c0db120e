# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.due_uploads import (
    UploadCode,
    judge_choice,
    judge_upload,
    judge_uploads,
    missing_first,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.image_snapshot import ImageState
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.listed import OtherBuilders
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.notes import Failures
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import BuildState, UploadState
from tests.support.image_views import NOW, THEM, build, build_id, config, files, later, upload, view


def state(*builds, **values):
    return ImageState("debian", builds=builds, **values)


def case(seen, provider="cloud1", **options):
    return judge_upload(seen, provider, "debian", **options)


def test_the_newest_ready_build_is_due_where_it_is_not():
    seen = view(None, state(build(1, age=9), build(2, age=1), build(3, BuildState.FAILED)), files=files(2, "qcow2"))
    found = case(seen)
    assert (found.due, found.code, found.build.id, found.format) == (True, UploadCode.MISSING, build_id(2), "qcow2")
    assert found.file == f"debian-{build_id(2)}.qcow2"
    assert found.first


@pytest.mark.parametrize("old", [UploadState.FAILED, UploadState.DELETING, UploadState.UPLOADING])
def test_an_upload_that_is_not_ready_does_not_count(old):
    seen = view(None, state(build(1), uploads=[upload(1, state=old)]), files=files(1, "qcow2"))
    assert case(seen).due


def test_a_build_under_way_is_not_uploaded():
    under_way = build(2, BuildState.BUILDING, age=0)
    seen = view(None, state(build(1, age=9), under_way), files=[*files(1, "qcow2"), *files(2, "qcow2")])
    assert case(seen).build.id == build_id(1)
    alone = view(None, state(under_way), files=files(2, "qcow2"))
    assert not case(alone).due


def test_a_build_that_is_there_is_not_uploaded_again():
    seen = view(None, state(build(1), uploads=[upload(1)]), files=files(1, "qcow2"))
    assert (case(seen).due, case(seen).code, case(seen).first) == (False, UploadCode.CURRENT, False)


def test_a_paused_image_is_not_uploaded():
    seen = view(config(paused=[("cloud1", "debian")]), state(build(1)), files=files(1, "qcow2"))
    assert case(seen).code == UploadCode.PAUSED
    flag = view(None, state(build(1), paused=3), files=files(1, "qcow2"))
    assert case(flag).due  # that flag is about builds


@pytest.mark.parametrize("left", [{"cloud2": ["debian"]}, {"cloud1": ["other"]}], ids=["provider", "image"])
@pytest.mark.parametrize("wish", [{}, {"force": True}, {"build_id": build_id(1)}], ids=["due", "forced", "one build"])
def test_what_has_left_the_configuration_since_is_not_uploaded(left, wish):
    seen = view(config(["debian", "other"], left), state(build(1)), files=files(1, "qcow2"))
    found = judge_choice(seen, "cloud1", "debian", holding=True, **wish)
    assert (found.due, found.code) == (False, UploadCode.REMOVED)


def test_each_provider_gets_its_format():
    configuration = config({"debian": {}}, {"a": ["debian"], "b": ["debian"], "c": ["debian"], "d": ["debian"]})
    seen = view(
        configuration,
        state(build(1, formats=["qcow2", "raw"])),
        formats={"a": "qcow2", "b": "raw", "c": "vhd"},
        files=files(1, "qcow2", "raw"),
    )
    assert [found.code for found in judge_uploads(seen)] == [
        UploadCode.MISSING,
        UploadCode.MISSING,
        UploadCode.FORMAT,
        UploadCode.UNKNOWN,
    ]
    assert [found.file.rpartition(".")[2] for found in missing_first(judge_uploads(seen)) if found.due] == [
        "qcow2",
        "raw",
    ]


def test_a_build_without_the_format_does_not_hide_an_older_one_that_has_it():
    configuration = config({"debian": {}}, {"a": ["debian"]})
    ours, theirs = build(1, age=9), build(2, age=1, formats=["raw"], builder_id=THEM)
    seen = view(configuration, state(ours, theirs), files=files(1, "qcow2"))
    assert case(seen, "a").build.id == build_id(1)
    there = replace(seen, images={"debian": state(ours, theirs, uploads=[upload(1, "a")])})
    assert (case(there, "a").due, case(there, "a").code) == (False, UploadCode.FORMAT)
    newer = replace(seen, images={"debian": state(ours, theirs, uploads=[upload(2, "a")])})
    assert case(newer, "a").code == UploadCode.CURRENT


def test_nothing_older_than_what_is_there_is_uploaded():
    builds = [build(1, age=9, formats=["raw"]), build(2, age=5), build(3, age=1)]
    seen = view(None, state(*builds, uploads=[upload(2)]), formats={"cloud1": "raw"}, files=files(1, "raw"))
    assert (case(seen).due, case(seen).code) == (False, UploadCode.FORMAT)


def test_whoever_has_the_file_uploads():
    ours = view(None, state(build(1)), files=())
    assert case(ours).code == UploadCode.NO_FILE
    former = view(None, state(build(1, builder_id=THEM)), files=(), former=frozenset({THEM}))
    assert case(former).code == UploadCode.NO_FILE
    theirs = view(None, state(build(1, builder_id=THEM, builder="them.example.org")))
    assert case(theirs).code == UploadCode.ELSEWHERE
    assert case(theirs).reason == "its files are on the builder them.example.org; no cycle of that builder runs now"
    for others in (OtherBuilders(alive=frozenset({THEM})), OtherBuilders(hosts=frozenset({"them"}))):
        assert case(replace(theirs, others=others)).reason == "its files are on the builder them.example.org"
    assert case(replace(ours, files=None)).code == UploadCode.ELSEWHERE
    only_checksums = [file for file in files(1, "qcow2") if not file.is_image]
    assert case(replace(ours, files=only_checksums)).code == UploadCode.NO_FILE
    moved = view(None, state(build(1, builder_id=THEM)), files=files(1, "qcow2"))
    assert case(moved).due


def test_what_is_being_uploaded_is_not_due_except_for_whoever_holds_the_lock():
    key = (build_id(1), "cloud1")
    seen = view(None, state(build(1), uploading=frozenset({key})), files=files(1, "qcow2"))
    assert case(seen).code == UploadCode.UPLOADING
    assert case(seen, holding=True).due
    assert case(view(None, state(build(1)), files=files(1, "qcow2"), uploading=frozenset({key}))).due is False


def test_failures_back_off_until_there_is_another_build():
    failures = {"cloud1": Failures().again("quota", NOW, 0.5, build=build_id(1)), "other": Failures()}
    seen = view(None, state(build(1, age=5), upload_failures=failures), files=files(1, "qcow2"))
    waiting = case(seen)
    assert (waiting.due, waiting.code, waiting.at) == (False, UploadCode.BACKOFF, NOW + 10)
    assert waiting.reason == "failed once, next attempt in 10 s; last error: quota"
    assert case(later(seen, 10)).due
    new = state(build(1, age=5), build(2), upload_failures=failures)
    assert case(replace(seen, images={"debian": new}, files=files(2, "qcow2"))).due


def test_providers_that_have_nothing_come_first():
    configuration = config({"debian": {}}, {"a": ["debian"], "b": ["debian"]})
    seen = view(configuration, state(build(1, age=9), build(2), uploads=[upload(1, "a")]), files=files(2, "qcow2"))
    assert [found.provider for found in missing_first(judge_uploads(seen)) if found.due] == ["b", "a"]
    assert case(view(configuration, state(build(1, BuildState.BUILDING))), "a").code == UploadCode.NO_BUILD
