# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Data that builders store in addition to Nodepool's records: failures in a row, sizes, durations, builder ids."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..clients.zookeeper.link.paths import segment
from ..model.backoff import backoff
from ..model.bounded_text import bounded
from ..model.documents import (
    mapping,
    seconds,
    text,
    whole,
    whole_or_zero,
)
from ..model.lines import in_a_row, span
from ..model.own_tree import BUILD_NOTES, BUILDER_NOTES, UPLOAD_NOTES
from ..model.stored import believed
from .listed import Listed

FIRST_BACKOFF, MOST_BACKOFF = 10.0, 3600.0
LONGEST_BACKOFF = 3960.0
"""Longest delay of a build or upload after failures, in seconds: an hour, and a tenth for the random spread."""
LONGEST_ERROR, LONGEST_CHANGES = 500, 1500
"""Characters of an error, and of what differs between two builds, that are stored."""
COMPARED = "compared with build"
"""How a sentence about what differs between two builds begins."""
LISTED_FOR = 86400.0
"""Seconds after the beginning of its last cycle for which what a builder listed is not deleted by others."""


def build_notes_path(image: str) -> str:
    """Return the path of the notes of an image's builds, relative to our subtree."""
    return f"{BUILD_NOTES}/{segment(image)}"


def upload_notes_path(provider: str, image: str) -> str:
    """Return the path of the notes of an image's uploads to a provider, relative to our subtree."""
    return f"{UPLOAD_NOTES}/{segment(provider)}/{segment(image)}"


def builder_note_path(builder_id: str) -> str:
    """Return the path of a builder's note, relative to our subtree."""
    return f"{BUILDER_NOTES}/{segment(builder_id)}"


@dataclass(frozen=True)
class Failures:
    """Failures in a row; a success resets the count.

    *not_before*: UNIX time of the earliest next try. *last*: UNIX time of the last failure. *error*: its message.
    *request*: the request for a build (``ImageState.requested``) that existed at the last try. *build*: the id of the
    build whose upload failed.
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
        """Return the failures after one more. The delay is 10 s, doubles with each failure, and is an hour at most.

        :param error: the message for the operator, without secrets.
        :param chance: 0…1; varies the delay by up to a tenth, up or down.
        """
        count = self.count + 1
        wait = min(MOST_BACKOFF, backoff(count, first=FIRST_BACKOFF, most=MOST_BACKOFF, spread=0.1, chance=chance))
        return Failures(count, now + wait, now, error[:LONGEST_ERROR], request, build)

    def hold(self, now: float) -> tuple[str, float] | None:
        """Return why nothing is tried now, and until which UNIX time; None when a try is allowed.

        A stored time that is more than LONGEST_BACKOFF ahead is ignored: the clock that it was stored by was wrong.
        """
        until = believed(self.not_before, now, LONGEST_BACKOFF)
        if not self.count or now >= until:
            return None
        return f"failed {in_a_row(self.count)}, next attempt in {span(until - now)}; last error: {self.error}", until

    @classmethod
    def from_document(cls, document: Mapping[str, Any] | None) -> Failures:
        """Read what was stored; a document that cannot be understood counts as no failure."""
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
    """The stored data about an image's builds.

    *sizes*: format → bytes on disk of the last good build. *seconds*: its duration, None before the first one.
    *build*: its id. *changes*: what differs from the build that was in use then; "" if that is unknown.
    """

    failures: Failures = field(default_factory=Failures)
    sizes: Mapping[str, int] = field(default_factory=dict)
    seconds: float | None = None
    build: str = ""
    changes: str = ""

    def document(self) -> dict[str, Any]:
        """As it is stored."""
        told = {"changes_of": self.build, "changes": self.changes} if self.changes else {}
        return {**self.failures.document(), "sizes": dict(self.sizes), "seconds": self.seconds, **told}

    def changes_of(self, build_id: str) -> str | None:
        """Return what differs in a build from the one that was in use before; None if that is unknown."""
        return self.changes or None if self.build == build_id else None

    @classmethod
    def from_document(cls, document: Mapping[str, Any] | None) -> BuildNotes:
        """Read what was stored; values that cannot be understood are left out."""
        known = document or {}
        sizes = known.get("sizes")
        readable = {str(key): whole_or_zero(value) for key, value in sizes.items()} if isinstance(sizes, dict) else {}
        return cls(
            failures=Failures.from_document(known),
            sizes={key: size for key, size in readable.items() if size > 0},
            seconds=seconds(known.get("seconds")),
            build=text(known.get("changes_of")) or "",
            changes=bounded(text(known.get("changes")) or "", LONGEST_CHANGES),
        )

    def space_needed(self, formats: Collection[str]) -> int | None:
        """Estimate the bytes that the next build's image files take, from the last build; None when there was none.

        A new format counts as much as the largest known one.
        """
        if not self.sizes or not formats:
            return None
        largest = max(self.sizes.values())
        return sum(self.sizes.get(name, largest) for name in formats)


@dataclass(frozen=True)
class BuilderNote:
    """The place of a builder's files. It identifies a builder that has lost its files and its id.

    *images_dir*: absolute path on *host*. *since*: UNIX time of the builder's first cycle. *seen*: UNIX time at which
    its last cycle began. *listed*: what it listed then.
    """

    builder_id: str
    host: str
    images_dir: str
    since: float
    seen: float
    listed: Listed = field(default_factory=Listed)

    def document(self) -> dict[str, Any]:
        """As it is stored."""
        return {**vars(self), "listed": self.listed.document()}

    @classmethod
    def from_document(cls, document: Mapping[str, Any] | None) -> BuilderNote | None:
        """Read what was stored; None when it cannot be understood."""
        known = document or {}
        builder_id, host, images_dir = (text(known.get(key)) for key in ("builder_id", "host", "images_dir"))
        since, seen = seconds(known.get("since")), seconds(known.get("seen"))
        if not builder_id or not host or not images_dir or since is None or seen is None:
            return None
        return cls(builder_id, host, images_dir, since, seen, Listed.from_document(mapping(known.get("listed")) or {}))

    def lists_still(self, now: float) -> bool:
        """Return True while what it listed counts although no cycle of it runs: it may run by a schedule."""
        return 0.0 <= now - self.seen < LISTED_FOR


def former_builders(
    notes: Iterable[BuilderNote], builder_id: str, host: str, images_dir: str, now: float
) -> frozenset[str]:
    """Return the ids of builders that had the same directory on the same host before *builder_id* had it.

    A builder that has run since then is not one of them: it is on another machine with the same host name.

    :param notes: the notes of all builders.
    :param builder_id: the id of this builder; "" when it has none yet.
    """
    known = list(notes)
    since = next((note.since for note in known if note.builder_id == builder_id), now)
    return frozenset(
        note.builder_id
        for note in known
        if note.builder_id != builder_id and (note.host, note.images_dir) == (host, images_dir) and note.seen < since
    )
