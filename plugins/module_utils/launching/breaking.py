# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The circuit breaker for launches that fail again and again.

A broken image or flavor makes every launch fail, and each failure costs a server, its boot time and quota. After some
failures in a row of the same (image, flavor) at a provider, the launcher launches nothing with it for a growing time.
Then it tries again, and the first success closes the breaker.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..model.backoff import backoff
from ..model.owner import IMAGE, LABEL
from ..model.stored import Stored, believed

FAILURES = 5
FIRST = 60.0
MOST = 900.0
MOST_WITNESSES = 10


@dataclass(frozen=True)
class Sign:
    """One failure, as a sign of whose fault it is.

    :ivar witness: whose launch failed: the id of its request, or of its node for min-ready.
    :ivar place: pool and label of the launch.
    :ivar print: a fingerprint of all settings of the label.
    :ivar owner: whose fault it is, as far as it is known.
    :ivar sent: True for a create that was refused in words that no rule knows: it may be about anything that was sent.
    :ivar tenant: the tenant whose request gave a part of what was sent; "" for none.
    """

    text: str = ""
    witness: str = ""
    place: str = ""
    print: str = ""
    owner: str = IMAGE
    sent: bool = False
    tenant: str = ""


@dataclass(frozen=True)
class Breaker(Stored):
    """Failures in a row, and until when (UNIX seconds) nothing is launched; 0 while the breaker is closed.

    *since*: when the first of them was. *last*: when the last of them was. *owner*: whose fault the last of them was.
    *witnesses*: whose launches failed, at most MOST_WITNESSES. *prints*: fingerprints of the settings with which they
    failed, each behind its pool and label.

    *place*, *tenant*: the pool and label, and the tenant, that all failures share; "" if they share none. Only launches
    with both are held up. *spared*: another launch with the same image and flavor has succeeded since.
    """

    failures: int = 0
    until: float = 0.0
    text: str = ""
    since: float = 0.0
    last: float = 0.0
    witnesses: list[str] = field(default_factory=list)
    prints: list[str] = field(default_factory=list)
    owner: str = IMAGE
    place: str = ""
    tenant: str = ""
    spared: bool = False

    def failed(self, sign: Sign, now: float, needed: int | None = None) -> Breaker:
        """Return the breaker after one more failure. Launches under way when it opened do not keep it open longer.

        A failure of which nothing shows whose fault it is opens the breaker only when launches for two have failed.

        :param needed: number of failures after which it opens; None: FAILURES.
        """
        if self.spared and not self.concerns(sign.place, sign.tenant):
            return Breaker().failed(sign, now, needed)
        witnesses = [*dict.fromkeys([*self.witnesses, sign.witness])][:MOST_WITNESSES]
        others = [item for item in self.prints if not item.startswith(f"{sign.place} ")]
        prints = [*others, f"{sign.place} {sign.print}"][-MOST_WITNESSES:]
        known = replace(
            self,
            text=sign.text,
            owner=sign.owner,
            since=self.since or now,
            last=now,
            witnesses=witnesses,
            prints=prints,
            place=self._shared(sign, self.place, sign.place),
            tenant=self._shared(sign, self.tenant, sign.tenant),
        )
        if now < self.until:
            return known
        failures, needed = self.failures + 1, FAILURES if needed is None else needed
        if failures < needed or not (sign.owner in (IMAGE, LABEL) or len(witnesses) > 1):
            return replace(known, failures=failures)
        pause = backoff(failures - needed + 1, first=FIRST, most=MOST)
        return replace(known, failures=failures, until=now + pause)

    def _shared(self, sign: Sign, before: str, there: str) -> str:
        return there if sign.sent and (not self.failures or before == there) else ""

    def succeeded(self, place: str, tenant: str) -> Breaker | None:
        """Return the breaker after a launch that succeeded; None: it is closed.

        What succeeds for others says nothing against what was refused of this label or tenant alone.
        """
        return None if self.concerns(place, tenant) else replace(self, spared=True)

    def concerns(self, place: str, tenant: str) -> bool:
        """Return True for launches that share what all those that failed have in common."""
        return self.place in ("", place) and self.tenant in ("", tenant)

    def is_corrected(self, place: str, print_now: str) -> bool:
        """Return True if the settings of this pool and label have changed since they failed."""
        then = [item for item in self.prints if item.startswith(f"{place} ")]
        return bool(then) and then != [f"{place} {print_now}"]

    def is_fresh(self, now: float) -> bool:
        """True while its last failure is recent enough to be a sign."""
        return bool(self.failures) and now - self.last < MOST

    def as_of(self, now: float) -> Breaker:
        """Return the breaker without an *until* too far ahead: the clock that it was stored by may have been wrong."""
        return replace(self, until=believed(self.until, now, MOST))

    def is_open(self, now: float) -> bool:
        """True while nothing may be launched."""
        return now < self.until
