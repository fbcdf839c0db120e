# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.due_builds import (
    BuildCode,
    due_builds,
    judge_build,
    lost_formats,
    open_request,
    served_request,
    wanted_formats,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.image_snapshot import ImageState
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.listed import OtherBuilders
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.notes import BuildNotes, Failures
from ansible_collections.stackci.nodepool.plugins.module_utils.model.build_verdict import BuildVerdict
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import BuildState
from tests.support.image_views import DAY, NOW, THEM, build, config, files, judge_builds, later, upload, view


def state(*builds, **values):
    return ImageState("debian", builds=builds, **values)


def case(seen, **options):
    return judge_build(seen, "debian", **options)


def notes(failures):
    return BuildNotes(failures=failures)


def test_an_image_without_a_ready_build_is_due():
    assert case(view()).code == BuildCode.FIRST
    found = case(view(None, state(build(1, BuildState.FAILED), build(2, BuildState.DELETING))))
    assert (found.due, found.code, found.formats, found.requested) == (True, BuildCode.FIRST, ("qcow2",), None)


def test_an_image_is_due_when_its_newest_ready_build_is_as_old_as_rebuild_age():
    seen = view(config({"debian": {"rebuild_age": 100}}), state(build(1, age=500), build(2, age=99)))
    fresh = case(seen)
    assert (fresh.due, fresh.code, fresh.at) == (False, BuildCode.FRESH, NOW + 1)
    aged = case(later(seen, 1))
    assert (aged.due, aged.code, aged.at) == (True, BuildCode.AGED, None)
    assert aged.reason == "the newest ready build is 1 min 40 s old, rebuild-age is 1 min 40 s"


def test_formats_are_those_of_all_providers_and_the_images_own():
    configuration = config(
        {"debian": {"formats": ("raw", "vhd")}, "other": {}}, {"a": ["debian"], "b": ["debian"], "c": ["other"]}
    )
    seen = view(configuration, formats={"a": "qcow2", "b": "raw", "c": "vmdk"})
    assert wanted_formats(seen, "debian") == ("qcow2", "raw", "vhd")
    assert case(seen).formats == ("qcow2", "raw", "vhd")


def test_a_format_that_the_newest_build_lacks_makes_it_due():
    configuration = config({"debian": {}}, {"a": ["debian"], "b": ["debian"]})
    found = case(view(configuration, state(build(1)), formats={"a": "qcow2", "b": "raw"}))
    assert (found.due, found.code, found.reason) == (True, BuildCode.FORMAT, "the newest ready build has no raw")
    both = build(2, formats=["qcow2", "raw"])
    assert not case(view(configuration, state(build(1), both), formats={"a": "qcow2", "b": "raw"})).due


def test_two_builders_with_different_formats_do_not_rebuild_in_turn():
    ours, theirs = build(1, age=50), build(2, age=10, builder_id=THEM, formats=["raw"])
    assert not case(view(None, state(ours, theirs))).due
    old = config({"debian": {"rebuild_age": 50}})
    assert case(view(old, state(ours, theirs))).code == BuildCode.FORMAT
    assert case(view(None, state(theirs))).code == BuildCode.FORMAT


def test_an_image_that_nobody_uses_is_not_built():
    unused = case(view(config(["debian"], {"cloud1": []}), state(requested=9)))
    assert (unused.due, unused.code) == (False, BuildCode.UNUSED)
    unknown = case(view(formats={}))
    assert (unknown.due, unknown.code) == (False, BuildCode.UNKNOWN)
    assert "cloud1" in unknown.reason
    assert case(view(config({"debian": {"formats": ("raw",)}}), formats={})).due  # what is known can be built


@pytest.mark.parametrize("requested", [None, 9])
def test_a_pause_in_the_configuration_goes_over_everything(requested):
    found = case(view(config({"debian": {"pause": True}}), state(requested=requested)))
    assert (found.due, found.code) == (False, BuildCode.PAUSED)


def test_a_pause_goes_over_a_request_whichever_is_newer():
    assert case(view(None, state(paused=5))).reason == "paused"
    for requested in (4, 6):
        found = case(view(None, state(paused=5, requested=requested)))
        assert (found.due, found.code, found.requested) == (False, BuildCode.PAUSED, requested)
        assert found.reason == "paused; the requested build waits until the pause ends"
    assert case(view(None, state(requested=6))).code == BuildCode.REQUESTED


def test_a_request_wins_over_age():
    found = case(view(None, state(build(1), requested=2)))
    assert (found.due, found.code, found.requested) == (True, BuildCode.REQUESTED, 2)


def test_a_request_is_served_by_a_build_that_began_after_it():
    before, after = state(build(1), requested=2), state(build(3), requested=2)
    assert (open_request(before), served_request(before)) == (2, False)
    assert (open_request(after), served_request(after)) == (None, True)
    assert not case(view(None, after)).due
    failed_after = state(build(3, BuildState.FAILED), requested=2)
    assert open_request(failed_after) == 2
    assert not served_request(state())


def test_what_is_being_built_is_not_due_except_for_whoever_holds_the_lock():
    locked = state(build(1, BuildState.BUILDING, builder="elsewhere.example.org"), locked=True)
    found = case(view(None, locked))
    assert (found.due, found.code, found.reason) == (
        False,
        BuildCode.BUILDING,
        "being built by elsewhere.example.org",
    )
    assert case(view(None, locked), holding=True).due
    assert case(view(None, replace(locked, locked=False))).due  # abandoned


def test_failures_back_off_and_a_new_request_is_tried_at_once():
    first = Failures().again("no space", NOW, 0.5)
    waiting = case(view(None, state(notes=notes(first))))
    assert (waiting.due, waiting.code, waiting.at) == (False, BuildCode.BACKOFF, NOW + 10)
    assert waiting.reason == "failed once, next attempt in 10 s; last error: no space"
    assert case(later(view(None, state(notes=notes(first))), 10)).due
    requested = state(notes=notes(first), requested=7)
    assert case(view(None, requested)).code == BuildCode.REQUESTED
    again = first.again("no space", NOW, 0.5, request=7)
    assert case(view(None, replace(requested, notes=notes(again)))).code == BuildCode.BACKOFF
    assert case(view(None, replace(requested, notes=notes(again), requested=8))).due


def test_failures_say_nothing_of_an_image_that_is_not_due():
    found = case(view(None, state(build(1, age=DAY / 2), notes=notes(Failures().again("x", NOW, 0.0)))))
    assert found.code == BuildCode.FRESH


def test_all_images_in_their_order_and_requests_first():
    configuration = config(["a", "b", "c", "d"])
    seen = view(configuration, ImageState("c", requested=3), ImageState("b", builds=[build(1, image="b")]))
    assert [found.image for found in judge_builds(seen)] == ["a", "b", "c", "d"]
    assert [found.image for found in due_builds(judge_builds(seen))] == ["c", "a", "d"]


def two_clouds(**attributes):
    return config({"debian": attributes}, {"cloud1": ["debian"], "cloud2": ["debian"]})


def test_a_build_that_has_lost_all_its_files_is_made_anew():
    here = state(build(1, formats=["qcow2", "raw"]), uploads=[upload(1), upload(1, "cloud2")])
    assert case(view(two_clouds(), here)).code == BuildCode.FRESH
    found = case(view(two_clouds(), here, files=()))
    assert (found.due, found.code) == (True, BuildCode.LOST)
    assert found.reason == "the newest ready build has lost files: images-dir has no qcow2, raw for it"
    assert case(view(two_clouds(), here, files=None)).code == BuildCode.FRESH  # nobody has looked
    assert case(view(two_clouds(), replace(here, locked=True), files=())).code == BuildCode.BUILDING
    again = replace(here, builds=[*here.builds, build(2)])
    assert case(view(two_clouds(), again, files=files(2, "qcow2"))).code == BuildCode.FRESH


def test_a_single_file_is_a_loss_where_a_provider_waits_for_it():
    both = build(1, formats=["qcow2", "raw"])
    formats = {"cloud1": "qcow2", "cloud2": "raw"}
    kept: dict[str, Any] = {"files": files(1, "qcow2"), "formats": formats}
    everywhere = state(both, uploads=[upload(1), upload(1, "cloud2")])
    assert case(view(two_clouds(), everywhere, **kept)).code == BuildCode.FRESH
    waiting = state(both, uploads=[upload(1)])
    found = case(view(two_clouds(), waiting, **kept))
    assert (found.code, "no raw for it" in found.reason) == (BuildCode.LOST, True)
    paused = config(["debian"], {"cloud1": ["debian"], "cloud2": ["debian"]}, paused=[("cloud2", "debian")])
    assert case(view(paused, waiting, **kept)).code == BuildCode.FRESH


def test_delete_after_upload_is_no_loss():
    everywhere = state(build(1), uploads=[upload(1), upload(1, "cloud2")])
    assert case(view(two_clouds(delete_after_upload=True), everywhere, files=())).code == BuildCode.FRESH
    kept = two_clouds(delete_after_upload=True, keep_formats=("qcow2",))
    assert case(view(kept, everywhere, files=())).code == BuildCode.LOST
    missing = state(build(1), uploads=[upload(1)])
    assert case(view(two_clouds(delete_after_upload=True), missing, files=())).code == BuildCode.LOST
    unused = config({"debian": {"delete_after_upload": True, "formats": ("qcow2",)}}, {"cloud1": []})
    assert case(view(unused, state(build(1)), files=())).code == BuildCode.LOST  # it is never uploaded


def test_files_of_another_builder_are_not_missed_but_those_of_a_former_self_are():
    theirs = state(build(1, builder_id=THEM))
    assert case(view(None, theirs, files=())).code == BuildCode.FRESH
    assert case(view(None, theirs, files=(), former=frozenset({THEM}))).code == BuildCode.LOST
    assert case(view(None, theirs, files=(), former=frozenset({THEM}), builder_id="")).code == BuildCode.LOST
    assert case(view(None, theirs, files=files(1, "qcow2"), former=frozenset({THEM}))).code == BuildCode.FRESH


def test_a_lost_build_of_ones_own_does_not_stand_for_its_formats():
    builds = build(1, age=50), build(2, age=10, builder_id=THEM, formats=["raw"])
    assert case(view(None, state(*builds), files=())).code == BuildCode.FORMAT
    assert case(view(None, state(*builds), files=files(1, "qcow2"))).code == BuildCode.FRESH
    assert lost_formats(view(None, state(*builds), files=()), builds[0]) == ["qcow2"]


AWAY = {THEM: NOW - 600}


def test_a_build_whose_builder_is_absent_is_made_anew_after_a_told_delay_where_a_provider_waits():
    theirs = build(1, age=60, builder_id=THEM, builder="them.example.org")
    there = "the newest ready build is 1 min old"
    gone = "cloud2 waits for it: its files are on the builder them.example.org; no cycle of that builder"
    half = state(theirs, uploads=[upload(1)])
    found = case(view(two_clouds(), half))
    assert (found.code, found.at) == (BuildCode.FRESH, NOW + DAY - 60)
    assert found.reason == f"{there}; due in 23 h 59 min; {gone} runs now"
    noticed = view(two_clouds(), half, absent=AWAY)
    assert (case(noticed).code, case(noticed).at) == (BuildCode.FRESH, NOW + 1200)
    assert case(noticed).reason.endswith(f"{gone} has run for 10 min, and other builders do without them in 20 min")
    due = case(later(noticed, 1200))
    assert (due.due, due.code, due.at) == (True, BuildCode.GONE, None)
    assert due.reason == (
        f"the newest ready build is 21 min old, and {gone} has run for 30 min, and other builders do without them now"
    )
    for others in (OtherBuilders(alive=frozenset({THEM})), OtherBuilders(hosts=frozenset({"them"}))):
        assert case(replace(later(noticed, 1200), others=others)).code == BuildCode.FRESH


def test_nothing_is_made_anew_where_nobody_waits_for_the_absent_builder():
    theirs = build(1, age=60, builder_id=THEM)
    away = later(view(two_clouds(), absent=AWAY), 1200)

    def code(*builds, configuration=None, **values):
        seen = replace(away, config=configuration or away.config, images={"debian": state(*builds, **values)})
        return case(seen).code

    assert code(theirs) == BuildCode.GONE
    assert code(theirs, uploads=[upload(1), upload(1, "cloud2")]) == BuildCode.FRESH
    waits = config(["debian"], {"cloud1": ["debian"], "cloud2": ["debian"]}, paused=[("cloud2", "debian")])
    assert code(theirs, configuration=waits, uploads=[upload(1)]) == BuildCode.FRESH
    assert code(theirs, uploading=frozenset({(theirs.id, "cloud1"), (theirs.id, "cloud2")})) == BuildCode.FRESH
    assert code(theirs, notes=notes(Failures(1, NOW + 3000, NOW))) == BuildCode.BACKOFF
    newer = build(2, age=30)
    refused = {newer.id: BuildVerdict(state="rejected")}
    assert code(theirs, newer, verdicts=refused) == BuildCode.LOST, "ours has no files here"
    with_files = replace(away, images={"debian": state(theirs, newer, verdicts=refused)}, files=files(2, "qcow2"))
    assert case(with_files).code == BuildCode.FRESH, "one more build would be refused as well"


def test_builders_that_never_run_at_the_same_time_do_not_build_in_turn():
    theirs, own = build(2, age=1800, builder_id=THEM, builder="them.example.org"), build(1, age=7200)
    seen = view(two_clouds(), state(own, theirs), files=files(1, "qcow2"), absent={THEM: NOW - 1800})
    found = case(seen)
    assert (found.code, found.at) == (BuildCode.FRESH, NOW + DAY - 1800)
    assert found.reason.endswith("; the last build of this builder is only 2 h old")
    assert case(replace(seen, files=())).code == BuildCode.GONE, "it has lost its files"
    assert (
        case(replace(seen, images={"debian": state(replace(own, state_time=NOW - DAY - 1), theirs)})).code
        == "builder-gone"
    )
