# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What gates mean for uploads: which are tested, which wait for the test of another, what counts as tested."""

from __future__ import annotations

from collections.abc import Collection

from ..model.build_verdict import APPROVED, HELD, REVOKED
from ..model.config.gate_labels import gate_of, providers_that_test
from ..model.gate import PASSED, PROMOTED
from ..model.image import Build, Upload, UploadState, age_order
from .image_snapshot import ImageState, ImagesView


def needs_gate(view: ImagesView, upload: Upload) -> bool:
    """Return True if the upload must be tested before it becomes ready.

    The provider that tests first tests nothing that is approved; the others that test have to pass their own test.
    """
    testing = providers_that_test(view.config, upload.image)
    if upload.provider not in testing:
        return False
    state = view.image(upload.image)
    record = state.gates.get(upload.provider)
    if record is not None and record.build == upload.build_id and record.outcome in (PASSED, PROMOTED):
        return False
    return upload.provider != testing[0] or not is_tested(view, state, upload.build_id)


def is_tested(view: ImagesView, state: ImageState, build_id: str) -> bool:
    """Return True if the build is approved, or is in use already: then it was there before the gate."""
    verdict = state.verdict(build_id)
    approved = verdict.state == APPROVED and verdict.applies(view.now)
    return approved or any(upload.state == UploadState.READY for upload in state.uploads_of(build_id))


def waits_for_test(view: ImagesView, state: ImageState, build: Build, provider: str) -> str:
    """Return why a build is not uploaded to a provider yet, "" if it may be."""
    gate = gate_of(view.config, state.name)
    if gate is None or is_tested(view, state, build.id):
        return ""
    testing = providers_that_test(view.config, state.name)
    if not testing:
        return "no provider can test it: no pool of a provider with this diskimage offers the gate's label"
    if provider != testing[0]:
        return f"build {build.id} is tested at provider {testing[0]} first"
    return ""


def barred(view: ImagesView, upload: Upload) -> str:
    """Return why an upload that is not tested at its provider must not become ready; "" if it may.

    When it began, its provider may have been the one that tests.
    """
    state = view.image(upload.image)
    build = state.build(upload.build_id)
    return waits_for_test(view, state, build, upload.provider) if build is not None else ""


def other_under_test(view: ImagesView, state: ImageState, build: Build, provider: str, *, holding: bool) -> str:
    """Return the id of the build that is under way to a provider with a gate, "" if there is none but *build*.

    Two may begin at the same time: then the older one gives way.

    :param holding: this builder holds the lock of *build*.
    """
    if gate_of(view.config, state.name) is None:
        return ""
    keys = {build_id for build_id, place in view.uploading | state.uploading if place == provider}
    others = [each for each in state.builds if each.id in keys and each.id != build.id and _is_under_way(state, each)]
    if holding:
        others = [each for each in others if age_order(each) > age_order(build)]
    return others[0].id if others else ""


def _is_under_way(state: ImageState, build: Build) -> bool:
    return any(upload.state == UploadState.UPLOADING for upload in state.uploads_of(build.id))


def is_overtaken(view: ImagesView, upload: Upload) -> bool:
    """Return True if a newer build is ready at the provider: an older one must not become ready after it."""
    state = view.image(upload.image)
    build = state.build(upload.build_id)
    return build is not None and any(
        age_order(each) > age_order(build) and state.has_ready_upload(each.id, upload.provider)
        for each in state.ready_builds
    )


def kept_with_gate(view: ImagesView, state: ImageState, most: int) -> list[Build]:
    """Return the builds of an image with a gate that are kept: *most* of those tested, and :func:`kept_besides`."""
    ready = state.ready_builds
    tested = [build.id for build in ready if is_tested(view, state, build.id) and state.is_usable(build.id, view.now)]
    kept = {*tested[:most], *kept_besides(state, tested)}
    return [build for build in ready if build.id in kept]


def kept_besides(state: ImageState, good: Collection[str]) -> set[str]:
    """Return the ids of builds that are kept although they do not count among the good ones: the newest, those that a
    person holds, and the newest that a person has revoked, unless a newer one is good: it may be restored.
    """
    ready = state.ready_builds
    kept = {build.id for build in ready if build is ready[0] or state.verdict(build.id).state == HELD}
    for build in ready:
        if build.id in good:
            break
        if state.verdict(build.id).state == REVOKED:
            return kept | {build.id}
    return kept
