# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After a refused create: how long the pool is frozen, what ends the freeze early, and how the pool starts again.

nova refuses creates for reasons that its limits do not show (hidden usage, usage not yet given back, other services).
Another create at once only costs calls, so a refusal freezes the pool for the resource that nova named. The usage at
the refusal then counts as the limit: what is given back may be used again at once, but no more. When the freeze is over
the launcher sends a single create that goes beyond; as long as these are refused, it sends them at intervals that a
waiting request can tolerate. When a create is refused although it only uses what was given back, creates within the
former usage wait as well. A raised limit ends the freeze. After a freeze, and in a new cycle, the launcher sends few
creates in parallel, and more with each one accepted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..model.api_timeouts import MOST_CREATES
from ..model.freeze import Evidence, Freeze
from ..model.stored import BadDocument, all_made, is_number

FIRST = 24.0
"""Seconds from the first refusal to the next try, and the shortest interval between later tries."""
QUICK = 5
"""Number of freezes after which the interval grows to SOON; two minutes have passed by then."""
IN_TWO_MINUTES = 6
"""Most refused creates in TWO_MINUTES: when several were refused together or quickly in a row, there are fewer tries.

Two tries are made in any case.
"""
TWO_MINUTES = 120.0
SOON = 60.0
"""The interval in seconds until RECENT freezes have passed, which takes ten minutes."""
RECENT = 13
SPREAD = 0.02
"""Share by which the first intervals are randomly longer, so that pools refused together do not try together again."""
LONGEST = 180.0
"""The interval after that, in seconds. No freeze lasts longer, and an hour has thirty freezes at most."""
MEMORY = 3600.0
"""Seconds after which a refusal does not count any more."""
DOUBTS = 3
"""Number of freezes up to which resources that were given back are tried at once, although such a try was refused."""

FIRST_WINDOW = 2
AFTER_REFUSAL = 1
GENTLY_FROM, GENTLY_TO = 4, 16
"""Between these sizes the window grows by one for two accepted creates: the first burst may meet a hidden limit."""
NEAR_LIMIT = 3
"""Most creates at once near a limit: nova checks quota without reserving, so it may accept several that then fail."""

read = all_made(Freeze.from_document)
"""Reads the stored freezes of a pool, by resource."""


def as_of(known: Mapping[str, Freeze], now: float) -> dict[str, Freeze]:
    """Return stored freezes as they are at *now*."""
    return {name: freeze.as_of(now, LONGEST) for name, freeze in known.items()}


def stored(document: Mapping[str, Any] | None, now: float) -> dict[str, Freeze]:
    """Return the freezes of a stored document as they are at *now*; none of one that cannot be used."""
    try:
        return as_of(read(document or {}), now)
    except BadDocument:
        return {}


def in_force(document: Mapping[str, Any] | None, now: float) -> dict[str, Freeze]:
    """Return the freezes of a stored document that last."""
    return {name: freeze for name, freeze in sorted(stored(document, now).items()) if now < freeze.until}


def refused(
    before: Freeze | None,
    resource: str,
    evidence: Evidence,
    text: str,
    now: float,
    jitter: float,
    sent_at: float,
    *,
    size: float = 1.0,
    late: bool = False,
) -> Freeze:
    """Return the freeze after one more refusal.

    :param evidence: limits and usage now, without a server that was accepted and then failed.
    :param jitter: 0…1, lengthens the first intervals by up to SPREAD.
    :param sent_at: when the create was sent. Creates that were under way together make one freeze; each refusal is
        stored with the time of the first.
    :param size: how much of the resource the create needed.
    :param late: True if nova accepted the create, and its server failed then.
    """
    past = [time for time in (before.refusals if before else []) if now - time < MEMORY]
    if before is not None and past and sent_at <= past[-1]:
        together = replace(before.evidence, ours=min(before.evidence.ours, evidence.ours))
        known = before.evidence if before.blind else together
        return replace(before, refusals=[*past, past[-1]], evidence=known, text=text)
    blind = before is not None and bool(past) and _is_contrary(before, evidence, now)
    if before is not None and blind and before.evidence.used > evidence.used:
        evidence = before.evidence
    until = now + pause_after([*past, now], jitter)
    return Freeze(resource, until, [*past, now], evidence, text, blind=blind, size=max(1.0, size), late=late)


def pause_after(refusals: Sequence[float], jitter: float) -> float:
    """Return the seconds from the latest of these refusals to the next try."""
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
    """True when a create within the former usage was refused: the refusals have another or a further cause.

    It stays True until a create is accepted.
    """
    if is_raised(before, now_known):
        return False
    return now < before.until or (before.blind and not before.trusted)


def is_raised(freeze: Freeze, now: Evidence) -> bool:
    """True when the cloud's limit is higher now than at the refusal."""
    then = freeze.evidence
    return then.bound is not None and now.bound is not None and now.bound > then.bound


def room(freeze: Freeze, known: Evidence, now: float) -> float:
    """Return how much of the resource may be used now in addition to the usage in *known*; infinite without a freeze.

    When the quota was lowered below the usage, resources that are given back must not be used again. So the limits that
    are read after a refusal decide. After the refusal of a create that should have fitted, nothing is tried until then.
    """
    if now >= freeze.until or is_raised(freeze, known):
        return float("inf")
    unread = freeze.blind and not freeze.trusted and not freeze.settled
    if unread or now < try_at(freeze, now):
        return 0.0
    bound = float("inf") if known.bound is None else known.bound
    return max(0.0, min(freeze.evidence.used, bound) - known.used)


def try_at(freeze: Freeze, now: float) -> float:
    """Return when resources that were given back may be tried: at once, unless such tries were refused repeatedly."""
    if not freeze.blind or freeze.trusted:
        return now
    return now if len({time for time in freeze.refusals if now - time < MEMORY}) <= DOUBTS else freeze.until


def accepted(freeze: Freeze, size: float, sent_at: float) -> Freeze:
    """Return the freeze after an accepted create. One sent before the refusal adds its *size* to the usage then."""
    if not freeze.refusals:
        return freeze
    if sent_at > freeze.refusals[-1]:
        return replace(freeze, trusted=True) if freeze.blind else freeze
    return replace(freeze, evidence=replace(freeze.evidence, ours=freeze.evidence.ours + size))


def is_remembered(freeze: Freeze, now: float) -> bool:
    """True while the last refusal is within MEMORY: after the freeze, one launch as a trial goes first."""
    return bool(freeze.refusals) and now - freeze.refusals[-1] < MEMORY


def settle(freeze: Freeze, known: Evidence) -> Freeze:
    """Return the freeze after the usage of others was read: what they had already taken belongs to the usage then."""
    others = max(freeze.evidence.others, known.others)
    return replace(freeze, evidence=replace(freeze.evidence, others=others), settled=True)


def careful_late(freeze: Freeze, known: Evidence, now: float, building: int) -> float:
    """Return how many more creates may be under way after a server that was accepted failed for want of the resource.

    :param building: servers that are accepted and not yet ACTIVE; they are part of *known* and show nothing so far.
    """
    shown = replace(known, ours=known.ours - building * freeze.size)
    return max(0.0, careful(freeze, shown, now) - building)


def careful(freeze: Freeze, known: Evidence, now: float) -> float:
    """Return how many creates may be under way near the usage at which one was refused within the past hour.

    Below that usage as many as fit, at that usage one, and above it one more for each unit above.
    """
    if not is_remembered(freeze, now) or is_raised(freeze, known):
        return float("inf")
    if freeze.blind and (now < freeze.until or not freeze.trusted):
        return 1.0
    below = (freeze.evidence.used - known.used) / freeze.size
    return max(1.0, below) if below >= 0 else 1.0 - below


@dataclass
class Window:
    """How many creates of a pool may be unanswered at once; grows with each accepted create.

    It begins small because all creates under way fail when the first is refused. The next cycle begins with the size
    that this one has reached.
    """

    size: float = FIRST_WINDOW

    def accepted(self) -> None:
        """Grow after an accepted create."""
        gently = GENTLY_FROM <= self.size < GENTLY_TO
        self.size = min(MOST_CREATES, self.size + (0.5 if gently else 1.0))

    def refused(self) -> None:
        """Shrink after a create was refused, or its server failed for lack of quota."""
        self.size = AFTER_REFUSAL

    def allowed(self, near_limit: bool, careful: float = MOST_CREATES, opened: float = 1.0) -> int:
        """Return how many creates may be unanswered at once.

        :param careful: the bound after recent refusals, see :func:`careful`.
        :param opened: factor on the size while the launcher waits for answers; not used after a refusal.
        """
        size = self.size * opened if self.size >= FIRST_WINDOW else self.size
        return int(min(size, careful, NEAR_LIMIT if near_limit else MOST_CREATES))

    def learn(self, stored: Any) -> None:
        """Begin with the size that an earlier cycle has reached; a value that cannot be understood is ignored."""
        if is_number(stored) and AFTER_REFUSAL <= stored <= MOST_CREATES:
            self.size = float(stored)
