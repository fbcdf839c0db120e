# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock of a record through lost sessions, on ZooKeeper in memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.context.record_lock import (
    RecordLock,
    RecordLost,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreError
from tests.support.memory_zookeeper import MemoryStore, MemoryZooKeeper
from tests.support.virtual_time import Agenda

PATIENCE = 5.0


class World:
    """A record's lock; *checks* are run one after the other, each time that the record is looked at."""

    def __init__(self) -> None:
        self.agenda = Agenda()
        self.keeper = MemoryZooKeeper(self.agenda)
        self.store = self.keeper.store()
        self.other = self.keeper.store()
        self.looks = 0
        self.checks: list[Callable[[], None]] = []
        held = self.take(self.store)
        assert held is not None
        self.lock = RecordLock(
            held,
            "image debian",
            take=lambda: self.take(self.store),
            check=self._check,
            patience=PATIENCE,
            clock=self.agenda.clock,
        )

    @staticmethod
    def take(store: MemoryStore):
        return store.own.lock("record")

    def _check(self) -> None:
        self.looks += 1
        if self.checks:
            self.checks.pop(0)()


def nothing() -> None:
    """The record is as it was left."""


def lose() -> None:
    raise RecordLost("deleted")


def break_off() -> None:
    raise StoreError("no connection")


@pytest.fixture
def world() -> World:
    return World()


def test_a_lock_that_is_held_costs_no_call(world):
    held = world.lock.held
    assert world.lock.regain() is True
    assert (world.lock.held, world.looks) == (held, 0)


def test_it_is_taken_again_when_the_record_is_as_it_was_left(world):
    world.lock.held.release()
    assert world.lock.regain() is True
    assert world.lock.held.valid
    assert world.take(world.other) is None


def test_below_a_record_that_is_gone_no_lock_is_made(world):
    world.lock.held.release()
    world.checks = [lose]
    with pytest.raises(RecordLost, match="deleted"):
        world.lock.regain()
    assert world.take(world.other) is not None


@pytest.mark.parametrize("change", [lose, break_off])
def test_a_record_that_is_looked_at_in_vain_keeps_no_lock(world, change):
    world.lock.held.release()
    world.checks = [nothing, change]
    with pytest.raises((RecordLost, StoreError)):
        world.lock.regain()
    assert not world.lock.held.valid
    assert world.take(world.other) is not None


def test_another_client_may_have_it_for_a_while_only(world):
    world.lock.held.release()
    other = world.take(world.other)
    assert world.lock.regain() is False
    world.agenda.run(PATIENCE)
    assert world.lock.regain() is False
    world.agenda.run(1.0)
    with pytest.raises(RecordLost, match="another client now has the lock of image debian"):
        world.lock.regain()
    other.release()
    assert world.lock.regain() is True
