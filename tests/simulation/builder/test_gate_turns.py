# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two images with a gate, and room for one server: canaries and people take turns. All in virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.model.build_verdict import APPROVED, REJECTED
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import IMAGE_BUILD, META_PROVIDER, Image
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import NodepoolConfig
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Build, BuildState, Upload, UploadState
from tests.support.build_case import build_id
from tests.support.effort import first
from tests.support.virtual_builder import VirtualBuilder, built, passes_unless
from tests.support.world import Habit, World, provider_document, site

IMAGES = {"built": "small", "other": "large"}
"""Diskimage → its label."""
RESERVE_AFTER = 120
WORK = 30.0
PEOPLE = 14
PLAY_AND_BOOT = 60.0
"""More than a node of a gate takes, from its create to its end."""


def config() -> tuple[dict[str, Any], NodepoolConfig]:
    labels = [{"name": label, "flavor-name": "small", "diskimage": image} for image, label in IMAGES.items()]
    taken = [{"name": image} for image in IMAGES]
    east = provider_document("east", {"name": "main", "labels": labels}, diskimages=taken)
    document = site(east, diskimages=[{"name": image, "formats": ["qcow2"]} for image in IMAGES])
    gate = {"playbook": "smoke.yml", "reserve-after": RESERVE_AFTER}
    settings = {"diskimages": [{"name": image, "gate": gate} for image in IMAGES]}
    return document, parse_config(yaml.safe_dump(document), settings_text=yaml.safe_dump(settings))


def in_use(world: World, image: str, number: int) -> None:
    """The build that is used now."""
    build = Build(image=image, id=build_id(number))
    build.set_state(BuildState.READY, float(number))
    world.store.images.create_build(build)
    name = f"{image}-{number}"
    made = Upload(image=image, build_id=build.id, provider="east", external_id=name)
    made.set_state(UploadState.READY, float(number))
    world.store.images.create_upload(made)
    marks = {IMAGE_BUILD: build.id, META_PROVIDER: "east"}
    world.clouds["east"].own_images[name] = Image(name, name, "active", marks)


class Site:
    """One place for a server, two images, and people who ask for more than there is room for."""

    def __init__(self, world: World, folder: Path, broken: frozenset[str]) -> None:
        self.world, self.folder, self.broken = world, folder, broken
        for number, image in enumerate(IMAGES, start=1):
            in_use(world, image, number)
        world.start()
        self.builder = VirtualBuilder(world, folder, passes_unless(broken.__contains__, set()))
        world.run(5)
        self.people: list[str] = []

    def people_ask(self, count: int, every: float) -> None:
        for number in range(count):
            label = list(IMAGES.values())[number % 2]
            self.world.agenda.after(number * every, partial(self._ask, label))

    def _ask(self, label: str) -> None:
        self.people.append(self.world.request(label, habit=Habit(work=lambda chance: WORK)))

    def bake(self, image: str, number: int) -> str:
        builder_id = (self.folder / "builder_id.txt").read_text("utf-8")
        return built(self.world, self.folder, build_id(number), builder_id, image).id

    def verdict(self, image: str, build: str) -> str:
        return self.world.store.verdicts.of_build(image, build).state

    def served(self) -> int:
        return sum(1 for request in self.people if request in self.world.fulfilled)


BROKEN = [frozenset({build_id(11)}), frozenset[str](), frozenset({build_id(11), build_id(12)})]


@pytest.fixture(params=first(1, BROKEN))
def one_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    document, gated = config()
    quota = {"east": {"instances": 1}}
    with World(document, quota=quota, lag=0.05) as world, VirtualBuilder.installed(world):
        world.config = gated
        yield Site(world, tmp_path, request.param)


def test_both_get_their_verdict_and_people_are_served_between(one_place: Site) -> None:
    site, world = one_place, one_place.world
    site.people_ask(PEOPLE, 30.0)  # more than one server can do
    world.run(100)
    builds = {"built": site.bake("built", 11), "other": site.bake("other", 12)}
    expected = {image: REJECTED if build in site.broken else APPROVED for image, build in builds.items()}
    before = site.served()
    nodes = sum(3 if build in site.broken else 1 for build in builds.values())
    assert world.run(
        RESERVE_AFTER + WORK + 3 * (nodes + 1) * PLAY_AND_BOOT,
        until=lambda: {image: site.verdict(image, build) for image, build in builds.items()} == expected,
    )
    assert site.served() > before, "somebody was served meanwhile"
    assert world.run(3600, until=lambda: site.served() == PEOPLE)
    order = sorted(site.people, key=world.fulfilled.__getitem__)
    assert order == site.people, "nobody was overtaken by somebody who came later"


def test_without_people_both_get_it_as_well(tmp_path: Path) -> None:
    """Nobody else waits for the room: the launcher need not be in a hurry, but each test ends."""
    document, gated = config()
    with World(document, quota={"east": {"instances": 1}}, lag=0.05) as world, VirtualBuilder.installed(world):
        world.config = gated
        site = Site(world, tmp_path, frozenset())
        builds = {"built": site.bake("built", 11), "other": site.bake("other", 12)}
        assert world.run(600, until=lambda: all(site.verdict(*pair) == APPROVED for pair in builds.items()))
