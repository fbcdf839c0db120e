# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Estimate how long a request still waits, when recent boots and deletions allow an estimate.

Each estimate is scored: the same method is applied to what was known before each of the recent boots or deletions, and
compared with what came. Where it was wrong more often than right, nothing is promised.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import TreeReading
from ...launching.polling import SAMPLES
from ...model import own_tree, reasons
from ...model.documents import seconds, text
from ...model.launch import LONGEST_DELAY
from ...model.lines import amount, span
from ...model.request import RequestState
from ...model.resources import INSTANCES
from ...model.stored import is_number
from .request_rows import WAITS

PROVIDERS = paths.own(own_tree.PROVIDERS)
LATELY = 3600.0
"""Seconds after which a deletion does not count for the estimate any more."""
JUST_NOW = 600.0
"""Seconds of which the deletions are counted."""
FEWEST = 5
"""Number of deletions from which a rate is computed."""
SILENCE = 4.0
"""When nothing was deleted for this many times the mean interval, the rate does not hold any more."""
SOON = 1.0
"""An estimate of fewer seconds is none: what was expected should have happened by now."""
BEHIND = 120.0
"""Seconds during which a stored document counts as a launcher's latest one: launchers store once a minute."""
UNTOLD = "unknown: it depends on when others release nodes or an operator fixes a problem"

FEWEST_SCORED = 4
"""Number of earlier estimates from which a method is judged."""
FACTOR = 2.0
"""An estimate was right when what came took between a FACTORth and FACTOR times as long."""
MIN_KNOWN = 3
"""Number of boots that an earlier estimate is made from at least."""

Score = tuple[int, int]
"""How many earlier estimates were right, and how many there were."""

Expected = tuple["float | None", str]
"""Seconds, None when they cannot be estimated, and the basis of the estimate."""


def expected_wait(
    row: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    reason: Mapping[str, Any] | None,
    launches: Sequence[Mapping[str, Any]],
    reading: TreeReading,
    now: float,
) -> Expected:
    """Estimate how long the request of *row* still waits.

    :param rows: all requests.
    :param reason: why the request waits.
    :param launches: its nodes with their launches.
    """
    if row["state"] in RequestState.FINISHED:
        return None, "there is nothing to wait for"
    left, basis = _estimate(row, rows, reason, launches, reading, now)
    if left is not None and left < SOON:
        return None, f"unknown: the expected time has passed ({basis})"
    return (None if left is None else round(left, 1)), basis


def _estimate(
    row: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    reason: Mapping[str, Any] | None,
    launches: Sequence[Mapping[str, Any]],
    reading: TreeReading,
    now: float,
) -> Expected:
    if row["state"] == RequestState.PENDING:
        return (None, UNTOLD) if reason else _until_booted(launches, reading, now)
    found, code = reading.one(f"{WAITS}/{row['id']}"), (reason or {}).get("code")
    wait = found.document if found is not None else {}
    left, at = wait.get("seconds"), seconds(wait.get("at"))
    if code in (reasons.FROZEN, reasons.BREAKER) and is_number(left) and at is not None:
        until = at + min(float(left or 0), LONGEST_DELAY)
        return until - now, "until the next attempt, which may fail"
    if code == reasons.NO_ROOM:
        return _until_room(row, rows, wait, reading, now)
    return None, UNTOLD


def _until_booted(launches: Sequence[Mapping[str, Any]], reading: TreeReading, now: float) -> Expected:
    longest, score, coming = 0.0, (0, 0), [launch for launch in launches if launch["state"] != "ready"]
    if not coming:
        return None, "now: its nodes are ready"
    for launch in coming:
        boots = _boots(reading, launch["provider"])
        if not boots:
            return None, f"unknown: no boot of provider {launch['provider']} was seen recently"
        begun = launch["created_at"]
        if is_worthless(found := score_of_boots(boots)):
            return None, f"unknown: boots of provider {launch['provider']} differ too much: {_judged(found)}"
        score = max(score, found, key=lambda one: one[1])
        left = median(boots) - (now - begun if begun is not None else 0.0)
        if left < SOON:
            return None, "unknown: a launch is taking longer than recent boots"
        longest = max(longest, left)
    return longest, f"until the servers are ACTIVE, by the median of recent boots{_so_far(score)}"


def _until_room(
    row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], wait: Mapping[str, Any], reading: TreeReading, now: float
) -> Expected:
    """Estimate the wait by the rate at which nodes of the pool were deleted recently."""
    where, left = text(wait.get("where")) or "", wait.get("left")
    if wait.get("resource") != INSTANCES:
        return None, f"unknown: it waits for {text(wait.get('resource')) or 'room'}, which differs between nodes"
    provider, _slash, pool = where.partition("/")
    gone = _deletions(reading, provider, pool, now)
    if len(gone) < FEWEST or gone[-1] <= gone[0]:
        return None, f"unknown: fewer than {FEWEST} nodes of {where} were deleted within the last hour"
    distance = (gone[-1] - gone[0]) / (len(gone) - 1)
    # Deletions after the launcher's last write are unknown here.
    silence = _stored_at(reading, provider, now) - gone[-1]
    if silence > SILENCE * distance:
        return None, f"unknown: no node of {where} was deleted for {span(silence)}"
    free = 0.0 if wait.get("behind") or not is_number(left) else max(0.0, float(left or 0))
    nodes = max(1.0, len(row["labels"]) + _wanted_before(row, rows, where, reading) - free)
    score = score_of_deletions(gone, math.ceil(nodes))
    if is_worthless(score):
        return None, f"unknown: nodes of {where} are deleted too irregularly: {_judged(score)}"
    boots = _boots(reading, provider)
    total = nodes * distance - min(distance, now - gone[-1]) + (median(boots) if boots else 0.0)
    boot = "the median of recent boots" if boots else "without the boot: none was seen recently"
    lately = f"{amount(len(gone), 'node')} of {where} were deleted within {span(now - gone[0])}"
    return total, f"about {nodes:.12g} must be deleted first, {lately}; {boot}{_so_far(score)}"


# -- how good such estimates were --------------------------------------------------------------------------------------


def score_of_boots(boots: Sequence[float]) -> Score:
    """Return how often the median of the boots before one was right about it.

    :param boots: seconds, in the order in which the servers booted.
    """
    return _score((median(boots[:place]), boots[place]) for place in range(MIN_KNOWN, len(boots)))


def score_of_deletions(times: Sequence[float], count: int) -> Score:
    """Return how often the rate before a deletion was right about the time that the next *count* deletions took.

    :param times: UNIX times, the earliest first.
    """
    return _score(
        (count * (times[place] - times[0]) / place, times[place + count] - times[place])
        for place in range(FEWEST - 1, len(times) - count)
    )


def _score(pairs: Iterable[tuple[float, float]]) -> Score:
    """Return the score of pairs of an estimate and what came, in seconds."""
    right = [promised <= FACTOR * came and came <= FACTOR * promised for promised, came in pairs]
    return sum(right), len(right)


def is_worthless(score: Score) -> bool:
    """Return True when earlier estimates were wrong more often than right."""
    right, count = score
    return count >= FEWEST_SCORED and 2 * right < count


def _judged(score: Score) -> str:
    right, count = score
    return f"{right} of {amount(count, 'earlier estimate')} would have been right within a factor of {FACTOR:g}"


def _so_far(score: Score) -> str:
    return f"; {_judged(score)}" if score[1] >= FEWEST_SCORED else ""


def _wanted_before(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], where: str, reading: TreeReading) -> int:
    """Return how many nodes earlier requests in the queue want from the same pool."""
    wanted = 0
    for item in rows:
        if item["place"] is None or item["place"] >= (row["place"] or 0):
            continue
        other = reading.one(f"{WAITS}/{item['id']}")
        wanted += len(item["labels"]) if other is not None and other.document.get("where") == where else 0
    return wanted


def _boots(reading: TreeReading, provider: str | None) -> list[float]:
    return [float(item) for item in _learned(reading, provider, "boot_seconds") if is_number(item)]


def _deletions(reading: TreeReading, provider: str, pool: str, now: float) -> list[float]:
    """Return the times at which nodes of the pool were deleted within the last hour, the earliest first."""
    items = (item for item in _learned(reading, provider, "gone") if isinstance(item, dict))
    times = [float(item["at"]) for item in items if item.get("pool") == pool and is_number(item.get("at"))]
    return sorted(at for at in times if now - LATELY <= at <= now)


def deleted_lately(reading: TreeReading, where: str, now: float) -> str:
    """Return how many nodes of a pool were deleted in the last ten minutes, in words; "" when that is not known.

    :param where: ``provider/pool``.
    """
    provider, slash, pool = where.partition("/")
    found = reading.one(f"{PROVIDERS}/{provider}")
    if not slash or found is None or now - found.written >= BEHIND or not isinstance(found.document.get("gone"), list):
        return ""  # nobody writes down what is deleted
    known = [
        item for item in _learned(reading, provider, "gone") if isinstance(item, dict) and is_number(item.get("at"))
    ]
    count = sum(1 for at in _deletions(reading, provider, pool, now) if at >= now - JUST_NOW)
    # Only the latest deletions of a provider are kept; earlier ones of these ten minutes may be forgotten.
    cut = len(known) >= SAMPLES and min(item["at"] for item in known) >= now - JUST_NOW
    told = f"at least {amount(count, 'node')}" if cut else amount(count, "node") if count else "no node"
    return f"{told} of it {'was' if count <= 1 else 'were'} deleted in the last ten minutes"


def _stored_at(reading: TreeReading, provider: str, now: float) -> float:
    """Return the time up to which deletions are known: that of the last write, *now* when no launcher writes."""
    found = reading.one(f"{PROVIDERS}/{provider}")
    return found.written if found is not None and 0 <= now - found.written < BEHIND else now


def _learned(reading: TreeReading, provider: str | None, key: str) -> list[Any]:
    found = reading.one(f"{PROVIDERS}/{provider}") if provider else None
    samples = found.document.get(key) if found is not None else None
    return samples if isinstance(samples, list) else []
