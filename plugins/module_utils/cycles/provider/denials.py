# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts that were true a moment ago and that nova denies now: that is the cloud's trouble, not the request's.

nova knows its availability zones from the services of its cells. While the data base of a cell does not answer it has
no services and so no zone of that cell: a create there is refused with 400, as if the zone had never been.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.provider.lost_images import LostImages
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudError,
    CloudRefused,
    CloudUnavailable,
)

ZONE_DENIED = "availability zone is not available"
"""nova's words (``_validate_and_build_base_options`` of its compute API, nova 26)."""
LONGEST = 600.0
"""Seconds after which what is denied is believed not to be there any more."""


class Denials:
    """The zones that one provider denies, and its images."""

    def __init__(self) -> None:
        self.images = LostImages()
        self._since: dict[str, float] = {}
        self._seen: dict[str, float] = {}
        """Zone → when it was there last."""

    def confirm(self, zone: str | None, now: float) -> None:
        """A create there was accepted."""
        if zone is not None:
            self._seen[zone] = now
            self._since.pop(zone, None)

    def keep(self, zones: Sequence[str], now: float) -> list[str]:
        """A reading of all zones, and those that were there until a moment ago. Called by any thread.

        A list without any zone is left as it is: it tells nothing.
        """
        self._seen.update(dict.fromkeys(zones, now))
        lately = [zone for zone, seen in [*self._seen.items()] if zone not in zones and now - seen < LONGEST]
        return [*zones, *lately] if zones else []

    def judge(self, error: CloudError, zone: str | None, known: Collection[str] | None, now: float) -> CloudError:
        """The error of a create, as trouble of the API where it denies what was there.

        :param zone: that the create asked for.
        :param known: the zones of the latest reading; None: there was none yet.
        """
        if zone is None or not isinstance(error, CloudRefused) or ZONE_DENIED not in str(error):
            return error
        if known and zone in known:
            self._seen[zone] = now
        # Where nova shows no zone at all, it knows of no service: then the list says nothing about this one.
        if known and zone not in self._seen:
            return error
        if now - self._since.setdefault(zone, now) >= LONGEST:
            return error
        return CloudUnavailable(
            f"{error} (zone {zone}; it was a moment ago: nova has lost sight of its services)",
            provider=error.provider,
            call=error.call,
            status=error.status,
        )
