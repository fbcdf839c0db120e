# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps what is in an image beside the files of its build, and compares builds."""

from __future__ import annotations

import contextlib
import json
import os

from ....model.image_contents import ImageContents, changes
from ....model.stored import BadDocument

NAME = "contents.json"


class KeptContents:
    """The contents of the builds whose files are in images-dir: a file in the folder of the build's manifests.

    They go with the files of the build. What cannot be read or written is not compared.
    """

    def __init__(self, images_dir: str) -> None:
        self._images_dir = images_dir

    def keep(self, image: str, build_id: str, output: str) -> None:
        """Store what a node of the build has reported, unless it has reported nothing."""
        found = ImageContents.from_output(output)
        path = self._path(image, build_id)
        if found is None or not os.path.isdir(os.path.dirname(path)):
            return
        with contextlib.suppress(OSError):
            with open(f"{path}.new", "w", encoding="utf-8") as file:
                json.dump(found.document(), file)
            os.replace(f"{path}.new", path)

    def changes(self, image: str, before: str, after: str) -> str:
        """Return what has changed from one build to another; "" if that is not known.

        :param before, after: ids of builds.
        """
        old, new = self._read(image, before), self._read(image, after)
        return changes(old, new) if old is not None and new is not None else ""

    def _read(self, image: str, build_id: str) -> ImageContents | None:
        try:
            with open(self._path(image, build_id), encoding="utf-8") as file:
                return ImageContents.from_document(json.load(file))
        except (OSError, ValueError, BadDocument):
            return None

    def _path(self, image: str, build_id: str) -> str:
        return os.path.join(self._images_dir, f"{image}-{build_id}.d", NAME)
