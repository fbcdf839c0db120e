# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the launches from each build of an image end at one provider: figures that cycles continue. Pure.

An attempt is counted once, when it has ended, so that a launch that several cycles carry out counts once. A build is a
build of a diskimage, or an image in the cloud for a cloud-image.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .bounded_text import bounded
from .owner import SENTENCES
from .stored import BadDocument, is_number, kind_of

MOST_IMAGES = 50
MOST_BUILDS = 4
"""Builds of an image that are kept; those that were launched last."""
MOST_FLAVORS = 10
"""Flavors of a build that are kept apart; further ones are counted as OTHER."""
RECENT = 16
"""Ended attempts of a build that are remembered one by one."""
CLOSE = 60.0
"""Of ready ones that booted within so many seconds only some are remembered."""
OTHER = "other"
READY, OF_IMAGE, SILENT, OF_OTHERS = "ready", "image", "silent", "other"
"""How an attempt ended: with a ready node; for a reason that may lie in the image; with a server that was ACTIVE and
that nobody could reach, as it seems because of the network or the cloud; or for another reason."""
_ENDS = frozenset({READY, OF_IMAGE, SILENT, OF_OTHERS})
PLACE = 8
"""Letters of what stands for the place of an attempt."""
SHORT = 8
"""Letters of a build's id that people are shown."""
LONGEST_WORDS = 200
"""Largest size in bytes of the words of a failure."""


@dataclass(frozen=True)
class Attempt:
    """An attempt that has ended.

    :ivar began: when its create was sent, *ended*: when it ended, in UNIX seconds.
    :ivar end: READY, OF_IMAGE, SILENT or OF_OTHERS.
    :ivar active: when its server was seen ACTIVE; 0 if this is not known.
    :ivar place: stands for its pool, networks and zone; "" if they are not known.
    """

    began: float
    ended: float
    end: str
    active: float = 0.0
    place: str = ""

    @property
    def booted(self) -> float:
        """When its guest began to boot, as far as it is known."""
        return self.active or self.began


@dataclass
class BuildCounts:
    """The attempts with one build. *flavors*: flavor → READY or the owner of the failure → number of attempts."""

    flavors: dict[str, Counter[str]] = field(default_factory=dict)
    first: float = 0.0
    """UNIX time at which the first of them ended."""
    last: float = 0.0
    recent: list[Attempt] = field(default_factory=list)
    failure: str = ""
    """The words of the last failure that may lie in the image; "" for none."""

    @property
    def total(self) -> Counter[str]:
        """The sums of all flavors."""
        return sum(self.flavors.values(), Counter[str]())

    @property
    def ready(self) -> int:
        """The number of attempts that ended with a ready node."""
        return self.total[READY]

    @property
    def tried(self) -> int:
        """The number of attempts."""
        return self.total.total()

    @property
    def failed(self) -> dict[str, int]:
        """Owner of the failure → number of attempts."""
        return {owner: count for owner, count in sorted(self.total.items()) if owner != READY}

    def add(self, flavor: str, result: str, now: float, attempt: Attempt | None, words: str = "") -> None:
        """Count an attempt.

        :param result: READY, or the owner of its failure.
        :param attempt: None if its end says nothing about the image or the cloud.
        :param words: those of its failure.
        """
        name = flavor if flavor in self.flavors or len(self.flavors) < MOST_FLAVORS else OTHER
        self.flavors.setdefault(name, Counter())[result] += 1
        self.first = self.first or now
        self.last = max(self.last, now)
        if attempt is not None:
            self.recent = _thinned([*self.recent, attempt])
            if attempt.end in (OF_IMAGE, SILENT):
                self.failure = bounded(words, LONGEST_WORDS)

    def document(self) -> dict[str, Any]:
        """Return the counts as they are stored."""
        return {
            "flavors": {name: dict(counts) for name, counts in self.flavors.items()},
            "first": round(self.first, 1),
            "last": round(self.last, 1),
            "recent": [
                [round(item.began, 1), round(item.ended, 1), item.end, round(item.active, 1), item.place]
                for item in self.recent
            ],
            **({"failure": self.failure} if self.failure else {}),
        }

    def text(self) -> str:
        """Return "READY of TRIED"; "" without any attempt."""
        return f"{self.ready} of {self.tried}" if self.tried else ""


def _thinned(attempts: list[Attempt]) -> list[Attempt]:
    """Return RECENT of the attempts, which are in the order of their ends.

    Of many that were ready in the same place at nearly the same time, some say as much as all: when others worked is
    then known for longer, also after a burst.
    """
    while len(attempts) > RECENT:
        spans = []
        for place in {one.place for one in attempts}:
            mine = [(one.booted, at) for at, one in enumerate(attempts) if (one.end, one.place) == (READY, place)]
            ready = sorted(mine)
            spans += [
                (after[0] - before[0], at)
                for before, (_booted, at), after in zip(ready, ready[1:], ready[2:], strict=False)
            ]
        span, index = min(spans, default=(float("inf"), 0))
        del attempts[index if span < CLOSE else 0]
    return attempts


class LaunchCounts:
    """The counts of one provider.

    :ivar images: image → build → its counts, in the order of their last attempts.
    """

    def __init__(self) -> None:
        self.images: dict[str, dict[str, BuildCounts]] = {}

    def add(
        self, image: str, build: str, flavor: str, result: str, now: float, attempt: Attempt | None, words: str = ""
    ) -> None:
        """Count an attempt that has ended; see :meth:`BuildCounts.add`."""
        builds = self.images.pop(image, {})
        counts = builds.pop(build, None) or BuildCounts()
        counts.add(flavor, result, now, attempt, words)
        builds[build] = counts
        self.images[image] = builds
        while len(builds) > MOST_BUILDS:
            del builds[next(iter(builds))]
        while len(self.images) > MOST_IMAGES:
            del self.images[next(iter(self.images))]

    def of(self, image: str, build: str) -> BuildCounts:
        """Return the counts of a build; empty ones if it was never launched."""
        return self.images.get(image, {}).get(build) or BuildCounts()

    def before(self, image: str, build: str) -> BuildCounts | None:
        """Return the counts of the build that was in use before this one; None if none is known.

        One that has never worked was not in use, only tried.
        """
        known = self.images.get(image, {})
        mine = known[build].first if build in known else float("inf")
        earlier = [item for name, item in known.items() if name != build and item.first < mine]
        return max(earlier, key=lambda item: (item.ready > 0, item.first), default=None)

    def recent(self, besides: str) -> list[Attempt]:
        """Return the remembered attempts with all other images, in no order."""
        return [
            attempt
            for image, builds in self.images.items()
            if image != besides
            for counts in builds.values()
            for attempt in counts.recent
        ]

    def document(self) -> dict[str, Any]:
        """Return the counts as they are stored."""
        return {
            image: {build: counts.document() for build, counts in builds.items()}
            for image, builds in self.images.items()
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> LaunchCounts:
        """Read a stored document.

        :raises BadDocument: a part of it does not have the form that :meth:`document` writes.
        """
        found = cls()
        for image, builds in [*document.items()][-MOST_IMAGES:]:
            if not isinstance(builds, Mapping):
                raise BadDocument(f"{image!r} is {kind_of(builds)}, not a JSON object")
            known = {build: _counts(image, item) for build, item in [*builds.items()][-MOST_BUILDS:]}
            found.images[image] = known
        return found


def sentence(image: str, build: str, provider: str, counts: LaunchCounts) -> str:
    """Return the figures of a build and of the one before, for people; "" if it was never launched."""
    mine, before = counts.of(image, build), counts.before(image, build)
    if not mine.tried:
        return ""
    text = f"{image} build {build[:SHORT]}: {mine.text()} in {provider}"
    return text if before is None else f"{text}; the build before: {before.text()}"


def sentence_with_words(image: str, build: str, provider: str, counts: LaunchCounts) -> str:
    """Return :func:`sentence` with the words of the last failure that may lie in the image."""
    text, words = sentence(image, build, provider, counts), counts.of(image, build).failure
    return f"{text}; the last failure: {words}" if text and words else text


def _counts(image: str, document: Any) -> BuildCounts:
    if not isinstance(document, Mapping):
        raise BadDocument(f"in {image!r} a build is {kind_of(document)}, not a JSON object")
    flavors, recent = document.get("flavors"), document.get("recent", [])
    times = [document.get("first", 0.0), document.get("last", 0.0)]
    if not isinstance(flavors, Mapping) or not isinstance(recent, list) or not all(map(is_number, times)):
        raise BadDocument(f"in {image!r} a build has no valid counts")
    return BuildCounts(
        {str(name): _tally(image, tally) for name, tally in [*flavors.items()][: MOST_FLAVORS + 1]},
        float(times[0]),
        float(times[1]),
        [_attempt(image, row) for row in recent[-RECENT:]],
        _words(document.get("failure", "")),
    )


def _words(stored: Any) -> str:
    return bounded(stored, LONGEST_WORDS) if isinstance(stored, str) else ""


def _tally(image: str, tally: Any) -> Counter[str]:
    if not isinstance(tally, Mapping) or not _are_counts(tally.values()):
        raise BadDocument(f"in {image!r} the attempts with a flavor are not counts by owner")
    return Counter({owner: int(count) for owner, count in tally.items() if owner == READY or owner in SENTENCES})


def _are_counts(values: Iterable[Any]) -> bool:
    return all(is_number(value) and 0 <= value < 2**53 for value in values)


def _attempt(image: str, row: Any) -> Attempt:
    """Read an attempt; its last parts are missing in documents of earlier versions."""
    if not isinstance(row, list) or not 3 <= len(row) <= 5 or row[2] not in _ENDS:
        raise BadDocument(f"in {image!r} an attempt is not two times, an end, a time and a place")
    if not all(map(is_number, [*row[:2], *row[3:4]])):
        raise BadDocument(f"in {image!r} the times of an attempt are not numbers")
    if not all(isinstance(place, str) and len(place) <= PLACE for place in row[4:]):
        raise BadDocument(f"in {image!r} the place of an attempt is not a short text")
    active, place = float(row[3]) if len(row) > 3 else 0.0, row[4] if len(row) > 4 else ""
    return Attempt(float(row[0]), float(row[1]), row[2], active, place)
