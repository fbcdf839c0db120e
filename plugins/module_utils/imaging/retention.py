# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is deleted, each with a reason: uploads, then the build, its files, its record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.snapshot import ImagesView
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Build, Upload


@dataclass(frozen=True)
class DeleteUpload:
    """Mark the upload as deleting, delete its cloud image (by its marks when no id is stored), then the record."""

    upload: Upload
    code: str
    reason: str


@dataclass(frozen=True)
class MarkBuild:
    """Mark a build as deleting, under its lock. Whoever has its files then removes them."""

    build: Build
    code: str
    reason: str


@dataclass(frozen=True)
class DeleteFiles:
    """Remove what is in images-dir. *names* are files and directories there."""

    image: str
    build_id: str
    names: tuple[str, ...]
    code: str
    reason: str


@dataclass(frozen=True)
class DeleteBuild:
    """Remove the record of a build, and all below it."""

    image: str
    build_id: str
    code: str
    reason: str


Deletion: TypeAlias = "DeleteUpload | MarkBuild | DeleteFiles | DeleteBuild"


def plan_deletions(view: ImagesView) -> list[Deletion]:
    """What is to be deleted now, in this order. What follows from it comes with the next view."""
    raise NotImplementedError


def abandoned_builds(view: ImagesView) -> list[Build]:
    """Builds of this builder in state building that nobody is making any more: reap what is left, mark them failed."""
    raise NotImplementedError
