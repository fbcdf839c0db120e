# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A builder's id belongs to one place at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.context.builder_identity import (
    MARGIN,
    BuilderElsewhere,
    Identity,
    Place,
    live_builders,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.own_tree import LIVE_BUILDERS
from tests.support.image_views import config
from tests.support.memory_zookeeper import MemoryStore, MemoryZooKeeper
from tests.support.virtual_time import Agenda

HERE = Place("one", "/images", "1:2", "boot", "pid:[1]")


class Waiting:
    """Time that passes only in waits. *then*: what happens at the first wait."""

    def __init__(self, then=lambda: None) -> None:
        self.now = 0.0
        self._then = then

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self._then()


@pytest.fixture
def tree() -> MemoryZooKeeper:
    return MemoryZooKeeper(Agenda())


def builder(store: MemoryStore, place: Place, waiting: Waiting | None = None, key: str = "b1") -> Identity:
    time = waiting or Waiting()
    one = Identity(store, config(images_dir=place.images_dir), key, clock=time, sleeper=time.sleep)
    one._place = place
    one._fields |= vars(place)
    return one


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({}, True),
        ({"images_dir": "/mnt/images"}, True),  # another path to the same directory
        ({"host": "two"}, False),
        ({"host": "two", "namespace": "pid:[2]"}, True),  # a container of the same machine
        ({"boot": "other"}, False),  # a clone with the same host name
        ({"folder": "1:3"}, False),  # a copy of the directory
        ({"boot": "", "host": "two", "namespace": ""}, False),
    ],
)
def test_what_counts_as_the_same_place(change: dict[str, str], same: bool) -> None:
    assert HERE.is_same(replace(HERE, **change)) is same
    assert replace(HERE, **change).is_same(HERE) is same


def test_where_this_process_is(tmp_path: Path) -> None:
    here = Place.here(str(tmp_path))
    assert here.folder and here.is_same(Place.here(f"{tmp_path}/../{tmp_path.name}"))
    assert Place.from_document(vars(here)) == here
    assert Place.from_document({"host": []}) == Place("", "", "", "", "")
    assert Place.here(str(tmp_path / "none")).folder == ""


def test_the_cycles_of_one_builder_live_side_by_side(tree: MemoryZooKeeper) -> None:
    builds, uploads = builder(tree.store(), HERE), builder(tree.store(), HERE)
    builds.begin()
    uploads.begin()
    builds.check()
    other = builder(tree.store(), replace(HERE, host="two", boot="other"), key="b2")
    other.begin()
    uploads.check()
    assert len(live_builders(tree.store())) == 3
    for one in (builds, uploads, other):
        one.end()
    assert live_builders(tree.store()) == {}


def test_one_that_is_alive_elsewhere_is_refused_and_the_first_goes_on(tree: MemoryZooKeeper) -> None:
    first = builder(tree.store(), HERE)
    first.begin()
    waiting = Waiting()
    second = builder(tree.store(), replace(HERE, host="two", images_dir="/data", folder="9:9"), waiting)
    with pytest.raises(BuilderElsewhere) as refused:
        second.begin()
    assert str(refused.value).startswith(
        "builder b1 is alive on one with images-dir /images: this one, on two with /data, does nothing."
    )
    assert "If /data/builder_id.txt is a copy, remove it" in str(refused.value)
    assert waiting.now >= config().zookeeper.timeout + MARGIN, "a dead one is shown until its session ends"
    first.check()
    assert len(live_builders(tree.store())) == 1


def test_a_builder_that_has_died_elsewhere_is_waited_for(tree: MemoryZooKeeper) -> None:
    first = builder(tree.store(), HERE)
    first.begin()
    second = builder(tree.store(), replace(HERE, boot="other"), Waiting(first.end))
    second.begin()
    second.check()


def test_after_a_lost_session_the_one_that_was_away_gives_way(tree: MemoryZooKeeper) -> None:
    away = builder(tree.store(), HERE)
    away.begin()
    away.end()
    there = builder(tree.store(), replace(HERE, boot="other"))
    there.begin()
    away._registration = away._store.components.register(LIVE_BUILDERS, "one", away._fields, root="/nodepool/stackci")
    there.check()
    with pytest.raises(BuilderElsewhere):
        away.check()


def test_a_changed_configuration_is_told(tree: MemoryZooKeeper) -> None:
    one = builder(tree.store(), HERE)
    one.begin()
    one.listing(config(["fedora"], {"east": ["fedora"]}))
    (document,) = live_builders(tree.store()).values()
    assert (document["images"], document["providers"], document["builder_id"]) == (["fedora"], {"east": [0]}, "b1")
