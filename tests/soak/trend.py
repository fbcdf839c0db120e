# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A line through readings, and whether it is flat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WARM_UP = 0.2
"""The first readings are left out: caches fill and libraries are imported."""
FEWEST = 4


@dataclass(frozen=True)
class Bound:
    """How much a figure may grow from the first reading to the last: *share* of its mean and *more* besides."""

    share: float
    more: float


@dataclass(frozen=True)
class Trend:
    """The line through readings by least squares.

    :param slope: growth for each 1,000 lives.
    :param growth: growth along the line, from the first reading to the last.
    :param most: what it may be.
    """

    name: str
    first: float
    last: float
    slope: float
    growth: float
    most: float

    @property
    def is_flat(self) -> bool:
        """True when it does not grow by more than the bound; what falls is flat."""
        return self.growth <= self.most

    def __str__(self) -> str:
        return (
            f"{'ok   ' if self.is_flat else 'GROWS'} {self.name:34} {self.first:12,.1f} → {self.last:12,.1f}"
            f"   slope {self.slope:+10.3f} per 1,000 lives, growth {self.growth:+10.2f}, bound {self.most:.2f}"
        )


def trend(name: str, readings: Sequence[tuple[float, float]], bound: Bound) -> Trend:
    """The trend of readings (lives so far, figure).

    :raises ValueError: there are too few for a line.
    """
    used = readings[int(len(readings) * WARM_UP) :]
    if len(used) < FEWEST:
        raise ValueError(f"{name}: {len(readings)} readings are too few for a line")
    mean_x = sum(x for x, _y in used) / len(used)
    mean_y = sum(y for _x, y in used) / len(used)
    spread = sum((x - mean_x) ** 2 for x, _y in used)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in used) / spread if spread else 0.0
    growth = slope * (used[-1][0] - used[0][0])
    return Trend(name, used[0][1], used[-1][1], slope * 1000, growth, bound.share * abs(mean_y) + bound.more)
