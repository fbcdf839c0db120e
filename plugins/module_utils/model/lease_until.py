# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The time until which a lease lasts, as people write it."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta

from .lease import LeaseOptionError

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})")
_MINUTES = re.compile(r"\d{1,4}")
HOUR_MINUTES, DAY_MINUTES = 60, 24 * 60


def seconds_until(until: str, now: float, option: str = "until") -> int:
    """Return the seconds from *now* (UNIX time) to a time, at least 1.

    :param until: ``HH:MM``, the next such time of the machine's zone; or a date and time of ISO 8601, of the machine's
        zone when it names none. A number from 60 to 1439 is what YAML makes of HH:MM without quotes: minutes. It makes
        no smaller one: somebody means an hour, or minutes from now, and nobody knows which.
    :raises LeaseOptionError: it is none of these, or has passed.
    """
    text = until.strip()
    if _MINUTES.fullmatch(text) and HOUR_MINUTES <= int(text) < DAY_MINUTES:
        text = f"{int(text) // 60}:{int(text) % 60:02d}"
    clock = _CLOCK.fullmatch(text)
    try:
        moment = _next(int(clock[1]), int(clock[2]), now) if clock else datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise LeaseOptionError(
            f"{option} is {until!r}: give a time such as '18:00', or a date and time '2026-12-24 18:00'"
        ) from None
    if moment <= now:
        raise LeaseOptionError(f"{option} is {until!r}, which has passed: give a time in the future")
    return max(1, math.ceil(moment - now))


def _next(hour: int, minute: int, now: float) -> float:
    """Return the UNIX time of the next *hour*:*minute* by the clock on the wall, also across a change of the clocks."""
    today = datetime.fromtimestamp(now).replace(hour=hour, minute=minute, second=0, microsecond=0)
    moment = today.timestamp()
    if moment > now:
        return moment
    # Where the clocks are set back, the hour comes twice. (In the other night the second reading is the earlier one.)
    again = today.replace(fold=1).timestamp()
    return again if again > now else (today + timedelta(days=1)).replace(fold=0).timestamp()
