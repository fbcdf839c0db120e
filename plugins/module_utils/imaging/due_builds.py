# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide which images are built now, and why the others are not.

The rules are Nodepool's: an image is built when its newest build is too old, when there is no ready build, when a
format is missing, and on request. A pause, in the configuration or by hand, overrules all of these
(``_checkImageForManualBuildRequest`` in nodepool/builder.py). The differences from Nodepool:

* after failures the builder waits; a request that is newer than the last failure is tried at once;
* a build serves every request that was made before it began, whatever the build was made for;
* when several builders make different formats, each keeps a build of its own: they do not rebuild in turn for ever;
* the builder builds an image again when it has lost the files of its build, or when a provider waits for files of
  another builder that has not run for long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..model.config.types import Diskimage
from ..model.image import Build, BuildState
from ..model.lines import joined, span, word_for
from .absence import given_up_at, whereabouts
from .image_snapshot import ImageState, ImagesView
from .stranded import waiting_for


class BuildCode:
    """Why an image is built or not."""

    REQUESTED = "requested"
    FIRST = "no-ready-build"
    AGED = "aged"
    FORMAT = "format-missing"
    LOST = "files-lost"
    GONE = "builder-gone"

    PAUSED = "paused"
    UNUSED = "no-format"
    UNKNOWN = "format-unknown"
    BUILDING = "building"
    BACKOFF = "backoff"
    FRESH = "fresh"

    DUE = (REQUESTED, FIRST, AGED, LOST, GONE, FORMAT)
    ALL = (*DUE, PAUSED, UNUSED, UNKNOWN, BUILDING, BACKOFF, FRESH)


@dataclass(frozen=True)
class BuildCase:
    """The decision about building one image.

    *code*: one of :class:`BuildCode`. *reason*: a sentence. *formats*: the formats that a build makes, sorted.
    *requested*: the request that the build serves, None without one; the builder deletes the request when the build is
    ready. *at*: UNIX time at which the decision changes without any event, None when it does not.
    """

    image: str
    due: bool
    code: str
    reason: str
    formats: tuple[str, ...] = ()
    requested: int | None = None
    at: float | None = None


def due_builds(cases: Iterable[BuildCase]) -> list[BuildCase]:
    """Return the cases that are due, in the order in which they are built: requests first."""
    return sorted((case for case in cases if case.due), key=lambda case: case.requested is None)


def judge_build(view: ImagesView, name: str, *, holding: bool = False) -> BuildCase:
    """Decide about one diskimage of the configuration.

    :param holding: True when this builder holds the image's lock and decides again just before the build.
    """
    image, state = view.config.diskimages[name], view.image(name)
    request = open_request(state)
    code, reason, at = _wish(view, image, state, request)
    hindrance = _hindrance(view, image, state, request, holding)
    if hindrance is not None and (code in BuildCode.DUE or hindrance[0] != BuildCode.BACKOFF):
        code, reason, at = hindrance
    return BuildCase(name, code in BuildCode.DUE, code, reason, wanted_formats(view, name), request, at)


def wanted_formats(view: ImagesView, name: str) -> tuple[str, ...]:
    """Return the formats that a build makes: those of all providers that list the image, and those that it names."""
    image = view.config.diskimages[name]
    of_providers = {view.provider_formats.get(provider.name) for provider in view.providers_of(name)}
    return tuple(sorted({*image.formats, *filter(None, of_providers)}))


def unknown_formats(view: ImagesView, name: str) -> list[str]:
    """Return the providers that list the image and whose format is unknown."""
    return [provider.name for provider in view.providers_of(name) if provider.name not in view.provider_formats]


def open_request(state: ImageState) -> int | None:
    """Return the request for a build, or None when a ready build that began after the request serves it."""
    if state.requested is None or any(build.born > state.requested for build in state.ready_builds):
        return None
    return state.requested


def served_request(state: ImageState) -> bool:
    """True when a cycle was killed after the build and before it deleted the request's flag."""
    return state.requested is not None and open_request(state) is None


def lost_formats(view: ImagesView, build: Build) -> list[str]:
    """Return the formats of this builder's ready build whose files are lost: images-dir should have them and does not.

    A missing file counts as lost when a provider still waits for it. All files count as lost when none is left, unless
    delete-after-upload explains that. A single missing file that all providers have needs no new build.
    """
    image = view.config.diskimages.get(build.image)
    if image is None or view.files is None or not view.is_from_here(build):
        return []
    here = {file.format for file in view.files_of(build.id) if file.is_image}
    missing = sorted(set(build.formats) - here)
    waiting = {
        view.provider_formats.get(provider.name)
        for provider in view.providers_of(build.image)
        if not provider.diskimages[build.image].pause
        and not view.image(build.image).has_ready_upload(build.id, provider.name)
    }
    awaited = [name for name in missing if name in waiting]
    if awaited or here & set(build.formats):
        return awaited
    spared = image.delete_after_upload and any(view.providers_of(build.image))
    return [name for name in missing if not spared or name in image.keep_formats]


def _wish(view: ImagesView, image: Diskimage, state: ImageState, request: int | None) -> tuple[str, str, float | None]:
    """Decide without regard to pauses, locks and failures: code, sentence, and when the decision changes."""
    if request is not None:
        return BuildCode.REQUESTED, "a build was requested", None
    ready = state.ready_builds
    if not ready:
        return BuildCode.FIRST, "there is no ready build", None
    age = view.now - (ready[0].state_time or 0.0)
    if age >= image.rebuild_age:
        text = f"the newest ready build is {span(age)} old, rebuild-age is {span(image.rebuild_age)}"
        return BuildCode.AGED, text, None
    lost = lost_formats(view, ready[0])
    if lost:
        return (
            BuildCode.LOST,
            f"the newest ready build has lost files: images-dir has no {', '.join(lost)} for it",
            None,
        )
    missing = _missing_formats(view, image, ready)
    if missing:
        return BuildCode.FORMAT, f"the newest ready build has no {', '.join(missing)}", None
    left = image.rebuild_age - age
    fresh = f"the newest ready build is {span(age)} old; due in {span(left)}"
    waiting = waiting_for(view, ready[0])
    if not waiting:
        return BuildCode.FRESH, fresh, view.now + left
    waits = f"{joined(waiting)} {word_for(len(waiting), 'waits', 'wait')} for it: {whereabouts(view, ready[0])}"
    own = _young_build(view, image, ready)
    if own is not None:
        # Two builders that never run at the same time would otherwise build in turn while a cloud is away.
        own_age = span(view.now - (own.state_time or 0.0))
        return (
            BuildCode.FRESH,
            f"{fresh}; {waits}; the last build of this builder is only {own_age} old",
            view.now + left,
        )
    at = given_up_at(view, ready[0])
    if at is not None and at <= view.now:
        return BuildCode.GONE, f"the newest ready build is {span(age)} old, and {waits}", None
    return BuildCode.FRESH, f"{fresh}; {waits}", min(view.now + left, at or view.now + left)


def _young_build(view: ImagesView, image: Diskimage, ready: Sequence[Build]) -> Build | None:
    """Return the newest ready build of this builder that has its files, unless it is older than rebuild-age."""
    own = next((build for build in ready if view.is_ours(build) and not lost_formats(view, build)), None)
    return own if own is not None and view.now - (own.state_time or 0.0) < image.rebuild_age else None


def _missing_formats(view: ImagesView, image: Diskimage, ready: Sequence[Build]) -> list[str]:
    wanted = wanted_formats(view, image.name)
    own = _young_build(view, image, ready)
    if own is not None and set(wanted) <= set(own.formats):
        return []
    return [name for name in wanted if name not in ready[0].formats]


def _hindrance(
    view: ImagesView, image: Diskimage, state: ImageState, request: int | None, holding: bool
) -> tuple[str, str, float | None] | None:
    if image.pause:
        return BuildCode.PAUSED, "paused in the configuration", None
    if state.paused is not None:
        waits = "; the requested build waits until the pause ends" if request is not None else ""
        return BuildCode.PAUSED, f"paused{waits}", None
    if not wanted_formats(view, image.name):
        unknown = unknown_formats(view, image.name)
        if unknown:
            return BuildCode.UNKNOWN, f"clouds.yaml does not show the image format of {', '.join(unknown)}", None
        return BuildCode.UNUSED, "no provider in the configuration lists it, and it has no formats", None
    if state.locked and not holding:
        return BuildCode.BUILDING, f"being built{_where(state)}", None
    failures = state.notes.failures
    retry = request is not None and request != failures.request
    hold = failures.hold(view.now)
    return None if hold is None or retry else (BuildCode.BACKOFF, *hold)


def _where(state: ImageState) -> str:
    under_way = [build for build in state.builds if build.state == BuildState.BUILDING]
    newest = max(under_way, key=lambda build: (build.born, build.id), default=None)
    return f" by {newest.builder}" if newest is not None and newest.builder else ""
