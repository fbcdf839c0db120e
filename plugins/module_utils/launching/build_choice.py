# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Choose the build that nodes are launched from, by how launches from it and from others end at one provider. No I/O.

A new build is tried with few launches while the build before it, which is known to work there, serves the rest. It is
given up when launches from it fail for reasons that may lie in the image while others succeed: what is unavailable then
is not the cloud. Without a build before it that has worked at this provider, there is nothing to choose.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..model.launch_counts import OF_IMAGE, READY, Attempt
from .event_builds import NO_PIN, Pin

TRIALS = 3
"""Launches from a new build that are under way at once until one of them is ready."""
ENOUGH = 3
"""Failures, each while another build or image worked, that give a build up."""
DOUBT = 2
"""Failures in a row after which a build that has worked is compared with the one before it."""
WINDOW = 3600.0
"""Seconds for which an attempt counts."""
NEAR = 600.0
"""Seconds before and after a failure within which another launch shows whether the cloud worked."""
LATE = 2.0
"""A guest is late when it does not answer for this many times the longest time that those of the build before need."""
LEAST_LATE = 10.0
"""Least number of seconds after ACTIVE at which a guest counts as late."""
OVERDUE = 600.0
"""Seconds after which a new build is tried by one request of a large event, too."""
COMPARED = 2
"""Number of later launches from the build before that must be ready before a guest counts as late."""
SHARE = 0.5
"""Least share of failures among the attempts of a build that is given up; that of the others must be less than half."""


@dataclass(frozen=True)
class Candidate:
    """A build that is in the cloud.

    :ivar ready: number of its attempts that ended with a ready node, at any time.
    :ivar recent: its latest attempts.
    :ivar since: UNIX time; attempts that ended earlier do not count, because a person has restored the build then.
    :ivar trusted: a person has approved it.
    :ivar under_way: number of launches from it that have not ended.
    :ivar there: when its upload became ready, in UNIX seconds.
    :ivar late: the requests of some of these were given other nodes, because the guests were late.
    """

    build: str
    ready: int = 0
    recent: Sequence[Attempt] = ()
    since: float = 0.0
    trusted: bool = False
    under_way: int = 0
    late: bool = False
    there: float = 0.0

    @property
    def is_proved(self) -> bool:
        """True if it has worked, since a person has restored it."""
        if not self.since:
            return self.ready > 0
        return any(one.end == READY and one.ended > self.since for one in self.recent)


@dataclass(frozen=True)
class Waiting:
    """A launch whose guest does not answer yet. *began*: when its create was sent, *active*: when its server was ACTIVE
    (UNIX seconds)."""

    began: float
    active: float


@dataclass(frozen=True)
class Findings:
    """What the attempts show of a build: its failures and successes since the first failure, oldest first."""

    failures: list[Attempt] = field(default_factory=list)
    successes: int = 0
    controls: list[Attempt] = field(default_factory=list)
    """The attempts with other builds and images that ended since the first failure began, or shortly before it."""

    @property
    def confirmed(self) -> int:
        """The number of failures that happened while others worked."""
        gaps: set[tuple[float, float]] = set()
        direct = 0
        for failure in self.failures:
            if any(one.end == READY and failure.began <= one.ended <= failure.ended for one in self.controls):
                direct += 1
                continue
            gap = self._gap(failure)
            if gap is not None:
                gaps.add(gap)
        return direct + len(gaps)

    @property
    def is_bad(self) -> bool:
        """True if the failures lie in the build."""
        failed = len(self.failures)
        if self.confirmed < ENOUGH or failed < SHARE * (failed + self.successes):
            return False
        bad = sum(1 for one in self.controls if one.end != READY)
        return bad * (failed + self.successes) < SHARE * failed * len(self.controls)

    def _gap(self, failure: Attempt) -> tuple[float, float] | None:
        """Return the successes of others right before and after a failure; several failures between two count once."""
        past = [one for one in self.controls if failure.began - NEAR <= one.ended <= failure.began]
        later = [one for one in self.controls if failure.ended <= one.ended <= failure.ended + NEAR]
        before, after = max(past, key=_ended, default=None), min(later, key=_ended, default=None)
        if before is None or after is None or (before.end, after.end) != (READY, READY):
            return None
        return before.ended, after.ended


def find(newest: Candidate, before: Candidate, others: Iterable[Attempt], now: float) -> Findings:
    """Return what the attempts show of the newest build.

    :param others: the latest attempts with other images at the same provider.
    """
    start = max(newest.since, now - WINDOW)
    mine = [one for one in newest.recent if one.ended > start]
    failures = sorted((one for one in mine if one.end == OF_IMAGE), key=_ended)
    if not failures:
        return Findings()
    began = min(one.began for one in failures)
    successes = sum(1 for one in mine if one.end == READY and one.ended >= began)
    # The others' failures for want of room say nothing; the caller leaves them out.
    controls = [one for one in (*before.recent, *others) if one.ended >= began - NEAR and one.ended > now - WINDOW]
    return Findings(failures, successes, controls)


def predecessor(candidates: Sequence[Candidate]) -> Candidate | None:
    """Return the build that stands in for the first of *candidates*: the next one that has worked here."""
    return next((one for one in candidates[1:] if one.ready), None)


def choose(candidates: Sequence[Candidate], others: Sequence[Attempt], size: int, now: float, pin: Pin = NO_PIN) -> str:
    """Return the build for the next launches.

    Nodes of one event come from one build as long as it may be used. Only while a new build is tried the requests of a
    large event may differ: few launches try it, whoever they are for.

    :param candidates: the builds that may be used, the newest first; at least one.
    :param others: the latest attempts with other images at the same provider.
    :param size: how many nodes are launched together; all get the same build.
    :param pin: the build of other nodes of the same event.
    """
    newest, before = candidates[0], predecessor(candidates)
    if pin.build != newest.build and any(one.build == pin.build for one in candidates):
        return pin.build
    if before is None or newest.trusted:
        return newest.build
    found = find(newest, before, others, now)
    if found.is_bad:
        return before.build
    if newest.is_proved:
        pinned = pin.build == newest.build
        return before.build if not pinned and _needs_comparison(newest, before, found) else newest.build
    if newest.late:
        return before.build
    if pin.same_request:
        return newest.build
    most = max(1, TRIALS - len(found.failures))
    alone = not pin.siblings or pin.build == newest.build or now - newest.there > OVERDUE
    room = newest.under_way + size + (0 if alone else pin.siblings) <= most or (alone and newest.under_way == 0)
    unanswered = len(found.failures) >= DOUBT and not _compared(found)
    return newest.build if room and not unanswered else before.build


def late_at(waiting: Waiting, before: Candidate, beside: Iterable[Waiting], now: float) -> float | None:
    """Return when the guest of a launch from a new build is late, in UNIX seconds; None while nothing shows that.

    Its request need not wait for it any longer then. It says nothing about the build, which may be slow: only the end
    of the launch does. When the cloud is slow or in trouble no guest is late, because those of the build before would
    fail or wait as well.

    :param before: the build before, which is known to work here.
    :param beside: the launches from other builds and images at the same provider whose guests do not answer yet.
    """
    lately = [one for one in before.recent if one.ended >= waiting.began]
    compared = [one for one in lately if one.end == READY and one.began >= waiting.began and one.active]
    if len(compared) < COMPARED or any(one.end != READY for one in lately):
        return None
    longest = max(one.ended - one.active for one in before.recent if one.end == READY and one.active)
    usual = max(LEAST_LATE / LATE, longest)
    return None if any(now - one.active > usual for one in beside) else waiting.active + LATE * usual


def _needs_comparison(newest: Candidate, before: Candidate, found: Findings) -> bool:
    """Return True if one launch from the build before shall show whether the cloud still works."""
    last_ready = max((one.ended for one in newest.recent if one.end == READY), default=0.0)
    in_a_row = [one for one in found.failures if one.ended > last_ready]
    return len(in_a_row) >= DOUBT and not before.under_way and not _compared(found)


def _compared(found: Findings) -> bool:
    """Return True if another build or image was tried since the last failure."""
    return any(one.ended >= found.failures[-1].ended for one in found.controls)


def _ended(attempt: Attempt) -> float:
    return attempt.ended
