# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Durations drawn from distributions, and the scheduler that state changes are hung upon."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

P99 = 2.3263
"""Standard deviations from the median to the 99th percentile."""


def lognormal(source: random.Random, median: float, p99: float) -> float:
    """Draw a figure with a long tail."""
    return source.lognormvariate(math.log(median), math.log(p99 / median) / P99)


@dataclass(frozen=True)
class Duration:
    """A duration in seconds: ``fixed`` (a), ``uniform`` (from a to b), ``normal`` (mean a, deviation b) or
    ``lognormal`` (median a, 99th percentile b)."""

    kind: str
    a: float
    b: float = 0.0

    @classmethod
    def parse(cls, value: Any) -> Duration:
        """Read a number, or a mapping with ``kind`` and its figures.

        :raises ValueError: on an unknown kind, a missing figure or a negative one.
        """
        if isinstance(value, bool):
            raise ValueError("a duration is a number of seconds or a mapping with 'kind', not a boolean")
        if isinstance(value, (int, float)):
            return cls._checked("fixed", float(value))
        if not isinstance(value, Mapping):
            raise ValueError(f"a duration is a number of seconds or a mapping with 'kind', not {value!r}")
        kind = value.get("kind")
        try:
            if kind == "fixed":
                return cls._checked(kind, float(value["value"]))
            if kind == "uniform":
                return cls._checked(kind, float(value["low"]), float(value["high"]))
            if kind == "normal":
                return cls._checked(kind, float(value["mean"]), float(value["sd"]))
            if kind == "lognormal":
                median, p99 = float(value["median"]), float(value["p99"])
                if not 0 < median <= p99:
                    raise ValueError(f"a lognormal duration with median {median} and p99 {p99} makes no sense")
                return cls._checked(kind, median, p99)
        except KeyError as missing:
            raise ValueError(f"a {kind} duration needs {missing}") from None
        raise ValueError(f"unknown kind of duration {kind!r}: use fixed, uniform, normal or lognormal")

    @classmethod
    def _checked(cls, kind: str, a: float, b: float = 0.0) -> Duration:
        if a < 0 or b < 0 or (kind == "uniform" and b < a):
            raise ValueError(f"a {kind} duration with {a} and {b} makes no sense")
        return cls(kind, a, b)

    def draw(self, source: random.Random) -> float:
        """Return one duration, never negative."""
        if self.kind == "uniform":
            return source.uniform(self.a, self.b)
        if self.kind == "normal":
            return max(0.0, source.gauss(self.a, self.b))
        if self.kind == "lognormal":
            return lognormal(source, self.a, self.b)
        return self.a


class Scheduler(Protocol):
    """What the clouds need of time; the tests have one that they turn by hand."""

    def now(self) -> float:
        """Return seconds since the epoch."""

    def later(self, delay: float, action: Callable[[], None]) -> None:
        """Run the action after the delay (seconds); at once when it is not positive."""


class LoopScheduler:
    """The scheduler of the running event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def now(self) -> float:
        return time.time()

    def later(self, delay: float, action: Callable[[], None]) -> None:
        if delay <= 0:
            action()
        else:
            self._loop.call_later(delay, action)


def iso(moment: float) -> str:
    """Format a moment as nova's ``created``."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def iso_micro(moment: float) -> str:
    """Format a moment as nova's ``launched_at``."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000", time.gmtime(moment))
