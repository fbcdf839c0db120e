# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Standing by: each provider's facts are asked for once, and belong to whoever takes over with the same settings."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.ownership.warming import (
    PATIENCE,
    Warming,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Provider

IMAGES = [
    SimpleNamespace(kind="cloud-image", image_id=None, image_name="debian", name="d"),
    SimpleNamespace(kind="cloud-image", image_id=None, image_name=None, name="ubuntu"),
    SimpleNamespace(kind="cloud-image", image_id="1234", image_name=None, name="by-id"),
    SimpleNamespace(kind="diskimage", image_id=None, image_name=None, name="built"),
]


class Fact:
    def __init__(self) -> None:
        self.wanted = 0
        self.answered_at: float | None = None
        self.error: Exception | None = None

    def want(self, now: float) -> None:
        self.wanted += 1


class Knowledge:
    def __init__(self) -> None:
        self.flavors, self.zones, self.networks = Fact(), Fact(), Fact()
        self.images: dict[str, Fact] = {}

    def image(self, name: str) -> Fact:
        return self.images.setdefault(name, Fact())


class Actor:
    def __init__(self, name: str = "east") -> None:
        self.provider = Provider(name, cloud=name)
        self.client = object()
        self.known, self.capacity = Knowledge(), Fact()
        self.closed = False

    def check(self, now: float) -> None:
        pass

    def dismiss(self) -> None:
        self.closed = True

    @property
    def facts(self) -> list[Fact]:
        return [self.known.flavors, self.known.zones, self.known.networks, self.capacity, *self.known.images.values()]


@pytest.fixture
def actor():
    return Actor()


@pytest.fixture
def warming():
    images: Any = IMAGES
    return Warming(lambda provider: images)


def test_every_fact_is_asked_for_once(warming, actor):
    for now in (0.0, 1.0, 2.0):
        warming.follow({"east": lambda: actor}, now)
    assert set(actor.known.images) == {"debian", "ubuntu"}
    assert [fact.wanted for fact in actor.facts] == [1] * 6


def test_it_is_warm_when_all_have_answered_or_failed(warming, actor):
    assert not warming.warm(0.0), "nobody has looked yet"
    warming.follow({"east": lambda: actor}, 0.0)
    for fact in actor.facts:
        assert not warming.warm(1.0)
        fact.answered_at = 1.0
    assert warming.warm(1.0)
    actor.known.zones.answered_at, actor.known.zones.error = None, OSError()
    assert warming.warm(1.0)


def test_a_silent_cloud_is_not_waited_for_for_ever(warming, actor):
    warming.follow({"east": lambda: actor}, 0.0)
    assert not warming.warm(PATIENCE)
    assert warming.warm(PATIENCE + 0.1)


def test_with_nothing_to_wait_for_it_is_warm_at_once(warming):
    warming.follow({}, 0.0)
    assert warming.warm(0.0)


def test_who_takes_over_gets_the_actor(warming, actor):
    warming.follow({"east": lambda: actor}, 0.0)
    assert warming.hand_over("east", actor.provider, actor.client) is actor
    assert warming.hand_over("east", actor.provider, actor.client) is None
    assert not actor.closed


@pytest.mark.parametrize("what", ["provider", "client"])
def test_with_other_settings_it_is_of_no_use(warming, actor, what):
    warming.follow({"east": lambda: actor}, 0.0)
    provider = Provider("east", cloud="other") if what == "provider" else actor.provider
    client = object() if what == "client" else actor.client
    assert warming.hand_over("east", provider, client) is None
    assert actor.closed


def test_what_is_not_waited_for_any_more_is_closed(warming, actor):
    warming.follow({"east": lambda: actor}, 0.0)
    warming.follow({}, 1.0)
    assert actor.closed
    warming.follow({"east": Actor}, 2.0)
    warming.drop()
    assert not warming.warm(2.0)
