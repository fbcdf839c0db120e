# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Learn from the time to ACTIVE how many servers a cloud builds in parallel best.

A cloud with free capacity builds a hundred servers in the time of one. A cloud that is fully busy takes longer with
each further server and builds no more of them in a minute; an overloaded control plane builds fewer.

Only busy and overloaded clouds get a limit: as long as the time to ACTIVE does not grow in step with the number in
flight there is none. The limit follows the ratio of the usual time to the present time, as the limits of service
meshes follow the gradient of latency (Netflix concurrency-limits, ``Gradient2Limit``; Envoy, adaptive concurrency). The
number in flight settles where a short queue keeps the cloud busy.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from ..model.stored import is_number

RECENT = 32
"""Number of the last builds that show whether the time grows with the number in flight."""
FEW = 5
"""Number of builds below which there is no usual time."""
KINDS = 20
"""Number of flavors whose usual time is kept."""
SHORTEST, LONGEST = 0.01, 86400.0
"""Bounds in seconds: a shorter or longer time counts as the bound."""
RISE = 1.002
"""Factor by which the usual time may rise with each build; small, so that self-made load does not become usual."""
RISE_ALONE = 1.1
"""The same where the launcher is not the cause: few servers are in flight, or half as many take as long."""
ALONE = 3

CONTRAST = 2.0
"""Factor by which the numbers in flight must differ before their effect on the time is judged."""
SLOWER = 1.5
"""Factor below which two times count as equal."""
IN_STEP = 0.75
"""When the time grows with this power of the number in flight or more, hardly more is built in a minute."""

CAUTIOUS = 8
"""The first limit when creates are answered much slower than usual and too little is known about builds."""
FEWEST = 3.0
MOST = 1000.0
"""A limit that reaches this number is dropped."""
QUEUE = 3.0
"""Number of servers beyond those that the cloud can work on: this queue keeps it busy."""
TOLERANCE = 1.5
"""The time may be this many times the usual one before the limit is lowered: a short queue costs nothing."""
EASY = 1.3
"""Up to this many times the usual time the limit grows by one with each build."""
WEIGHT = 0.2
"""Weight of the newest value in the limit."""
BINDING = 0.7
"""A build counts for the limit when at least this part of the limit was in flight at the time of its create …"""
BEYOND = 1.4
"""… and at most this many times the limit: creates from before the limit was lowered are slow for that reason."""
FEWER = 0.8
"""Factor on the limit after a server went to ERROR under load."""


@dataclass(frozen=True)
class Build:
    """A server that was requested.

    :param asked_at: UNIX time at which its create was sent.
    :param beside: how many servers were in flight then, this one included.
    :param kind: its flavor; each flavor has its own usual time.
    """

    asked_at: float
    beside: int
    kind: str = ""


@dataclass(frozen=True)
class _Sample:
    time: float
    """Duration as a multiple of the usual time, unless stated otherwise."""
    beside: int


@dataclass
class Builds:
    """The builds of one provider. Times in seconds."""

    limit: float | None = None
    """How many servers may be in flight; None: no limit."""
    usual: dict[str, float] = field(default_factory=dict)
    """Kind → seconds that a build takes while the cloud is not busy."""
    _last: dict[str, deque[_Sample]] = field(default_factory=dict)
    """Kind → its last builds, their durations in seconds."""
    _samples: deque[_Sample] = field(default_factory=lambda: deque(maxlen=RECENT))
    _lowered_at: float = 0.0
    _began_at: float = 0.0
    """When the limit began: builds requested before then shared the cloud with more than the limit allows."""
    _highest: float = 0.0
    """The highest limit since builds were last as quick as usual."""

    def allowed(self, most: float) -> float:
        """Return how many servers may be in flight when the configuration allows *most*."""
        return most if self.limit is None else min(most, float(math.floor(self.limit)))

    def strain(self, now: float) -> None:
        """Begin a limit because creates are answered much slower than usual.

        A control plane that answers many creates at once has no time to build. So the limit begins with the highest
        recent number in flight, and later builds show whether it may rise.
        """
        if self.limit is None:
            self._begin(min(MOST, float(max([CAUTIOUS, *(one.beside for one in self._samples)]))), now)

    # -- what happened -------------------------------------------------------------------------------------------

    def active(self, build: Build, now: float, under_way: Sequence[Build] = ()) -> None:
        """Record that a server became ACTIVE, as seen at *now*.

        :param under_way: the builds still in flight; those that already take longer than usual count, too.
        """
        first = build.kind not in self.usual
        seconds, beside = min(LONGEST, max(SHORTEST, now - build.asked_at)), max(1, build.beside)
        last = self._learn(build, _Sample(seconds, beside))
        if build.kind not in self.usual:
            return
        usual = self.usual[build.kind]
        fresh = [replace(one, time=one.time / usual) for one in (last if first else last[-1:])]
        if self.limit is None:
            self._samples.extend(fresh)
            self._look(now, under_way)
        elif build.asked_at >= self._began_at and BINDING * self.limit <= build.beside <= BEYOND * self.limit + 1:
            self._samples.extend(fresh)
            self._follow()

    def is_late(self, build: Build, now: float) -> bool:
        """True when the build already takes longer than usual."""
        usual = self.usual.get(build.kind)
        return usual is not None and now - build.asked_at > SLOWER * usual

    def failed(self, build: Build, now: float) -> None:
        """Record that a server went to ERROR, or never became ACTIVE. When the cloud is not busy the limit stays.

        Failures of servers that were under way together count once.
        """
        if build.beside <= FEWEST or build.asked_at < self._lowered_at or self.present < SLOWER:
            return
        self._lowered_at = now
        self.limit = max(FEWEST, FEWER * min(build.beside, self.limit if self.limit is not None else MOST))

    @property
    def present(self) -> float:
        """Present duration of builds as a multiple of the usual one; 1 while too little is known."""
        lately = [sample.time for sample in self._samples][-max(FEW, int((self.limit or 0) / 2)) :]
        return median(lately) if len(lately) >= FEW else 1.0

    @property
    def _lowered_in_vain(self) -> bool:
        """True when the limit was halved and builds are still slow: the cloud is slower for another reason."""
        return self.limit is not None and CONTRAST * self.limit <= self._highest and self.present > TOLERANCE

    # -- what follows --------------------------------------------------------------------------------------------

    def _learn(self, build: Build, sample: _Sample) -> list[_Sample]:
        """Update the usual time of the build's kind; return the last builds of that kind, in seconds."""
        last = self._last.setdefault(build.kind, deque(maxlen=FEW))
        last.append(sample)
        if len(last) == FEW:
            rise = RISE_ALONE if build.beside <= ALONE or self._lowered_in_vain else RISE
            before = self.usual.pop(build.kind, None)
            now = median(one.time for one in last)
            # Kinds are kept in the order of their last use.
            self.usual[build.kind] = min(now, before * rise) if before is not None else now
            while len(self.usual) > KINDS:
                oldest = next(iter(self.usual))
                del self.usual[oldest]
                self._last.pop(oldest, None)
        return list(last)

    def _look(self, now: float, under_way: Iterable[Build]) -> None:
        """Begin a limit when too much is in flight."""
        done = [*self._samples]
        late = [
            _Sample((now - build.asked_at) / self.usual[build.kind], max(1, build.beside))
            for build in under_way
            if self.is_late(build, now)
        ]
        # An unfinished build may still take much longer: such builds count only when they make the limit lower.
        found = [_limit_for(known) for known in ((done, [*done, *late]) if late else (done,))]
        limit = min((limit for limit in found if limit is not None), default=None)
        if limit is not None:
            self._begin(limit, now)

    def _begin(self, limit: float, now: float) -> None:
        self.limit, self._began_at = limit, now
        self._samples.clear()

    def _follow(self) -> None:
        """Adjust the limit to the present duration of builds."""
        if len(self._samples) < FEW:
            return
        limit, present = self.limit or FEWEST, self.present
        self._highest = limit if present <= TOLERANCE else max(limit, self._highest)
        if present <= EASY:
            limit += 1.0
        else:
            wanted = limit * min(1.0, TOLERANCE / present) + QUEUE
            limit += WEIGHT * (wanted - limit)
        self.limit = None if limit >= MOST else max(FEWEST, limit)

    # -- from cycle to cycle -------------------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        """Return the document for the next cycle."""
        limit = None if self.limit is None else round(self.limit, 2)
        return {"limit": limit, "usual": {kind: round(seconds, 2) for kind, seconds in self.usual.items()}}

    def learn(self, document: Any) -> None:
        """Read what an earlier cycle has stored; values that cannot be understood are left out."""
        document = document if isinstance(document, dict) else {}
        limit, usual = document.get("limit"), document.get("usual")
        self.limit = float(limit) if is_number(limit) and FEWEST <= limit <= MOST else None
        stored = [*usual.items()][-KINDS:] if isinstance(usual, dict) else []
        self.usual = {
            kind: float(seconds)
            for kind, seconds in stored
            if isinstance(kind, str) and is_number(seconds) and SHORTEST <= seconds <= LONGEST
        }
        self._last = {kind: deque([_Sample(time, 1)] * (FEW - 1), FEW) for kind, time in self.usual.items()}


def _limit_for(known: Sequence[_Sample]) -> float | None:
    """Compute the limit from builds; None when the time does not grow in step with the number in flight."""
    half = len(known) // 2
    if half < FEW:
        return None
    ordered = sorted((one.beside, one.time) for one in known)
    number, with_few = (median(values) for values in zip(*ordered[:half], strict=True))
    more, with_many = (median(values) for values in zip(*ordered[-half:], strict=True))
    if more < CONTRAST * number or with_many < SLOWER * with_few:
        return None
    if math.log(with_many / with_few) < IN_STEP * math.log(more / number):
        return None
    return float(min(MOST, max(FEWEST, TOLERANCE * more / with_many + QUEUE)))
