# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which builds are to be uploaded where, and why the others are not."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.snapshot import ImagesView
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Build


@dataclass(frozen=True)
class UploadCase:
    """What is to be said of uploading an image to a provider.

    *code*: one of :class:`UploadCode`. *build*, *format*, *file* (name in images-dir): what is to be uploaded, as far
    as it is known. *first*: the provider has no ready upload of the image at all. *at*: UNIX time at which the verdict
    will be another one by itself, None when it will not.
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
    """The case of each diskimage of each provider, in the order of the configuration."""
    return [
        judge_upload(view, provider.name, image)
        for provider in view.config.providers.values()
        for image in provider.diskimages
    ]


def due_uploads(view: ImagesView) -> list[UploadCase]:
    """The cases that are due; first those of images that a provider does not have at all."""
    due = [case for case in judge_uploads(view) if case.due]
    return sorted(due, key=lambda case: not case.first)


def judge_upload(view: ImagesView, provider_name: str, image: str, *, holding: bool = False) -> UploadCase:
    """The case of one diskimage of a provider.

    :param holding: the lock of the upload is ours: look again with the freshest view before uploading.
    """
    raise NotImplementedError
