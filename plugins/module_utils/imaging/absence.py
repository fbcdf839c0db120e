# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builders of which no cycle runs although a provider waits for files that only they have. Pure.

Other builders wait for GIVEN_UP seconds: a machine that restarts is back by then. After that they do without its files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..clients.zookeeper.link.paths import segment
from ..model.documents import seconds, text
from ..model.image import Build
from ..model.lines import span
from ..model.own_tree import ABSENT_BUILDERS
from .image_snapshot import ImagesView

GIVEN_UP = 1800.0
"""Seconds without a cycle of a builder after which others do without its files."""


def absence_path(builder_id: str) -> str:
    """Return the path of the note that a builder is absent, relative to our subtree."""
    return f"{ABSENT_BUILDERS}/{segment(builder_id)}"


@dataclass(frozen=True)
class Absence:
    """A builder that is absent. *since*: UNIX time at which a cycle of another builder noticed that first."""

    builder_id: str
    since: float

    def document(self) -> dict[str, Any]:
        """As it is stored."""
        return dict(vars(self))

    @classmethod
    def from_document(cls, document: Mapping[str, Any] | None) -> Absence | None:
        """Read what was stored; None when it cannot be understood."""
        known = document or {}
        builder_id, since = text(known.get("builder_id")), seconds(known.get("since"))
        return cls(builder_id, since) if builder_id and since is not None else None


def works(view: ImagesView, build: Build) -> bool:
    """Return True when a cycle of the builder that made the build runs now, or one of Nodepool's on its host."""
    return build.builder_id in view.others.alive or view.others.has_host(build.builder)


def given_up_at(view: ImagesView, build: Build) -> float | None:
    """Return the UNIX time from which on other builders do without the files of a build.

    None when its builder works, is this one, or when nobody has noticed yet that it is absent.
    """
    since = view.absent.get(build.builder_id or "")
    if since is None or view.is_from_here(build) or works(view, build):
        return None
    return min(since, view.now) + GIVEN_UP


def whereabouts(view: ImagesView, build: Build) -> str:
    """Return a sentence without a full stop about the files of a build that are on another builder."""
    where = f"its files are on the builder {build.builder or 'another host'}"
    if works(view, build):
        return where
    at = given_up_at(view, build)
    if at is None:
        return f"{where}; no cycle of that builder runs now"
    gone = f"{where}; no cycle of that builder has run for {span(max(0.0, view.now - at + GIVEN_UP))}"
    when = "now" if view.now >= at else f"in {span(at - view.now)}"
    return f"{gone}, and other builders do without them {when}"
