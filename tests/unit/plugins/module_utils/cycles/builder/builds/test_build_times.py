# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A builder's clock was a year ahead for a while: what was built then must not be the newest for a year."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.builds.build_times import (
    TOLERATED,
    correct_times,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.due_builds import BuildCode, judge_build
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.image_snapshot import ImageState, ImagesView
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreDenied
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import BuildState
from tests.support.image_views import DAY, NOW, THEM, build, build_id, later, view
from tests.support.memory_zookeeper import MemoryZooKeeper
from tests.support.virtual_time import Agenda

YEAR = 365.0 * DAY


class Tree:
    """Builds of one image, in the order in which they were made; *ages*: by their records, in seconds."""

    def __init__(self, *ages: float, state: str = BuildState.READY) -> None:
        self.store = MemoryZooKeeper(Agenda()).store()
        self.lines: list[str] = []
        for number, age in enumerate(ages, 1):
            self.store.images.create_build(build(number, state, age=age, builder_id=THEM))

    def view(self) -> ImagesView:
        found: ImagesView = view(None, ImageState("debian", builds=tuple(self.store.images.builds("debian"))))
        return found

    def correct(self, now: float = NOW, *, wrong_here: bool = False) -> list[str]:
        return correct_times(
            self.store, later(self.view(), now - NOW), now, self.lines.append, lambda store: wrong_here
        )

    @property
    def ages(self) -> list[Any]:
        return [NOW - (each.state_time or 0.0) for each in self.store.images.builds("debian")]


def test_a_build_of_the_future_becomes_one_of_now() -> None:
    tree = Tree(50.0 * DAY, -YEAR)
    assert judge_build(tree.view(), "debian").at == NOW + YEAR + DAY
    assert tree.correct() == [build_id(2)]
    assert tree.ages == [50.0 * DAY, 0.0]
    (line,) = tree.lines
    assert "became ready, by its record, in 365 d: the clock of its builder was wrong" in line
    assert judge_build(later(tree.view(), DAY), "debian").code == BuildCode.AGED
    assert tree.correct() == []


def test_what_was_built_after_it_is_newer_again() -> None:
    tree = Tree(-YEAR, -2 * YEAR, 3.0 * DAY, 1.0 * DAY)
    assert tree.correct() == [build_id(2), build_id(1)]
    assert tree.ages == [3.0 * DAY, 3.0 * DAY, 3.0 * DAY, 1.0 * DAY]
    assert [each.id for each in tree.view().image("debian").ready_builds] == [build_id(each) for each in (4, 3, 2, 1)]


def test_nothing_is_corrected_by_a_clock_that_may_be_wrong_itself() -> None:
    tree = Tree(-YEAR)
    assert tree.correct(wrong_here=True) == []
    assert tree.ages == [-YEAR]


def test_only_ready_builds_that_are_far_ahead_and_that_nobody_holds() -> None:
    assert Tree(-TOLERATED).correct() == []
    assert Tree(-YEAR, state=BuildState.BUILDING).correct() == []
    tree = Tree(-YEAR)
    held = tree.store.images.lock_build("debian", build_id(1))
    assert tree.correct() == [] and held is not None
    held.release()
    assert tree.correct() == [build_id(1)]


@pytest.mark.parametrize("call", ["write_build", "lock_build"])
def test_a_build_that_nobody_may_change_is_left_alone(monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def refuse(*_about: Any, **_options: Any) -> None:
        raise StoreDenied("not for this account")

    tree = Tree(-YEAR)
    monkeypatch.setattr(tree.store.images, call, refuse)
    assert tree.correct() == [] and tree.lines == []
