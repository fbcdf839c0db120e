# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The builds that nodes are launched from: figures of how launches end, and the decision to stop using a build.

The figures of a provider are one document, which is written at most every EVERY seconds: a cycle that is killed loses
the counts of that time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from ....clients.zookeeper.store import Store
from ....launching.build_choice import (
    Candidate,
    Waiting,
    beside_at,
    choose,
    find,
    is_doubted,
    late_at,
    predecessor,
)
from ....launching.event_builds import NO_PIN, Pin
from ....model import owner
from ....model.build_verdict import BuildVerdict
from ....model.image import Upload
from ....model.launch_counts import (
    OF_IMAGE,
    OF_OTHERS,
    PLACE,
    READY,
    SILENT,
    Attempt,
    LaunchCounts,
    sentence_with_words,
)
from ....model.own_tree import LAUNCH_COUNTS

EVERY = 10.0
SAYS_NOTHING = frozenset({owner.REQUEST, owner.LABEL, owner.ACCOUNT, owner.CAPACITY})
"""Owners of failures that say nothing about the image, nor whether servers can be used in the cloud now."""


@dataclass(frozen=True)
class Ended:
    """An attempt that has ended.

    :ivar build: id of the build; the id in the cloud for a cloud-image.
    :ivar result: READY, or the owner of its failure.
    :ivar reached: its server was ACTIVE: what failed then may be the guest.
    :ivar active: when it was seen ACTIVE; 0 if another cycle saw that.
    :ivar place: the name of its pool, networks and zone.
    :ivar words: those of its failure.
    """

    provider: str
    image: str
    build: str
    flavor: str
    result: str
    began: float
    reached: bool = False
    active: float = 0.0
    place: str = ""
    words: str = ""


@dataclass(frozen=True)
class GivenUp:
    """A build that is not used any more at a provider."""

    provider: str
    image: str
    build: str
    reason: str
    instead: str


@dataclass
class Trials:
    """The figures by provider.

    :ivar under_way: returns build → number of launches from it at a provider that have not ended.
    :ivar late: returns the builds at a provider of which the requests of some launches were given other nodes.
    :ivar waiting: returns (build, since when a server of it is ACTIVE) of the guests at a provider that do not answer.
    """

    counts: dict[str, LaunchCounts] = field(default_factory=dict)
    under_way: Callable[[str], Mapping[str, int]] = lambda provider: {}
    late: Callable[[str], Collection[str]] = lambda provider: ()
    waiting: Callable[[str], Iterable[tuple[str, float]]] = lambda provider: ()
    _begun: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(provider, build) → launches that are being begun and are not among those under way yet."""
    _together: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """(request, provider, image) → the build of the nodes that are being begun for it."""
    _changed: set[str] = field(default_factory=set)
    _unjudged: set[str] = field(default_factory=set)
    _written: float = 0.0

    # -- figures -------------------------------------------------------------------------------------------------

    def learn(self, store: Store, provider: str) -> None:
        """Continue the figures that an earlier cycle has stored."""
        self._changed.discard(provider)
        self.counts[provider] = store.own.understood(_path(provider), LaunchCounts.from_document) or LaunchCounts()

    def ended(self, what: Ended, now: float) -> None:
        """Count an attempt that has ended."""
        counts = self.counts.setdefault(what.provider, LaunchCounts())
        attempt = None if what.result in SAYS_NOTHING else _attempt(what, now)
        counts.add(what.image, what.build, what.flavor, what.result, now, attempt, what.words)
        self._changed.add(what.provider)
        self._unjudged.add(what.provider)

    def save(self, store: Store, now: float, every: float = EVERY) -> None:
        """Store figures that have changed, if the last write is *every* seconds ago."""
        if not self._changed or now - self._written < every:
            return
        self._written = now
        for provider in sorted(self._changed):
            store.own.put(_path(provider), self.counts[provider].document())
        self._changed.clear()

    def leave(self, store: Store, provider: str) -> None:
        """Store the figures of a provider that another launcher takes over now, and forget them: it writes them now."""
        if provider in self._changed:
            store.own.put(_path(provider), self.counts[provider].document())
        self.counts.pop(provider, None)
        self._changed.discard(provider)
        self._unjudged.discard(provider)

    def drop(self) -> None:
        """Forget all figures, as other cycles may act for the providers from now on."""
        for known in (self.counts, self._begun, self._together, self._changed, self._unjudged):
            known.clear()

    # -- which build -----------------------------------------------------------------------------------------------

    def chosen(
        self,
        uploads: Sequence[Upload],
        verdicts: Mapping[str, BuildVerdict],
        request: str,
        size: int,
        now: float,
        pin: Pin = NO_PIN,
    ) -> Upload:
        """Return the upload for the next launches.

        :param uploads: those that may be used at a provider, the newest first; at least one.
        :param request: for whom they are: all nodes of a request that are begun together get one build; "" for nobody.
        :param size: how many nodes the request has.
        :param pin: the build of other nodes of the same event.
        """
        first = uploads[0]
        together = self._together.get((request, first.provider, first.image))
        found = [upload for upload in uploads if upload.build_id == together]
        if found or len(uploads) < 2:
            return (found or uploads)[0]
        counts = self.counts.get(first.provider)
        if counts is None or not any(counts.of(first.image, upload.build_id).ready for upload in uploads[1:]):
            return pinned(uploads, pin)
        candidates = self._candidates(counts, uploads, verdicts, now)
        build = choose(candidates, counts.recent(first.image), size, now, pin)
        return next(upload for upload in uploads if upload.build_id == build)

    def begin(self, upload: Upload | None, request: str) -> None:
        """Note that a launch is being begun."""
        if upload is not None:
            self._begun[upload.provider, upload.build_id] += 1
            if request:
                self._together[request, upload.provider, upload.image] = upload.build_id

    def have_begun(self) -> None:
        """Note that the launches that were being begun are under way."""
        self._begun.clear()
        self._together.clear()

    def _candidates(
        self, counts: LaunchCounts, uploads: Sequence[Upload], verdicts: Mapping[str, BuildVerdict], now: float
    ) -> list[Candidate]:
        provider, none = uploads[0].provider, BuildVerdict()
        under_way, late, found = self.under_way(provider), self.late(provider), []
        waiting: defaultdict[str, list[float]] = defaultdict(list)
        for build, active in self.waiting(provider):
            waiting[build].append(active)
        for upload in uploads:
            known, verdict = counts.of(upload.image, upload.build_id), verdicts.get(upload.build_id, none)
            more = self._begun[provider, upload.build_id]
            found.append(
                Candidate(
                    upload.build_id,
                    known.ready,
                    known.recent,
                    verdict.restored,
                    verdict.is_trusted(now),
                    under_way.get(upload.build_id, 0) + more,
                    upload.build_id in late,
                    upload.state_time or 0.0,
                    waiting[upload.build_id],
                )
            )
        return found

    def others_at(
        self,
        uploads: Sequence[Upload],
        verdicts: Mapping[str, BuildVerdict],
        waiting: Sequence[Waiting],
        beside: Iterable[Waiting],
        now: float,
    ) -> list[tuple[float | None, float | None]]:
        """Return when each of the *waiting* launches from the newest build is late, and when its request gets nodes of
        the build before beside it; see :func:`.build_choice.late_at` and :func:`.build_choice.beside_at`.

        :param uploads: as for :meth:`chosen`.
        :param beside: the launches at the provider from other builds and images whose guests do not answer yet.
        """
        counts, nothing = self.counts.get(uploads[0].provider), [(None, None)] * len(waiting)
        if counts is None or len(uploads) < 2:
            return [*nothing]
        candidates = self._candidates(counts, uploads, verdicts, now)
        newest, before = candidates[0], predecessor(candidates)
        if before is None or newest.trusted:
            return [*nothing]
        if newest.is_proved and not is_doubted(newest, before, counts.recent(uploads[0].image), now):
            return [*nothing]
        others = list(beside)
        return [
            (late_at(one, before, others, now), None if newest.is_proved else beside_at(one, before, others, now))
            for one in waiting
        ]

    # -- which build is given up -----------------------------------------------------------------------------------

    def judge(
        self,
        uploads_of: Callable[[str, str], Sequence[Upload]],
        verdicts_of: Callable[[str], Mapping[str, BuildVerdict]],
        now: float,
    ) -> list[GivenUp]:
        """Return the builds that must not be used any more, by the attempts that have ended since the last call.

        :param uploads_of: returns the uploads of an image that may be used at a provider, the newest first.
        :param verdicts_of: returns build → verdict of an image.
        """
        given_up = []
        for provider in sorted(self._unjudged):
            for image in list(self.counts[provider].images):
                found = self._judged(provider, image, uploads_of(image, provider), verdicts_of(image), now)
                given_up += [found] if found is not None else []
        self._unjudged.clear()
        return given_up

    def _judged(
        self,
        provider: str,
        image: str,
        uploads: Sequence[Upload],
        verdicts: Mapping[str, BuildVerdict],
        now: float,
    ) -> GivenUp | None:
        counts = self.counts[provider]
        ends = {one.end for one in counts.of(image, uploads[0].build_id).recent} if len(uploads) > 1 else set()
        if ends.isdisjoint((OF_IMAGE, SILENT)):
            return None
        candidates = self._candidates(counts, uploads, verdicts, now)
        newest, before = candidates[0], predecessor(candidates)
        if before is None or newest.trusted or not find(newest, before, counts.recent(image), now).is_bad:
            return None
        figures = sentence_with_words(image, newest.build, provider, counts)
        return GivenUp(provider, image, newest.build, figures, before.build)


def pinned(uploads: Sequence[Upload], pin: Pin) -> Upload:
    """Return the upload of the build that other nodes of the event were made from; without one the newest."""
    return next((upload for upload in uploads if upload.build_id == pin.build), uploads[0])


def _attempt(what: Ended, now: float) -> Attempt:
    place = sha256(what.place.encode()).hexdigest()[:PLACE] if what.place else ""
    return Attempt(what.began, now, _end(what), what.active, place)


def _end(what: Ended) -> str:
    if what.result == READY:
        return READY
    if what.result == owner.IMAGE or (what.result == owner.UNKNOWN and what.reached):
        return OF_IMAGE
    return SILENT if what.reached else OF_OTHERS


def _path(provider: str) -> str:
    return f"{LAUNCH_COUNTS}/{provider}"
