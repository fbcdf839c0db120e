# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds of every plan, whatever the world looks like."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.due_builds import BuildCode
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.due_uploads import UploadCode, judge_uploads
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.image_snapshot import ImageState
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.notes import BuildNotes, Failures
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.retention import (
    DeleteBuild,
    DeleteFiles,
    DeleteUpload,
    DeletionCode,
    MarkBuild,
    abandoned_builds,
    is_being_built,
    is_being_uploaded,
    plan_deletions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import BuildState, UploadState
from tests.support.effort import examples
from tests.support.image_views import DAY, NOW, THEM, US, build, config, files, judge_builds, upload, view

IMAGES = ("debian", "fedora")
PROVIDERS = ("a", "b", "gone")
FORMATS = ("qcow2", "raw")
AGES = (-5.0, 0.0, 1.0, 60.0, 5000.0, DAY, 3.0 * DAY)

# Worlds grow from a seed: drawn value by value they would take a hundred times as long, and they are small anyway.
SEEDS = st.integers(0, 2**32)
LOAD = settings(max_examples=examples(100), deadline=None)


def stamp(chance):
    """The number of a transaction, or none."""
    return chance.choice([None, None, chance.randrange(10)])


def some_failures(chance):
    if chance.random() < 0.5:
        return Failures()
    not_before = NOW + chance.choice([-1.0, 0.0, 1.0, 500.0])
    return Failures(chance.randint(1, 3), not_before, NOW, "no", stamp(chance))


def some_state(chance, image, first):
    numbers = range(first, first + chance.randrange(6))
    builds = [
        build(
            number,
            chance.choice([*sorted(BuildState.ALL), BuildState.READY, BuildState.READY]),
            age=chance.choice(AGES),
            image=image,
            builder_id=chance.choice([US, US, THEM, None]),
            formats=chance.choice([["qcow2"], ["raw"], ["qcow2", "raw"], []]),
        )
        for number in numbers
    ]
    uploads = [
        upload(
            number,
            provider,
            chance.choice([*sorted(UploadState.ALL), UploadState.READY]),
            age=chance.choice(AGES),
            image=image,
            serial=serial,
        )
        for number in numbers
        for provider in PROVIDERS
        for serial in range(1, 1 + chance.choice([0, 0, 1, 1, 2]))
    ]
    places = sorted({(each.build_id, each.provider) for each in uploads})
    return ImageState(
        image,
        builds=builds,
        uploads=uploads,
        requested=stamp(chance),
        paused=stamp(chance),
        locked=chance.random() < 0.2,
        uploading=frozenset(place for place in places if chance.random() < 0.2),
        notes=BuildNotes(some_failures(chance)),
        upload_failures={provider: some_failures(chance) for provider in PROVIDERS},
    )


def world(seed):
    """Two images that may or may not be configured, two providers that are and one that is not."""
    chance = random.Random(seed)
    configured = [name for name in IMAGES if chance.random() < 0.8]
    images = {
        name: {
            "pause": chance.random() < 0.1,
            "rebuild_age": chance.choice([100, DAY]),
            "formats": chance.choice([(), ("raw",)]),
            "delete_after_upload": chance.random() < 0.5,
            "keep_formats": chance.choice([(), ("qcow2",)]),
        }
        for name in configured
    }
    listed = {name: [image for image in configured if chance.random() < 0.7] for name in PROVIDERS if name != "gone"}
    paused = [(name, image) for name, known in listed.items() for image in known if chance.random() < 0.1]
    known = [some_state(chance, name, 1 + 10 * place) for place, name in enumerate(IMAGES)]
    formats = {name: chance.choice(FORMATS) for name in listed if chance.random() < 0.8}
    on_disk = [
        file
        for number in (*range(1, 6), *range(11, 16), 99)
        if chance.random() < 0.6
        for file in files(
            number,
            *FORMATS,
            image=IMAGES[number // 10] if number < 20 else "lost",
            age=chance.choice([0.0, 3600.0]),
        )
    ]
    lost = frozenset(
        each.path for made in known for each in made.uploads if each.state == "ready" and chance.random() < 0.1
    )
    absent = {THEM: NOW - DAY} if chance.random() < 0.8 else {}
    listing = config(images, listed, paused=paused)
    return view(listing, *known, formats=formats, files=on_disk, lost=lost, absent=absent)


def kept_builds(seen, state):
    """By the words of the promise, not of the code: current and previous ready build of a configured image."""
    if state.name not in seen.config.diskimages:
        return []
    ready = [build for build in state.builds if build.state == "ready"]
    return sorted(ready, key=lambda build: (build.state_time, build.born))[-2:]


def kept_uploads(seen, state, provider):
    """The newest ready upload of the current and of the previous build of a provider, and what a launcher uses."""
    listed = seen.config.providers.get(provider)
    if listed is not None and state.name not in listed.diskimages:
        return []
    ready = sorted(
        (build for build in state.builds if build.state == "ready"), key=lambda build: (build.state_time, build.born)
    )
    mine = [each for each in state.uploads if each.provider == provider and each.state == "ready"]
    mine = [each for each in mine if each.path not in seen.lost]
    there = [build for build in ready if any(each.build_id == build.id for each in mine)][-2:]
    newest = [
        max((each for each in mine if each.build_id == build.id), key=lambda each: (each.state_time, each.path))
        for build in there
    ]
    of_ready = [each for each in mine if each.build_id in {build.id for build in ready}]
    return [*newest, *sorted(of_ready, key=lambda each: (each.state_time, each.path))[-1:]]


@LOAD
@given(SEEDS)
def test_current_and_previous_are_never_deleted(seed):
    seen = world(seed)
    plan = plan_deletions(seen)
    for state in seen.images.values():
        kept = {build.id for build in kept_builds(seen, state)}
        assert not kept & {deletion.build.id for deletion in plan if isinstance(deletion, MarkBuild)}
        assert not kept & {deletion.build_id for deletion in plan if isinstance(deletion, DeleteBuild)}
        for provider in PROVIDERS:
            paths = {each.path for each in kept_uploads(seen, state, provider)}
            assert not paths & {deletion.upload.path for deletion in plan if isinstance(deletion, DeleteUpload)}


@LOAD
@given(SEEDS)
def test_no_build_stays_at_a_provider_twice(seed):
    seen = world(seed)
    going = {deletion.upload.path for deletion in plan_deletions(seen) if isinstance(deletion, DeleteUpload)}
    for state in seen.images.values():
        # What is still being built has no uploads, except in worlds that chance has made.
        ready = {build.id for build in state.builds if build.state == "ready"}
        left = [
            (each.build_id, each.provider)
            for each in state.uploads
            if each.build_id in ready and each.state == UploadState.READY
            if each.path not in going and not is_being_uploaded(seen, each)
            if each.provider in seen.config.providers
        ]
        assert len(left) == len(set(left))


@LOAD
@given(SEEDS)
def test_uploads_go_before_files_and_records(seed):
    seen = world(seed)
    for deletion in plan_deletions(seen):
        if isinstance(deletion, DeleteFiles):
            state = seen.images.get(deletion.image) or ImageState("")
            made = state.build(deletion.build_id)
            if made is not None and made.state == BuildState.DELETING:
                left = state.uploads_of(made.id)
                assert all(each.provider not in seen.config.providers for each in left)
        if isinstance(deletion, DeleteBuild):
            assert seen.images[deletion.image].uploads_of(deletion.build_id) == []
        if isinstance(deletion, MarkBuild):
            left = seen.images[deletion.build.image].uploads_of(deletion.build.id)
            assert all(each.state == UploadState.DELETING for each in left)


@LOAD
@given(SEEDS)
def test_files_of_a_build_that_is_neither_deleted_nor_uploaded_everywhere_stay(seed):
    seen = world(seed)
    for deletion in plan_deletions(seen):
        if not isinstance(deletion, DeleteFiles):
            continue
        made = seen.images.get(deletion.image, ImageState("")).build(deletion.build_id)
        if made is None or made.state == BuildState.DELETING:
            continue
        image = seen.config.diskimages[made.image]
        assert image.delete_after_upload
        lost = {file.format for file in seen.files if file.name in deletion.names}
        assert not lost & {"", *image.keep_formats}
        for provider in seen.providers_of(made.image):
            if seen.provider_formats[provider.name] in lost:
                assert seen.images[made.image].has_ready_upload(made.id, provider.name)


@LOAD
@given(SEEDS)
def test_what_is_under_way_is_left_alone(seed):
    seen = world(seed)
    for deletion in plan_deletions(seen):
        if isinstance(deletion, DeleteUpload):
            assert not is_being_uploaded(seen, deletion.upload)
        if isinstance(deletion, MarkBuild):
            assert not is_being_built(seen, deletion.build)
    for made in abandoned_builds(seen):
        assert made.builder_id == US


@LOAD
@given(SEEDS)
def test_what_is_at_providers_of_others_is_left_to_them(seed):
    seen = world(seed)
    for deletion in plan_deletions(seen):
        if isinstance(deletion, DeleteUpload):
            assert deletion.upload.provider in seen.config.providers


@LOAD
@given(SEEDS)
def test_the_same_world_gives_the_same_plan_in_whatever_order_it_was_read(seed):
    seen, chance = world(seed), random.Random(seed)

    def shuffled(items):
        return chance.sample(list(items), len(items))

    twin = replace(
        seen,
        files=shuffled(seen.files),
        images={
            name: replace(state, builds=shuffled(state.builds), uploads=shuffled(state.uploads))
            for name, state in shuffled(seen.images.items())
        },
    )
    assert plan_deletions(twin) == plan_deletions(seen)
    assert judge_builds(twin) == judge_builds(seen)
    assert judge_uploads(twin) == judge_uploads(seen)
    assert {made.id for made in abandoned_builds(twin)} == {made.id for made in abandoned_builds(seen)}


@LOAD
@given(SEEDS)
def test_builds_that_are_due_may_be_made(seed):
    seen = world(seed)
    cases = judge_builds(seen)
    assert [case.image for case in cases] == list(seen.config.diskimages)
    for case in cases:
        image, state = seen.config.diskimages[case.image], seen.image(case.image)
        assert case.code in BuildCode.ALL
        assert case.reason
        if case.at is not None:
            assert case.at > seen.now
        if not case.due:
            continue
        assert not image.pause
        assert not state.locked
        assert case.formats
        assert state.paused is None
        if seen.now < state.notes.failures.not_before and state.notes.failures.count:
            assert case.requested is not None and case.requested != state.notes.failures.request


@LOAD
@given(SEEDS)
def test_uploads_that_are_due_may_be_made(seed):
    seen = world(seed)
    for case in judge_uploads(seen):
        assert case.code in UploadCode.ALL
        assert case.reason
        if not case.due:
            continue
        state, provider = seen.images[case.image], seen.config.providers[case.provider]
        assert not provider.diskimages[case.image].pause
        assert case.build.state == BuildState.READY
        assert case.format in case.build.formats
        assert case.format == seen.provider_formats[case.provider]
        assert case.file in {file.name for file in seen.files}
        assert (case.build.id, case.provider) not in state.uploading
        newer = [made for made in state.ready_builds if made.state_time > case.build.state_time]
        assert not any(state.has_ready_upload(made.id, case.provider) for made in newer)
        assert not state.has_ready_upload(case.build.id, case.provider)


def test_the_worlds_have_everything_in_them():
    """The properties would hold of worlds in which nothing is ever due or deleted."""
    many = [world(seed) for seed in range(600)]
    deletions = [deletion for seen in many for deletion in plan_deletions(seen)]
    assert {type(deletion) for deletion in deletions} == {DeleteUpload, MarkBuild, DeleteFiles, DeleteBuild}
    assert {deletion.code for deletion in deletions} == set(DeletionCode.ALL)
    assert {case.code for seen in many for case in judge_builds(seen)} == set(BuildCode.ALL)
    assert {case.code for seen in many for case in judge_uploads(seen)} == {*UploadCode.ALL} - {
        UploadCode.UNTESTED,
        UploadCode.REMOVED,
    }
