# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The life of a request or node as a picture: a bar for each time between two steps that the records tell. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = 1000
"""Width of a picture in its own units."""
THINNEST = 5
"""Least width of a bar: a boot of a minute stays visible beside hours of use."""
MOST_LINES = 10
"""Largest number of nodes of a request that are drawn."""

KINDS: Mapping[str, str] = {
    **dict.fromkeys(("requested", "recorded", "assigned", "launched", "pending"), "waiting"),
    **dict.fromkeys(("asked", "created", "building"), "building"),
    "active": "ssh",
    **dict.fromkeys(("ready", "fulfilled"), "ready"),
    "in-use": "in use",
    "hold": "held",
    **dict.fromkeys(("used", "deleting"), "deleting"),
    **dict.fromkeys(("deleted", "failed", "aborted"), "ended"),
}
"""Name of a step → what lasts from then on."""
ENDED = "ended"
OTHER = "other"


@dataclass(frozen=True)
class Bar:
    """What lasted between two steps.

    :ivar kind: a value of KINDS, or OTHER.
    :ivar begin, seconds: UNIX time of its beginning, and how long it lasted, or has lasted so far.
    :ivar x, width: its place in the picture.
    """

    kind: str
    begin: float
    seconds: float
    x: float
    width: float


@dataclass(frozen=True)
class Line:
    """A line of the picture: the name of a request or node, and its bars in the order of time."""

    name: str
    bars: Sequence[Bar]
    ended: bool


Steps = Iterable[Mapping[str, Any]]
"""Rows with ``step`` and ``at``, as in ``steps`` of :func:`node_life`."""


def timeline(lives: Iterable[tuple[str, Steps]], now: float) -> list[Line]:
    """Return the lines with at least one bar, in one scale from the first step until now, or the last end.

    :param lives: name, and steps; a step without a usable time is left out.
    :param now: UNIX time: what has not ended lasts until then.
    """
    known = [(name, _moments(steps, now)) for name, steps in lives]
    known = [(name, moments) for name, moments in known if moments][: MOST_LINES + 1]
    if not known:
        return []
    begin = min(moments[0][0] for _name, moments in known)
    end = max(moments[-1][0] if moments[-1][1] == ENDED else now for _name, moments in known)
    scale = WIDTH / max(end - begin, 1.0)
    lines = [Line(name, _bars(moments, begin, now, scale), moments[-1][1] == ENDED) for name, moments in known]
    return [line for line in lines if line.bars]


def _moments(steps: Steps, now: float) -> list[tuple[float, str]]:
    """Return (time, what lasts from then on) in the order of time; equal kinds that follow each other are one."""
    found: list[tuple[float, str]] = []
    usable = [step for step in steps if math.isfinite(step["at"]) and 0 < step["at"] <= now]
    for step in sorted(usable, key=lambda step: float(step["at"])):
        kind = _kind(str(step["step"]), found[-1][1] if found else OTHER)
        if not found or found[-1][1] != kind:
            found.append((float(step["at"]), kind))
    return found


def _kind(step: str, before: str) -> str:
    """Return what lasts from a step on. A phase of a launch or its adoption is part of what lasts already."""
    if step.startswith("phase ") or step == "adopted":
        return before if before != OTHER else "building"
    return KINDS.get(step, OTHER)


def _bars(moments: Sequence[tuple[float, str]], begin: float, now: float, scale: float) -> list[Bar]:
    ends = [at for at, _kind_of in moments[1:]] + [now]
    bars = []
    for (at, kind), until in zip(moments, ends, strict=True):
        if kind != ENDED:
            x = min((at - begin) * scale, WIDTH - THINNEST)
            width = min(max((until - at) * scale, THINNEST), WIDTH - x)
            bars.append(Bar(kind, at, until - at, round(x, 1), round(width, 1)))
    return bars


def of_request(row: Mapping[str, Any], now: float) -> list[dict[str, Any]]:
    """Return the steps of a request that its record tells: when it was made, and when it got its state."""
    found = [("requested", row["created_age"]), (row["state"] or "unknown", row["age"])]
    return [{"step": step, "at": now - since} for step, since in found if since is not None]
