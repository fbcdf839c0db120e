# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The builder, and the launchers of its canaries, die at each point of a gate: before and after each write, call and
playbook. Whatever dies, no untested build is used and the good one stays.

The whole uploads cycle is the real one. With more effort every point is tried, else some of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.support.branches import Branches, Here, share
from tests.support.build_case import build_id
from tests.support.effort import EFFORT
from tests.support.gate_site import GateSite, gate_site
from tests.support.kill_points import Strike, kill
from tests.support.virtual_builder import IMAGE
from tests.support.world import Habit

SLOW = EFFORT > 1
PARTS = 12
STRIDE = 1 if SLOW else 16
GOOD, BAD = build_id(2), build_id(3)
STOCK = 7.0
"""Seconds between two rounds of Nodepool's builder: much more often than in fact."""
BUILDER, LAUNCHER = "builder", "launcher"


class Points:
    """Counts the points of one thing, and lets it die at one of them.

    :param here: asked at each point whether it dies there.
    """

    def __init__(self, here: Here) -> None:
        self.count, self.deaths = 0, 0
        self._here = here

    def __call__(self, *_what: object) -> bool:
        self.count += 1
        dies = bool(self._here())
        self.deaths += dies
        return dies


def nothing() -> None:
    """Nothing happens at a point."""


def live(folder: Path, who: str = "", stock: float = 0.0, here: Here = nothing) -> tuple[int, int]:
    """A good build is tested and distributed, a broken one is rejected; something dies once meanwhile.

    :param who: what dies.
    :param here: says at which of its points.
    :return: how many points the builder and the launchers had.
    """
    folder.mkdir()
    with gate_site(folder, stock=stock) as site:
        builder = Points(here if who == BUILDER else nothing)
        launcher = Points(here if who == LAUNCHER else nothing)
        site.builder_dies = builder

        def dies(number: int, what: str) -> Strike | None:
            return kill if launcher(what) else None

        site.launcher_dies = dies
        site.run(5)
        site.world.request("small", habit=Habit(work=lambda chance: 5.0))
        site.bake()
        assert site.run(900, until=lambda: site.builds_at("east") == site.builds_at("west") == [build_id(1), GOOD])
        site.bake()
        assert site.run(900, until=lambda: site.verdicts().get(BAD) == "rejected"), site.builder.lines
        site.world.request("small", habit=Habit(work=lambda chance: 5.0))
        assert site.run(900, until=lambda: len(site.world.fulfilled) == 2 and is_calm(site))
        points = builder.count, launcher.count
        site.run(30)
        assert is_calm(site)
        assert site.verdicts() == {GOOD: "approved", BAD: "rejected"}
        assert site.builds_at("east") == site.builds_at("west") == [build_id(1), GOOD]
        assert site.world.unfenced == []
        if not stock:
            for name, cloud in site.world.clouds.items():
                recorded = {one.external_id for one in site.world.store.images.uploads(IMAGE, name)}
                assert set(cloud.own_images) == recorded, "an image without a record"
        assert len(site.kills) == builder.deaths + launcher.deaths == bool(who), site.kills
        return points


def is_calm(site: GateSite) -> bool:
    """True when nothing of the broken build and of a canary is left."""
    states = {one.state for one in site.world.store.images.uploads(IMAGE)}
    return states == {"ready"} and site.requests() == []


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, int]:
    return live(tmp_path_factory.mktemp("whole") / "site")


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, float], Branches]]:
    """Takes what dies, and the seconds between two rounds of Nodepool's builder."""
    known: dict[tuple[str, float], Branches] = {}

    def life(who: str, stock: float = 0.0) -> Branches:
        if (who, stock) not in known:
            folder = tmp_path_factory.mktemp(who) / "site"
            known[who, stock] = Branches(partial(live, folder, who, stock), folder)
        return known[who, stock]

    yield life
    for one in known.values():
        one.close()


def test_a_gate_has_hundreds_of_points(points: tuple[int, int]) -> None:
    assert min(points) > 100


@pytest.mark.parametrize("stock", [0.0, STOCK], ids=["alone", "beside Nodepool's builder"])
@pytest.mark.parametrize("part", range(PARTS))
def test_the_builder_dies_at_a_point(
    lives: Callable[[str, float], Branches], points: tuple[int, int], part: int, stock: float
) -> None:
    first = 4 if stock and not SLOW else 1
    for at in share(range(first, points[0] + 1, STRIDE), part, PARTS):
        lives(BUILDER, stock).go_on(at, "death")


@pytest.mark.parametrize("part", range(PARTS))
def test_a_launcher_dies_at_a_point(
    lives: Callable[[str, float], Branches], points: tuple[int, int], part: int
) -> None:
    for at in share(range(1, points[1] + 1, STRIDE), part, PARTS):
        lives(LAUNCHER, 0.0).go_on(at, "death")
