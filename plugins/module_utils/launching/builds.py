# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many servers a cloud builds side by side best: learned from the time to ACTIVE.

A cloud with room to spare builds a hundred servers in the time of one. One that is busy with as many as it can build
takes longer for each one more, and builds no more of them in a minute; a control plane that collapses builds fewer.
Only the latter are held back: as long as the time to ACTIVE does not grow in step with the number in flight there is
no limit. When it does, there is one, and it follows the ratio of the usual time to the present one, as the limits of
service meshes follow the gradient of latency (Netflix concurrency-limits, ``Gradient2Limit``; Envoy, adaptive
concurrency): what is in flight settles where a short queue keeps the cloud busy.
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
"""So many of the last builds tell whether the time grows with the number in flight."""
FEW = 5
"""With fewer nothing is usual yet."""
KINDS = 20
"""Flavors whose usual time is kept."""
SHORTEST, LONGEST = 0.01, 86400.0
"""What takes less or more counts as so long."""
RISE = 1.002
"""By so much the usual time may rise with each build: what the launcher itself has caused does not become usual."""
RISE_ALONE = 1.1
"""By so much where the launcher is not the cause: hardly anything is in flight, or half as many take as long."""
ALONE = 3

CONTRAST = 2.0
"""The number in flight must have differed by so much before anything is said about what it does."""
SLOWER = 1.5
"""Times that differ by less than this do not differ."""
IN_STEP = 0.75
"""The time grows with this power of the number in flight, or more: then hardly more is built in a minute."""

CAUTIOUS = 8
"""So many may be in flight when nothing is known but that creates are answered much slower than usual."""
FEWEST = 3.0
MOST = 1000.0
"""A limit that has grown so large is none."""
QUEUE = 3.0
"""So many more than the cloud can work on keep it busy."""
TOLERANCE = 1.5
"""The time may be so many times the usual one before the limit is lowered: waiting for a short while costs nothing."""
EASY = 1.3
"""Below this many times the usual time the limit grows by one with each build."""
WEIGHT = 0.2
"""Of the newest figure in the limit."""
BINDING = 0.7
"""A build tells something about the limit if at least this part of it was in flight when it was asked for …"""
BEYOND = 1.4
"""… and not more than so many times as much: what was asked for before the limit was lowered is slow for that."""
FEWER = 0.8
"""By so much after a server in ERROR under load."""


@dataclass(frozen=True)
class Build:
    """A server that was asked for.

    :param asked_at: UNIX time at which its create was sent.
    :param beside: how many were in flight then, this one included.
    :param kind: its flavor: what takes differently long.
    """

    asked_at: float
    beside: int
    kind: str = ""


@dataclass(frozen=True)
class _Sample:
    time: float
    """What it took, as a multiple of the usual time where nothing else is said."""
    beside: int


@dataclass
class Builds:
    """The builds of one provider. Times in seconds."""

    limit: float | None = None
    """So many may be in flight; None: without a bound."""
    usual: dict[str, float] = field(default_factory=dict)
    """Kind → what it takes while the cloud is not busy."""
    _last: dict[str, deque[_Sample]] = field(default_factory=dict)
    """Kind → its last builds, with their seconds."""
    _samples: deque[_Sample] = field(default_factory=lambda: deque(maxlen=RECENT))
    _lowered_at: float = 0.0
    _began_at: float = 0.0
    """When the limit began: what was asked for before shared the cloud with more than the limit allows."""
    _highest: float = 0.0
    """The highest limit since builds were last as quick as usual."""

    def allowed(self, most: float) -> float:
        """How many may be in flight where the configuration allows *most*."""
        return most if self.limit is None else min(most, float(math.floor(self.limit)))

    def strain(self, now: float) -> None:
        """Creates are answered much slower than usual here.

        A control plane that answers many creates at once has no time to build: so the limit begins with what has lately
        been built, and builds tell whether there may be more.
        """
        if self.limit is None:
            self._begin(min(MOST, float(max([CAUTIOUS, *(one.beside for one in self._samples)]))), now)

    # -- what happened -------------------------------------------------------------------------------------------

    def active(self, build: Build, now: float, under_way: Sequence[Build] = ()) -> None:
        """A server became ACTIVE, as far as is known at *now*.

        :param under_way: what is in flight still: what has taken longer than usual already tells something, too.
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
        """True for a build that has taken longer than usual already."""
        usual = self.usual.get(build.kind)
        return usual is not None and now - build.asked_at > SLOWER * usual

    def failed(self, build: Build, now: float) -> None:
        """A server went to ERROR, or never became ACTIVE. Of a cloud that is not busy that says nothing.

        Those that were under way together count once.
        """
        if build.beside <= FEWEST or build.asked_at < self._lowered_at or self.present < SLOWER:
            return
        self._lowered_at = now
        self.limit = max(FEWEST, FEWER * min(build.beside, self.limit if self.limit is not None else MOST))

    @property
    def present(self) -> float:
        """What builds take now as a multiple of what is usual; 1 while too little is known."""
        lately = [sample.time for sample in self._samples][-max(FEW, int((self.limit or 0) / 2)) :]
        return median(lately) if len(lately) >= FEW else 1.0

    @property
    def _lowered_in_vain(self) -> bool:
        """The limit has been halved, and builds are still slow: the cloud is slower for another reason."""
        return self.limit is not None and CONTRAST * self.limit <= self._highest and self.present > TOLERANCE

    # -- what follows --------------------------------------------------------------------------------------------

    def _learn(self, build: Build, sample: _Sample) -> list[_Sample]:
        """Put the usual time of its kind right; the last builds of that kind, in seconds."""
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
        """Is there too much in flight?"""
        done = [*self._samples]
        late = [
            _Sample((now - build.asked_at) / self.usual[build.kind], max(1, build.beside))
            for build in under_way
            if self.is_late(build, now)
        ]
        # What is not done yet may take much longer still: where it makes the picture milder it is left aside.
        found = [_limit_for(known) for known in ((done, [*done, *late]) if late else (done,))]
        limit = min((limit for limit in found if limit is not None), default=None)
        if limit is not None:
            self._begin(limit, now)

    def _begin(self, limit: float, now: float) -> None:
        self.limit, self._began_at = limit, now
        self._samples.clear()

    def _follow(self) -> None:
        """Change the limit by what builds take now."""
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
        """What the next cycle wants to know."""
        limit = None if self.limit is None else round(self.limit, 2)
        return {"limit": limit, "usual": {kind: round(seconds, 2) for kind, seconds in self.usual.items()}}

    def learn(self, document: Any) -> None:
        """What an earlier cycle has stored; what makes no sense is left out."""
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
    """The limit that follows from builds; None where the time does not grow with the number in flight."""
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
