# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images that nova was told to boot from and cannot use: they were deleted or deactivated in glance."""

from __future__ import annotations

import re

from ....model.errors import CloudError, CloudRefused

IMAGE_DENIED = re.compile(r"can not find requested image|failed to get image|image \S+ is not active", re.IGNORECASE)
"""nova's messages: for ImageNotFound (``create`` of nova/api/openstack/compute/servers.py); for InvalidBDMImage of
nova/exception.py, where a volume was to be made from the image; for ImageNotActive there, where the image is
deactivated, or still being uploaded."""
MEMORY = 300.0
"""Seconds for which nova is believed; then the image is tried again."""


def denies_image(error: CloudError) -> bool:
    """True for a create that was refused because nova does not know its image, or may not use it."""
    return isinstance(error, CloudRefused) and IMAGE_DENIED.search(str(error)) is not None


class LostImages:
    """The images that one provider denies, by the cloud's ids: another upload has another id."""

    def __init__(self) -> None:
        self._denied: dict[str, float] = {}

    def deny(self, image_id: str, now: float) -> None:
        """A create that names the image was refused."""
        self._denied[image_id] = now

    def denied_at(self, image_id: str | None, now: float) -> float | None:
        """When it was denied last; None: as far as is known it is there."""
        at = self._denied.get(image_id or "")
        return None if at is None or now - at >= MEMORY else at

    def ids(self, now: float) -> set[str]:
        """All that count as lost now."""
        return {image_id for image_id in self._denied if self.denied_at(image_id, now) is not None}
