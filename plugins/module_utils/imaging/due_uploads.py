# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide which builds are uploaded to which providers, and why the others are not.

The newest ready build that has the provider's format is uploaded to each provider that lists the image, by the builder
that has the file. A build that is older than the provider's newest upload is never uploaded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ..model.image import Build, BuildState
from .absence import whereabouts
from .files import image_file
from .gating import other_under_test, waits_for_test
from .image_snapshot import ImageState, ImagesView
from .notes import Failures

Verdict: TypeAlias = "tuple[str, str, float | None]"
"""Code, sentence, and UNIX time at which the decision changes without any event (None: it does not)."""


class UploadCode:
    """Why an image is uploaded or not."""

    MISSING = "missing"

    CURRENT = "current"
    PAUSED = "paused"
    NO_BUILD = "no-ready-build"
    UNKNOWN = "format-unknown"
    FORMAT = "format-missing"
    ELSEWHERE = "elsewhere"
    NO_FILE = "no-file"
    UPLOADING = "uploading"
    UNTESTED = "untested"
    BACKOFF = "backoff"
    REMOVED = "removed"

    OVERRULED = (CURRENT, PAUSED, BACKOFF)
    """The codes that ``force`` overrules."""
    ALL = (
        MISSING,
        CURRENT,
        PAUSED,
        NO_BUILD,
        UNKNOWN,
        FORMAT,
        ELSEWHERE,
        NO_FILE,
        UPLOADING,
        UNTESTED,
        BACKOFF,
        REMOVED,
    )


@dataclass(frozen=True)
class UploadCase:
    """The decision about uploading an image to a provider.

    *code*: one of :class:`UploadCode`. *build*, *format*, *file* (name in images-dir): the upload, as far as it is
    known. *first*: the provider has no ready upload of the image at all. *at*: UNIX time at which the decision changes
    without any event, None when it does not.
    """

    provider: str
    image: str
    due: bool
    code: str
    reason: str
    build: Build | None = None
    format: str = ""
    file: str = ""
    first: bool = False
    at: float | None = None


def judge_uploads(view: ImagesView) -> list[UploadCase]:
    """Decide about each diskimage of each provider, in the order of the configuration."""
    providers = view.config.providers.values()
    return [judge_upload(view, provider.name, image) for provider in providers for image in provider.diskimages]


def missing_first(cases: Iterable[UploadCase]) -> list[UploadCase]:
    """Sort the cases: first the images that a provider does not have at all."""
    return sorted(cases, key=lambda case: not case.first)


def judge_upload(view: ImagesView, provider_name: str, image: str, *, holding: bool = False) -> UploadCase:
    """Decide about one diskimage of a provider.

    :param holding: True when this builder holds the upload's lock and decides again just before the upload.
    """
    state = view.image(image)
    image_format = view.provider_formats.get(provider_name, "")
    build = candidate(state, image_format, view.now, provider_name)
    code, reason, at = _verdict(view, provider_name, state, image_format, build, holding)
    first = not any(state.has_ready_upload(ready.id, provider_name) for ready in state.ready_builds)
    file = image_file(image, build.id, image_format) if build is not None else ""
    return UploadCase(
        provider_name, image, code == UploadCode.MISSING, code, reason, build, image_format, file, first, at
    )


def candidate(state: ImageState, image_format: str, now: float, provider: str) -> Build | None:
    """Return the newest ready build that has *image_format* and may be used at the provider."""
    return next((build for build in _usable(state, now, provider) if image_format in build.formats), None)


def _usable(state: ImageState, now: float, provider: str) -> list[Build]:
    """Return the ready builds that may be used at a provider, the newest first."""
    return [build for build in state.ready_builds if state.verdict(build.id).is_used(now, provider)]


def _verdict(
    view: ImagesView, provider_name: str, state: ImageState, image_format: str, build: Build | None, holding: bool
) -> Verdict:
    here = view.config.providers.get(provider_name)
    if here is None or state.name not in here.diskimages:
        # The configuration was read again after the upload was decided.
        return UploadCode.REMOVED, "the configuration no longer lists the image at the provider", None
    if here.diskimages[state.name].pause:
        return UploadCode.PAUSED, "paused in the provider's configuration", None
    ready = _usable(state, view.now, provider_name)
    if not ready:
        why = "no ready build may be used" if state.ready_builds else "there is no ready build"
        return UploadCode.NO_BUILD, why, None
    there = next((place for place, each in enumerate(ready) if state.has_ready_upload(each.id, provider_name)), None)
    if there == 0:
        return UploadCode.CURRENT, "the newest ready build is already uploaded", None
    if not image_format:
        return UploadCode.UNKNOWN, "clouds.yaml does not show the image format of the provider", None
    if build is None:
        return UploadCode.FORMAT, f"no ready build has {image_format}", None
    if there is not None and there <= ready.index(build):
        return UploadCode.FORMAT, f"no build newer than the uploaded one has {image_format}", None
    if not holding and _is_under_way(view, state, build, provider_name):
        return UploadCode.UPLOADING, _progress(state, build, provider_name), None
    other = other_under_test(view, state, build, provider_name, holding=holding)
    why = f"build {other} is being tested there" if other else waits_for_test(view, state, build, provider_name)
    if why:
        return UploadCode.UNTESTED, why, None
    wanted = image_file(state.name, build.id, image_format)
    return _missing_file(view, build, wanted) or _missing(view, state, build, provider_name)


def _progress(state: ImageState, build: Build, provider: str) -> str:
    """Return what happens to an upload that is under way."""
    gate = state.gates.get(provider)
    tested = gate is not None and gate.build == build.id and not gate.outcome
    return f"being tested: {gate.note or 'the test begins'}" if gate is not None and tested else "being uploaded"


def _is_under_way(view: ImagesView, state: ImageState, build: Build, provider: str) -> bool:
    return (build.id, provider) in view.uploading or (build.id, provider) in state.uploading


def _missing(view: ImagesView, state: ImageState, build: Build, provider: str) -> Verdict:
    """Return MISSING, or BACKOFF while a failure is too recent. Failures of another build do not delay this one."""
    failures = state.upload_failures.get(provider, Failures())
    hold = failures.hold(view.now) if failures.build in ("", build.id) else None
    return (UploadCode.BACKOFF, *hold) if hold else (UploadCode.MISSING, f"build {build.id} is not uploaded", None)


def _is_here(view: ImagesView, wanted: str) -> bool:
    return any(file.name == wanted and file.is_image for file in view.files or ())


def _missing_file(view: ImagesView, build: Build, wanted: str) -> Verdict | None:
    if _is_here(view, wanted):
        return None
    if not view.is_from_here(build):
        return UploadCode.ELSEWHERE, whereabouts(view, build), None
    if view.files is None:
        return UploadCode.ELSEWHERE, "images-dir is not visible from here", None
    return UploadCode.NO_FILE, f"{wanted} is not (or no longer) in images-dir", None


def judge_choice(
    view: ImagesView,
    provider: str,
    image: str,
    *,
    build_id: str | None = None,
    force: bool = False,
    holding: bool = False,
) -> UploadCase:
    """Decide about an upload that an operator may have asked for explicitly.

    :param build_id: upload this build even when there are newer ones; None: the newest one that fits.
    :param force: upload also when the build is there already, is paused, or failed recently.
    :param holding: as in judge_upload.
    """
    case = judge_upload(view, provider, image, holding=holding)
    if case.code == UploadCode.REMOVED or (build_id is None and not force):
        return case
    state = view.image(image)
    image_format = view.provider_formats.get(provider, "")
    build = candidate(state, image_format, view.now, provider) if build_id is None else state.build(build_id)
    file = image_file(image, build.id, image_format) if build is not None else ""
    code, reason, at = _chosen_verdict(view, case, build, build_id, file, holding)
    due = code == UploadCode.MISSING or (force and code in UploadCode.OVERRULED)
    if due and code != UploadCode.MISSING:
        reason = f"forced: {reason}"
    return UploadCase(provider, image, due, code, reason, build, image_format, file, case.first, None if due else at)


def _chosen_verdict(
    view: ImagesView, case: UploadCase, build: Build | None, build_id: str | None, file: str, holding: bool
) -> Verdict:
    state, provider = view.image(case.image), case.provider
    if not case.format:
        return UploadCode.UNKNOWN, "clouds.yaml does not show the image format of the provider", None
    if build is None and build_id is None:
        return case.code, case.reason, case.at
    if build is None or build.state != BuildState.READY:
        why = f"there is no build {build_id}" if build is None else f"build {build.id} is {build.state}"
        return UploadCode.NO_BUILD, why, None
    if case.format not in build.formats:
        return UploadCode.FORMAT, f"build {build.id} has no {case.format}", None
    if not _is_here(view, file):
        return UploadCode.NO_FILE, f"{file} is not in images-dir here", None
    if not holding and _is_under_way(view, state, build, provider):
        return UploadCode.UPLOADING, "being uploaded", None
    if state.has_ready_upload(build.id, provider):
        return UploadCode.CURRENT, f"build {build.id} is already uploaded", None
    if why := waits_for_test(view, state, build, provider):
        return UploadCode.UNTESTED, why, None
    if view.config.providers[provider].diskimages[case.image].pause:
        return UploadCode.PAUSED, "paused in the provider's configuration", None
    return _missing(view, state, build, provider)
