# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The circuit breaker for launches that fail again and again.

A broken image or flavor makes every launch fail, and each failure costs a server, its boot time and quota. After some
failures in a row of the same (image, flavor) at a provider, the launcher launches nothing with it for a growing time.
Then it tries again, and the first success closes the breaker.
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
    """Failures in a row, and until when (UNIX seconds) nothing is launched; 0 while the breaker is closed."""

    failures: int = 0
    until: float = 0.0
    text: str = ""

    def failed(self, text: str, now: float) -> Breaker:
        """Return the breaker after one more failure. Launches under way when it opened do not keep it open longer."""
        failures = self.failures + 1
        if failures < FAILURES or now < self.until:
            return Breaker(failures if now >= self.until else self.failures, self.until, text)
        return Breaker(failures, now + backoff(failures - FAILURES + 1, first=FIRST, most=MOST), text)

    def as_of(self, now: float) -> Breaker:
        """Return the breaker without an *until* too far ahead: the clock that it was stored by may have been wrong."""
        return replace(self, until=believed(self.until, now, MOST))

    def is_open(self, now: float) -> bool:
        """True while nothing may be launched."""
        return now < self.until
