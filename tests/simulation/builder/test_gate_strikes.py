# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builder and launchers die all the time, always at a write, a call or a playbook, beside Nodepool's builder.

Every third build is broken, the projects are full now and then, and each provider leaves the configuration for a while,
also in the middle of a test.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.effort import first
from tests.support.gate_site import PROVIDERS, GateSite, gate_site
from tests.support.gate_world import gated, is_broken
from tests.support.kill_points import Strike, kill
from tests.support.virtual_builder import IMAGE
from tests.support.world import Habit

KILLS = 60
SEEDS = 20
"""In the slow lane: 1,200 kills in all."""
ROUND = 150.0
"""Seconds between two builds."""
BUILDER_POINTS, LAUNCHER_POINTS = 40.0, 150.0
"""Mean number of points after which it dies; the start of a cycle alone has about 15."""
STOCK = 20.0


class Deaths:
    """Chooses the points at which things die."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._builder = self._launcher = 100
        self.enabled = True

    def of_builder(self, what: str) -> bool:
        self._builder -= 1
        if self._builder > 0 or not self.enabled:
            return False
        self._builder = 1 + int(self._chance.expovariate(1.0 / BUILDER_POINTS))
        return True

    def of_launcher(self, number: int, what: str) -> Strike | None:
        self._launcher -= 1
        if self._launcher > 0 or not self.enabled:
            return None
        self._launcher = 1 + int(self._chance.expovariate(1.0 / LAUNCHER_POINTS))
        return kill


def disturb(site: GateSite, turn: int) -> None:
    """What happens around it."""
    world = site.world
    world.request("small", habit=Habit())
    if turn % 7 == 3:  # the projects are full for a while
        for _unused in range(14):
            world.request("small", priority=50, habit=Habit(work=lambda chance: 40.0))
    leaves = {4: "west", 9: "east"}.get(turn % 12)
    world.config = gated(*(name for name in PROVIDERS if name != leaves))
    world.written += 1


@pytest.mark.parametrize("seed", first(1, range(SEEDS)))
def test_no_node_of_a_request_is_made_from_an_untested_build(tmp_path: Path, seed: int) -> None:
    with gate_site(tmp_path, seed=seed, stock=STOCK) as site:
        deaths = Deaths(random.Random(seed))
        site.builder_dies, site.launcher_dies = deaths.of_builder, deaths.of_launcher
        site.run(5)
        turn = 0
        while len(site.kills) < KILLS:
            if turn % 3 == 0:
                site.bake()
            disturb(site, turn)
            site.run(ROUND / 3)
            turn += 1
        deaths.enabled = False
        site.world.config, site.world.written = gated(*PROVIDERS), site.world.written + 1
        newest = site.bake()
        while is_broken(newest):
            newest = site.bake()
        assert site.run(3000, until=lambda: all(newest in site.builds_at(name) for name in PROVIDERS))
        verdicts = site.verdicts()
        rejected = {build for build, state in verdicts.items() if state == "rejected"}
        assert (rejected or seed) and all(map(is_broken, rejected))
        assert len(site.passed) >= 3
        assert site.cleaner is not None and site.cleaner.rounds > 10 and site.cleaner.fiber.error is None
        (tmp_path / "figures").write_text(
            f"{len(site.kills)} kills, {len(site.passed)} passed, {len(rejected)} rejected, "
            f"{site.cleaner.rounds} rounds, {site.cleaner.dropped} dropped, {len(site.made)} made from"
        )
        assert {one.state for one in site.world.store.images.uploads(IMAGE)} <= {"ready", "failed", "deleting"}
