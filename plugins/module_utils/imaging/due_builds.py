# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which images are to be built now, and why the others are not."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.snapshot import ImagesView


@dataclass(frozen=True)
class BuildCase:
    """What is to be said of building one image.

    *code*: one of :class:`BuildCode`. *reason*: a sentence. *formats*: what a build has to make, sorted. *requested*:
    the request that it serves, None without one; it is dropped when the build became ready. *at*: UNIX time at which
    the verdict will be another one by itself, None when it will not.
    """

    image: str
    due: bool
    code: str
    reason: str
    formats: tuple[str, ...] = ()
    requested: int | None = None
    at: float | None = None


def judge_builds(view: ImagesView) -> list[BuildCase]:
    """The case of every diskimage of the configuration, in its order."""
    return [judge_build(view, name) for name in view.config.diskimages]


def due_builds(view: ImagesView) -> list[BuildCase]:
    """The cases that are due, in the order in which they are to be built: requests first."""
    due = [case for case in judge_builds(view) if case.due]
    return sorted(due, key=lambda case: case.requested is None)


def judge_build(view: ImagesView, name: str, *, holding: bool = False) -> BuildCase:
    """The case of one diskimage of the configuration.

    :param holding: the image's lock is ours: look again with the freshest view before building.
    """
    raise NotImplementedError
