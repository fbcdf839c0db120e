# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The breaker: what fails again and again is not fed for a while.

A broken image or flavor makes every launch fail, and each failure costs a server, its boot time and quota. After some
failures in a row of the same (image, flavor) at a provider nothing more is launched with it for a growing time; then it
is tried again, and the first success closes the breaker.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..model.backoff import backoff
from ..model.stored import Stored, believed

FAILURES = 5
FIRST = 60.0
MOST = 900.0


@dataclass(frozen=True)
class Breaker(Stored):
    """Failures in a row, and until when (UNIX seconds) nothing is launched; 0 while it is closed."""

    failures: int = 0
    until: float = 0.0
    text: str = ""

    def failed(self, text: str, now: float) -> Breaker:
        """One more failure in a row. What was under way when it opened does not make it longer."""
        failures = self.failures + 1
        if failures < FAILURES or now < self.until:
            return Breaker(failures if now >= self.until else self.failures, self.until, text)
        return Breaker(failures, now + backoff(failures - FAILURES + 1, first=FIRST, most=MOST), text)

    def as_of(self, now: float) -> Breaker:
        """As it can be meant at this moment, whatever clock it was stored by."""
        return replace(self, until=believed(self.until, now, MOST))

    def is_open(self, now: float) -> bool:
        """True while nothing is to be launched."""
        return now < self.until
