# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a build is still ours, whatever happens to the session."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.builds.build_guard import (
    GRACE,
    LOOK_EVERY,
    LOST,
    BuildGuard,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreError, StoreGone
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Build, BuildState

TIMEOUT = 10.0


@dataclass
class FakeHeld:
    """A lock."""

    valid: bool = True
    released: bool = False

    def release(self) -> None:
        self.released = True


@dataclass
class FakeStore:
    """A store with one build; it is its own *images*."""

    record: Build | None
    state: str = "connected"
    cached: Any = "the record"
    lock_answers: list[Any] = field(default_factory=list)
    written: list[Any] = field(default_factory=list)
    broken: bool = False
    tries: int = 0

    @property
    def images(self) -> Any:
        return self

    def build(self, _image: str, _build_id: str) -> Build | None:
        return self.record if self.cached == "the record" else self.cached

    def read_build(self, _image: str, _build_id: str) -> Build | None:
        if self.broken:
            raise StoreError("broken")
        return self.record

    def lock_image(self, _image: str) -> Any:
        self.tries += 1
        return self.lock_answers.pop(0) if self.lock_answers else None

    def write_build(self, build: Build, *, held: Any) -> None:
        if self.broken:
            raise StoreError("broken")
        if self.record is None:
            raise StoreGone("gone")
        self.written.append((build.state, held))


class World:
    """A guard on a clock of its own."""

    def __init__(self) -> None:
        self.now = 100.0
        self.build = Build(id="a" * 32, image="deb", builder_id="me")
        self.store = FakeStore(self.build.clone())
        self.held = FakeHeld()
        self.guard = BuildGuard(self.store, self.build, self.held, timeout=TIMEOUT, clock=lambda: self.now)  # type: ignore[arg-type]

    def look(self, seconds: float = LOOK_EVERY) -> str | None:
        self.now += seconds
        return self.guard.check()


@pytest.fixture
def world():
    return World()


def test_all_is_well(world):
    assert [world.look() for _look in range(3)] == [None] * 3
    assert world.guard.write() is True
    assert world.store.written == [(BuildState.BUILDING, world.held)]
    world.guard.release()
    assert world.held.released


def test_without_a_connection_nothing_is_known_and_nothing_is_tried(world):
    world.store.state, world.store.record, world.held.valid = "suspended", None, False
    assert [world.look(1000) for _look in range(3)] == [None] * 3
    assert world.guard.write() is False
    assert (world.store.tries, world.store.written) == (0, [])


def test_the_lock_is_taken_again_in_a_new_session(world):
    world.held.valid = False
    again = FakeHeld()
    world.store.lock_answers = [None, None, again]
    assert [world.look() for _look in range(3)] == [None] * 3
    assert world.guard.write() is True
    assert world.store.written == [(BuildState.BUILDING, again)]
    world.guard.release()
    assert again.released


def test_a_lock_that_stays_out_of_reach_is_somebody_elses(world):
    world.held.valid = False
    looks = 0
    while world.look() is None:
        looks += 1
        assert looks < 1000
    assert 2 * TIMEOUT <= looks * LOOK_EVERY <= 2 * TIMEOUT + GRACE + LOOK_EVERY
    assert "another client now has the lock of image" in world.guard.problem
    with pytest.raises(StoreGone, match="another client"):
        world.guard.write()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (None, "deleted"),
        ({"state": BuildState.FAILED}, "set its record in ZooKeeper to failed"),
        ({"builder_id": "you"}, "another client set its record"),
    ],
)
@pytest.mark.parametrize("session", ["kept", "lost"])
def test_a_record_that_is_not_as_we_left_it(world, change, problem, session):
    if change is None:
        world.store.record = None
    else:
        for name, value in change.items():
            setattr(world.store.record, name, value)
    if session == "lost":
        world.held.valid = False
        world.store.lock_answers = [FakeHeld()]
    assert world.look() == LOST
    assert problem in world.guard.problem
    assert world.look() == LOST


def test_a_cache_that_is_behind_is_not_believed(world):
    world.store.cached = None
    assert world.look() is None
    assert world.guard.problem == ""


def test_a_connection_that_breaks_again_is_no_loss(world):
    world.store.cached, world.store.broken = None, True
    assert world.look() is None
    assert world.guard.write() is False


def test_zookeeper_is_not_asked_all_the_time(world):
    world.held.valid = False
    for _look in range(100):
        world.look(LOOK_EVERY / 100)
    assert world.store.tries == 1


def test_a_record_that_goes_while_it_is_written(world):
    world.look()
    world.store.record = None
    with pytest.raises(StoreGone):
        world.guard.write()
