# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builders of which no cycle runs although a provider waits for files that only they have. Pure.

Other builders wait for the image's ``builder-gone-after``: a machine that restarts is back by then. After that they do
without its files.
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

    None when its builder works, is this one, when nobody has noticed yet that it is absent, or when the configuration
    has no such image.
    """
    since, image = _away_since(view, build), view.config.diskimages.get(build.image)
    return None if since is None or image is None else since + image.builder_gone_after


def whereabouts(view: ImagesView, build: Build) -> str:
    """Return a sentence without a full stop about the files of a build that are on another builder."""
    where = f"its files are on the builder {build.builder or 'another host'}"
    if works(view, build):
        return where
    since, at = _away_since(view, build), given_up_at(view, build)
    if since is None or at is None:
        return f"{where}; no cycle of that builder runs now"
    when = "now" if view.now >= at else f"in {span(at - view.now)}"
    gone = f"no cycle of that builder has run for {span(view.now - since)}"
    return f"{where}; {gone}, and other builders do without them {when}"


def _away_since(view: ImagesView, build: Build) -> float | None:
    """Return the UNIX time at which a builder was missed; None when it works, is this one, or nobody has noticed it.

    A time that has not come is now: the clock that it was stored by was wrong.
    """
    since = view.absent.get(build.builder_id or "")
    if since is None or view.is_from_here(build) or works(view, build):
        return None
    return min(since, view.now)
