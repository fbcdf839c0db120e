# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane with a fixed capacity: what is being built shares it, and too much at once makes it slower still.

The figures are those of a real nova on two cores: alone a server is ACTIVE after 1.7 s; with 10 in flight after 11 s,
52 a minute; with 100 at once after 266 s at the median. It knows nothing of clouds: both simulated ones use it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

COLLAPSE = 0.047
"""By so much of itself each one too many makes everything slower: the real one built 10 a minute with 100 at once."""
MANY = 20
LEAST = 1e-5
"""What is left of a build that is done: clocks of UNIX seconds are no finer."""


Clock = Callable[[], float]
Later = Callable[[float, Callable[[], None]], None]
"""Has something done in so many seconds."""


@dataclass(eq=False)
class _Build:
    done: Callable[[], None]
    left: float = 1.0


@dataclass
class ControlPlane:
    """Builds in progress; times in seconds.

    :param alone: what one build takes at the least.
    :param each: what the plane needs for one, when it is busy.
    :param knee: so many at once cost nothing extra.
    :param thrash: by so much of itself each one beyond makes everything slower.
    :param post: what POST /servers takes on an idle plane.
    :param post_each: by how much longer it takes for each build or create in progress.
    """

    alone: float = 1.7
    each: float = 1.15
    knee: int = 10
    thrash: float = 0.015
    post: float = 0.4
    post_each: float = 0.6
    most: int = 0
    """So many were in progress at once."""
    _builds: list[_Build] = field(default_factory=list)
    _posts: list[float] = field(default_factory=list)
    _at: float = 0.0
    _turn: int = 0

    @classmethod
    def contended(cls, number: int, thrash: float = COLLAPSE) -> ControlPlane:
        """One whose throughput peaks with *number* at once; POST takes longer with each one, too."""
        if number > MANY:
            return cls(alone=20.0, each=20.0 / number, knee=number, thrash=thrash, post_each=10.0 / number)
        return cls(alone=1.15 * number, knee=number, thrash=thrash)

    @property
    def best(self) -> float:
        """Servers per second with the best number at once."""
        return max(self.throughput(number) for number in range(1, 200))

    def throughput(self, number: int) -> float:
        """Servers per second with so many at once."""
        return number * self._speed(number)

    def post_seconds(self, now: float) -> float:
        """What a create takes that begins now: the plane works for those that it is answering as well."""
        self._posts = [end for end in self._posts if end > now]
        seconds = self.post + self.post_each * (len(self._builds) + len(self._posts))
        self._posts.append(now + seconds)
        return seconds

    def begin(self, clock: Clock, later: Later, done: Callable[[], None]) -> None:
        """One more; *done* is called when it is built."""
        self._advance(clock())
        self._builds.append(_Build(done))
        self.most = max(self.most, len(self._builds))
        self._arrange(clock, later)

    def _speed(self, number: int) -> float:
        shared = number * self.each * (1 + self.thrash * max(0, number - self.knee))
        return 1 / max(self.alone, shared)

    def _advance(self, now: float) -> None:
        if self._builds:
            done = (now - self._at) * self._speed(len(self._builds))
            for build in self._builds:
                build.left -= done
        self._at = now

    def _arrange(self, clock: Clock, later: Later) -> None:
        """Look again when the next one will be done, if nothing comes before that."""
        self._turn += 1
        turn = self._turn
        if self._builds:
            least = min(build.left for build in self._builds)
            later(max(0.0, least / self._speed(len(self._builds))), lambda: self._look(clock, later, turn))

    def _look(self, clock: Clock, later: Later, turn: int) -> None:
        if turn != self._turn:
            return
        self._advance(clock())
        ended = [build for build in self._builds if build.left <= LEAST]
        self._builds = [build for build in self._builds if build.left > LEAST]
        self._arrange(clock, later)
        for build in ended:
            build.done()
