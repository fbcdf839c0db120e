# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The circuit breaker for launches that fail again and again.

A broken image or flavor makes every launch fail, and each failure costs a server, its boot time and quota. After some
failures in a row of the same (image, flavor) at a provider, the launcher launches nothing with it for a growing time.
Then it tries again, and the first success closes the breaker.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..model.backoff import backoff
from ..model.owner import CLOUD, IMAGE, LABEL
from ..model.stored import BadDocument, Stored, all_made, believed

FAILURES = 5
FIRST = 60.0
MOST = 900.0
MOST_OF_CLOUD = 180.0
"""Longest pause where the cloud is at fault, or what stands before it: that ends without a change of ours."""
MOST_WITNESSES = 10
TRIAL = 60.0
"""Seconds for which one launch alone tries a breaker that was open, unless it ends before."""
MOST_IN, WINDOW = 6, 120.0
"""Number of failed launches within so many seconds after which nothing is launched until the first of them is older."""
FREE = 3
"""Number of failed launches within the window from which on further tries are spaced, and made one at a time."""
SPACE = 24.0
"""Seconds between such tries."""


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

    *recent*: when the latest failures were, at most MOST_IN. *trial*: it was open, and one launch tries until *until*.
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
    recent: list[float] = field(default_factory=list)
    trial: bool = False

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
            recent=self.met(now).recent,
            trial=False,
        )
        if now < self.until and not self.trial:
            return known
        failures, needed = self.failures + 1, FAILURES if needed is None else needed
        if failures < needed or not (sign.owner in (IMAGE, LABEL) or len(witnesses) > 1):
            return replace(known, failures=failures)
        most = MOST_OF_CLOUD if sign.owner == CLOUD else MOST
        pause = backoff(failures - needed + 1, first=FIRST, most=most)
        return replace(known, failures=failures, until=now + pause)

    def met(self, now: float) -> Breaker:
        """Return the breaker after one more failure that counts only for the spaces between tries."""
        return replace(self, recent=[*self.recent, now][-MOST_IN:])

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
        """Return the breaker without times too far ahead: the clock that it was stored by may have been wrong."""
        recent = [moment for moment in self.recent if moment <= now]
        return replace(self, until=believed(self.until, now, MOST), recent=recent)

    def is_open(self, now: float) -> bool:
        """True while nothing may be launched."""
        return now < self.opens_at(now)

    def opens_at(self, now: float) -> float:
        """Return when something may be launched again: not while MOST_IN failures are within the window."""
        lately = self._lately(now)
        full = len(lately) >= MOST_IN and self.until > 0
        return max(self.until, lately[-MOST_IN] + WINDOW) if full else self.until

    def is_half_open(self, now: float) -> bool:
        """True when one launch must show first that others may follow."""
        return self.until > 0 and not self.is_open(now)

    def tried(self, now: float) -> Breaker:
        """Return the breaker while one launch tries whether it may be closed."""
        return replace(self, until=now + TRIAL, trial=True)

    def retry_at(self, now: float) -> float:
        """Return when a launch that has failed for its image may be tried again.

        The first failures cost no time. Then tries are spaced, so that all launches of an image and flavor together
        cost no more than MOST_IN failures in the window, with one for the trial of the breaker.
        """
        lately = self._lately(now)
        if len(lately) < FREE:
            return now
        full = lately[1 - MOST_IN] + WINDOW if len(lately) >= MOST_IN - 1 else now
        return max(full, lately[-1] + SPACE)

    def is_spaced(self, now: float) -> bool:
        """True while launches that have failed for their image are tried one at a time."""
        return len(self._lately(now)) >= FREE

    def _lately(self, now: float) -> list[float]:
        return [moment for moment in self.recent if 0 <= now - moment < WINDOW]


read = all_made(Breaker.from_document)
"""Reads the stored breakers of a provider, by their keys."""


def as_of(known: Mapping[str, Breaker], now: float) -> dict[str, Breaker]:
    """Return stored breakers as they are at *now*."""
    return {key: breaker.as_of(now) for key, breaker in known.items()}


def stored(document: Mapping[str, Any] | None, now: float) -> dict[str, Breaker]:
    """Return the breakers of a stored document as they are at *now*; none of one that cannot be used."""
    try:
        return as_of(read(document or {}), now)
    except BadDocument:
        return {}


def in_force(document: Mapping[str, Any] | None, now: float) -> dict[str, Breaker]:
    """Return the open breakers of a stored document."""
    return {key: breaker for key, breaker in sorted(stored(document, now).items()) if breaker.is_open(now)}
