# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What builders remember besides Nodepool's records: failures in a row, sizes, how long it took, who they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..clients.zookeeper.paths import segment
from ..model.backoff import backoff
from ..model.documents import (
    seconds,
    text,
    whole,
    whole_or_zero,
)
from ..model.lines import span
from ..model.stored import believed

BUILD_NOTES = "image-builds"
UPLOAD_NOTES = "image-uploads"
FIRST_BACKOFF, MOST_BACKOFF = 10.0, 3600.0
LONGEST_BACKOFF = 3960.0
"""Seconds: no build or upload is held back for longer after failures (an hour, and a tenth for spreading)."""
LONGEST_ERROR = 500
"""Characters of an error that are remembered."""
BUILDER_NOTES = "image-builders"


def build_notes_path(image: str) -> str:
    """Where the notes of an image's builds are, relative to our subtree."""
    return f"{BUILD_NOTES}/{segment(image)}"


def upload_notes_path(provider: str, image: str) -> str:
    """Where the notes of an image's uploads to a provider are, relative to our subtree."""
    return f"{UPLOAD_NOTES}/{segment(provider)}/{segment(image)}"


def builder_note_path(builder_id: str) -> str:
    """Where the note of a builder is, relative to our subtree."""
    return f"{BUILDER_NOTES}/{segment(builder_id)}"


@dataclass(frozen=True)
class Failures:
    """Failures in a row; a success begins anew.

    *not_before*: UNIX time before which nothing is tried again. *last*: when it failed last. *error*: what was said.
    *request*: the request for a build (``ImageState.requested``) that was there when it was tried. *build*: the id of
    the build whose upload was tried.
    """

    count: int = 0
    not_before: float = 0.0
    last: float = 0.0
    error: str = ""
    request: int | None = None
    build: str = ""

    def document(self) -> dict[str, Any]:
        """As it is stored."""
        if not self.count:
            return {"failures": 0}
        return {
            "failures": self.count,
            "not_before": self.not_before,
            "failed_at": self.last,
            "error": self.error,
            "request": self.request,
            "build": self.build,
        }

    def again(self, error: str, now: float, chance: float, *, request: int | None = None, build: str = "") -> Failures:
        """The failures after one more: 10 s are waited, doubled with each, at most an hour.

        :param error: what went wrong, for people; no secrets.
        :param chance: 0…1, spreads the time by a tenth either way.
        """
        count = self.count + 1
        wait = min(MOST_BACKOFF, backoff(count, first=FIRST_BACKOFF, most=MOST_BACKOFF, spread=0.1, chance=chance))
        return Failures(count, now + wait, now, error[:LONGEST_ERROR], request, build)

    def hold(self, now: float) -> tuple[str, float] | None:
        """Why nothing is tried now, and the UNIX time until then, whatever clock that was stored by; None if it may."""
        until = believed(self.not_before, now, LONGEST_BACKOFF)
        if not self.count or now >= until:
            return None
        often = "once" if self.count == 1 else f"{self.count} times in a row"
        return f"failed {often}, tried again in {span(until - now)}; last error: {self.error}", until

    @classmethod
    def from_document(cls, document: Mapping[str, Any] | None) -> Failures:
        """From what was stored; what makes no sense counts as no failure."""
        known = document or {}
        count = max(0, whole_or_zero(known.get("failures")))
        if not count:
            return cls()
        return cls(
            count=count,
            not_before=seconds(known.get("not_before")) or 0.0,
            last=seconds(known.get("failed_at")) or 0.0,
            error=text(known.get("error")) or "",
            request=whole(known.get("request")),
            build=text(known.get("build")) or "",
        )


@dataclass(frozen=True)
class BuildNotes:
    """What is remembered of an image's builds.

    *sizes*: format → bytes on disk of the last good build. *seconds*: how long that took, None before the first.
    """

    failures: Failures = field(default_factory=Failures)
    sizes: Mapping[str, int] = field(default_factory=dict)
    seconds: float | None = None

    def document(self) -> dict[str, Any]:
        """As it is stored."""
        return {**self.failures.document(), "sizes": dict(self.sizes), "seconds": self.seconds}

    @classmethod
    def from_document(cls, document: Mapping[str, Any] | None) -> BuildNotes:
        """From what was stored; what makes no sense is left out."""
        known = document or {}
        sizes = known.get("sizes")
        readable = {str(key): whole_or_zero(value) for key, value in sizes.items()} if isinstance(sizes, dict) else {}
        return cls(
            failures=Failures.from_document(known),
            sizes={key: size for key, size in readable.items() if size > 0},
            seconds=seconds(known.get("seconds")),
        )

    def space_needed(self, formats: Collection[str]) -> int | None:
        """Bytes that the image files of the next build will take, judged by the last; None when there was none.

        A format that is new counts as much as the largest known one.
        """
        if not self.sizes or not formats:
            return None
        largest = max(self.sizes.values())
        return sum(self.sizes.get(name, largest) for name in formats)


@dataclass(frozen=True)
class BuilderNote:
    """Where a builder keeps its files, by which it is known again when it has lost them and its id.

    *images_dir*: absolute, on *host*. *since*: UNIX time of its first cycle. *seen*: that of the beginning of its last.
    """

    builder_id: str
    host: str
    images_dir: str
    since: float
    seen: float

    def document(self) -> dict[str, Any]:
        """As it is stored."""
        return dict(vars(self))

    @classmethod
    def from_document(cls, document: Mapping[str, Any] | None) -> BuilderNote | None:
        """From what was stored; None for what makes no sense."""
        known = document or {}
        builder_id, host, images_dir = (text(known.get(key)) for key in ("builder_id", "host", "images_dir"))
        since, seen = seconds(known.get("since")), seconds(known.get("seen"))
        if not builder_id or not host or not images_dir or since is None or seen is None:
            return None
        return cls(builder_id, host, images_dir, since, seen)


def former_builders(
    notes: Iterable[BuilderNote], builder_id: str, host: str, images_dir: str, now: float
) -> frozenset[str]:
    """Ids of builders that had this very directory before it got *builder_id*.

    One that was at work since is the builder of another machine with the same name.

    :param notes: of all builders.
    :param builder_id: of this builder; "" when it has none yet.
    """
    known = list(notes)
    since = next((note.since for note in known if note.builder_id == builder_id), now)
    return frozenset(
        note.builder_id
        for note in known
        if note.builder_id != builder_id and (note.host, note.images_dir) == (host, images_dir) and note.seen < since
    )
