# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the limits together with a whole server list, or the list alone where the cloud does not tell its limits."""

from __future__ import annotations

from collections.abc import Callable

from ....model.cloud import CloudLimits
from ....model.errors import CloudError
from .facts import LONGEST_REFUSED_PAUSE, SHARE, pause_after
from .lacks import FEW, LIMITS, Lack
from .server_list import Listing
from .usage import Capacity

LIMITS_HOLD = 60.0
"""Seconds for which limits that were answered wait for the list that is read after them."""
_BOUNDED = "launches continue within max-servers"
_EARLIER = "launches continue with the limits that were read before"
_UNBOUNDED = "launches continue without these limits"


class CapacityReading:
    """Reads a provider's capacity in a worker's thread, one reading at a time.

    A cloud may keep its limits from an account for good. After a few tries the list is read without them, and they
    are tried again ever more rarely: pools that have limits of their own, or ignore the cloud's, need only the list.

    :param limits: reads the limits.
    :param read_list: reads a whole list.
    :param clock: UNIX seconds.
    :ivar error: why the limits are not had; None while they are, or may be had soon.
    """

    def __init__(
        self, limits: Callable[[], CloudLimits], read_list: Callable[[], Listing], clock: Callable[[], float]
    ) -> None:
        self._limits = limits
        self._read_list = read_list
        self._clock = clock
        self.error: CloudError | None = None
        self.parts: tuple[Lack, ...] = ()
        """The limits of other services than nova that were not had at the latest reading."""
        self._held: tuple[float, CloudLimits] | None = None
        """Limits for which no list was had yet, and the UNIX time at which they were asked for."""
        self._had = False
        """True if limits were read once: then those are used."""
        self._failures = 0
        self._since = 0.0
        self.retry_at = 0.0
        """UNIX time of the next try of limits that are not had."""

    def read(self) -> Capacity:
        """Read the limits first: a server that is created in between is then in the list and is not hidden usage.

        :raises CloudError: the list was not had, or one of the first tries of the limits has failed.
        """
        now = self._clock()
        # At a slow cloud the list may fail after the limits were answered: then the next try uses those.
        if self._held is None or not 0 <= now - self._held[0] < LIMITS_HOLD:
            limits = self._read_limits() if self.error is None or now >= self.retry_at else None
            self._held = None if limits is None else (now, limits)
        asked_at, found = self._held or (now, None)
        try:
            listing = self._read_list()
        except CloudError:
            # More than the limits is away: they are tried again with the list.
            self.error = None
            raise
        self._held = None
        return Capacity(found, listing, asked_at)

    def renew(self) -> None:
        """Forget earlier failures, as the client was replaced."""
        self.error, self.parts, self._failures, self._held = None, (), 0, None

    @property
    def complete(self) -> bool:
        """Whether nothing is lacking: then :meth:`lacks` has nothing to return."""
        return self.error is None and not self.parts

    def lacks(self, *, stops: bool) -> list[Lack]:
        """Return what was not had.

        :param stops: True if no pool can launch without nova's limits.
        """
        if self.error is None:
            return list(self.parts)
        if self._had:
            return [Lack(LIMITS, self.error, self._since, used=_EARLIER)]
        return [Lack(LIMITS, self.error, self._since, stops, "" if stops else _BOUNDED)]

    def _read_limits(self) -> CloudLimits | None:
        now = self._clock()
        try:
            limits = self._limits()
        except CloudError as error:
            self._since = self._since if self._failures else now
            self._failures += 1
            if self._failures < FEW:
                raise
            lasted = now - self._since
            share = min(LONGEST_REFUSED_PAUSE, SHARE * lasted)
            self.retry_at = now + max(share, pause_after(error, self._failures, lasted))
            self.error = error
            return None
        self._failures, self.error, self._had = 0, None, True
        since = {lack.kind: lack.since for lack in self.parts}
        self.parts = tuple(
            Lack(error.call, error, since.get(error.call, now), used=_UNBOUNDED) for error in limits.lacks
        )
        return limits
