# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Strikes that are decided upon: a build is revoked by a person and restored, or its servers answer no more."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tests.interop.kills.site import PROVIDERS, KillSite

REVOKED, UNREACHABLE = "build revoked and restored", "launcher fell back, build restored"
LONGEST = 100.0
"""Seconds within which a launcher notices that nothing answers any more, although it is killed all the time."""


@dataclass
class Span:
    """A build is not to be used at these providers. *until* 0: it is not over."""

    image: str
    build: str
    providers: tuple[str, ...]
    begin: float
    until: float = 0.0


class Decisions:
    """The strikes.

    :ivar revoked: what a person has revoked. :ivar unreachable: builds whose servers did not answer at a provider.
    """

    def __init__(self, site: KillSite) -> None:
        self._site = site
        self.revoked: list[Span] = []
        self.unreachable: list[Span] = []
        self._open: Span | None = None

    def strike(self, what: str, image: str, provider: str) -> bool:
        """Begin; False if there is no build to do it to, with another one to fall back to everywhere."""
        build = self.newest(image)
        if not build:
            return False
        if what == REVOKED:
            self._decide(image, build, "revoked")
            self._open = Span(image, build, PROVIDERS, time.time())
            self.revoked.append(self._open)
            return True
        uploads = self._site.store.images.uploads(image, provider)
        (external,) = [one.external_id for one in uploads if (one.build_id, one.state) == (build, "ready")][:1]
        self._open = Span(image, build, (provider,), time.time())
        self.unreachable.append(self._open)
        self._site.sim.fault(provider, "POST /servers", "unreachable", image=external)
        return True

    def over(self, what: str) -> bool:
        """True when a launcher has decided, or had long enough; a person decides at once."""
        span = self._open
        if span is None or what == REVOKED:
            return True
        return self.met(what) or time.time() - span.begin > LONGEST

    def met(self, what: str) -> bool:
        """True when it had the effect that it must have."""
        span = self._open
        if span is None:
            return False
        fallen = self._site.store.verdicts.of_build(span.image, span.build).fallen_back
        return what == REVOKED or span.providers[0] in fallen

    def mend(self) -> None:
        """The build is well, and used again."""
        span, self._open = self._open, None
        if span is None:
            return
        for name in PROVIDERS:
            for rule in self._site.sim.faults(name):
                if rule["fault"] == "unreachable":
                    self._site.sim.remove_fault(name, rule["id"])
        span.until = time.time()
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
