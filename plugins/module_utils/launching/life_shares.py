# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Divide the lives of nodes among days: what was used, idle, built, held and thrown away, and for whom. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..model.day_usage import (
    BUILDING,
    DAY,
    DELETING,
    HELD,
    IDLE,
    THROWN,
    USED,
    Key,
    Usage,
    day_of,
)
from ..model.node_use import LONGEST_LIFE, NodeUse


@dataclass(frozen=True)
class Span:
    """A part of a life: *what* it is, for *key*, from *begin* to *end* in UNIX seconds."""

    what: str
    key: Key
    begin: float
    end: float


def spans(use: NodeUse, until: float) -> list[Span]:
    """Return the parts of a life, without gaps, the first first; *until* ends a life that goes on.

    Clocks may have been set: a time that comes before the one before it counts as the same. A server that nobody had is
    nobody's; so is the time in which a spare node was launched and waited.
    """
    theirs: Key = (use.tenant, use.project, use.job, use.label, use.provider, use.pool)
    nobodys: Key = ("", "", "", use.label, use.provider, use.pool)
    end = until if use.gone is None else use.gone
    made = end if use.made is None else min(use.made, end)
    begin = max(made - max(0.0, use.thrown), end - LONGEST_LIFE)
    launcher_of = nobodys if use.warm or not use.tenant else theirs
    left = end if use.left is None else use.left
    if use.ready is None:
        steps = [(THROWN, launcher_of, made), (_unready(use), launcher_of, end)]
    elif use.taken is None:
        steps = [
            (THROWN, launcher_of, made),
            (BUILDING, launcher_of, use.ready),
            (IDLE, nobodys, left),
            (DELETING, nobodys, end),
        ]
    else:
        held = left if use.held is None else use.held
        steps = [
            (THROWN, launcher_of, made),
            (BUILDING, launcher_of, use.ready),
            (IDLE, nobodys, use.taken),
            (USED, theirs, held),
            (HELD, theirs, left),
            (DELETING, theirs, end),
        ]
    found, at = [], begin
    for what, key, to in steps:
        stop = min(max(to, at), end)
        if stop > at:
            found.append(Span(what, key, at, stop))
        at = stop
    return found


def _unready(use: NodeUse) -> str:
    """Return what the last server of a node is that was never ready: it is thrown away, or still being launched."""
    return BUILDING if use.left is None else THROWN


@dataclass(frozen=True)
class Share:
    """What one day has of a life. *rest*: the life when the day has counted it; None when nothing is left to count."""

    day: str
    usage: Usage
    rest: NodeUse | None


def next_share(use: NodeUse, until: float) -> Share:
    """Return what the first day that has not counted the life has of it.

    Each day is counted by itself, so that one change in ZooKeeper has the document of one day only. The counts of nodes
    and waits belong to the last day.
    """
    usage, parts = Usage(), spans(use, until)
    end = until if use.gone is None else use.gone
    begin = max(use.counted, parts[0].begin if parts else end)
    border = _next_day(begin)
    for part in parts:
        spent = _milliseconds(min(part.end, border)) - _milliseconds(max(part.begin, begin))
        if spent > 0:
            usage.add(part.key, **{part.what: spent})
    if border < end and parts:
        return Share(day_of(begin), usage, NodeUse(**{**vars(use), "counted": border}))
    _count(use, usage)
    return Share(day_of(begin), usage, None)


def shares(use: NodeUse, until: float) -> Iterator[Share]:
    """Return what each day has of a life that no day has counted, or only some days."""
    rest: NodeUse | None = use
    while rest is not None:
        share = next_share(rest, until)
        yield share
        rest = share.rest


def _count(use: NodeUse, usage: Usage) -> None:
    key: Key = (use.tenant, use.project, use.job, use.label, use.provider, use.pool)
    if use.taken is None:
        key = ("", "", "", *key[3:])
    usage.add(key, nodes=1, servers=use.servers)
    if use.taken is not None and use.wanted is not None:
        waited = max(0, _milliseconds(use.taken) - _milliseconds(use.wanted))
        if use.warm:
            usage.add(key, warm=1, warm_wait=waited)
        else:
            usage.add(key, cold=1, cold_wait=waited)


def _next_day(at: float) -> float:
    return (at // DAY + 1) * DAY


def _milliseconds(at: float) -> int:
    return round(at * 1000)
