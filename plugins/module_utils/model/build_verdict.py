# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is decided about a build of a disk image: whether nodes are launched from it, who said so, and why. Pure.

The verdicts of an image are one document, see :data:`.own_tree.VERDICTS`. A build without one is used as by Nodepool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from .bounded_text import bounded
from .stored import Stored, all_made

APPROVED, REJECTED, HELD, REVOKED = "approved", "rejected", "held", "revoked"
STATES = (APPROVED, REJECTED, HELD, REVOKED)
"""*approved*: nodes are launched from it. *rejected*: it failed a test and is never used. *held*: it is kept for a
person and not used until that person decides. *revoked*: it was used, and is not used any more."""
UNUSED = frozenset({REJECTED, HELD, REVOKED})
CONDEMNED = frozenset({REJECTED, REVOKED})
"""In these states its ready nodes are deleted, too."""
HAND, GATE = "hand", "gate"
"""Who decides: a person, or the test of a new upload."""
_WHO = {HAND: "by hand", GATE: "by the test of new uploads"}
MOST_BUILDS = 100
"""Largest number of verdicts of an image; the oldest of builds that are gone are dropped first."""
MOST_GONE = 10
"""Largest number of verdicts on builds that are gone: each may have a reason for each provider."""
LONGEST_REASON = 500


@dataclass(frozen=True)
class FallBack(Stored):
    """Why the launcher does not use a build at one provider, and since when (UNIX seconds)."""

    reason: str = ""
    at: float = 0.0


@dataclass(frozen=True)
class BuildVerdict(Stored):
    """What is decided about one build. Times are UNIX seconds.

    :ivar state: one of :data:`STATES`; "" while nobody has decided anything, or after it was undone.
    :ivar reason: why, in words.
    :ivar by: who decided: HAND or GATE.
    :ivar at: when that was decided.
    :ivar since: from when on it applies; a later time than *at* is a revocation that was announced.
    :ivar fallen_back: provider → why the launcher launches nothing from it there.
    :ivar restored: when a person last undid a verdict: failures before that are no reason for the launcher any more.
    """

    READERS: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"fallen_back": all_made(FallBack.from_document)}

    state: str = ""
    reason: str = ""
    by: str = ""
    at: float = 0.0
    since: float = 0.0
    fallen_back: Mapping[str, FallBack] = field(default_factory=dict)
    restored: float = 0.0

    def given(self, state: str, reason: str, by: str, now: float, since: float | None = None) -> BuildVerdict:
        """Return the verdict after somebody has decided; an approval also ends what the launcher has decided.

        :param state: one of :data:`STATES`.
        :param since: from when on it applies, in UNIX seconds; None: from *now* on.
        """
        known = self.undone(now) if state == APPROVED else self
        text = bounded(reason, LONGEST_REASON)
        return replace(known, state=state, reason=text, by=by, at=now, since=now if since is None else since)

    def undone(self, now: float) -> BuildVerdict:
        """Return the verdict after a person has undone all of it, also what the launcher has decided."""
        return BuildVerdict(restored=now)

    def without(self, provider: str, reason: str, now: float) -> BuildVerdict:
        """Return the verdict after the launcher has decided to use another build at a provider."""
        entry = FallBack(bounded(reason, LONGEST_REASON), now)
        return replace(self, fallen_back={**self.fallen_back, provider: entry})

    def applies(self, now: float) -> bool:
        """Return True from the moment at which a decision takes effect."""
        return self.state in STATES and self.since <= now

    def is_used(self, now: float, provider: str = "") -> bool:
        """Return True if nodes may be launched from the build.

        :param provider: where; "" for everywhere, without what the launcher has decided for single providers.
        """
        return provider not in self.fallen_back and not (self.state in UNUSED and self.applies(now))

    def is_condemned(self, now: float, provider: str = "") -> bool:
        """Return True if nodes that were made from the build and that nobody uses yet are to be deleted, too."""
        return provider in self.fallen_back or (self.state in CONDEMNED and self.applies(now))

    def is_trusted(self, now: float) -> bool:
        """Return True if a person has approved the build: then the launcher does not stop using it by itself."""
        return self.state == APPROVED and self.by == HAND and self.applies(now)

    def text(self, now: float, provider: str = "", figures: str = "") -> str:
        """Return what is decided as a sentence without a full stop; "" if nothing is.

        :param figures: how launches from it ended at the provider until now; "": those of the launcher's decision.
        """
        if self.state:
            who = _WHO.get(self.by, "by somebody")
            when = "" if self.applies(now) else f" in {self.since - now:.0f} s"
            return f"{self.state}{when} {who}" + (f": {self.reason}" if self.reason else "")
        found = self.fallen_back.get(provider)
        return f"not used at {provider} by decision of the launcher: {figures or found.reason}" if found else ""


NONE = BuildVerdict()
read_verdicts = all_made(BuildVerdict.from_document)
"""Reads the document of an image: build id → verdict."""


def changed_verdicts(
    verdicts: Mapping[str, BuildVerdict],
    build_id: str,
    edit: Callable[[BuildVerdict], BuildVerdict],
    there: Callable[[str], bool],
) -> dict[str, BuildVerdict]:
    """Return the verdicts of an image with that of one build changed, at most MOST_BUILDS and MOST_GONE.

    :param there: tells whether a build exists; the verdicts of builds that are gone are dropped first.
    """
    after = edit(verdicts.get(build_id, NONE))
    known = {key: item for key, item in verdicts.items() if key != build_id}
    others = sorted(known, key=lambda key: (there(key), max(known[key].at, known[key].restored), key))
    gone = sum(1 for key in others if not there(key))
    kept = others[max(0, gone - MOST_GONE, len(others) + 1 - MOST_BUILDS) :]
    return {**{key: known[key] for key in sorted(kept)}, build_id: after}
