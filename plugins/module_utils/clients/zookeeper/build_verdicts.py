# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdicts on builds in ZooKeeper: one document for each image that has any."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...model.build_verdict import NONE, BuildVerdict, changed_verdicts, read_verdicts
from ...model.own_tree import VERDICTS
from ...model.stored import BadDocument
from .image_records import Images
from .link.paths import segment
from .own import OwnDocuments


class BuildVerdicts:
    """Reads and changes the verdicts. Reads are from the cache and make no request."""

    def __init__(self, own: OwnDocuments, images: Images) -> None:
        self._own = own
        self._images = images

    def of_image(self, image: str) -> Mapping[str, BuildVerdict]:
        """Return build id → verdict; nobody may change the result."""
        return self._own.unchanging(_path(image), read_verdicts) or {}

    def of_build(self, image: str, build_id: str) -> BuildVerdict:
        """Return the verdict on a build; an empty one while there is none."""
        return self.of_image(image).get(build_id, NONE)

    def change(
        self, image: str, build_id: str, edit: Callable[[BuildVerdict], BuildVerdict]
    ) -> tuple[BuildVerdict, BuildVerdict]:
        """Change the verdict on a build with *edit*, which may be called repeatedly; return it before and after.

        Nothing is written when *edit* returns what it was given.

        :raises StoreError: ZooKeeper did not answer.
        """
        seen: list[tuple[BuildVerdict, BuildVerdict]] = []

        def make(document: Mapping[str, Any] | None) -> dict[str, Any] | None:
            try:
                known = read_verdicts(document or {})
            except BadDocument:
                known = {}
            new = changed_verdicts(known, build_id, edit, lambda other: self._images.build(image, other) is not None)
            before = known.get(build_id, NONE)
            seen.append((before, new[build_id]))
            if new[build_id] == before:
                return None
            return {name: verdict.document() for name, verdict in new.items()}

        self._own.change(_path(image), make)
        return seen[-1]


def _path(image: str) -> str:
    return f"{VERDICTS}/{segment(image)}"
