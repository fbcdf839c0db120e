# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The images that builders have uploaded for each diskimage of a provider, by their marks and names. No I/O.

No property of such an image names the diskimage: its name does, by the provider's image-name-format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from string import Formatter

from ..model.cloud import IMAGE_BUILD, META_PROVIDER, Image
from ..model.config.types import Provider

_PARTS = {"upload_id": r"\d+", "timestamp": r"\d+"}
"""Fields of image-name-format besides the name of the diskimage → what their values look like."""


def uploads_by_diskimage(provider: Provider, images: Iterable[Image]) -> dict[str, list[Image]]:
    """Return the images that were uploaded for each diskimage of the provider.

    An image whose name fits several diskimages is left out.

    :param images: images of the provider's project.
    """
    found: dict[str, list[Image]] = {name: [] for name in provider.diskimages}
    names = {name: _pattern(provider.image_name_format, name) for name in found}
    for image in images:
        marked = image.properties.get(META_PROVIDER) == provider.name and image.properties.get(IMAGE_BUILD)
        fitting = [name for name, pattern in names.items() if pattern.fullmatch(image.name)]
        if marked and not image.is_snapshot and len(fitting) == 1:
            found[fitting[0]].append(image)
    return found


def _pattern(name_format: str, diskimage: str) -> re.Pattern[str]:
    """Return the expression for the names of the images of a diskimage."""
    parts: list[str] = []
    for text, field, _format, _conversion in Formatter().parse(name_format):
        parts.append(re.escape(text))
        if field is not None:
            parts.append(re.escape(diskimage) if field == "image_name" else _PARTS.get(field, ".*"))
    return re.compile("".join(parts), re.DOTALL)
