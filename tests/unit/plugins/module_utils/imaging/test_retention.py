# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.image_snapshot import ImageState
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.listed import Listed, OtherBuilders
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.retention import (
    DEFAULT_BUILD_TIMEOUT,
    FILE_GRACE,
    GRACE,
    DeleteBuild,
    DeleteFiles,
    DeleteUpload,
    DeletionCode,
    MarkBuild,
    abandoned_builds,
    holders,
    plan_deletions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.build_verdict import (
    GATE,
    HAND,
    HELD,
    NONE,
    REJECTED,
    REVOKED,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import BuildState, UploadState
from tests.support.image_views import THEM, build, build_id, config, files, later, upload, view


def state(*builds, **values):
    return ImageState("debian", builds=builds, **values)


def told(deletion):
    """What is deleted, in short."""
    if isinstance(deletion, DeleteUpload):
        return ("upload", int(deletion.upload.build_id, 16), deletion.upload.provider, deletion.code)
    if isinstance(deletion, MarkBuild):
        return ("mark", int(deletion.build.id, 16), deletion.code)
    if isinstance(deletion, DeleteFiles):
        return ("files", int(deletion.build_id, 16), deletion.code)
    return ("record", int(deletion.build_id, 16), deletion.code)


def plan(seen):
    return [told(deletion) for deletion in plan_deletions(seen)]


def doomed(seen) -> list[DeleteUpload]:
    """The uploads that go."""
    return [deletion for deletion in plan_deletions(seen) if isinstance(deletion, DeleteUpload)]


def three():
    """Three builds, the third the newest, each uploaded."""
    return state(
        build(1, age=30), build(2, age=20), build(3, age=10),
        uploads=[upload(1, age=29), upload(2, age=19), upload(3, age=9)],
    )  # fmt: skip


def without(seen, name, **values):
    return replace(seen, images={name: replace(seen.images[name], **values)})


# -- builds that must not be used --------------------------------------------------------------------------------------


def of_days(last, **verdicts):
    """A build a day, uploaded to cloud1; build 1 is the oldest."""
    numbers = range(1, last + 1)
    return state(
        *(build(number, age=10 * (last - number) + 10) for number in numbers),
        uploads=[upload(number, age=10 * (last - number) + 9) for number in numbers],
        verdicts={build_id(int(name[1:])): verdict for name, verdict in verdicts.items()},
    )


REVOKED_ONE = NONE.given(REVOKED, "no python", HAND, 5.0)
FALLEN = NONE.without("cloud1", "0 of 3", 5.0)


@pytest.mark.parametrize("verdict", [REVOKED_ONE, FALLEN, NONE.given(REJECTED, "x", HAND, 5.0)])
def test_seven_bad_days_in_a_row_leave_the_good_ones_where_they_are(verdict):
    bad = {f"b{number}": verdict for number in range(3, 10)}
    seen = view(None, of_days(9, **bad))
    gone = {number for what, number, *_rest in plan(seen) if what == "upload"}
    assert gone == set(range(3, 9)), "builds 1 and 2 are good, 9 is the newest"
    marked = view(None, replace(of_days(9, **bad), uploads=[]))
    assert {number for what, number, *_rest in plan(marked) if what == "mark"} == set(range(3, 9))


def test_a_held_build_is_kept_until_somebody_decides():
    held = NONE.given(HELD, "alice looks", HAND, 5.0)
    seen = view(None, of_days(6, b2=held))
    assert {number for what, number, *_rest in plan(seen) if what == "upload"} == {1, 3, 4}


def test_a_revoked_build_can_be_restored_while_only_bad_ones_are_newer():
    rejected = NONE.given(REJECTED, "no DNS", GATE, 5.0)
    seen = view(None, of_days(6, b4=REVOKED_ONE, b5=rejected, b6=rejected))
    assert {number for what, number, *_rest in plan(seen) if what == "upload"} == {1, 5}
    marked = view(None, replace(of_days(6, b4=REVOKED_ONE, b5=rejected, b6=rejected), uploads=[]))
    assert {number for what, number, *_rest in plan(marked) if what == "mark"} == {1, 5}
    seen = view(None, of_days(6, b4=REVOKED_ONE, b5=rejected))
    assert {number for what, number, *_rest in plan(seen) if what == "upload"} == {1, 2, 4, 5}, "6 replaces it"


def test_a_build_that_one_provider_has_given_up_goes_at_the_others_as_before():
    fallen = NONE.without("elsewhere", "0 of 3", 5.0)
    assert {number for what, number, *_rest in plan(view(None, of_days(3, b3=fallen))) if what == "upload"} == {1}


# -- images that are gone ---------------------------------------------------------------------------------------------


def test_an_upload_whose_image_is_gone_counts_for_nothing():
    seen = replace(view(None, three()), lost=frozenset({upload(3).path}))
    assert plan(seen) == [("upload", 3, "cloud1", DeletionCode.LOST)], "the oldest is one of the two that are there"
    (gone,) = doomed(seen)
    assert gone.reason == "its image is no longer in the cloud"


def test_of_a_build_that_is_there_twice_the_one_that_is_left_stays():
    twins = [upload(1, age=9, serial=1), upload(1, age=5, serial=2)]
    seen = view(None, state(build(1, age=10), uploads=twins), lost=frozenset({twins[1].path}))
    assert [(each.upload.id, each.code) for each in doomed(seen)] == [("0000000002", DeletionCode.LOST)]


def test_files_of_what_is_to_be_uploaded_again_stay():
    known = config({"debian": {"delete_after_upload": True}})
    made = state(build(1, age=10), uploads=[upload(1, age=9)])
    assert ("files", 1, DeletionCode.UPLOADED) in plan(view(known, made))
    assert plan(view(known, made, lost=frozenset({upload(1).path}))) == [("upload", 1, "cloud1", DeletionCode.LOST)]


# -- rotation ---------------------------------------------------------------------------------------------------------


def test_of_three_builds_the_oldest_goes_step_by_step_uploads_before_files():
    seen = view(None, three(), files=[*files(1, "qcow2"), *files(2, "qcow2"), *files(3, "qcow2")])
    assert plan(seen) == [("upload", 1, "cloud1", DeletionCode.OLD)]
    old = seen.images["debian"]
    seen = without(seen, "debian", uploads=old.uploads[1:])
    assert plan(seen) == [("mark", 1, DeletionCode.OLD)]
    marked = build(1, BuildState.DELETING, age=0)
    seen = without(seen, "debian", builds=[marked, *old.builds[1:]])
    assert plan(seen) == [("files", 1, DeletionCode.ASKED), ("record", 1, DeletionCode.ASKED)]
    names = next(deletion.names for deletion in plan_deletions(seen) if isinstance(deletion, DeleteFiles))
    base = f"debian-{build_id(1)}"
    assert names == (f"{base}.d", f"{base}.qcow2", f"{base}.qcow2.md5", f"{base}.qcow2.sha256")
    seen = replace(without(seen, "debian", builds=old.builds[1:]), files=[*files(2, "qcow2"), *files(3, "qcow2")])
    assert plan(seen) == []


def test_two_builds_are_kept_however_old():
    assert plan(view(None, state(build(1, age=1e7), build(2, age=1e6)))) == []


def test_what_a_provider_needs_is_kept_while_newer_uploads_fail():
    seen = three()
    seen = replace(seen, uploads=[upload(1), upload(2), upload(3, state=UploadState.FAILED)])
    assert plan(view(None, seen)) == [("upload", 3, "cloud1", DeletionCode.FAILED)]
    four = replace(seen, builds=[*seen.builds, build(4, age=1)])
    assert plan(view(None, four)) == [("upload", 3, "cloud1", DeletionCode.FAILED)]


def test_each_provider_for_itself():
    configuration = config({"debian": {}}, {"a": ["debian"], "b": ["debian"]})
    uploads = [upload(1, "a"), upload(2, "a"), upload(3, "a"), upload(1, "b"), upload(2, "b")]
    seen = view(configuration, replace(three(), uploads=uploads))
    assert plan(seen) == [("upload", 1, "a", DeletionCode.OLD)]
    assert holders(seen, seen.images["debian"], seen.images["debian"].builds[0]) == "it has uploads at a, b"


def test_two_uploads_of_one_build_do_not_push_the_previous_build_out():
    builds = [build(number, age=50 - number) for number in (1, 2, 3, 4)]
    uploads = [upload(1), upload(2, age=3), upload(2, serial=2, age=2), upload(2, serial=3, age=1)]
    surplus = ("upload", 2, "cloud1", DeletionCode.SURPLUS)
    assert plan(view(None, state(*builds, uploads=uploads))) == [surplus, surplus]
    # What a launcher uses is not among them.
    going = doomed(view(None, state(*builds, uploads=uploads)))
    assert [deletion.upload.id for deletion in going] == [upload(2).id, upload(2, serial=2).id]
    assert going[0].reason == "provider cloud1 has this build twice; upload 0000000003 is in use"
    assert plan(view(None, state(*builds, uploads=[uploads[0], uploads[3]]))) == []


def test_of_two_uploads_of_one_build_the_one_with_an_image_is_kept():
    """A launcher cannot use the other."""
    bare = replace(upload(1, serial=2, age=1), external_id=None)
    seen = view(None, state(build(1), uploads=[upload(1, age=5), bare]))
    assert [deletion.upload.id for deletion in doomed(seen)] == [bare.id]


def test_what_the_launcher_uses_is_kept_also_when_its_build_is_an_old_one():
    builds = [build(number, age=50 - number) for number in (1, 2, 3)]
    uploads = [upload(2, age=9), upload(3, age=8), upload(1, age=3), upload(1, serial=2, age=2)]
    (going,) = doomed(view(None, state(*builds, uploads=uploads)))
    assert (going.upload.path, going.code) == (uploads[2].path, DeletionCode.SURPLUS)


def test_failed_builds_go_at_once():
    seen = view(None, state(build(1, BuildState.FAILED), build(2)), files=files(1, "qcow2"))
    assert plan(seen) == [("mark", 1, DeletionCode.FAILED)]


# -- what people do ---------------------------------------------------------------------------------------------------


def test_a_build_marked_by_hand_goes_with_all_its_uploads_before_its_files():
    marked = three()
    marked = replace(marked, builds=[*marked.builds[:2], build(3, BuildState.DELETING)])
    seen = view(None, marked, files=files(3, "qcow2"))
    assert plan(seen) == [("upload", 3, "cloud1", DeletionCode.ASKED)]
    gone = without(seen, "debian", uploads=marked.uploads[:2])
    assert plan(gone) == [("files", 3, DeletionCode.ASKED), ("record", 3, DeletionCode.ASKED)]


def test_an_upload_marked_by_hand_goes_and_the_builds_stay():
    marked = replace(three(), uploads=[upload(1), upload(2), upload(3, state=UploadState.DELETING)])
    assert plan(view(None, marked)) == [("upload", 3, "cloud1", DeletionCode.ASKED)]


def test_uploads_of_a_marked_build_go_although_its_builder_is_gone():
    """Its files are on the disk of whoever built it; the images in the cloud need nobody there."""
    theirs = build(3, BuildState.DELETING, builder_id=THEM)
    seen = view(None, state(build(1, age=9), build(2, age=5), theirs, uploads=[upload(2), upload(3)]))
    assert plan(seen) == [("upload", 3, "cloud1", DeletionCode.ASKED)]


def test_an_image_that_left_the_configuration_goes_altogether():
    seen = view(config(["other"], {"cloud1": ["other"]}), three())
    assert plan(seen) == [
        ("upload", 1, "cloud1", DeletionCode.REMOVED),
        ("upload", 2, "cloud1", DeletionCode.REMOVED),
        ("upload", 3, "cloud1", DeletionCode.REMOVED),
    ]
    bare = without(seen, "debian", uploads=[])
    assert plan(bare) == [("mark", number, DeletionCode.REMOVED) for number in (1, 2, 3)]


def test_a_provider_with_no_images_any_more_is_emptied_and_the_builds_stay():
    configuration = config({"debian": {}}, {"a": ["debian"], "b": []})
    uploads = [upload(2, "a"), upload(3, "a"), upload(2, "b"), upload(3, "b"), upload(1, "b")]
    seen = view(configuration, state(build(2, age=2), build(3, age=1), uploads=uploads))
    assert plan(seen) == [("upload", 2, "b", DeletionCode.REMOVED), ("upload", 3, "b", DeletionCode.REMOVED)]


def test_a_provider_that_left_the_configuration_is_not_touched():
    configuration = config({"debian": {}}, {"a": ["debian"]})
    seen = view(
        configuration, replace(three(), uploads=[upload(1, "gone"), upload(1, "a"), upload(2, "a"), upload(3, "a")])
    )
    assert plan(seen) == [("upload", 1, "a", DeletionCode.OLD)]
    only = without(seen, "debian", uploads=[upload(1, "gone")])
    assert plan(only) == []
    assert holders(only, only.images["debian"], only.images["debian"].builds[0]) == (
        "it has uploads at gone, not in this configuration"
    )


def test_the_files_of_a_marked_build_do_not_wait_for_a_provider_that_nobody_here_knows():
    gone = upload(1, "gone")
    seen = view(None, state(build(1, BuildState.DELETING), uploads=[gone]), files=files(1, "qcow2"))
    assert plan(seen) == [("files", 1, DeletionCode.ASKED)]
    busy = upload(1, "gone", UploadState.UPLOADING)
    assert plan(without(seen, "debian", uploads=[busy], uploading=frozenset({(build_id(1), "gone")}))) == []


# -- what is under way ------------------------------------------------------------------------------------------------


def test_a_build_under_way_is_left_alone_and_an_abandoned_one_of_ours_is_ended_by_the_builder():
    under_way = state(build(1, BuildState.BUILDING), locked=True)
    seen = view(None, under_way, files=files(1, "qcow2"))
    assert (plan(seen), abandoned_builds(seen)) == ([], [])
    free = without(seen, "debian", locked=False)
    assert plan(free) == []
    assert [found.id for found in abandoned_builds(free)] == [build_id(1)]
    assert abandoned_builds(replace(free, building=frozenset({build_id(1)}))) == []
    newer = without(seen, "debian", builds=[build(1, BuildState.BUILDING), build(2, BuildState.BUILDING)])
    assert [found.id for found in abandoned_builds(newer)] == [build_id(1)]


def test_another_builders_abandoned_build_goes_when_it_could_not_be_under_way_any_more():
    theirs = build(1, BuildState.BUILDING, builder_id=THEM)
    seen = view(config({"debian": {"build_timeout": 100}}), state(theirs))
    assert (plan(later(seen, 99 + GRACE)), abandoned_builds(later(seen, 1e9))) == ([], [])
    assert plan(later(seen, 100 + GRACE)) == [("mark", 1, DeletionCode.ABANDONED)]
    removed = view(config(["other"]), state(theirs))
    assert plan(later(removed, DEFAULT_BUILD_TIMEOUT + GRACE - 1)) == []
    assert plan(later(removed, DEFAULT_BUILD_TIMEOUT + GRACE)) == [("mark", 1, DeletionCode.REMOVED)]


def test_an_upload_under_way_is_left_alone_and_an_abandoned_one_is_deleted():
    key = (build_id(1), "cloud1")
    seen = view(None, state(build(1), uploads=[upload(1, state=UploadState.UPLOADING)], uploading=frozenset({key})))
    assert plan(seen) == []
    free = without(seen, "debian", uploading=frozenset())
    assert plan(free) == [("upload", 1, "cloud1", DeletionCode.ABANDONED)]
    assert plan(replace(free, uploading=frozenset({key}))) == []
    both = [upload(1, state=UploadState.UPLOADING), upload(1, state=UploadState.UPLOADING, serial=2)]
    found = plan_deletions(without(seen, "debian", uploads=both))
    assert [deletion.upload.id for deletion in found if isinstance(deletion, DeleteUpload)] == ["0000000001"]


def test_another_builders_upload_is_judged_by_its_lock_too():
    key = (build_id(1), "cloud1")
    theirs = state(build(1, builder_id=THEM), uploads=[upload(1, state=UploadState.UPLOADING)])
    seen = view(None, theirs)
    assert plan(seen) == [("upload", 1, "cloud1", DeletionCode.ABANDONED)]
    assert plan(later(without(seen, "debian", uploading=frozenset({key})), 1e6)) == []


def test_an_upload_whose_build_has_no_record_is_kept_while_nothing_newer_is_there():
    """Somebody has deleted the record of the build by hand; servers are made from its image."""
    alone = view(None, state(uploads=[upload(1)]))
    assert plan(alone) == []


# -- other builders ---------------------------------------------------------------------------------------------------

FEDORA = Listed(frozenset({"debian"}), frozenset({("cloud1", "debian")}))


def test_what_another_builder_lists_is_kept_and_rotated():
    shorter = view(config(["other"], {"cloud1": ["other"]}), three(), others=OtherBuilders((FEDORA,)))
    assert plan(shorter) == [("upload", 1, "cloud1", DeletionCode.OLD)]
    bare = without(shorter, "debian", uploads=[])
    assert plan(bare) == [("mark", 1, DeletionCode.OLD)]
    nobody = replace(shorter, others=OtherBuilders((Listed(frozenset({"arch"})),)))
    assert {code for _what, _number, _provider, code in plan(nobody)} == {DeletionCode.REMOVED}


def test_an_upload_that_only_another_builder_lists_is_kept():
    shorter = view(config({"debian": {}}, {"cloud1": []}), three(), others=OtherBuilders((FEDORA,)))
    assert plan(shorter) == [("upload", 1, "cloud1", DeletionCode.OLD)]
    elsewhere = Listed(frozenset({"debian"}), frozenset({("cloud2", "debian")}))
    gone = replace(shorter, others=OtherBuilders((elsewhere,)))
    assert plan(gone)[0] == ("upload", 1, "cloud1", DeletionCode.REMOVED)


def test_a_live_builder_that_does_not_tell_what_it_lists_deletes_its_own_builds():
    made = replace(build(1, builder_id=THEM), builder="stock.example.org")
    stock = OtherBuilders(hosts=frozenset({"stock"}))
    seen = view(config(["other"], {"cloud1": ["other"]}), state(made, uploads=[upload(1)]), others=stock)
    assert plan(seen) == [] and plan(without(seen, "debian", uploads=[])) == []
    dead = replace(seen, others=OtherBuilders(hosts=frozenset({"else"})))
    assert plan(dead) == [("upload", 1, "cloud1", DeletionCode.REMOVED)]


@pytest.mark.parametrize("marked", [BuildState.DELETING, BuildState.READY])
def test_an_upload_under_way_keeps_its_build_and_files(marked):
    key = (build_id(1), "cloud1")
    under_way = state(
        build(1, marked, age=30), build(2, age=20), build(3, age=10),
        uploads=[upload(1, state=UploadState.UPLOADING)], uploading=frozenset({key}),
    )  # fmt: skip
    assert plan(view(None, under_way, files=files(1, "qcow2"))) == []


# -- files ------------------------------------------------------------------------------------------------------------


def test_files_without_a_record_go_when_they_are_not_young():
    seen = view(None, files=files(1, "qcow2", age=FILE_GRACE - 1))
    assert plan(seen) == []
    assert plan(later(seen, 1)) == [("files", 1, DeletionCode.LEFT_OVER)]
    assert plan(replace(later(seen, 1), building=frozenset({build_id(1)}))) == []


def test_files_of_another_builders_build_and_of_a_broken_record_stay():
    theirs = view(None, state(build(1, builder_id=THEM)), files=files(1, "qcow2"))
    assert plan(theirs) == []
    broken = view(None, state(unreadable=frozenset({build_id(1)})), files=files(1, "qcow2"))
    assert plan(broken) == []


def test_what_only_looks_like_a_build_stays():
    dated = files(1, "qcow2")
    dated = [replace(file, build_id="2024010101", name="backup-2024010101.qcow2") for file in dated]
    assert plan(view(None, files=dated)) == []


def test_an_empty_record_goes_unless_something_lies_below_it():
    assert plan(view(None, state(empty=frozenset({build_id(1)})))) == [("record", 1, DeletionCode.LEFT_OVER)]
    assert plan(view(None, state(empty=frozenset({build_id(1)}), uploads=[upload(1)]))) == []


def delete_after_upload(*, keep=(), uploads=(), formats=("qcow2", "raw")):
    configuration = config(
        {"debian": {"delete_after_upload": True, "keep_formats": keep, "formats": ("vhd",)}},
        {"a": ["debian"], "b": ["debian"]},
    )
    return view(
        configuration,
        state(build(1, formats=["qcow2", "raw", "vhd"]), uploads=uploads),
        formats=dict(zip("ab", formats, strict=False)),
        files=files(1, "qcow2", "raw", "vhd"),
    )


def removed(seen):
    found = [name for deletion in plan_deletions(seen) if isinstance(deletion, DeleteFiles) for name in deletion.names]
    return {name.partition(".")[2] for name in found}


def of_format(name):
    return {name, f"{name}.md5", f"{name}.sha256"}


def test_delete_after_upload_removes_a_format_when_all_who_take_it_have_it():
    assert removed(delete_after_upload()) == set()
    assert removed(delete_after_upload(uploads=[upload(1, "a")])) == of_format("qcow2")
    assert removed(delete_after_upload(uploads=[upload(1, "a", UploadState.UPLOADING)])) == set()
    everything = of_format("qcow2") | of_format("raw") | of_format("vhd")
    assert removed(delete_after_upload(uploads=[upload(1, "a"), upload(1, "b")])) == everything
    assert removed(delete_after_upload(uploads=[upload(1, "a")], formats=("qcow2", "qcow2"))) == set()


def test_delete_after_upload_keeps_what_it_shall_keep_and_what_it_does_not_know():
    both = [upload(1, "a"), upload(1, "b")]
    assert removed(delete_after_upload(uploads=both, keep=("raw", "vhd"))) == of_format("qcow2")
    assert removed(delete_after_upload(uploads=both, formats=("qcow2",))) == set()
    plain = delete_after_upload(uploads=both)
    image = replace(plain.config.diskimages["debian"], delete_after_upload=False)
    assert removed(replace(plain, config=replace(plain.config, diskimages={"debian": image}))) == set()


def test_everything_has_a_code_and_a_reason():
    seen = view(config(["other"]), three(), files=files(9, "raw"))
    for deletion in plan_deletions(seen):
        assert deletion.code in DeletionCode.ALL
        assert deletion.reason
    assert any(isinstance(deletion, DeleteFiles) for deletion in plan_deletions(seen))
    assert not any(isinstance(deletion, DeleteBuild) for deletion in plan_deletions(seen))
