# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refused creates: how long a pool is left alone, what ends that early, and how gently it starts again.

nova refuses for reasons that its limits do not show (hidden usage, usage not yet given back, other services). Asking
again at once only costs calls; so a refusal freezes the pool for the resource that was named. What was in use at the
refusal is then taken for the limit: whatever of it is given back may be used again at once, but no more. When the
freeze is over a single create tries what is beyond; as long as these are refused they follow each other at distances
that a waiting request can bear. Where even what was given back is refused, that waits for them, too. A limit that was
raised ends the freeze. After a freeze, and in a new cycle, few creates are sent side by side: as many more as were
accepted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..model.api_timeouts import MOST_CREATES
from ..model.freeze import Evidence, Freeze
from ..model.stored import is_number

FIRST = 24.0
"""Seconds from the first refusal to the next try, and the least distance of those after it."""
QUICK = 5
"""After so many refusals in a row the distance grows to SOON; two minutes have passed by then."""
IN_TWO_MINUTES = 6
"""No more creates than this are refused in TWO_MINUTES: where several were refused together or at once after each
other, the tries are fewer.

Two tries are made in any case.
"""
TWO_MINUTES = 120.0
SOON = 60.0
"""The distance in seconds until RECENT refusals have passed, which takes ten minutes."""
RECENT = 13
SPREAD = 0.02
"""The first distances are longer at random by up to this share: pools that were refused together part in time."""
LONGEST = 180.0
"""The distance after that. An hour has thirty freezes at most. No freeze lasts longer, in seconds."""
MEMORY = 3600.0
"""Refusals older than this many seconds are forgiven."""
DOUBTS = 3
"""Up to so many refusals what is given back is tried again at once although such a try was refused."""

FIRST_WINDOW = 2
AFTER_REFUSAL = 1
GENTLY_FROM, GENTLY_TO = 4, 16
"""Between these the window grows by one for two accepted creates: the first burst may meet a hidden limit."""
NEAR_LIMIT = 3
"""nova checks its quota without reserving: near a limit several creates at once may all be accepted and then fail."""


def refused(
    before: Freeze | None, resource: str, evidence: Evidence, text: str, now: float, jitter: float, sent_at: float
) -> Freeze:
    """The freeze after one more refusal.

    :param evidence: what is known now; what a server uses that was accepted and then failed is not in it.
    :param jitter: 0…1, lengthens the first times by up to SPREAD.
    :param sent_at: when the create was sent. Creates that were under way together make one freeze; each of them
        bears the time of the first.
    """
    past = [time for time in (before.refusals if before else []) if now - time < MEMORY]
    if before is not None and past and sent_at <= past[-1]:
        together = replace(before.evidence, ours=min(before.evidence.ours, evidence.ours))
        known = before.evidence if before.blind else together
        return replace(before, refusals=[*past, past[-1]], evidence=known, text=text)
    blind = before is not None and bool(past) and _is_contrary(before, evidence, now)
    if before is not None and blind and before.evidence.used > evidence.used:
        evidence = before.evidence
    until = now + _pause([*past, now], jitter)
    return Freeze(resource, until, [*past, now], evidence, text, blind=blind)


def _pause(refusals: Sequence[float], jitter: float) -> float:
    """Seconds from the latest of these refusals to the next try."""
    freezes = len(set(refusals))
    if freezes > RECENT:
        return LONGEST
    if freezes > QUICK:
        return SOON
    now = refusals[-1]
    lately = [time for time in refusals if now - time < TWO_MINUTES]
    steps = max(1, IN_TWO_MINUTES + 1 - len(lately))
    even = (lately[0] + TWO_MINUTES - now) / steps
    return (FIRST if freezes == 1 else min(SOON, max(FIRST, even))) * (1.0 + SPREAD * jitter)


def _is_contrary(before: Freeze, now_known: Evidence, now: float) -> bool:
    """True when a create was refused within what had been in use before: that is not what it depends on, or not all.

    It stays so until one is accepted.
    """
    if is_raised(before, now_known):
        return False
    return now < before.until or (before.blind and not before.trusted)


def is_raised(freeze: Freeze, now: Evidence) -> bool:
    """True when the cloud's limit is higher than it was at the refusal."""
    then = freeze.evidence
    return then.bound is not None and now.bound is not None and now.bound > then.bound


def room(freeze: Freeze, known: Evidence, now: float) -> float:
    """How much of the resource may be used now beyond what *known* says is used; infinite without a freeze.

    What is given back is no room where the quota has fallen below what is used. So the limits that are read after a
    refusal decide, and after one that should have fitted nothing is tried before they are read.
    """
    if now >= freeze.until or is_raised(freeze, known):
        return float("inf")
    unread = freeze.blind and not freeze.trusted and not freeze.settled
    if unread or now < try_at(freeze, now):
        return 0.0
    bound = float("inf") if known.bound is None else known.bound
    return max(0.0, min(freeze.evidence.used, bound) - known.used)


def try_at(freeze: Freeze, now: float) -> float:
    """When what was given back may be tried again: at once, unless such tries were refused time and again."""
    if not freeze.blind or freeze.trusted:
        return now
    return now if len({time for time in freeze.refusals if now - time < MEMORY}) <= DOUBTS else freeze.until


def accepted(freeze: Freeze, size: float, sent_at: float) -> Freeze:
    """A create was accepted. One that was under way at the refusal was in time: what it uses was still to be had."""
    if not freeze.refusals:
        return freeze
    if sent_at > freeze.refusals[-1]:
        return replace(freeze, trusted=True) if freeze.blind else freeze
    return replace(freeze, evidence=replace(freeze.evidence, ours=freeze.evidence.ours + size))


def settle(freeze: Freeze, known: Evidence) -> Freeze:
    """Others have been looked at after the refusal: what they had taken unseen is part of what was in use."""
    others = max(freeze.evidence.others, known.others)
    return replace(freeze, evidence=replace(freeze.evidence, others=others), settled=True)


def careful(freeze: Freeze, known: Evidence, now: float) -> float:
    """How many creates may be under way near the usage at which one was refused within the past hour.

    As many as fit below it, one to try what is beyond, and more again the further beyond it has turned out to go.
    """
    remembered = bool(freeze.refusals) and now - freeze.refusals[-1] < MEMORY
    if not remembered or is_raised(freeze, known):
        return float("inf")
    if freeze.blind and (now < freeze.until or not freeze.trusted):
        return 1.0
    below = freeze.evidence.used - known.used
    return max(1.0, below) if below >= 0 else 1.0 - below


@dataclass
class Window:
    """How many creates of a pool may be without an answer at once: grows with each one accepted.

    Those under way are lost when the first of them is refused. The next cycle begins with what this one has reached.
    """

    size: float = FIRST_WINDOW

    def accepted(self) -> None:
        """One more create was accepted."""
        gently = GENTLY_FROM <= self.size < GENTLY_TO
        self.size = min(MOST_CREATES, self.size + (0.5 if gently else 1.0))

    def refused(self) -> None:
        """A create was refused, or its server failed for want of quota."""
        self.size = AFTER_REFUSAL

    def allowed(self, near_limit: bool, careful: float = MOST_CREATES, opened: float = 1.0) -> int:
        """Creates at once.

        :param careful: what refusals of late have taught.
        :param opened: by how many times it is wider while answers are waited for; not after a refusal.
        """
        size = self.size * opened if self.size >= FIRST_WINDOW else self.size
        return int(min(size, careful, NEAR_LIMIT if near_limit else MOST_CREATES))

    def learn(self, stored: Any) -> None:
        """Begin with what an earlier cycle has reached; what makes no sense is left out."""
        if is_number(stored) and AFTER_REFUSAL <= stored <= MOST_CREATES:
            self.size = float(stored)
