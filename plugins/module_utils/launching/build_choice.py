# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Choose the build that nodes are launched from, by how launches from it and from others end at one provider. No I/O.

A new build is tried with few launches while the build before it, which is known to work there, serves the rest. It is
given up when launches from it fail for reasons that may lie in the image while others succeed: what is unavailable then
is not the cloud. Without a build before it that has worked at this provider, there is nothing to choose.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..model.launch_counts import OF_IMAGE, READY, SILENT, Attempt
from .event_builds import NO_PIN, Pin

TRIALS = 3
"""Launches from a new build that are under way at once until one of them is ready."""
ENOUGH = 3
"""Failures, each while another build or image worked, that give a build up."""
DOUBT = 2
"""Failures in a row after which a build that has worked is compared with the one before it."""
WINDOW = 3600.0
"""Seconds for which an attempt counts."""
TIGHT = 5.0
"""No outage is shorter: a failure between the boots of two others that work, so close together, lies in the build."""
TOGETHER = 1.0
"""Servers whose creates began within so many seconds, and that one list shows as ACTIVE, booted at the same time."""
_NEVER = float("inf")
NEAR = 600.0
"""Seconds before and after a failure within which another launch shows whether the cloud worked."""
LATE, LATE_BY_MANY = 2.0, 1.25
"""A guest is late when it does not answer for this many times the longest time that those of the build before need; the
second when many have shown it."""
MANY = 10
SLOW = 1.1
"""No guest is late while another one waits for this many times that longest time: then the cloud is slow."""
LEAST_LATE = 10.0
"""Least number of seconds after ACTIVE at which a guest counts as late."""
OVERDUE = 600.0
"""Seconds after which a new build is tried by one request of a large event, too."""
COMPARED = 2
"""Number of later launches from the build before that must be ready before a guest counts as late."""
SERVED = 60.0
"""Seconds within which a request that tries a new build is to be served, by the build before if need be."""
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
    :ivar waiting: since when servers of it are ACTIVE whose guests do not answer yet, in UNIX seconds.
    :ivar late: the requests of some of these were given other nodes, because they are not served in time.
    """

    build: str
    ready: int = 0
    recent: Sequence[Attempt] = ()
    since: float = 0.0
    trusted: bool = False
    under_way: int = 0
    late: bool = False
    there: float = 0.0
    waiting: Sequence[float] = ()

    @property
    def is_proved(self) -> bool:
        """True if it has worked, since a person has restored it."""
        if not self.since:
            return self.ready > 0
        return any(one.end == READY and one.ended > self.since for one in self.recent)


@dataclass(frozen=True)
class Waiting:
    """A launch whose guest does not answer yet. *began*: when its create was sent, *active*: when its server was ACTIVE
    (UNIX seconds); 0 while it is not."""

    began: float
    active: float = 0.0


@dataclass(frozen=True)
class Findings:
    """What the attempts show of a build: its failures and successes since the first failure, oldest first."""

    failures: list[Attempt] = field(default_factory=list)
    successes: int = 0
    controls: list[Attempt] = field(default_factory=list)
    """The attempts with other builds and images that ended since the first failure began, or shortly before it."""

    @property
    def confirmed(self) -> int:
        """The number of failures that happened while others worked; those that one outage may explain count once."""
        shown = [
            one for one in self.failures if _worked_meanwhile(one, self.controls) or _is_between(one, self.controls)
        ]
        around = [_boots_around(one, self.controls) for one in shown]
        sure = [(before, after) for before, after in around if after - before <= TIGHT]
        return len(sure) + _events(times for times in around if times not in sure)

    @property
    def is_bad(self) -> bool:
        """True if the failures lie in the build."""
        failed = len(self.failures)
        if self.confirmed < ENOUGH or failed < SHARE * (failed + self.successes):
            return False
        bad = sum(1 for one in self.controls if one.end != READY)
        return bad * (failed + self.successes) < SHARE * failed * len(self.controls)


def find(newest: Candidate, before: Candidate, others: Iterable[Attempt], now: float) -> Findings:
    """Return what the attempts show of the newest build.

    :param others: the latest attempts with other images at the same provider.
    """
    start = max(newest.since, now - WINDOW)
    mine = [one for one in newest.recent if one.ended > start]
    # The others' failures for want of room say nothing; the caller leaves them out.
    around = [one for one in (*before.recent, *others) if one.ended > now - WINDOW]
    last_ready = _last_ready(newest)
    silent = [one for one in mine if one.end == SILENT and one.ended > last_ready and _is_of_build(one, around)]
    failures = sorted([*(one for one in mine if one.end == OF_IMAGE), *silent], key=_ended)
    if not failures:
        return Findings()
    began = min(one.began for one in failures)
    successes = sum(1 for one in mine if one.end == READY and one.ended >= began)
    return Findings(failures, successes, [one for one in around if one.ended >= began - NEAR])


def _is_of_build(silent: Attempt, others: Sequence[Attempt]) -> bool:
    """Return True if others in the same networks answered while a server did not, or right before and after it.

    None of them may have failed meanwhile.
    """
    if not silent.place or any(
        one.end != READY and silent.began <= one.ended <= silent.ended for one in _comparable(silent, others)
    ):
        return False
    return _worked_meanwhile(silent, others) or _is_between(silent, others)


def _worked_meanwhile(failure: Attempt, others: Sequence[Attempt]) -> bool:
    known = _comparable(failure, others)
    return any(one.end == READY and failure.began <= one.ended <= failure.ended for one in known)


def _is_between(failure: Attempt, others: Sequence[Attempt]) -> bool:
    """Return True if others succeeded right before and right after a failure."""
    known = _comparable(failure, others)
    past = [one for one in known if failure.began - NEAR <= one.ended <= failure.began]
    later = [one for one in known if failure.ended <= one.ended <= failure.ended + NEAR]
    before, after = max(past, key=_ended, default=None), min(later, key=_ended, default=None)
    return before is not None and after is not None and (before.end, after.end) == (READY, READY)


def _boots_around(failure: Attempt, others: Sequence[Attempt]) -> tuple[float, float]:
    """Return when the servers of others booted right before and after that of a failure, in UNIX seconds.

    A guest that boots in an outage may never answer: all that booted between these two may have met the same one,
    whatever answered meanwhile.
    """
    known = [one for one in _comparable(failure, others) if one.end == READY]
    before = max((one.booted for one in known if one.booted <= failure.booted), default=float("-inf"))
    # One list may show several as ACTIVE that booted some seconds apart: only those that were created together did not.
    after = min((one.booted for one in known if one.booted > failure.booted or _together(one, failure)), default=_NEVER)
    return before, after


def _together(one: Attempt, other: Attempt) -> bool:
    return one.booted == other.booted and abs(one.began - other.began) <= TOGETHER


def _events(gaps: Iterable[tuple[float, float]]) -> int:
    """Return how many of these times do not overlap: an outage meets several networks and zones at once."""
    count, end = 0, float("-inf")
    for gap in sorted(gaps, key=lambda gap: gap[1]):
        if gap[0] >= end:
            count, end = count + 1, gap[1]
    return count


def _comparable(failure: Attempt, others: Sequence[Attempt]) -> Sequence[Attempt]:
    """Return the attempts that show whether a failure lies in the build: for silence, those in the same networks."""
    return [one for one in others if one.place == failure.place] if failure.end == SILENT else others


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
        doubt = _doubt(newest, before, others, now)
        if doubt is None or pin.build == newest.build:
            return newest.build
        if not doubt.compared:
            return newest.build if before.under_way else before.build
        if not doubt.works:
            return newest.build
        if not doubt.lately:
            return before.build
        # The cloud works: the build is tried like a new one until it is ready again.
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
    if not waiting.active or len(compared) < COMPARED or any(one.end != READY for one in lately):
        return None
    return None if _is_slow(before, beside, now) else waiting.active + _late_after(before)


def beside_at(waiting: Waiting, before: Candidate, beside: Iterable[Waiting], now: float) -> float | None:
    """Return when the request of a launch from a new build gets nodes of the build before beside it, in UNIX seconds.

    Whichever are ready first serve it. Later than that, the others would not be ready SERVED seconds after the launch
    began, if they need as long as those of the build before needed until then. It says nothing about the build.

    None: by then the launch would have ended or be late; or the cloud is slow or in trouble, as launches from the build
    before fail or wait as well; or nothing is known of them.

    :param before, beside: as for :func:`late_at`.
    """
    if any(one.end != READY for one in before.recent if one.ended >= waiting.began) or _is_slow(before, beside, now):
        return None
    known = [one for one in before.recent if one.end == READY and one.ended <= waiting.began]
    longest = SLOW * max((one.ended - one.began for one in known), default=0.0)
    at = max(0.0, SERVED - longest)
    return waiting.began + at if at <= longest and now - waiting.began <= longest else None


def _is_slow(before: Candidate, beside: Iterable[Waiting], now: float) -> bool:
    """Return True if guests of others wait longer than those of the build before needed lately."""
    slow = max(LEAST_LATE / LATE, SLOW * _longest(before))
    return any(now - one.active > slow for one in beside)


def is_doubted(newest: Candidate, before: Candidate, others: Iterable[Attempt], now: float) -> bool:
    """Return True if a build that has worked stopped working, while the one before it works."""
    doubt = _doubt(newest, before, others, now)
    return doubt is not None and doubt.works


def _late_after(build: Candidate) -> float:
    """Return the seconds after ACTIVE at which a guest is late, compared with those of a build that works."""
    many = sum(1 for _unused in _answers(build)) >= MANY
    return max(LEAST_LATE, (LATE_BY_MANY if many else LATE) * _longest(build))


def _longest(build: Candidate) -> float:
    return max(_answers(build), default=0.0)


def _answers(build: Candidate) -> Iterator[float]:
    """Yield the seconds from ACTIVE to the answer of the latest guests."""
    return (one.ended - one.active for one in build.recent if one.end == READY and one.active)


@dataclass(frozen=True)
class _Doubt:
    """A build that has worked has failed some times in a row, or its guests do not answer as soon as they did.

    :ivar compared: others were tried since.
    :ivar lately: they were tried since the last failure, too.
    :ivar works: the last of them is ready.
    """

    compared: bool
    works: bool
    lately: bool


def _doubt(newest: Candidate, before: Candidate, others: Iterable[Attempt], now: float) -> _Doubt | None:
    """Return what is known while a build that has worked fails; None while it works.

    A build of which no server answers looks like a network that is broken, unless something else in that network
    answers. Other images may be in other networks: then only the build before shows it.
    """
    start = max(newest.since, now - WINDOW, _last_ready(newest))
    failures = [one for one in newest.recent if one.end in (OF_IMAGE, SILENT) and one.ended > start]
    due = _late_after(newest)
    # A server that answers later than all before it has not failed yet, but it is worth a comparison.
    overdue = [active + due for active in newest.waiting if active > start and active + due <= now]
    times = sorted([*(one.ended for one in failures), *overdue])
    if len(times) < DOUBT:
        return None
    since = times[DOUBT - 1]
    silent = bool(overdue) or any(one.end == SILENT for one in failures)
    later = [one for one in (*before.recent, *(() if silent else others)) if one.ended >= since]
    last = max((one.ended for one in failures), default=since)
    latest = max(later, key=_ended, default=None)
    return _Doubt(bool(later), latest is not None and latest.end == READY, latest is not None and latest.ended >= last)


def _last_ready(candidate: Candidate) -> float:
    return max((one.ended for one in candidate.recent if one.end == READY), default=0.0)


def _compared(found: Findings) -> bool:
    """Return True if another build or image was tried since the last failure."""
    return any(one.ended >= found.failures[-1].ended for one in found.controls)


def _ended(attempt: Attempt) -> float:
    return attempt.ended
