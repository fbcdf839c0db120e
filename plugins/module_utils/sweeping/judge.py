# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decide which leaked things may be deleted now: those seen twice, old enough, and within the bound. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from ..model.backoff import backoff
from ..model.stored import BadDocument, made
from .candidate import LeakCandidate, Ownership

FORGOTTEN_AFTER = 7 * 86400.0
"""Seconds after which a sighting is dropped when its kind is not looked for any more."""
STUCK_AFTER = 3
"""Attempts from which a thing that still exists counts as what cannot be deleted."""
_FIRST_PAUSE, _LONGEST_PAUSE = 60.0, 3600.0


class Verdict:
    """The decisions about a thing."""

    DUE = "due"
    WAITING = "waiting"
    """Seen once, or first seen too short a time ago."""
    YOUNG = "young"
    PAUSED = "paused"
    """Its last deletion was tried too short a time ago."""
    BEYOND = "beyond-bound"
    FOREIGN = "foreign"


@dataclass(frozen=True)
class Rules:
    """The site's limits: ages in seconds, and the number of deletions in one sweep of one provider."""

    min_age: float = 600.0
    distance: float = 60.0
    most: int = 50


@dataclass(frozen=True)
class Sighting:
    """When a leaked thing was seen first, and the result of its deletions so far. Times are UNIX seconds."""

    first: float
    tries: int = 0
    tried: float = 0.0
    answer: str = ""

    def attempt(self, now: float, answer: str) -> Sighting:
        """Return the sighting after a deletion was requested; *answer* is the error, "" when it was accepted."""
        return Sighting(self.first, self.tries + 1, now, answer)

    def as_of(self, now: float) -> Sighting:
        """Return the sighting with no time later than *now*: the clock that it was stored by may have been ahead."""
        first, tried = min(self.first, now), min(self.tried, now)
        return self if (first, tried) == (self.first, self.tried) else replace(self, first=first, tried=tried)

    @property
    def pause(self) -> float:
        """Seconds between the last try and the next."""
        return backoff(self.tries, first=_FIRST_PAUSE, most=_LONGEST_PAUSE)

    def document(self) -> dict[str, Any]:
        """Return the document to store."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: Any) -> Self | None:
        """Read what is stored; None when it cannot be read."""
        try:
            return made(cls, document)
        except BadDocument:
            return None


@dataclass(frozen=True)
class Row:
    """A thing and the decision about it."""

    candidate: LeakCandidate
    verdict: str
    age: float | None = None
    sighting: Sighting | None = None

    def result(self) -> dict[str, Any]:
        """Return the row for texts and results."""
        shown: dict[str, Any] = {
            "kind": self.candidate.kind,
            "id": self.candidate.id,
            "name": self.candidate.name,
            "verdict": self.verdict,
            "reason": self.candidate.text,
            "age": None if self.age is None else round(self.age, 1),
        }
        if self.candidate.figures.get("site"):
            shown["site"] = self.candidate.figures["site"]
        if self.sighting is not None:
            shown["first_seen"] = self.sighting.first
            if self.sighting.tries:
                shown |= {"tries": self.sighting.tries, "answer": self.sighting.answer}
        return shown


@dataclass
class Judgement:
    """The result of a sweep. *sightings* is stored for the next sweep."""

    rows: list[Row] = field(default_factory=list)
    sightings: dict[str, Sighting] = field(default_factory=dict)

    @property
    def due(self) -> list[Row]:
        """The rows that may be deleted now."""
        return [row for row in self.rows if row.verdict == Verdict.DUE]

    @property
    def pending(self) -> bool:
        """True when something leaked: another sweep is worth its calls."""
        return any(row.candidate.ownership == Ownership.LEAKED for row in self.rows)


def judge(
    candidates: Iterable[LeakCandidate],
    kinds: Collection[str],
    before: Mapping[str, Sighting],
    rules: Rules,
    seen_at: float,
) -> Judgement:
    """Decide about everything that was found.

    :param kinds: the kinds that were looked for. A thing of these kinds that was not found is gone, and its sighting is
        dropped.
    :param seen_at: UNIX time at which the sweep began to read.
    """
    result = Judgement(
        sightings={
            key: sighting.as_of(seen_at)
            for key, sighting in before.items()
            if key.partition("/")[0] not in kinds and seen_at - sighting.first < FORGOTTEN_AFTER
        }
    )
    left = rules.most
    for candidate in sorted(candidates, key=lambda candidate: candidate.key):
        age = None if candidate.created is None else max(0.0, seen_at - candidate.created)
        if candidate.ownership != Ownership.LEAKED:
            result.rows.append(Row(candidate, Verdict.FOREIGN, age))
            continue
        sighting = before.get(candidate.key, Sighting(seen_at)).as_of(seen_at)
        result.sightings[candidate.key] = sighting
        verdict = _verdict(candidate, sighting, age, rules, seen_at)
        if verdict == Verdict.DUE:
            left -= 1
            verdict = Verdict.DUE if left >= 0 else Verdict.BEYOND
        result.rows.append(Row(candidate, verdict, age, sighting))
    return result


def _verdict(candidate: LeakCandidate, sighting: Sighting, age: float | None, rules: Rules, seen_at: float) -> str:
    known_for = seen_at - sighting.first
    if known_for < rules.distance or known_for <= 0:
        return Verdict.WAITING
    floor = rules.min_age if candidate.min_age is None else candidate.min_age
    if (known_for if age is None else age) < floor:
        return Verdict.YOUNG
    if seen_at - sighting.tried < sighting.pause:
        return Verdict.PAUSED
    return Verdict.DUE
