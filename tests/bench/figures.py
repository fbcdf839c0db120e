# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures: what was measured, what it should be at most, and what others have published."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One measured value.

    :param at_most: the target; None where there is none. *at_least*: a target from below.
    :param published: Nodepool 11's figure for the same, measured elsewhere; "" where there is none.
    """

    name: str
    value: float
    unit: str = "s"
    at_most: float | None = None
    published: str = ""
    at_least: float | None = None

    @property
    def met(self) -> bool | None:
        """True or False where there is a target; what could not be measured (NaN) does not meet it."""
        if self.at_most is None and self.at_least is None:
            return None
        return self._is_within(1.0, 1.0)

    @property
    def far_off(self) -> bool:
        """True when the target is missed by more than half of it: not a bad day, a defect."""
        return self.met is False and not self._is_within(1.5, 0.5)

    def _is_within(self, above: float, below: float) -> bool:
        """NaN is within nothing."""
        low = self.at_least is None or self.value >= below * self.at_least
        return low and (self.at_most is None or self.value <= above * self.at_most)

    def document(self) -> dict[str, Any]:
        """For the JSON file; NaN, which JSON does not know, becomes null."""
        return {
            "name": self.name,
            "value": None if math.isnan(self.value) else round(self.value, 4),
            "unit": self.unit,
            "at_most": self.at_most,
            "at_least": self.at_least,
            "met": self.met,
            "published_nodepool_11": self.published or None,
        }


@dataclass
class Findings:
    """What a room found: figures for the table, and details for the JSON file."""

    figures: list[Figure] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(
        self,
        name: str,
        value: float,
        unit: str = "s",
        *,
        at_most: float | None = None,
        at_least: float | None = None,
        published: str = "",
    ) -> None:
        """One more figure."""
        self.figures.append(Figure(name, value, unit, at_most, published, at_least))


@dataclass(frozen=True)
class Spread:
    """Percentiles of a sample; all NaN when it is empty."""

    count: int
    p50: float
    p90: float
    p99: float
    most: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Nearest-rank percentiles."""
        ordered = sorted(values)
        if not ordered:
            return cls(0, math.nan, math.nan, math.nan, math.nan)
        return cls(len(ordered), _rank(ordered, 50), _rank(ordered, 90), _rank(ordered, 99), ordered[-1])

    def text(self) -> str:
        """``P50/P90/P99/max``."""
        return "/".join(f"{value:.2f}" for value in (self.p50, self.p90, self.p99, self.most))

    def document(self) -> dict[str, float | int | None]:
        """For the JSON file."""
        named = {"p50": self.p50, "p90": self.p90, "p99": self.p99, "max": self.most}
        return {
            "count": self.count,
            **{name: None if math.isnan(value) else round(value, 4) for name, value in named.items()},
        }


def _rank(ordered: Sequence[float], percent: float) -> float:
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def ratio(amount: float, by: float) -> float:
    """*amount* / *by*; NaN when there is nothing to divide by."""
    return amount / by if by else math.nan
