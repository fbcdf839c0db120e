# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A person revokes a build, and restores it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tests.interop.kills.site import PROVIDERS, KillSite

REVOKED = "build revoked and restored"


@dataclass
class Span:
    """A build is not to be used. *until* 0: it is not over."""

    image: str
    build: str
    begin: float
    until: float = 0.0


class Decisions:
    """What a person decides.

    :ivar revoked: what was revoked.
    """

    def __init__(self, site: KillSite) -> None:
        self._site = site
        self.revoked: list[Span] = []
        self._open: Span | None = None

    def revoke(self, image: str) -> bool:
        """Revoke the newest build; False if there is none that is ready everywhere beside an older one."""
        build = self.newest(image)
        if not build:
            return False
        self._decide(image, build, "revoked")
        self._open = Span(image, build, time.time())
        self.revoked.append(self._open)
        return True

    def mend(self) -> None:
        """The build is used again."""
        span, self._open = self._open, None
        if span is None:
            return
        span.until = time.time()
        if self._site.store.images.build(span.image, span.build) is not None:
            self._decide(span.image, span.build, "restored")

    def newest(self, image: str) -> str:
        """The newest build that is ready everywhere, if an older one is, too; "" if there is none."""
        store = self._site.store
        uploads = [one for one in store.images.uploads(image) if one.state == "ready"]
        builds = sorted(store.images.builds(image), key=lambda build: build.born)
        places = {build.id: {one.provider for one in uploads if one.build_id == build.id} for build in builds}
        there = [build for build, names in places.items() if names == set(PROVIDERS)]
        return there[-1] if len(there) > 1 else ""

    def _decide(self, image: str, build: str, state: str) -> None:
        options = {"image": image, "build_id": build, "state": state}
        self._site.site.module("dib_image", **options, **({"reason": "a strike"} if state == "revoked" else {}))
