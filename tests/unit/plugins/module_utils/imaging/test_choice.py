# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Uploads that a person has chosen."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.due_uploads import (
    UploadCode,
    judge_choice,
    judge_upload,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.image_snapshot import ImageState
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.notes import Failures
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import BuildState
from tests.support.image_views import NOW, build, build_id, config, files, upload, view

OLD, NEW = build_id(1), build_id(2)
FILES = [*files(1, "qcow2"), *files(2, "qcow2")]


def world(*uploads, configuration=None, old=BuildState.READY, here=FILES, **values):
    builds = (build(1, old, age=9), build(2, age=1))
    return view(configuration, ImageState("debian", builds=builds, uploads=uploads, **values), files=here)


def case(seen, **options):
    return judge_choice(seen, "cloud1", "debian", **options)


@pytest.mark.parametrize("uploads", [(), (upload(2),), (upload(1),)])
def test_without_a_choice_it_is_the_usual_case(uploads) -> None:
    seen = world(*uploads)
    assert case(seen) == judge_upload(seen, "cloud1", "debian")


def test_a_named_build_is_due_whatever_newer_ones_there_are() -> None:
    found = case(world(upload(2)), build_id=OLD)
    assert (found.due, found.build.id, found.file) == (True, OLD, f"debian-{OLD}.qcow2")
    assert case(world(upload(1), upload(2)), build_id=OLD).code == UploadCode.CURRENT


@pytest.mark.parametrize(
    ("seen", "options", "code"),
    [
        (world(), {"build_id": build_id(7)}, UploadCode.NO_BUILD),
        (world(old=BuildState.DELETING), {"build_id": OLD}, UploadCode.NO_BUILD),
        (world(here=files(2, "qcow2")), {"build_id": OLD}, UploadCode.NO_FILE),
        (world(here=None), {"build_id": OLD}, UploadCode.NO_FILE),
        (world(uploading=frozenset({(OLD, "cloud1")})), {"build_id": OLD}, UploadCode.UPLOADING),
    ],
)
@pytest.mark.parametrize("force", [False, True])
def test_what_even_force_does_not_go_over(seen, options, code, force) -> None:
    found = case(seen, force=force, **options)
    assert (found.due, found.code) == (False, code)


def test_no_format_is_known_or_made() -> None:
    state = ImageState("debian", builds=(build(1, formats=["raw"]),))
    assert case(view(None, state, files=FILES), build_id=OLD, force=True).code == UploadCode.FORMAT
    assert case(view(None, state, files=FILES), force=True).code == UploadCode.FORMAT
    assert case(view(None, state, files=FILES, formats={}), force=True).code == UploadCode.UNKNOWN
    assert case(view(None, ImageState("debian")), force=True).code == UploadCode.NO_BUILD


@pytest.mark.parametrize("chosen", [None, NEW])
def test_force_goes_over_what_is_there_a_pause_and_failures(chosen) -> None:
    paused = config(paused=[("cloud1", "debian")])
    failures = Failures().again("no", NOW, 0.5, build=NEW)
    for seen, code in (
        (world(upload(2)), UploadCode.CURRENT),
        (world(configuration=paused), UploadCode.PAUSED),
        (world(upload_failures={"cloud1": failures}), UploadCode.BACKOFF),
    ):
        without = case(seen, build_id=chosen)
        assert (without.due, without.code) == (False, code)
        forced = case(seen, build_id=chosen, force=True)
        assert (forced.due, forced.code, forced.build.id) == (True, code, NEW)
        assert forced.reason.startswith("forced: ")


def test_failures_of_another_build_do_not_count() -> None:
    failures = Failures().again("no", NOW, 0.5, build=NEW)
    assert case(world(upload_failures={"cloud1": failures}), build_id=OLD).due
