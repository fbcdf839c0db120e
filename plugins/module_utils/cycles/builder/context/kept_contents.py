# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps what is in an image beside the files of its build, and compares builds.

What the gate's nodes report is kept in a file. Of builds without a gate, the manifest is read that diskimage-builder's
element dpkg leaves: its content comes from the image, so it is not trusted.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat

from ....imaging.files import base_name
from ....imaging.notes import COMPARED
from ....model.image_contents import ImageContents, changes
from ....model.stored import BadDocument

NAME = "contents.json"
MANIFESTS = "dib-manifests"
MANIFEST = "dib-manifest-dpkg-"
"""Prefix of the name of the manifest, which is followed by that of the image files."""
MOST_BYTES = 4 << 20
"""Longest file that is read: a package takes some 100 bytes."""


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
        """Return a sentence about what has changed from one build to another; "" if that is not known.

        :param before, after: ids of builds; "" for none.
        """
        if not before or before == after:
            return ""
        for read in (self._reported, self._listed):  # like is compared with like
            old, new = read(image, before), read(image, after)
            if old is not None and new is not None:
                return f"{COMPARED} {before}: {changes(old, new)}"
        return ""

    def _reported(self, image: str, build_id: str) -> ImageContents | None:
        """Return what a node of the build has reported."""
        try:
            return ImageContents.from_document(json.loads(_text(self._path(image, build_id))))
        except (OSError, ValueError, RecursionError, BadDocument):
            return None

    def _listed(self, image: str, build_id: str) -> ImageContents | None:
        """Return what diskimage-builder has listed."""
        base = base_name(image, build_id)
        path = os.path.join(self._images_dir, f"{base}.d", MANIFESTS, f"{MANIFEST}{base}")
        try:
            return ImageContents.from_manifest(json.loads(_text(path)))
        except (OSError, ValueError, RecursionError):
            return None

    def _path(self, image: str, build_id: str) -> str:
        return os.path.join(self._images_dir, f"{base_name(image, build_id)}.d", NAME)


def _text(path: str) -> str:
    """Return the text of a file.

    :raises OSError: it cannot be read, or is a link, no file or too long.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
            raise OSError(f"{path}: is a link or a folder, or longer than {MOST_BYTES} bytes")
        return file.read(MOST_BYTES).decode("utf-8", "replace")
