# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What tests of builds of a diskimage have in common: a site whose only label boots from builds that were uploaded."""

from __future__ import annotations

from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import IMAGE_BUILD, META_PROVIDER, Image
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import (
    Build,
    BuildState,
    Upload,
    UploadState,
)
from tests.support.virtual_cloud import Fate, Machine
from tests.support.world import Habit, World, provider_document, site


def uploaded(**labels: Any) -> dict[str, Any]:
    pool = {"name": "main", "labels": [{"name": "small", "flavor-name": "small", "diskimage": "built"}]}
    provider = provider_document("east", pool, diskimages=[{"name": "built"}])
    return site(provider, diskimages=[{"name": "built", "formats": ["qcow2"]}], **labels)


def build_id(number: int) -> str:
    return f"{number:032x}"


def upload(world: World, number: int, *, at: float | None = None) -> None:
    """One more build, uploaded; a later number is a newer one.

    :param at: when the upload became ready; None: with the build.
    """
    build = Build(image="built", id=build_id(number))
    build.set_state(BuildState.READY, float(number))
    world.store.images.create_build(build)
    made = Upload(image="built", build_id=build.id, provider="east", external_id=f"east-{number}")
    made.set_state(UploadState.READY, float(number) if at is None else at)
    world.store.images.create_upload(made)
    marks = {IMAGE_BUILD: build.id, META_PROVIDER: "east"}
    world.clouds["east"].own_images[f"east-{number}"] = Image(f"east-{number}", f"built-{number}", "active", marks)


def ready(world: World) -> list[str]:
    return [node.id for node in world.nodes("ready")]


def images(world: World) -> list[str]:
    return [machine.image for machine in world.clouds["east"].machines.values()]


def broken(*names: str) -> Any:
    """Servers of these images never answer."""
    return lambda machine: Fate(reachable=machine.image not in names)


def made(world: World) -> list[Machine]:
    """Record every server that is made from now on, also those that are deleted again."""
    found: list[Machine] = []
    cloud = world.clouds["east"]
    fate = cloud.fate

    def noted(machine: Machine) -> Fate:
        found.append(machine)
        return fate(machine)

    cloud.fate = noted
    return found


def serve(world: World, count: int, seconds: float = 1200) -> list[str]:
    asked = [world.request("small", habit=Habit()) for _unused in range(count)]
    assert world.run(seconds, until=lambda: all(request in world.fulfilled for request in asked)), len(world.fulfilled)
    return asked


def of(found: list[Machine], image: str) -> int:
    return sum(1 for machine in found if machine.image == image)


def figures(world: World, number: int) -> dict[str, Any]:
    document = world.store.own.read("launch-counts/east") or {}
    return dict(document["built"][build_id(number)]["flavors"]["small"])
