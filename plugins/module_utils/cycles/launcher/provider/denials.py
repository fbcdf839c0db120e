# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts that were true a moment ago and that nova denies now: that is the cloud's trouble, not the request's.

nova knows its availability zones from the services of its cells. While the data base of a cell does not answer it has
no services and so no zone of that cell: a create there is refused with 400, as if the zone had never been.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from ....model.errors import (
    CloudError,
    CloudRefused,
    CloudUnavailable,
)

IMAGE_DENIED = re.compile(r"can not find requested image|failed to get image|image \S+ is not active", re.IGNORECASE)
"""nova's messages: for ImageNotFound (``create`` of nova/api/openstack/compute/servers.py); for InvalidBDMImage of
nova/exception.py, where a volume was to be made from the image; for ImageNotActive there, where the image is
deactivated, or still being uploaded."""
IMAGE_MEMORY = 300.0
"""Seconds for which nova is believed; then the image is tried again."""
ZONE_DENIED = "availability zone is not available"
"""nova's words (``_validate_and_build_base_options`` of its compute API, nova 26)."""
LONGEST = 600.0
"""Seconds after which what is denied is believed not to be there any more."""
NONE_LONGEST = 3600.0
"""The same where nova shows no zone at all: no cloud has none for good, unless it does not tell any more."""
_NONE = ""
"""Stands for "no zone at all" among the names of zones."""
_MOST = 1000
"""Zones that are remembered."""


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
        return None if at is None or now - at >= IMAGE_MEMORY else at

    def ids(self, now: float) -> set[str]:
        """All that count as lost now."""
        return {image_id for image_id in self._denied if self.denied_at(image_id, now) is not None}


class Denials:
    """The zones that one provider denies, and its images."""

    def __init__(self) -> None:
        self.images = LostImages()
        self._since: dict[str, float] = {}
        self._missing: dict[str, float] = {}
        """Zone that was there once → since when it is missing, 0 while it is there."""

    @property
    def zones(self) -> list[str]:
        """All that were there, and have not been missing for too long."""
        return sorted(self._missing.keys() - {_NONE})

    def document(self) -> dict[str, float]:
        """What the next cycle wants to know: it may begin while a cell is away."""
        return dict(self._missing)

    def learn(self, document: object) -> None:
        """What earlier cycles knew; what makes no sense is nothing."""
        known = document if isinstance(document, Mapping) else {}
        for zone, since in list(known.items())[:_MOST]:
            if isinstance(zone, str) and isinstance(since, int | float):
                self._missing.setdefault(zone, float(since))

    def confirm(self, zone: str | None, now: float) -> None:
        """A create there was accepted."""
        if zone is not None:
            self._missing[zone] = 0.0
            self._since.pop(zone, None)

    def none(self, now: float) -> list[str]:
        """A reading has shown no zone at all: those that there were, none when that has been so for too long."""
        if not self.zones:
            return []
        if now - self._missed(_NONE, now) >= NONE_LONGEST:
            self._missing.clear()
        return self.zones

    def _missed(self, zone: str, now: float) -> float:
        """Since when it is missing; what a clock that was ahead has stored does not count."""
        since = self._missing.get(zone, 0.0)
        if not 0.0 < since <= now:
            since = self._missing[zone] = now
        return since

    def saw(self, zones: Sequence[str]) -> None:
        """A reading has shown these."""
        if zones:
            self._missing.update(dict.fromkeys(zones, 0.0))
            self._missing.pop(_NONE, None)

    def keep(self, zones: Sequence[str], now: float) -> list[str]:
        """A reading of all zones, and those that were there until a moment ago. Called by any thread.

        A list without any zone is left as it is: it tells nothing.
        """
        if not zones:
            return []
        self.saw(zones)
        away = [zone for zone in self.zones if zone not in zones]
        for zone in away:
            if now - self._missed(zone, now) >= LONGEST:
                del self._missing[zone]
        return [*zones, *(zone for zone in away if zone in self._missing)]

    def judge(self, error: CloudError, zone: str | None, known: Collection[str] | None, now: float) -> CloudError:
        """The error of a create, as trouble of the API where it denies what was there.

        :param zone: that the create asked for.
        :param known: the zones of the latest reading; None: there was none yet.
        """
        if zone is None or not isinstance(error, CloudRefused) or ZONE_DENIED not in str(error):
            return error
        if known and zone in known:
            self._missing[zone] = 0.0
        # Where nova shows no zone at all, it knows of no service: then the list says nothing about this one.
        if known and zone not in self._missing:
            return error
        if now - self._since.setdefault(zone, now) >= LONGEST:
            return error
        return CloudUnavailable(
            f"{error} (zone {zone}; it was a moment ago: nova has lost sight of its services)",
            provider=error.provider,
            call=error.call,
            status=error.status,
        )
