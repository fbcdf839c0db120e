# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The history as small curves: points of SVG polylines, and the figures beside them. Pure.

A curve has a place for each three minutes. Where nothing is known, it has a gap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...model.counters import REQUEST_READY
from ...model.history import SPAN, History, Point
from ...model.lines import span
from ...reporting.sampling import BOUNDS, CALLS, ERRORS, FAILURES, IMAGES, LONGER, NODES, WAITS

BIN = 180.0
"""Seconds of a place."""
PLACES = round(SPAN / BIN)
HEIGHT = 26
"""Height of a picture in its own units; it is two units wide for each place."""
MOST_CURVES = 15
"""Largest number of curves of a group; those of the largest values are shown."""
MOST_CHANGES = 12
"""Largest number of changes that are listed, the latest ones."""

Values = Sequence["float | None"]
"""A value for each place, the earliest first; None where nothing is known."""


@dataclass(frozen=True)
class Curve:
    """A row: a name, a picture, and figures as text.

    :ivar lines: the points of polylines; a curve with gaps has several.
    :ivar more: those of a second curve in the same picture.
    :ivar now: the latest value, or what there was in all; "" when nothing is known.
    :ivar most: the highest value.
    """

    name: str
    lines: Sequence[str]
    now: str
    most: str
    more: Sequence[str] = ()


@dataclass(frozen=True)
class Mark:
    """A change at *at* (UNIX time). *place*: where that is on the curves, in units of their width."""

    place: int
    at: float
    kind: str
    text: str


@dataclass(frozen=True)
class Past:
    """The last hours as a page shows them.

    :ivar marks: changes, the latest first.
    :ivar since: UNIX time of the first point.
    """

    nodes: Sequence[Curve] = ()
    waits: Sequence[Curve] = ()
    failures: Sequence[Curve] = ()
    providers: Sequence[Curve] = ()
    images: Sequence[Curve] = ()
    marks: Sequence[Mark] = ()
    since: float | None = None


def past(history: History, now: float) -> Past:
    """Return the curves.

    :param now: UNIX time. The last place is that of now.
    """
    end = (now // BIN + 1) * BIN
    bins: list[list[Point]] = [[] for _place in range(PLACES)]
    points = [point for point in history.points if end - SPAN <= point.at < end]
    for point in points:
        bins[_place(point.at, end)].append(point)
    marks = [
        Mark(2 * _place(change.at, end), change.at, change.kind, change.told)
        for change in reversed(history.changes)
        if end - SPAN <= change.at < end
    ]
    return Past(
        nodes=_ordered(_curves(bins, NODES, _mean, _count)),
        waits=_waits(bins),
        failures=_failures(bins),
        providers=_calls(bins),
        images=_ordered(_curves(bins, IMAGES, _mean_known, span)),
        marks=marks,
        since=points[0].at if points else None,
    )


def _place(at: float, end: float) -> int:
    return min(PLACES - 1, max(0, int((at - (end - SPAN)) // BIN)))


# -- values ----------------------------------------------------------------------------------------------------------

Bins = Sequence[Sequence[Point]]
Reader = Callable[[Sequence[Point], str, str], "float | None"]


def _mean(points: Sequence[Point], group: str, name: str) -> float | None:
    """Return the mean; a name that a point does not have counts as 0 there."""
    values = [point.groups[group].get(name, 0.0) for point in points if group in point.groups]
    return sum(values) / len(values) if values else None


def _mean_known(points: Sequence[Point], group: str, name: str) -> float | None:
    """Return the mean of the points that have the name."""
    values = [point.groups[group][name] for point in points if name in point.groups.get(group, ())]
    return sum(values) / len(values) if values else None


def _curves(bins: Bins, group: str, read: Reader, told: Callable[[float], str]) -> list[tuple[float, Curve]]:
    """Return (highest value, curve) of each name of a group that has any value but 0."""
    found = []
    for name in sorted(_names(bins, group)):
        values = [read(points, group, name) if points else None for points in bins]
        most = max((value for value in values if value is not None), default=0.0)
        if most > 0:
            found.append((most, _curve(name, values, most, told)))
    return found


def _names(bins: Bins, group: str) -> set[str]:
    return {name for points in bins for point in points for name in point.groups.get(group, ())}


def _ordered(curves: Iterable[tuple[float, Curve]]) -> list[Curve]:
    return [curve for _most, curve in sorted(curves, key=lambda item: (-item[0], item[1].name))][:MOST_CURVES]


def _curve(name: str, values: Values, most: float, told: Callable[[float], str], more: Sequence[str] = ()) -> Curve:
    latest = next((value for value in reversed(values) if value is not None), None)
    return Curve(name, lines(values, most), "" if latest is None else told(latest), told(most), more)


def lines(values: Values, most: float) -> list[str]:
    """Return the points of the polylines, one for each run of places that have a value.

    :param most: the value that reaches the top.
    """
    runs: list[list[str]] = [[]]
    for place, value in enumerate(values):
        if value is None:
            runs.append([])
        else:
            height = HEIGHT - 1 - (HEIGHT - 2) * min(1.0, max(0.0, value / most if most > 0 else 0.0))
            runs[-1].append(f"{2 * place},{height:.3g}")
    # A line needs two points.
    return [" ".join(run if len(run) > 1 else [*run, _beside(run[0])]) for run in runs if run]


def _beside(point: str) -> str:
    place, _comma, height = point.partition(",")
    return f"{int(place) + 1},{height}"


# -- groups ----------------------------------------------------------------------------------------------------------


def _waits(bins: Bins) -> list[Curve]:
    found = []
    for name, share in (("P50", 0.5), ("P95", 0.95)):
        values = [quantile(_added(points, WAITS), share) for points in bins]
        most = max((value for value in values if value is not None), default=None)
        if most is not None:
            found.append(_curve(name, values, most, span))
    return found


def _failures(bins: Bins) -> list[Curve]:
    """Return the failures of each owner; the figure beside the curve is their number."""
    total = _added((point for points in bins for point in points), FAILURES)
    return [
        replace(curve, now=f"{_count(total[curve.name])} in all")
        for curve in _ordered(_curves(bins, FAILURES, _mean, _per_minute))
    ]


def _added(points: Iterable[Point], group: str) -> Mapping[str, float]:
    total: dict[str, float] = {}
    for point in points:
        for name, value in point.groups.get(group, {}).items():
            total[name] = total.get(name, 0.0) + value
    return total


def quantile(counts: Mapping[str, float], share: float) -> float | None:
    """Return a quantile of a histogram in seconds, as Prometheus estimates it; None when it is empty.

    :param counts: upper bound as text → count.
    """
    total, reached, below = sum(counts.values()), 0.0, 0.0
    if total <= 0:
        return None
    for bound in BOUNDS:
        count, above = counts.get(bound, 0.0), math.inf if bound == LONGER else float(bound)
        if count and reached + count >= share * total:
            return below if math.isinf(above) else below + (above - below) * (share * total - reached) / count
        reached, below = reached + count, below if math.isinf(above) else above
    return float(REQUEST_READY.buckets[-1])


def _calls(bins: Bins) -> list[Curve]:
    """Return the calls of each provider with their errors as a second curve, those with most errors first."""
    found = []
    for name in _names(bins, CALLS):
        calls = [_mean(points, CALLS, name) if points else None for points in bins]
        errors = [_mean(points, ERRORS, name) if points else None for points in bins]
        most = max((value for value in calls if value is not None), default=0.0)
        if most > 0:
            share = _sum(errors) / _sum(calls)
            drawn = lines(errors, most) if _sum(errors) else []
            curve = _curve(name, calls, most, _per_minute, drawn)
            found.append((share, most, replace(curve, now=f"{100 * share:.3g} % failed")))
    found.sort(key=lambda item: (-item[0], -item[1], item[2].name))
    return [curve for _share, _most, curve in found[:MOST_CURVES]]


def _sum(values: Values) -> float:
    return sum(value for value in values if value is not None)


def _count(value: float) -> str:
    return f"{round(value):,}"


def _per_minute(value: float) -> str:
    return f"{value:,.3g}/min" if value < 1000 else f"{round(value):,}/min"
