# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Zones and images that nova denies although they existed shortly before: the cause is the cloud, not the request.

nova knows its availability zones from the services of its cells. While the database of a cell does not answer, nova has
no services and so no zone of that cell: it refuses a create there with 400, as if the zone had never existed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from ....launching.classifier import denies_zone
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
"""Seconds for which an image counts as lost after nova denied it; then it is tried again."""
LONGEST = 600.0
"""Seconds after which a denied zone counts as removed."""
NONE_LONGEST = 3600.0
"""The same in seconds if nova shows no zone at all: a cloud always has zones, but it may no longer show them."""
_NONE = ""
"""The key for "no zone at all" among the names of zones."""
_MOST = 1000
"""Largest number of zones that are taken over from earlier cycles."""


def denies_image(error: CloudError) -> bool:
    """Return True for a create that was refused because nova does not know its image, or may not use it."""
    return isinstance(error, CloudRefused) and IMAGE_DENIED.search(str(error)) is not None


class LostImages:
    """The images that one provider denies, by the cloud's ids: each upload has its own id."""

    def __init__(self) -> None:
        self._denied: dict[str, float] = {}

    def deny(self, image_id: str, now: float) -> None:
        """Note that a create was refused for this image."""
        self._denied[image_id] = now

    def denied_at(self, image_id: str | None, now: float) -> float | None:
        """Return when nova denied the image last; None if it is not known to be lost."""
        at = self._denied.get(image_id or "")
        return None if at is None or now - at >= IMAGE_MEMORY else at

    def ids(self, now: float) -> set[str]:
        """Return the ids of all images that count as lost now."""
        return {image_id for image_id in self._denied if self.denied_at(image_id, now) is not None}


class Denials:
    """The zones and images that one provider denies."""

    def __init__(self) -> None:
        self.images = LostImages()
        self._since: dict[str, float] = {}
        """Zone → UNIX time at which nova denied it first since a create was accepted there."""
        self._had: set[str] = set()
        """The denied zones that existed shortly before."""
        self._missing: dict[str, float] = {}
        """Zone that existed once → UNIX time since which it is missing; 0 while it exists."""

    @property
    def zones(self) -> list[str]:
        """The zones that existed and have not been missing for too long."""
        return sorted(self._missing.keys() - {_NONE})

    def document(self) -> dict[str, float]:
        """Return the zones for the next cycle, which may begin while a cell is down."""
        return dict(self._missing)

    def learn(self, document: object) -> None:
        """Take over the zones of earlier cycles; ignore invalid data."""
        known = document if isinstance(document, Mapping) else {}
        for zone, since in list(known.items())[:_MOST]:
            if isinstance(zone, str) and isinstance(since, int | float):
                self._missing.setdefault(zone, float(since))

    def confirm(self, zone: str | None, now: float) -> None:
        """Note that a create in the zone was accepted."""
        if zone is not None:
            self._missing[zone] = 0.0
            self._since.pop(zone, None)
            self._had.discard(zone)

    def none(self, now: float) -> list[str]:
        """Note a reading without any zone; return the zones that existed, or none after NONE_LONGEST seconds."""
        if not self.zones:
            return []
        if now - self._missed(_NONE, now) >= NONE_LONGEST:
            self._missing.clear()
        return self.zones

    def _missed(self, zone: str, now: float) -> float:
        """Return since when the zone is missing; a time in the future, from a clock that was ahead, does not count."""
        since = self._missing.get(zone, 0.0)
        if not 0.0 < since <= now:
            since = self._missing[zone] = now
        return since

    def saw(self, zones: Sequence[str]) -> None:
        """Note the zones of a reading."""
        if zones:
            self._missing.update(dict.fromkeys(zones, 0.0))
            self._missing.pop(_NONE, None)

    def keep(self, zones: Sequence[str], now: float) -> list[str]:
        """Return the zones of a reading of all zones, with those that existed until recently. Called by any thread.

        An empty reading stays empty: it proves nothing.
        """
        if not zones:
            return []
        self.saw(zones)
        away = [zone for zone in self.zones if zone not in zones]
        for zone in away:
            if now - self._missed(zone, now) >= LONGEST:
                del self._missing[zone]
        return [*zones, *(zone for zone in away if zone in self._missing)]

    def deny(self, zone: str, known: Collection[str] | None, now: float) -> None:
        """Note that nova denies the zone of a create.

        :param known: the zones of the latest reading; None before the first.
        """
        if known and zone in known:
            self._missing[zone] = 0.0
        # If nova shows no zone at all, it knows no service: then the list proves nothing about this zone.
        self._since.setdefault(zone, now)
        (self._had.add if not known or zone in self._missing else self._had.discard)(zone)

    def is_lost(self, zone: str, now: float) -> bool:
        """Return True if nova denies a zone that existed shortly before: that is for nobody but the cloud to mend."""
        return zone in self._had and now - self._since.get(zone, float("-inf")) < LONGEST

    def is_denied(self, zone: str) -> bool:
        """Return True if nova denied the zone and has accepted no create there since."""
        return zone in self._since

    def judge(self, error: CloudError, zone: str | None, zones: Collection[str], now: float) -> CloudError:
        """Return the error of a create; as trouble of the API if nova denies all zones, which existed shortly before.

        :param zone: the zone of the create.
        :param zones: the zones in which it might have been sent.
        """
        if zone is None or not isinstance(error, CloudRefused) or not denies_zone(error):
            return error
        if not all(self.is_lost(name, now) for name in {zone, *zones}):
            return error
        return CloudUnavailable(
            f"{error} (zone {zone}; it was available a moment ago: nova has lost contact with its services)",
            provider=error.provider,
            call=error.call,
            status=error.status,
        )
