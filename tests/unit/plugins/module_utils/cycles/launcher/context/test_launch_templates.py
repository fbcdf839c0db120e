# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a label costs and boots from, and what is said of a label that the cloud cannot serve."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.launch_templates import (
    ask_about,
    label_template,
    usual_template,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes import readings
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.denials import IMAGE_MEMORY
from ansible_collections.stackci.nodepool.plugins.module_utils.model.build_verdict import HAND, REVOKED
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Image
from tests.support.build_case import build_id, made, serve, upload, uploaded
from tests.support.owner_case import guard, refusing
from tests.support.world import World, label, provider_document, site

NAMES = [
    ({"flavor-name": "huge"}, {}, "huge"),
    ({"key-name": "nokey"}, {}, "nokey"),
    ({}, {"security-groups": ["nogroup"]}, "nogroup"),
    ({}, {"networks": ["nonet"]}, "nonet"),
    ({}, {"availability-zones": ["nozone"]}, "nozone"),
]


@pytest.mark.parametrize(("offered", "pool", "missing"), NAMES)
def test_a_label_that_names_what_is_not_there_is_declined_with_that_name(
    offered: dict[str, Any], pool: dict[str, Any], missing: str
):
    labels = [label("good"), {**label("bad"), **offered}]
    with World(site(provider_document("east", {"name": "main", "labels": labels, **pool}))) as world:
        cycle = world.start()
        request = world.request("bad")
        assert world.run(120, until=lambda: world.state(request) == "failed")
        assert missing in str(cycle.account.failed[request])
        assert not world.clouds["east"].machines and not world.nodes(), "nothing was tried"


def test_what_is_missing_is_read_again_before_a_request_is_declined():
    labels = [label("good"), label("bad", "huge")]
    with World(site(provider_document("east", {"name": "main", "labels": labels}))) as world:
        cycle = world.start()
        world.run(300)
        cloud = world.clouds["east"]
        (small, *_more) = cloud.flavors
        cloud.flavors = (*cloud.flavors, type(small)(id="huge", name="huge", ram=small.ram, cores=small.cores))
        request = world.request("bad")
        assert world.run(60, until=lambda: request in world.fulfilled), cycle.account.failed


def asked_for_images(world: World) -> int:
    return sum(kind == "GET /images" for client in world.cycles[0].clients for _at, kind in client.calls)


@pytest.fixture
def declining() -> Iterator[tuple[World, str, tuple[Image, ...]]]:
    """A request that will fail for its image as soon as all names are read, and the images that were there before."""
    with World(site(provider_document("east", {"name": "main", "labels": [label("good")]}))) as world:
        cloud = world.clouds["east"]
        images, cloud.images = cloud.images, ()
        world.start()
        request = world.request("good")
        assert world.run(60, until=lambda: asked_for_images(world) == 2), "its look-up, then all names"
        yield world, request, images


def test_an_image_that_is_back_when_the_names_are_read_is_looked_up_again(declining):
    """Somebody replaces it: it is not there, and a moment later its name is."""
    world, request, images = declining
    world.clouds["east"].images = images
    assert world.run(60, until=lambda: request in world.fulfilled), world.cycles[0].account.failed


def test_two_images_that_have_come_since_are_told(declining):
    world, request, images = declining
    world.clouds["east"].images = (*images, *images)
    assert world.run(60, until=lambda: world.state(request) == "failed"), "it waits for nothing"
    assert "2 images are named" in str(world.cycles[0].account.failed[request])


def compare(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Have each template that is used again be compared with one that is made anew; returns when any was."""
    used: list[float] = []

    def compared(context: Any, actor: Any, pool: Any, named: Any, now: float, max_age: float | None) -> Any:
        found = usual_template(context, actor, pool, named, now, max_age)
        if found is not None:
            lacks = ask_about(context, actor, pool, named, now, max_age)
            assert found == label_template(context, actor, pool, named, lacks, now)
            used.append(now)
        return found

    monkeypatch.setattr(readings, "usual_template", compared)
    return used


@pytest.mark.parametrize("trouble", ["none", "GET /images", "GET /networks", "images", "flavors", "networks", "remark"])
def test_a_template_that_is_used_again_is_what_it_would_be_if_it_were_made_anew(monkeypatch, trouble: str):
    """Whatever happens in the cloud: while all is well, and when it is well again, it is used again."""
    used = compare(monkeypatch)
    pool = {"name": "main", "labels": [label("good"), label("other", "medium")], "networks": ["public"]}
    with World(site(provider_document("east", pool))) as world:
        cloud = world.clouds["east"]
        world.start()
        for spoilt in (False, True, False):
            kept = cloud.images, cloud.flavors, cloud.nets
            if spoilt and trouble in ("images", "flavors"):
                setattr(cloud, trouble, ())
            elif spoilt and trouble == "networks":
                cloud.nets = ()
            elif spoilt and trouble == "remark":
                cloud.remarks["GET /flavors/detail"] = "1 of 3 flavors cannot be read"
            elif spoilt and trouble != "none":
                world.fault("east", trouble, left=5)
            for _unused in range(2):
                world.request("good")
                world.request("other")
                world.run(120)
            cloud.images, cloud.flavors, cloud.nets = kept
            cloud.remarks.clear()
            world.run(400)
            begins = world.agenda.now
        request = world.request("good")
        assert world.run(120, until=lambda: request in world.fulfilled)
        assert used and used[-1] >= begins, "it is used again at the end"


def test_a_remark_that_decides_nothing_keeps_no_template_from_being_used_again(monkeypatch):
    """A clock may be off for months."""
    used = compare(monkeypatch)
    with World(site(provider_document("east", {"name": "main", "labels": [label("good")]}))) as world:
        world.clouds["east"].remarks["clock"] = "it is an hour ahead"
        world.start()
        request = world.request("good")
        assert world.run(120, until=lambda: request in world.fulfilled)
        assert used


def verdict(world: World, number: int, state: str) -> None:
    now = world.agenda.now
    world.store.verdicts.change("built", build_id(number), lambda had: had.given(state, "it is bad", HAND, now, now))


def undone(world: World) -> None:
    world.store.verdicts.change("built", build_id(2), lambda had: had.undone(world.agenda.now))


def lose(world: World) -> None:
    """nova denies an image that glance has, until the launcher tries it again."""

    def refused(spec: Any) -> Any:
        is_lost = spec.image_id == "east-2" and world.agenda.now < begins + IMAGE_MEMORY
        return refusing("Can not find requested image")() if is_lost else None

    begins = world.agenda.now
    guard(world, refused)


def remove(world: World) -> None:
    for one in world.store.images.uploads("built", "east"):
        if one.build_id == build_id(2):
            world.store.images.delete_upload(one)


CHANGES: dict[str, list[tuple[Callable[[World], object], str]]] = {
    "nothing": [(lambda world: None, "east-2")],
    "a newer build": [(lambda world: upload(world, 3), "east-3")],
    "a verdict": [(lambda world: verdict(world, 2, REVOKED), "east-1"), (undone, "east-2")],
    "no upload": [(remove, "east-1")],
    "nova denies it": [(lose, "east-1"), (lambda world: world.run(IMAGE_MEMORY), "east-2")],
}


@pytest.mark.parametrize("falls_back", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_that_of_a_diskimage_follows_its_uploads_and_the_verdicts(
    monkeypatch: pytest.MonkeyPatch, change: str, falls_back: bool
) -> None:
    used = compare(monkeypatch)
    with World(uploaded()) as world:
        images = {name: replace(image, fall_back=falls_back) for name, image in world.config.diskimages.items()}
        world.config = replace(world.config, diskimages=images)
        upload(world, 1)
        upload(world, 2)
        world.start()
        serve(world, 2)
        for act, image in CHANGES[change]:
            act(world)
            world.run(60)
            begins, found = world.agenda.now, made(world)
            serve(world, 2)
            assert image in {machine.image for machine in found}
            world.run(400)
            assert used and used[-1] >= begins, "it is used again"
