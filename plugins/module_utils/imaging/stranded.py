# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Uploads that only an absent builder could make: which providers wait, and which builders are missed. Pure."""

from __future__ import annotations

from math import inf

from ..model.image import Build
from .absence import works
from .due_uploads import UploadCode, judge_upload
from .image_snapshot import ImagesView


def waiting_for(view: ImagesView, build: Build) -> list[str]:
    """Return the providers of this configuration that wait for a ready build that only an absent builder has.

    None wait for any but the newest ready build: after a newer one, nothing is better for building the image again.
    """
    newest = view.image(build.image).ready_builds[:1]
    if build not in newest or not build.builder_id or view.is_from_here(build) or works(view, build):
        return []
    cases = (judge_upload(view, provider.name, build.image) for provider in view.providers_of(build.image))
    return [case.provider for case in cases if case.code == UploadCode.ELSEWHERE and case.build is build]


def missed(view: ImagesView) -> list[str]:
    """Return the ids of the builders that are missed and not yet known as absent, sorted.

    A time that has not come counts as unknown: the clock that it was stored by was wrong.
    """
    newest = [build for image in view.config.diskimages for build in view.image(image).ready_builds[:1]]
    unknown = (build for build in newest if view.absent.get(build.builder_id or "", inf) > view.now)
    return sorted({build.builder_id or "" for build in unknown if waiting_for(view, build)})


def returned(view: ImagesView) -> list[str]:
    """Return the ids of the builders that are known as absent and are back, or of which no build is left, sorted."""
    if not view.absent:
        return []
    builds = [build for state in view.images.values() for build in state.builds]
    back = {build.builder_id for build in builds if works(view, build) or view.is_from_here(build)}
    away = {build.builder_id for build in builds} - back
    return sorted(builder_id for builder_id in view.absent if builder_id not in away)
