# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happens around the kills: builds, a provider that leaves and comes back, a cloud that is full, decisions."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ansible_collections.stackci.nodepool.plugins.module_utils.model.own_tree import DRAIN, WAITS
from tests.interop.kills.decisions import REVOKED, Decisions
from tests.interop.kills.site import PROVIDERS, ROOM, TESTING, KillSite

BETWEEN, LASTS = (6.0, 12.0), (5.0, 10.0)
REMOVED, FULL, BUILT = "provider removed during a test", "no room during a test", "builds"


class Strikes:
    """Called again and again.

    :param kinds: what strikes.
    :ivar seen: what has struck → how often, each only if it has met a test, or had the effect that it must have.
    """

    def __init__(self, site: KillSite, seed: int, kinds: Sequence[str]) -> None:
        self._site, self._kinds = site, kinds
        self.decisions = Decisions(site)
        self._chance = random.Random(f"{seed} strikes")
        self.seen: Counter[str] = Counter()
        self.inconclusive: list[str] = []
        self._struck: tuple[str, str] | None = None
        self._met = self._tested = False
        self._until = time.monotonic() + self._chance.uniform(*BETWEEN)
        self._told: set[tuple[str, str, int]] = set()

    def turn(self) -> None:
        """Do what is due."""
        decided = self._struck is not None and self._struck[0] == REVOKED
        if not decided:  # a newer build would be used at once
            self.bake()
        self._meet()
        self.skip_pauses()
        if time.monotonic() < self._until:
            return
        if self._struck is None:
            self._strike(self._chance.choice(self._kinds), self._chance.choice(PROVIDERS))
            self._until = time.monotonic() + self._chance.uniform(*LASTS)
        else:
            self.mend()
            self._until = time.monotonic() + self._chance.uniform(*BETWEEN)

    def bake(self) -> None:
        """Make a build of each image whose last one is decided and distributed."""
        for image in TESTING:
            if not self.undecided(image):
                self._site.bake(image)
                self.seen[BUILT] += 1

    def undecided(self, image: str) -> list[str]:
        """Where the newest build of an image is neither ready nor rejected."""
        store = self._site.store
        newest = max(store.images.builds(image), key=lambda build: build.born, default=None)
        if newest is None:
            return []
        if store.verdicts.of_build(image, newest.id).state == "rejected":
            return []
        ready = {
            one.provider for one in store.images.uploads(image) if (one.build_id, one.state) == (newest.id, "ready")
        }
        return sorted(set(PROVIDERS) - ready)

    def mend(self) -> None:
        """All providers are there and have room."""
        if self._struck is not None:
            what, _name = self._struck
            self.seen[what] += self._met
            self.decisions.mend()
        self._struck = None
        self._site.configure(*PROVIDERS)
        for name in PROVIDERS:
            self._site.sim.settings(name, quota={"instances": ROOM})

    def skip_pauses(self) -> None:
        """A person lets the next round begin at once; why the last one had no result is noted."""
        gates, now = self._site.store.gates, time.time()
        for image in TESTING:
            for name in PROVIDERS:
                record = gates.get(name, image)
                if record is not None and not record.outcome and record.not_before > now + 1.0:
                    if (name, record.build, record.round) not in self._told:
                        self._told.add((name, record.build, record.round))
                        self.inconclusive.append(record.note)
                    fresh = gates.read(name, image)
                    if fresh == record:
                        gates.save(name, image, replace(fresh, not_before=0.0))

    def _strike(self, what: str, name: str) -> None:
        self._struck, self._met = (what, name), False
        if what == REVOKED:
            self._met = self.decisions.revoke(self._chance.choice(sorted(TESTING)))
        elif what == REMOVED:
            self._tested = bool(self._tested_at(name))
            self._site.configure(*(one for one in PROVIDERS if one != name))
        else:
            used = self._site.sim.state(name)["usage"]["instances"]
            self._site.sim.settings(name, quota={"instances": min(used, ROOM)})

    def _meet(self) -> None:
        """Note that a test was under way where a provider has left and a launcher has noticed, or is full."""
        if self._struck is None or self._met:
            return
        what, name = self._struck
        own = self._site.store.own
        if what == REMOVED:
            self._met = self._tested and own.get(f"{DRAIN}/{name}") is not None
        elif what == FULL:
            waits = [
                own.get(f"{WAITS}/{request.id}") or {}
                for request in self._site.store.requests.list()
                if request.requestor == "stackci-gate" and request.provider == name
            ]
            self._met = any(wait.get("code") in ("no-room", "frozen") for wait in waits)

    def _tested_at(self, name: str) -> list[str]:
        """The images that are tested at a provider."""
        gates = self._site.store.gates
        records = {image: gates.get(name, image) for image in TESTING}
        return [image for image, record in records.items() if record is not None and not record.outcome]
