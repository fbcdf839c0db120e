# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotation, deletion and reverting: cloud images, then files, then records; never the current or the previous one."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads import presence
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import BuildState, Upload, UploadState
from tests.support.fixtures_zookeeper import eventually
from tests.support.image_case import IMAGE, Builder, taker


def names(builder: Builder) -> set[str]:
    """The builds that have files."""
    return {path.name.rpartition(".d")[0].rpartition("-")[2] for path in builder.images_dir.glob("*.d")}


def builds(builder: Builder) -> list[str]:
    return [build.id for build in builder.store.images.builds(IMAGE)]


def test_rotation_over_three_builds(builder: Builder) -> None:
    builder.configure(taker("one"), taker("two"))
    made = []
    for number in range(1, 5):
        made.append(builder.build())
        result = builder.run()
        kept = [build.id for build in made[-2:]]
        for name in ("one", "two"):
            assert [upload.build_id for upload in builder.uploads(name)] == kept
            assert builder.states(name) == ["ready"] * len(kept)
            assert set(builder.in_cloud(name)) == {upload.external_id for upload in builder.uploads(name)}
        assert names(builder) == set(kept) == set(builds(builder))
        gone = [made[-3].id] if number > 2 else []
        assert [row["build_id"] for row in result["builds_deleted"]] == gone
        assert {row["build_id"] for row in result["uploads"]["deleted"]} == set(gone)
        assert {name.split("-")[1].partition(".")[0] for name in result["files_removed"]} == set(gone)


def test_uploads_go_before_files_before_the_record(builder: Builder) -> None:
    cloud = builder.cloud()
    builder.configure()
    made = [builder.build() for _number in range(1)]
    builder.run()
    made.append(builder.build())
    builder.run()
    cloud.fault("DELETE /images/{id}", "status", status=500)
    made.append(builder.build())
    result = builder.run()
    assert [row["build_id"] for row in result["undeleted"]] == [made[0].id]
    assert builder.states() == ["deleting", "ready", "ready"]
    assert names(builder) == {build.id for build in made}, "files stay as long as the cloud image does"
    cloud.clear_faults()
    builder.run()
    assert builder.states() == ["ready", "ready"]
    assert names(builder) == set(builds(builder)) == {build.id for build in made[1:]}


def test_a_provider_that_takes_nothing_new_keeps_its_two_newest(builder: Builder) -> None:
    builder.configure(taker("one"), taker("two"))
    made = []
    for number in range(4):
        made.append(builder.build())
        if number == 2:
            builder.site.clouds["two"].fault("POST /images", "status", status=500)
        builder.run()
    assert [upload.build_id for upload in builder.uploads("two")] == [build.id for build in made[:2]]
    assert builder.states("two") == ["ready", "ready"]
    assert [upload.build_id for upload in builder.uploads("one")] == [build.id for build in made[2:]]
    assert set(builds(builder)) == {build.id for build in made}


def test_a_build_marked_for_deletion_goes_everywhere(builder: Builder) -> None:
    builder.configure(taker("one"), taker("two"))
    old, new = builder.build(), builder.build()
    builder.run(image=IMAGE, build_id=old.id)
    builder.run()
    assert builder.states("one") == builder.states("two") == ["ready", "ready"]
    marked = builder.store.images.build(IMAGE, new.id)
    marked.set_state(BuildState.DELETING, 1.0)
    builder.store.images.write_build(marked)
    builder.run()
    for name in ("one", "two"):
        assert [upload.build_id for upload in builder.uploads(name)] == [old.id]
        assert len(builder.in_cloud(name)) == 1
    assert names(builder) == {old.id} == set(builds(builder))


def test_an_upload_marked_for_deletion_comes_again_unless_paused(builder: Builder) -> None:
    builder.configure(taker("one", diskimages=[{"name": IMAGE, "pause": True}]))
    builder.build()
    builder.run(force=True)
    (upload,) = builder.uploads()
    upload.set_state(UploadState.DELETING, 1.0)
    builder.store.images.write_upload(upload)
    builder.run()
    assert (builder.uploads(), builder.in_cloud()) == ([], {})
    builder.configure()
    builder.run()
    assert [each.id for each in builder.uploads()] > [upload.id]


def test_of_a_build_that_is_there_twice_the_one_in_use_stays(builder: Builder) -> None:
    builder.configure()
    builder.build()
    builder.run()
    (first,) = builder.uploads()
    result = builder.run(force=True)
    (second,) = builder.uploads()
    assert second.id > first.id and set(builder.in_cloud()) == {second.external_id}
    assert [(row["upload_id"], row["code"]) for row in result["uploads"]["deleted"]] == [(first.id, "surplus")]
    assert result["undeleted"] == []
    in_use = builder.store.images.newest_ready(IMAGE, "one")
    assert in_use is not None and in_use.id == second.id
    assert builder.run()["changed"] is False


def test_an_image_that_two_records_name_stays_with_one_of_them(builder: Builder) -> None:
    builder.configure()
    builder.build()
    builder.run()
    (first,) = builder.uploads()
    twin = Upload(image=IMAGE, build_id=first.build_id, provider="one", external_id=first.external_id)
    twin.set_state(UploadState.READY, (first.state_time or 0.0) + 1.0)
    builder.store.images.create_upload(twin)
    builder.run()
    assert [upload.id for upload in builder.uploads()] == [twin.id]
    assert set(builder.in_cloud()) == {first.external_id}


def test_delete_after_upload(builder: Builder) -> None:
    builder.cloud("one", "raw")
    builder.cloud("two", "qcow2").fault("POST /images", "status", status=500, count=1)
    options = {"delete-after-upload": True, "keep-formats": ["vhd"]}
    builder.configure(taker("one"), taker("two"), diskimages=[{"name": IMAGE, "elements": ["x"], **options}])
    build = builder.build(formats=("raw", "qcow2", "vhd"))
    builder.run()
    left = {path.suffix for path in builder.images_dir.glob(f"{IMAGE}-{build.id}*") if path.is_file()}
    assert not builder.file(build, "raw").exists() and builder.file(build, "qcow2").exists()
    assert ".vhd" in left
    builder.run(force=True, provider="two")
    assert builder.run(provider=None)["uploads"]["failed"] == []
    assert not builder.file(build, "qcow2").exists() and builder.file(build, "vhd").exists()


def test_an_image_that_left_the_configuration(builder: Builder) -> None:
    builder.configure(taker("one", "tiny", "huge"), images=("tiny", "huge"))
    builder.build("tiny")
    builder.build("huge")
    builder.run()
    builder.configure(taker("one", "huge"), images=("huge",))
    builder.run()
    assert (builder.uploads(image="tiny"), builder.store.images.builds("tiny")) == ([], [])
    assert len(builder.in_cloud()) == 1
    assert not list(builder.images_dir.glob("tiny-*"))
    builder.configure(taker("one", diskimages=[], pools=[]), images=("huge",))
    builder.run()
    assert (builder.uploads(image="huge"), builder.in_cloud()) == ([], {})
    assert len(builder.store.images.builds("huge")) == 1, "the build itself is still configured"


def test_only_what_was_chosen_is_deleted(builder: Builder) -> None:
    builder.configure(taker("one"), taker("two"))
    made = [builder.build() for _number in range(1)]
    builder.run()
    for _number in range(2):
        made.append(builder.build())
        builder.run(provider="one")
        builder.run(provider="two")
    assert set(builds(builder)) == {build.id for build in made}, "the record of a build concerns all providers"
    assert len(builder.in_cloud("one")) == len(builder.in_cloud("two")) == 2


def test_the_cycle_reacts_within_ten_seconds(builder: Builder) -> None:
    builder.configure()
    with builder.stay() as cycle:
        # It has looked at the directory: files that come before their record are none that a builder has made.
        eventually(lambda: builder.store.own.children("image-builders"))
        build = builder.build()
        eventually(lambda: builder.states() == ["ready"], 3)
        marked = builder.store.images.build(IMAGE, build.id)
        marked.set_state(BuildState.DELETING, 1.0)
        builder.store.images.write_build(marked)
        eventually(lambda: builder.store.images.builds(IMAGE) == [] and not builder.in_cloud(), 3)
    assert cycle.result["ended"] == "stopped"


def test_what_of_the_configuration_has_changed_is_said(builder: Builder) -> None:
    builder.configure()
    with builder.stay() as cycle:
        eventually(lambda: builder.store.own.children("image-builders"))
        builder.configure(taker("one", image_upload_timeout=7))
        eventually(lambda: cycle.told("read again"), 60)
    assert cycle.told("configuration: read again: provider one changed (image-upload-timeout)")


def test_an_image_that_somebody_deletes_in_the_cloud_is_uploaded_again(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence, "APART", 0.5)
    builder.configure()
    builder.build()
    builder.run()
    newest = builder.build()
    builder.run()
    old, lost = builder.uploads()
    options = builder.options()
    assert options.client(options.load().providers["one"]).images.delete(lost.external_id or "")
    result = builder.run()
    assert [(row["upload_id"], row["code"]) for row in result["uploads"]["deleted"]] == [(lost.id, "lost")]
    (row,) = result["uploads"]["done"]
    assert row["build_id"] == newest.id
    assert [upload.external_id for upload in builder.uploads()] == [old.external_id, row["external_id"]]
    assert set(builder.in_cloud()) == {old.external_id, row["external_id"]}
    assert builder.run()["changed"] is False
